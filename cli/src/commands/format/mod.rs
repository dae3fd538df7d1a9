//! `svc format`: reusable agent recipes, run singly or in bulk.

mod address;
mod bulk;
mod items;

use std::path::Path;

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::FormatRun;
use svc_sdk::contract::Operation;
use svc_sdk::types::Format as Entry;

use self::address::addressed;
use crate::args::{FormatFields, ListArgs, RunArgs};
use crate::error::Failure;
use crate::input::check_single_stdin_reader;
use crate::output::Table;
use crate::request_body::run as run_body;
use crate::resource::run::tables;
use crate::session::Session;
use crate::submit;
use crate::types::SubmitRequest;

/// Formats.
#[derive(Debug, Subcommand)]
pub(crate) enum Format {
    /// Lists the Formats: the key's own and those of the service.
    List(ListArgs),
    /// Shows a Format.
    Get {
        /// Its id, or its owner's handle and its slug.
        #[arg(value_name = "FORMAT_ID|HANDLE/SLUG")]
        format: String,
    },
    /// Lists the runs of a Format, newest first.
    Runs {
        /// Its id, or its owner's handle and its slug.
        #[arg(value_name = "FORMAT_ID|HANDLE/SLUG")]
        format: String,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Starts a run, waits, and prints its output; without one, the receipt.
    ///
    /// The output of a run that completed is printed as JSON, alone (--receipt prints the whole
    /// receipt). Where there is none, as after a failure or where the schema could not be filled,
    /// the receipt is printed. How it went, and what it spent, is said on standard error.
    Run(Box<Start>),
    /// Starts up to 100 runs of a JSONL or CSV file as one queue, waits, and prints what each came
    /// to.
    ///
    /// JSONL has an item a line: an object with the fields of a run, such as `instruction` and
    /// `input`. CSV has a header: `instruction`, `previous_run_id`, `model`, `webhook_url`,
    /// `on_active_run`, `generation_spend_cap_usd`, and as JSON `output_schema`, `response_format`,
    /// `attachments` and `input`, are those fields; each other column is a text of that name in
    /// `input`, and an empty cell is left out. A .json file is a whole body, with `items`.
    ///
    /// Flags give every item what it brings no value of its own for; --cap holds for each run. The
    /// exit code is 7 where a run failed, else 8 where one was canceled or skipped.
    Bulk(Box<bulk::Bulk>),
}

/// The flags of `svc format run`.
#[derive(Args, Debug)]
pub(crate) struct Start {
    /// Its id, or its owner's handle and its slug.
    #[arg(value_name = "FORMAT_ID|HANDLE/SLUG")]
    format: String,
    #[command(flatten)]
    fields: FormatFields,
    #[command(flatten)]
    start: RunArgs,
}

/// Runs it.
pub(crate) async fn run(session: &Session, format: Format) -> Result<(), Failure> {
    match format {
        Format::List(args) => {
            let client = session.access::<Developer>()?.client;
            let formats = args.apply(client.formats().list()).await?;
            session.printer.note_more_pages(&formats, "Formats");
            session.printer.print_list(&formats.items, list_table)
        }
        Format::Get { format } => {
            let client = session.access::<Developer>()?.client;
            let format = client.formats().get(format).await?;
            session.printer.print_item(&format, entry_table)
        }
        Format::Runs { format, list } => {
            let client = session.access::<Developer>()?.client;
            let runs = list.apply(client.formats().runs(format)).await?;
            session.printer.note_more_pages(&runs, "runs");
            session.printer.print_list(&runs.items, tables::list)
        }
        Format::Run(args) => start(session, &args).await,
        Format::Bulk(args) => bulk::run(session, &args).await,
    }
}

async fn start(session: &Session, args: &Start) -> Result<(), Failure> {
    check_single_stdin_reader(&[
        (
            "--input",
            args.start.input.as_deref().and_then(Path::to_str),
        ),
        ("--instruction", args.start.instruction.as_deref()),
        ("--output-schema", args.fields.output_schema.as_deref()),
        ("--response-format", args.fields.response_format.as_deref()),
    ])?;
    let mut body = run_body::from_args(&args.start)?;
    for (name, value) in run_body::format_fields(&args.fields)? {
        body.set(&name, Some(value))?;
    }
    let body = body.finish()?;
    run_body::validate_format(&body)?;
    let (operation, segments) = addressed(
        &args.format,
        Operation::FormatsRunsCreate,
        Operation::FormatsBySlugRunsCreate,
    );
    let request = SubmitRequest {
        noun: "Format run",
        operation,
        segments,
        body,
    };
    let receipt_mode = args.start.receipt_mode.into();
    submit::run::<FormatRun>(session, request, &args.start.options, receipt_mode).await
}

fn list_table(formats: &[Entry]) -> Table {
    let mut table = Table::new(["id", "address", "status", "makes", "cap", "name"]);
    for format in formats {
        let kind = format.io.as_ref().and_then(|io| io.output_kind.as_deref());
        let cap = format.generation_spend_cap();
        table.row([
            format.id.as_str(),
            &format.reference().to_string(),
            format.status.as_deref().unwrap_or_default(),
            kind.unwrap_or_default(),
            &cap.map(|cap| cap.to_string()).unwrap_or_default(),
            format.name.as_deref().unwrap_or_default(),
        ]);
    }
    table
}

fn entry_table(format: &Entry) -> Table {
    let mut table = Table::key_value();
    table.field("id", Some(&format.id));
    table.field("address", Some(format.reference()));
    table.field("name", format.name.as_ref());
    table.field("description", format.description.as_ref());
    table.field("status", format.status.as_ref());
    table.field("of the service", format.first_party);
    let kind = format.io.as_ref().and_then(|io| io.output_kind.as_ref());
    table.field("makes", kind);
    let cap = format.generation_spend_cap();
    table.field("cap", cap.map(|cap| format!("{cap} USD")));
    table.field("created", format.created_at.as_ref());
    table.field("updated", format.updated_at.as_ref());
    table
}
