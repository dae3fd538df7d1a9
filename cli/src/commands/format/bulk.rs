//! `svc format bulk`: many runs, submitted as one queue.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use svc_sdk::Developer;
use svc_sdk::contract::limits::{BULK_CONCURRENCY_RANGE, BULK_ITEMS_RANGE};
use svc_sdk::contract::{Operation, RunStatus};
use svc_sdk::handle::QueueResource;
use svc_sdk::types::QueueItem;

use crate::args::{FormatFields, JsonField, ReceiptArgs, SubmitOptions, headings};
use crate::commands::format::items::{self, BulkItem, ColumnOptions};
use crate::commands::format::{check_exists, operation_of};
use crate::error::{Exit, Failure, Result, SuggestedCommand, Suggestion};
use crate::input::{check_single_stdin_reader, read_text};
use crate::journal::RequestHash;
use crate::request::SubmitRequest;
use crate::request::body::{RequestBody, run as run_body};
use crate::resource::ResourceId;
use crate::session::Session;
use crate::submit;
use crate::text::sanitize;

const ITEMS: &str = "items";

#[derive(Args, Debug)]
pub(crate) struct Bulk {
    /// Format id, or the owner's handle and the slug
    #[arg(value_name = "FORMAT_ID|HANDLE/SLUG", value_parser = super::parse_format)]
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
    /// Send the failed and canceled items of the last queue of the same Format and file again, or those
    /// of a given queue, as a new queue
    #[arg(
        long,
        value_name = "QUEUE_ID",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        help_heading = headings::REPETITION
    )]
    retry_failed: Option<String>,
    /// The items, as items=[{…}, …], or any other field of all items, as JSON; repeatable
    #[arg(long = "param", value_name = "KEY=JSON", help_heading = headings::REQUEST)]
    params: Vec<JsonField>,
}

pub(super) async fn run(session: &Session, args: &Bulk) -> Result {
    let (operation, segments) = operation_of(
        &args.format,
        Operation::FormatsBulkCreate,
        Operation::FormatsBySlugBulkCreate,
    );
    let mut body = body_of(session, args)?;
    if let Some(first) = body.get(ITEMS).and_then(|items| items.get(0)?.as_object()) {
        run_body::warn_about_schema(session, first);
    }
    let mut source = QueueSource::of(args, &body);
    if let Some(queue) = &args.retry_failed {
        let count = source.items.len();
        source.items = failed_items(session, &source, queue).await?;
        if source.items.is_empty() {
            session.printer.note("no item of the queue failed or was canceled; nothing was sent");
            return Ok(());
        }
        let numbers: Vec<String> =
            source.items.iter().map(|index| (index + 1).to_string()).collect();
        let numbers = numbers.join(", ");
        let retried = source.items.len();
        session.printer.note(&format!("Retrying {retried} of {count} items: {numbers}"));
        if let Some(items) = body.get_mut(ITEMS).and_then(Value::as_array_mut) {
            let mut indexes = 0..;
            items.retain(|_| indexes.next().is_some_and(|index| source.items.contains(&index)));
        }
    }
    let spending = &args.options.spending;
    if spending.dry_run {
        check_exists(session, &args.format).await?;
    }
    let request = SubmitRequest { noun: "bulk queue", operation, segments, body };
    let (receipt_mode, source) = (ReceiptArgs::default(), Some(json!(source)));
    let ran = submit::run::<QueueResource>(session, request, &args.options, receipt_mode, source);
    let is_noted = !session.is_sandbox() && !spending.journal.no_journal;
    ran.await.map_err(|failure| match failure.exit() {
        Exit::JobFailed | Exit::JobCanceled if is_noted => {
            // A key belongs to one queue.
            let (key, plain) = (["--idempotency-key"], ["--new", "--retry-failed"]);
            let again = SuggestedCommand::of_this_process(&key, &plain, &["--retry-failed"]);
            let hint = Suggestion::from("send the failed and canceled items again with: ");
            failure.hint(hint.command(again))
        }
        _ => failure,
    })
}

#[derive(Debug, Serialize, Deserialize)]
struct QueueSource {
    format: String,
    file: String,
    hash: RequestHash,
    items: Vec<usize>,
}

impl QueueSource {
    fn of(args: &Bulk, body: &Map<String, Value>) -> Self {
        let path = args.input.as_deref().unwrap_or(Path::new("-"));
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let count = body.get(ITEMS).and_then(Value::as_array).map_or(0, Vec::len);
        let body = Value::Object(body.clone());
        let operation = Operation::FormatsBulkCreate;
        Self {
            format: args.format.clone(),
            file: path.display().to_string(),
            hash: RequestHash::new("", "", operation, &[], &body, None),
            items: (0..count).collect(),
        }
    }
}

