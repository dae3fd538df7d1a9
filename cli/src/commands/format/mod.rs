//! `svc format`: Formats, which are reusable agent recipes, and their runs.

mod bulk;
mod items;

use std::path::Path;

use clap::{Args, Subcommand};
use svc_sdk::contract::Operation;
use svc_sdk::types::{Format, FormatRef};
use svc_sdk::{Developer, FormatRun};

use crate::args::{FormatFields, InstructionArgs, ListArgs, RunArgs};
use crate::error::Result;
use crate::follow::run::report;
use crate::input::check_single_stdin_reader;
use crate::listing::Listing;
use crate::output::layout::{cut, number, required, status, whole};
use crate::output::values::{money, optional_money};
use crate::output::{ObjectKind, Table};
use crate::request::SubmitRequest;
use crate::request::body::run as run_body;
use crate::session::Session;
use crate::submit;

#[derive(Debug, Subcommand)]
pub(crate) enum FormatCommand {
    /// List your Formats and those of the service
    List(ListArgs),
    /// Show a Format
    Get {
        /// Format id, or the owner's handle and the slug
        #[arg(value_name = "FORMAT_ID|HANDLE/SLUG", value_parser = parse_format)]
        format: String,
    },
    /// List the runs of a Format, newest first
    Runs {
        /// Format id, or the owner's handle and the slug
        #[arg(value_name = "FORMAT_ID|HANDLE/SLUG", value_parser = parse_format)]
        format: String,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Run a Format, wait, and print the output
    ///
    /// A terminal shows only the output of a completed run, as JSON, unless --receipt is given. A pipe,
    /// -o json and --jq get the whole receipt, with the output in its field `output`, as does a
    /// terminal if there is no output, because the run failed or its output did not match the
    /// schema. The outcome and the amount spent are reported on stderr.
    Run(Box<Start>),
    /// Run a Format for up to 100 items of a file as one queue, wait, and print the results
    ///
    /// A JSONL file has one item per line: an object with the fields of a run, such as `instruction`
    /// and `input`. A CSV file has a header. The columns `instruction`, `previous_run_id`, `model`,
    /// `webhook_url`, `on_active_run` and `generation_spend_cap_usd` are fields of the run, as are
    /// `output_schema`, `response_format`, `attachments` and `input`, which contain JSON. All other
    /// columns become text fields of `input`; empty cells are left out. A JSON file contains the
    /// whole request body, with `items`.
    ///
    /// Flags set defaults for the items; --cap applies to each run. The exit code is 7 if a run
    /// failed, or else 8 if one was canceled or skipped.
    Bulk(Box<bulk::Bulk>),
}

#[derive(Args, Debug)]
pub(crate) struct Start {
    /// Format id, or the owner's handle and the slug
    #[arg(value_name = "FORMAT_ID|HANDLE/SLUG", value_parser = parse_format)]
    format: String,
    #[command(flatten)]
    instruction: InstructionArgs,
    #[command(flatten)]
    fields: FormatFields,
    #[command(flatten)]
    start: RunArgs,
}

pub(crate) async fn run(session: &Session, format: FormatCommand) -> Result {
    match format {
        FormatCommand::List(args) => {
            let client = session.access::<Developer>()?.client;
            let listing = Listing::new(session, &args, "Formats");
            listing.print(|| client.formats().list(), list_table).await
        }
        FormatCommand::Get { format } => {
            let client = session.access::<Developer>()?.client;
            let format = client.formats().get(format).await?;
            session.printer.print_item(&format, entry_table)
        }
        FormatCommand::Runs { format, list } => {
            let client = session.access::<Developer>()?.client;
            let call = || client.formats().list_runs(format.as_str());
            let listing = Listing::new(session, &list, "runs").of(ObjectKind::Run);
            listing.print(call, report::list).await
        }
        FormatCommand::Run(args) => start(session, &args).await,
        FormatCommand::Bulk(args) => bulk::run(session, &args).await,
    }
}

async fn start(session: &Session, args: &Start) -> Result {
    check_single_stdin_reader(&[
        ("--input", args.start.input.as_deref().and_then(Path::to_str)),
        ("--instruction", args.instruction.given()),
        ("--output-schema", args.fields.output_schema.as_deref()),
        ("--response-format", args.fields.response_format.as_deref()),
    ])?;
    let mut body = run_body::from_args(&args.start, &args.instruction)?;
    for (name, value) in run_body::format_fields(&args.fields)? {
        body.set(&name, Some(value))?;
    }
    let body = body.finish()?;
    warn_about_file(session, args);
    run_body::validate_format(&body)?;
    run_body::warn_about_schema(session, &body);
    let (operation, segments) = operation_of(
        &args.format,
        Operation::FormatsRunsCreate,
        Operation::FormatsBySlugRunsCreate,
    );
    if args.start.options.spending.dry_run {
        check_exists(session, &args.format).await?;
    }
    let request = SubmitRequest { noun: "Format run", operation, segments, body };
    let receipt_mode = args.start.receipt_mode;
    submit::run::<FormatRun>(session, request, &args.start.options, receipt_mode, None).await
}

/// Warns of an instruction that is the path of a file, whose content may be meant.
fn warn_about_file(session: &Session, args: &Start) {
    let Some(text) = args.instruction.given().filter(|text| Path::new(text).is_file()) else {
        return;
    };
    let extension = Path::new(text).extension().and_then(|it| it.to_str());
    let rows = match extension {
        Some("csv" | "tsv" | "jsonl") => {
            let command =
                session.command(&["format", "bulk", args.format.as_str(), "--input", text]);
            format!("; to run the Format for each of its rows: {command}")
        }
        _ => String::new(),
    };
    session.printer.warn(&format!(
        "`{text}` is sent as text, although there is a file of that name: to send what it \
         contains, write @{text}{rows}"
    ));
}

/// A key may be allowed to run a Format but not to read it.
async fn check_exists(session: &Session, format: &str) -> Result {
    match session.access::<Developer>()?.client.formats().get(format).await {
        Err(error) if error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

fn list_table(formats: &[Format]) -> Table {
    let mut table = Table::new([
        required("id"),
        whole("address"),
        status("status"),
        cut("name"),
        cut("output"),
        number("cap"),
    ]);
    for format in formats {
        let kind = format.io.as_ref().and_then(|io| io.output_kind.as_deref());
        let cap = format.generation_spend_cap();
        table.row([
            format.id.as_str(),
            &format.to_ref().to_string(),
            format.status.as_deref().unwrap_or_default(),
            format.name.as_deref().unwrap_or_default(),
            kind.unwrap_or_default(),
            &optional_money(cap),
        ]);
    }
    table
}

fn entry_table(format: &Format) -> Table {
    let mut table = Table::key_value();
    table.field("id", Some(&format.id));
    table.field("address", Some(format.to_ref()));
    let fields = "name, description, status, first party=first_party, output=io.output_kind";
    table.fields(format, fields);
    table.field("cap", format.generation_spend_cap().map(money));
    table.fields(format, "created=created_at, updated=updated_at");
    table
}

/// Checks the slug of a Format: these would be taken for the runs of a Format.
fn parse_format(text: &str) -> Result<String, String> {
    match text.rsplit_once('/') {
        Some((_, slug @ ("runs" | "bulk-runs"))) => Err(format!("a slug is never `{slug}`")),
        _ => Ok(text.to_owned()),
    }
}

fn operation_of(format: &str, by_id: Operation, by_slug: Operation) -> (Operation, Vec<String>) {
    let reference = FormatRef::from(format);
    let (operation, segments) = reference.select_operation(by_id, by_slug);
    (operation, segments.into_iter().map(str::to_owned).collect())
}
