//! `svc batch`: the requests of a file.

use std::path::PathBuf;

use crate::args::headings;
use crate::batch::{self, BatchOptions};
use crate::error::Result;
use crate::session::Session;
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Batch {
    /// Submit the requests of a file, wait for all results, and print them as they end
    ///
    /// A JSONL file has an object per line: the fields of the request in `body`, an `id` (otherwise the
    /// number of the line), and an `operation` (otherwise that of --operation, or by the kind of the model):
    ///
    /// {"id": "fox", "operation": "image_generate", "body": {"model": "image-i", "prompt": "a fox"}}
    ///
    /// A spreadsheet (.csv, .tsv) has the fields of the request as columns, and `id` and `operation`:
    ///
    /// id,model,prompt
    ///
    /// fox,image-i,a red fox
    ///
    /// A generate command with --dry-run shows the fields of its request. Downloaded files are named after
    /// the items: fox.png, and fox-2.png for a second one.
    ///
    /// What was sent is recorded in a journal next to the file, except with --sandbox. If the
    /// command is interrupted, the same command continues: nothing is submitted twice, and finished
    /// items are neither submitted nor polled again.
    ///
    /// The exit code is 0 if all items completed; otherwise the first that applies: 130 interrupted,
    /// 11 ambiguous, 3 or 10 stopped (API key rejected, service unreachable), 7 failed or canceled, 5
    /// over --max-spend or out of funds, 9 timed out, 1 files missing.
    Run(Box<BatchOptions>),
    /// Show the progress of a batch from its journal, without contacting the service
    Status(BatchStatus),
}

#[derive(Args, Debug)]
pub(crate) struct BatchStatus {
    /// File of the batch
    #[arg(value_name = "MANIFEST")]
    manifest: PathBuf,
    /// Journal of the batch [default: MANIFEST.journal.jsonl]
    #[arg(long, value_name = "FILE", help_heading = headings::INPUT)]
    journal: Option<PathBuf>,
}

pub(crate) async fn run(session: &Session, batch: Batch) -> Result {
    match batch {
        Batch::Run(options) => batch::run(session, *options).await,
        Batch::Status(args) => {
            batch::status(session, &args.manifest, args.journal.as_deref()).await
        }
    }
}