/// Returns the failed and canceled items of a queue, or of the last one if its id is empty.
async fn failed_items(session: &Session, source: &QueueSource, queue: &str) -> Result<Vec<usize>> {
    let entries = session.submitted().await?;
    let mut queues = entries.iter().filter_map(|entry| match &entry.resource {
        Some(ResourceId::Queue(id)) => {
            let source = serde_json::from_value::<QueueSource>(entry.source.clone()?);
            Some((id.as_str(), source.ok()))
        }
        _ => None,
    });
    let is_same = |it: &QueueSource| it.format == source.format && it.file == source.file;
    let found = match queue {
        "" => queues.find(|(_, known)| known.as_ref().is_some_and(is_same)),
        queue => queues.find(|(id, _)| *id == queue).or(Some((queue, None))),
    };
    let (id, known) = found.ok_or_else(|| {
        let why = "this machine has not submitted a queue of this Format and file";
        Failure::usage(why).hint("pass its id: --retry-failed=QUEUE_ID")
    })?;
    if known.as_ref().is_some_and(|known| known.hash != source.hash) {
        let id = sanitize(id);
        let why = format!("the file or a flag has changed since the queue {id} was submitted");
        return Err(Failure::usage(why).hint(
            "put the changed rows into a file of their own, and submit that: this whole file without \
             --retry-failed would pay again for the rows that completed",
        ));
    }
    let client = session.access::<Developer>()?.client;
    let queue = client.queues().handle(id).get().await?;
    if queue.items.iter().any(|item| !item.status.is_terminal()) {
        let id = id.to_owned();
        return Err(Failure::usage("the queue has not ended").hint(
            Suggestion::from("wait for it with: ").svc(["queue".to_owned(), "wait".to_owned(), id]),
        ));
    }
    let places = known.map_or_else(|| source.items.clone(), |known| known.items);
    if places.len() != queue.items.len() {
        let (count, given) = (queue.items.len(), places.len());
        return Err(Failure::usage(format!("the queue has {count} items, and the file {given}")));
    }
    let is_failed =
        |item: &&QueueItem| matches!(item.status, RunStatus::Failed | RunStatus::Canceled);
    let failed = queue.items.iter().zip(0..).filter(|(item, _)| is_failed(item));
    let indexes = failed.map(|(item, position)| {
        item.index.and_then(|index| usize::try_from(index).ok()).unwrap_or(position)
    });
    Ok(indexes.filter_map(|index| places.get(index).copied()).collect())
}

fn body_of(session: &Session, args: &Bulk) -> Result<Map<String, Value>> {
    check_single_stdin_reader(&[
        ("--input", args.input.as_deref().and_then(Path::to_str)),
        ("--instruction", args.instruction.as_deref()),
        ("--output-schema", args.fields.output_schema.as_deref()),
        ("--response-format", args.fields.response_format.as_deref()),
    ])?;
    let defaults = defaults(args)?;
    let (mut whole, items) = match (&args.input, items_param(args)) {
        (Some(path), None) => {
            let options = ColumnOptions {
                ignored: &args.ignore_column,
                inputs: &args.input_column,
                printer: &session.printer,
            };
            items::read(path, &options)?
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
        let source = args.input.as_ref().map(|path| path.display().to_string());
        let (source, count) = (source.unwrap_or_else(|| "--param items".to_owned()), items.len());
        let why =
            format!("invalid number of items in {source}: {count}, expected {least} to {most}");
        return Err(Failure::usage(why));
    }
    let (mut bodies, mut invalid) = (Vec::new(), None);
    for (number, item) in (1..).zip(items) {
        let context = format!("item {number} ({})", item.location);
        match with_defaults(item, &defaults).map_err(|failure| failure.context(context)) {
            Ok(fields) => bodies.push(Value::Object(fields)),
            Err(failure) => {
                invalid = Some(match invalid {
                    None => failure,
                    Some(first) => Failure::issue(first, failure.headline()),
                });
            }
        }
    }
    if let Some(invalid) = invalid {
        return Err(invalid);
    }
    whole.insert(ITEMS.to_owned(), bodies.into());
    let mut body = RequestBody::from_fields(whole);
    body.set("concurrency", args.concurrency)?;
    let body = body.finish()?;
    let concurrency = body.get("concurrency");
    if let Some(concurrency) = concurrency
        && !concurrency.as_u64().is_some_and(|it| BULK_CONCURRENCY_RANGE.contains(&it))
    {
        let (least, most) = (BULK_CONCURRENCY_RANGE.start(), BULK_CONCURRENCY_RANGE.end());
        let why = format!("invalid concurrency `{concurrency}`: expected {least} to {most}");
        return Err(Failure::usage(why));
    }
    Ok(body)
}

fn items_param(args: &Bulk) -> Option<&Value> {
    let param = args.params.iter().find(|param| param.name == ITEMS);
    param.map(|param| &param.value)
}

fn defaults(args: &Bulk) -> Result<Map<String, Value>> {
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
    let body = body.finish()?;
    run_body::validate_cap(&body)?;
    Ok(body)
}

/// Returns the fields of an item, with defaults for those that it does not set.
fn with_defaults(item: BulkItem, defaults: &Map<String, Value>) -> Result<Map<String, Value>> {
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
