//! `svc format bulk`: many runs, submitted as one queue.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};
use svc_sdk::contract::Operation;
use svc_sdk::contract::limits::{BULK_CONCURRENCY_RANGE, BULK_ITEMS_RANGE};
use svc_sdk::handle::QueueResource;

use crate::args::{FormatFields, JsonField, SubmitOptions, headings};
use crate::commands::format::items::{self, BulkItem, ColumnOptions};
use crate::commands::format::operation_of;
use crate::error::Failure;
use crate::input::{check_single_stdin_reader, read_text};
use crate::request_body::{RequestBody, run as run_body};
use crate::resource::{ReceiptMode, SubmitRequest};
use crate::session::Session;
use crate::submit;

/// The field of the body with the items.
const ITEMS: &str = "items";

/// The flags of `svc format bulk`.
#[derive(Args, Debug)]
pub(crate) struct Bulk {
    /// Format id, or the owner's handle and the slug
    #[arg(value_name = "FORMAT_ID|HANDLE/SLUG")]
    format: String,
    /// Items: a .csv, .tsv or .jsonl file, a .json file with the whole body, or - for stdin
    /// (required, unless --param items=[…])
    #[arg(
        long,
        visible_alias = "from",
        value_name = "FILE|-",
        help_heading = headings::INPUT
    )]
    input: Option<PathBuf>,
    /// Column of the spreadsheet that is left out; repeatable
    #[arg(long, value_name = "NAME", help_heading = headings::INPUT)]
    ignore_column: Vec<String>,
    /// Column that is a field of the Format's input although its name resembles a run's field;
    /// repeatable
    #[arg(long, value_name = "NAME", help_heading = headings::INPUT)]
    input_column: Vec<String>,
    /// Number of concurrent runs, 1 to 16
    #[arg(long, value_name = "N", help_heading = headings::GENERATION)]
    concurrency: Option<u64>,
    /// Instruction of items without one: TEXT, @FILE, or - for stdin
    #[arg(long, value_name = "TEXT|@FILE|-", help_heading = headings::INPUT)]
    instruction: Option<String>,
    #[command(flatten)]
    fields: FormatFields,
    #[command(flatten)]
    options: SubmitOptions,
    /// Webhook URL that receives the final receipt of each run (public HTTPS)
    #[arg(long, value_name = "URL", help_heading = headings::REQUEST)]
    webhook_url: Option<String>,
    /// The items, as items=[{…}, …], or any other field of all items, as JSON; repeatable
    #[arg(long = "param", value_name = "KEY=JSON", help_heading = headings::REQUEST)]
    params: Vec<JsonField>,
}

pub(super) async fn run(session: &Session, args: &Bulk) -> Result<(), Failure> {
    let (operation, segments) = operation_of(
        &args.format,
        Operation::FormatsBulkCreate,
        Operation::FormatsBySlugBulkCreate,
    );
    let body = body_of(args)?;
    if let Some(first) = body.get(ITEMS).and_then(|items| items.get(0)?.as_object()) {
        run_body::warn_about_schema(session, first);
    }
    let request = SubmitRequest { noun: "bulk queue", operation, segments, body };
    submit::run::<QueueResource>(session, request, &args.options, ReceiptMode::default()).await
}

/// Returns the body, with the defaults from the flags applied to each item.
fn body_of(args: &Bulk) -> Result<Map<String, Value>, Failure> {
    check_single_stdin_reader(&[
        ("--input", args.input.as_deref().and_then(Path::to_str)),
        ("--instruction", args.instruction.as_deref()),
        ("--output-schema", args.fields.output_schema.as_deref()),
        ("--response-format", args.fields.response_format.as_deref()),
    ])?;
    let defaults = defaults(args)?;
    let (mut whole, items) = match (&args.input, items_param(args)) {
        (Some(path), None) => {
            let (ignored, inputs) = (args.ignore_column.as_slice(), args.input_column.as_slice());
            items::read(path, &ColumnOptions { ignored, inputs })?
        }
        (None, Some(items)) => (Map::new(), items::from_json(items)?),
        (Some(_), Some(_)) => {
            return Err(Failure::usage("--input and --param items=[…] cannot be used together"));
        }
        (None, None) => {
            return Err(Failure::usage("the queue has no items")
                .hint("pass --input FILE, or --param 'items=[{…}, …]'"));
        }
    };
    if !BULK_ITEMS_RANGE.contains(&items.len()) {
        let (least, most) = (BULK_ITEMS_RANGE.start(), BULK_ITEMS_RANGE.end());
        let source = args
            .input
            .as_ref()
            .map_or_else(|| "--param items".to_owned(), |path| path.display().to_string());
        return Err(Failure::usage(format!(
            "invalid number of items in {source}: {}, expected {least} to {most}",
            items.len()
        )));
    }
    let items: Result<Vec<Value>, Failure> = items
        .into_iter()
        .enumerate()
        .map(|(index, item)| {
            let location = item.location.clone();
            with_defaults(item, &defaults)
                .map(Value::Object)
                .map_err(|failure| failure.context(format!("item {} ({location})", index + 1)))
        })
        .collect();
    whole.insert(ITEMS.to_owned(), items?.into());
    let mut body = RequestBody::from_fields(whole);
    body.set("concurrency", args.concurrency)?;
    let body = body.finish()?;
    let concurrency = body.get("concurrency");
    if let Some(concurrency) = concurrency
        && !concurrency.as_u64().is_some_and(|it| BULK_CONCURRENCY_RANGE.contains(&it))
    {
        let (least, most) = (BULK_CONCURRENCY_RANGE.start(), BULK_CONCURRENCY_RANGE.end());
        return Err(Failure::usage(format!(
            "invalid concurrency `{concurrency}`: expected {least} to {most}"
        )));
    }
    Ok(body)
}

/// Returns the items that are given with `--param`.
fn items_param(args: &Bulk) -> Option<&Value> {
    let param = args.params.iter().find(|param| param.name == ITEMS);
    param.map(|param| &param.value)
}

fn defaults(args: &Bulk) -> Result<Map<String, Value>, Failure> {
    let mut body = RequestBody::default();
    let instruction = args.instruction.as_ref();
    let instruction = instruction.map(|text| read_text("--instruction", text)).transpose()?;
    body.set("instruction", instruction)?;
    body.set("webhook_url", args.webhook_url.clone())?;
    for param in args.params.iter().filter(|param| param.name != ITEMS) {
        body.set(&param.name, Some(param.value.clone()))?;
    }
    for (name, value) in run_body::format_fields(&args.fields)? {
        body.set(&name, Some(value))?;
    }
    body.finish()
}

/// Returns the fields of an item, with defaults for those that it does not set.
fn with_defaults(
    item: BulkItem,
    defaults: &Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    let mut fields = item.fields;
    // The two forms exclude each other: an item with one of them takes neither default.
    let has_output_form =
        fields.contains_key("output_schema") || fields.contains_key("response_format");
    for (name, value) in defaults {
        let is_output_form = matches!(name.as_str(), "output_schema" | "response_format");
        if !(fields.contains_key(name) || is_output_form && has_output_form) {
            fields.insert(name.clone(), value.clone());
        }
    }
    let fields = RequestBody::from_fields(fields).finish()?;
    run_body::validate_format(&fields)?;
    Ok(fields)
}
