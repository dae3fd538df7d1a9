//! `svc batch`: the requests of a file.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use svc_sdk::contract::Operation;
use svc_sdk::types::Usd;

use crate::args::{DownloadArgs, Timeout, headings, parse_usd};
use crate::batch::{self, BatchOptions};
use crate::error::Failure;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Batch {
    /// Submit the requests of a file, wait for all results, and print them as they end
    ///
    /// A JSONL file has an object per line: the fields of the request in `body`, an `id` (otherwise the
    /// number of the line), and an `operation` (otherwise that of --operation):
    ///
    /// {"id": "fox", "operation": "image_generate", "body": {"model": "image-i", "prompt": "a fox"}}
    ///
    /// A CSV file has the fields of the request as columns, and `id`:
    ///
    /// id,model,prompt
    ///
    /// fox,image-i,a red fox
    ///
    /// A generate command with --dry-run shows the fields of its request.
    ///
    /// What was sent is recorded in a journal next to the file, except with --sandbox. If the
    /// command is interrupted, the same command continues: nothing is submitted twice, and finished
    /// items are neither submitted nor polled again.
    ///
    /// The exit code is 0 if all items completed; otherwise the first that applies: 130 interrupted,
    /// 11 ambiguous, 3 or 10 stopped (API key rejected, service unreachable), 7 failed, 5 over
    /// --max-spend or out of funds, 9 timed out, 1 files missing.
    Run(Box<RunBatch>),
    /// Show the progress of a batch from its journal, without contacting the service
    Status(BatchStatus),
}

#[derive(Args, Debug)]
pub(crate) struct RunBatch {
    /// JSONL or CSV file with one request per line
    #[arg(value_name = "MANIFEST")]
    manifest: PathBuf,
    /// Operation of lines without an `operation`: video_generate, image_generate, … [default:
    /// video_generate]
    #[arg(long, value_name = "OPERATION", value_parser = batch::parse_operation, help_heading = headings::INPUT)]
    operation: Option<Operation>,
    /// Maximum number of jobs in flight [default: as many as the service accepts, up to 500]
    #[arg(long, value_name = "N", value_parser = parse_concurrency, help_heading = headings::WAITING)]
    concurrency: Option<usize>,
    #[command(flatten)]
    download: DownloadArgs,
    /// Submit failed and canceled items again, unless they ended with a status that this version does
    /// not know
    #[arg(long, help_heading = headings::REPETITION)]
    retry_failed: bool,
    /// Journal of the batch [default: MANIFEST.journal.jsonl]
    #[arg(long, value_name = "FILE", help_heading = headings::REPETITION)]
    journal: Option<PathBuf>,
    /// Time for the whole batch, such as 30m, 2h, or a number of seconds; jobs that are running then
    /// continue [default: none]
    #[arg(long, value_name = "TIME", help_heading = headings::WAITING)]
    timeout: Option<Timeout>,
    /// Maximum amount in USD that the batch may spend, over all its runs: what does not fit is not
    /// submitted
    #[arg(long, value_name = "USD", value_parser = parse_usd, allow_negative_numbers = true, help_heading = headings::COST)]
    max_spend: Option<Usd>,
    /// Show what would be submitted and its price, without submitting it
    #[arg(long, help_heading = headings::COST)]
    dry_run: bool,
    /// Skip the confirmation prompt; without a terminal there is no prompt, so limit the cost with
    /// --max-spend
    #[arg(short, long, help_heading = headings::COST)]
    yes: bool,
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

pub(crate) async fn run(session: &Session, batch: Batch) -> Result<(), Failure> {
    match batch {
        Batch::Run(args) => {
            let args = *args;
            let options = BatchOptions {
                manifest: args.manifest,
                operation: args.operation,
                concurrency: args.concurrency,
                max_spend: args.max_spend,
                download: args.download,
                retry_failed: args.retry_failed,
                journal: args.journal,
                timeout: args.timeout,
                dry_run: args.dry_run,
                yes: args.yes,
            };
            batch::run(session, options).await
        }
        Batch::Status(args) => {
            batch::status(session, &args.manifest, args.journal.as_deref()).await
        }
    }
}

fn parse_concurrency(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=10_000) => Ok(number),
        _ => Err(format!("invalid number `{text}`: expected 1 to 10000 jobs")),
    }
}
