//! Request bodies of runs, built from flags and validated before they are sent.

use std::path::Path;

use serde_json::{Map, Value, json};
use svc_sdk::contract::limits::MAX_SPEND_CAP_USD;
use svc_sdk::types::{OutputSchema, Usd};

use crate::args::{FormatFields, InstructionArgs, RunArgs};
use crate::error::{Failure, Result};
use crate::input::{check_single_stdin_reader, read_json_or_file, read_text};
use crate::request::body::{RequestBody, is_media_url};
use crate::session::Session;

const CAP_FIELD: &str = "generation_spend_cap_usd";
/// Fields of which a Format run needs at least one.
const CONTENT_FIELDS: [&str; 4] = ["instruction", "input", "previous_run_id", "attachments"];

pub(crate) fn from_args(args: &RunArgs, instruction: &InstructionArgs) -> Result<RequestBody> {
    let instruction = instruction.given();
    let communication = args.communication.communication.as_deref();
    check_single_stdin_reader(&[
        ("--input", args.input.as_deref().and_then(Path::to_str)),
        ("--instruction", instruction),
        ("--communication", communication),
    ])?;
    let mut body = RequestBody::from_input(args.input.as_deref())?;
    let instruction = instruction.map(|text| read_text("--instruction", text)).transpose()?;
    body.set("instruction", instruction)?;
    body.params(&args.params)?;
    let communication =
        communication.map(|given| read_json_or_file("--communication", given)).transpose()?;
    body.flags(&args.communication)?.with("communication", communication)
}

pub(crate) fn format_fields(args: &FormatFields) -> Result<Map<String, Value>> {
    let attachments = args.attachments.iter();
    let attachments = attachments.map(|attachment| match attachment.strip_prefix("asset:") {
        Some(id) => json!({ "asset_id": id }),
        None => json!({ "url": attachment }),
    });
    let attachments: Vec<Value> = attachments.collect();
    let read = |flag: &str, given: &Option<String>| {
        let given = given.as_ref();
        given.map(|given| read_json_or_file(flag, given)).transpose()
    };
    let body = RequestBody::default()
        .flags(args)?
        .with("attachments", Some(attachments).filter(|items| !items.is_empty()))?
        .with("output_schema", read("--output-schema", &args.output_schema)?)?
        .with("response_format", read("--response-format", &args.response_format)?)?
        .with(CAP_FIELD, args.cap.cap.map(usd_number))?;
    Ok(body.fields)
}

pub(crate) fn usd_number(amount: Usd) -> Value {
    let text = amount.to_string();
    let text = text.trim_end_matches('0').trim_end_matches('.');
    serde_json::from_str(text).unwrap_or_else(|_| amount.to_string().into())
}

pub(crate) fn validate_format(body: &Map<String, Value>) -> Result {
    if !CONTENT_FIELDS.iter().any(|name| body.contains_key(*name)) {
        return Err(Failure::usage("the run has no input")
            .hint("pass --instruction, --attach, --continue, or --param 'input={…}'"));
    }
    if body.contains_key("output_schema") && body.contains_key("response_format") {
        return Err(Failure::usage(
            "`output_schema` and `response_format` cannot be used together",
        ));
    }
    if let Some(schema) = body.get("output_schema")
        && let Err(error) = OutputSchema::new(schema.clone())
    {
        return Err(Failure::usage(error.to_string()).for_field("output_schema"));
    }
    let attachments = body.get("attachments").and_then(Value::as_array);
    for attachment in attachments.into_iter().flatten() {
        validate_attachment(attachment)?;
    }
    validate_cap(body)
}

pub(crate) fn validate_cap(body: &Map<String, Value>) -> Result {
    let Some(cap) = body.get(CAP_FIELD) else { return Ok(()) };
    let max_cap = i64::try_from(MAX_SPEND_CAP_USD).unwrap_or(i64::MAX);
    let max_cap = Usd::from_micros(1_000_000).checked_mul(max_cap).unwrap_or_default();
    let amount: Option<Usd> =
        cap.is_number().then(|| serde_json::from_value(cap.clone()).ok()).flatten();
    match amount {
        Some(amount) if amount > Usd::ZERO && amount <= max_cap => Ok(()),
        _ => Err(Failure::usage(format!(
            "invalid `{CAP_FIELD}` `{cap}`: expected a number of dollars above 0 and at most \
             {MAX_SPEND_CAP_USD}, such as 2.50"
        ))
        .for_field(CAP_FIELD)),
    }
}

fn validate_attachment(attachment: &Value) -> Result {
    let asset = attachment.get("asset_id").and_then(Value::as_str);
    let url = attachment.get("url").and_then(Value::as_str);
    match (asset, url) {
        (Some(id), None) if !id.is_empty() => Ok(()),
        (None, Some(url)) if is_media_url(url) => Ok(()),
        _ => Err(Failure::usage(format!(
            "invalid attachment {attachment}: expected an https:// URL or asset:ID"
        ))),
    }
}

/// Warns of what the service is known not to support in an output schema. The service decides.
pub(crate) fn warn_about_schema(session: &Session, body: &Map<String, Value>) {
    let schema = body.get("output_schema").filter(|schema| schema.is_object());
    for violation in schema.map(OutputSchema::validate).unwrap_or_default() {
        session.printer.warn(&format!("output schema: {violation}"));
    }
}
