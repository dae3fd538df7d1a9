//! `svc format bulk`: many runs as one queue.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value};
use svc_sdk::contract::Operation;
use svc_sdk::contract::limits::{BULK_CONCURRENCY, BULK_ITEMS};
use svc_sdk::handle::QueueResource;

use super::address::addressed;
use super::items::{self, Item};
use crate::args::{FormatFields, JsonField, SubmitOptions};
use crate::error::Failure;
use crate::input::{check_single_stdin_reader, read_text};
use crate::request_body::RequestBody;
use crate::request_body::run as run_body;
use crate::resource::ReceiptMode;
use crate::session::Session;
use crate::submit;
use crate::types::SubmitRequest;

/// The flags of `svc format bulk`.
#[derive(Args, Debug)]
pub(crate) struct Bulk {
    /// Its id, or its owner's handle and its slug.
    #[arg(value_name = "FORMAT_ID|HANDLE/SLUG")]
    format: String,
    /// The items: a .jsonl or .csv file, a whole body in a .json file, or - for JSONL on standard
    /// input.
    #[arg(
        long,
        visible_alias = "from",
        value_name = "FILE|-",
        required = true,
        help_heading = "Body"
    )]
    input: PathBuf,
    /// How many runs are at work at once, 1 to 16.
    #[arg(long, value_name = "N", help_heading = "Body")]
    concurrency: Option<u64>,
    /// What to do: TEXT, @FILE, or - for standard input.
    #[arg(long, value_name = "TEXT|@FILE|-", help_heading = "Body")]
    instruction: Option<String>,
    /// Any other field of the items, as JSON; may be repeated.
    #[arg(long = "param", value_name = "KEY=JSON", help_heading = "Body")]
    params: Vec<JsonField>,
    /// Where each run's terminal receipt is told (public HTTPS).
    #[arg(long, value_name = "URL", help_heading = "Body")]
    webhook_url: Option<String>,
    #[command(flatten)]
    fields: FormatFields,
    #[command(flatten)]
    options: SubmitOptions,
}

/// Runs it.
pub(super) async fn run(session: &Session, args: &Bulk) -> Result<(), Failure> {
    let (operation, segments) = addressed(
        &args.format,
        Operation::FormatsBulkCreate,
        Operation::FormatsBySlugBulkCreate,
    );
    let request = SubmitRequest {
        noun: "bulk queue",
        operation,
        segments,
        body: body_of(args)?,
    };
    submit::run::<QueueResource>(session, request, &args.options, ReceiptMode::default()).await
}

/// The body: each item with what the flags give to all.
fn body_of(args: &Bulk) -> Result<Map<String, Value>, Failure> {
    check_single_stdin_reader(&[
        ("--input", args.input.to_str()),
        ("--instruction", args.instruction.as_deref()),
        ("--output-schema", args.fields.output_schema.as_deref()),
        ("--response-format", args.fields.response_format.as_deref()),
    ])?;
    let defaults = defaults(args)?;
    let (mut whole, items) = items::read(&args.input)?;
    if !BULK_ITEMS.contains(&items.len()) {
        let (least, most) = (BULK_ITEMS.start(), BULK_ITEMS.end());
        return Err(Failure::usage(format!(
            "a queue has {least} to {most} items, and {} has {}",
            args.input.display(),
            items.len()
        )));
    }
    let items: Result<Vec<Value>, Failure> = items
        .into_iter()
        .enumerate()
        .map(|(index, item)| {
            let location = item.location.clone();
            whole_item(item, &defaults)
                .map(Value::Object)
                .map_err(|failure| failure.context(format!("item {index} ({location})")))
        })
        .collect();
    whole.insert("items".to_owned(), items?.into());
    let mut body = RequestBody::from_fields(whole);
    body.set("concurrency", args.concurrency)?;
    let body = body.finish()?;
    let concurrency = body.get("concurrency");
    if let Some(concurrency) = concurrency
        && !concurrency
            .as_u64()
            .is_some_and(|it| BULK_CONCURRENCY.contains(&it))
    {
        let (least, most) = (BULK_CONCURRENCY.start(), BULK_CONCURRENCY.end());
        return Err(Failure::usage(format!(
            "concurrency must be {least} to {most}, but is {concurrency}"
        )));
    }
    Ok(body)
}

fn defaults(args: &Bulk) -> Result<Map<String, Value>, Failure> {
    let mut body = RequestBody::default();
    let instruction = args.instruction.as_ref();
    let instruction = instruction
        .map(|text| read_text("--instruction", text))
        .transpose()?;
    body.set("instruction", instruction)?;
    body.set("webhook_url", args.webhook_url.clone())?;
    body.params(&args.params)?;
    for (name, value) in run_body::format_fields(&args.fields)? {
        body.set(&name, Some(value))?;
    }
    body.finish()
}

fn whole_item(item: Item, defaults: &Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    let mut fields = item.fields;
    // One form of the output is enough: an item that brings one needs none of all.
    let has_form = fields.contains_key("output_schema") || fields.contains_key("response_format");
    for (name, value) in defaults {
        let is_form = matches!(name.as_str(), "output_schema" | "response_format");
        if !(fields.contains_key(name) || is_form && has_form) {
            fields.insert(name.clone(), value.clone());
        }
    }
    let fields = RequestBody::from_fields(fields).finish()?;
    run_body::validate_format(&fields)?;
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_item_keeps_what_it_brings_and_gets_the_rest() {
        let item = |fields: Value| Item {
            location: "line 1".into(),
            fields: fields.as_object().cloned().unwrap(),
        };
        let defaults = json!({
            "instruction": "for all", "generation_spend_cap_usd": 2, "output_schema": {"type": "object"}
        });
        let defaults = defaults.as_object().unwrap();
        let whole = |fields| whole_item(item(fields), defaults).map(Value::Object);
        assert_eq!(
            whole(json!({"input": {"city": "Oslo"}})).unwrap(),
            json!({
                "input": {"city": "Oslo"}, "instruction": "for all", "generation_spend_cap_usd": 2,
                "output_schema": {"type": "object"}
            })
        );
        assert_eq!(
            whole(json!({"instruction": "own", "response_format": {"type": "text"}})).unwrap(),
            json!({
                "instruction": "own", "generation_spend_cap_usd": 2, "response_format": {"type": "text"}
            })
        );
        assert!(whole(json!({"user_id": "u"})).is_err());
        assert!(whole(json!({"generation_spend_cap_usd": 501})).is_err());
    }
}
