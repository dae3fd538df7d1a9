//! What a tool does: the operation behind it, as if it had been asked for by its own path.

use http::HeaderMap;
use serde_json::{Map, Value, json};
use svc_sdk::contract::{Budget, Operation};
use svc_sdk::types::Usd;

use super::arguments::Arguments;
use super::request::Exchange;
use super::tool_action::Does;
use super::tools::Tool;
use crate::api::api_error::ApiError;
use crate::api::dispatch::dispatch;
use crate::api::request::Request;
use crate::api::request_checks;
use crate::engine::runs::RunKind;

/// An operation, and what it is asked for.
struct Wanted {
    operation: Operation,
    segments: Vec<String>,
    headers: HeaderMap,
    body: Option<Value>,
    max_spend: Option<Usd>,
}

impl Wanted {
    fn read(operation: Operation, segments: Vec<String>) -> Self {
        Self {
            operation,
            segments,
            headers: HeaderMap::new(),
            body: None,
            max_spend: None,
        }
    }

    fn create(
        operation: Operation,
        segments: Vec<String>,
        mut arguments: Arguments,
    ) -> Result<Self, ApiError> {
        Ok(Self {
            operation,
            segments,
            headers: arguments.take_key()?,
            max_spend: arguments.take_max_spend()?,
            body: Some(arguments.into_body()),
        })
    }
}

/// Does what the tool does, and gives its structured content. What makes something spends one of
/// the key's writes, at the place where the operation's own request would have.
pub(super) fn call_tool(
    exchange: &mut Exchange<'_>,
    tool: &Tool,
    arguments: Map<String, Value>,
) -> Result<Value, ApiError> {
    if tool.is_paid() {
        request_checks::acquire(exchange.state, exchange.caller, Budget::Write)?;
    }
    let arguments = Arguments::of(tool, arguments)?;
    let wanted = wanted(exchange, tool, arguments)?;
    request_checks::check_scope(exchange.call.host, wanted.operation, exchange.caller)?;
    let answer = dispatch(&mut Request {
        state: exchange.state,
        hosts: exchange.hosts,
        host: exchange.call.host,
        operation: wanted.operation,
        segments: wanted.segments,
        query: "",
        headers: &wanted.headers,
        body: wanted.body,
        caller: Some(exchange.caller.clone()),
        request_id: exchange.request_id,
        max_spend: wanted.max_spend,
    })?;
    Ok(structured(tool.does, answer.body))
}

fn wanted(
    exchange: &Exchange<'_>,
    tool: &Tool,
    mut arguments: Arguments,
) -> Result<Wanted, ApiError> {
    match tool.does {
        Does::Submit(operation) => Wanted::create(operation, Vec::new(), arguments),
        Does::RunFormat => {
            let format = arguments.take_id("format_id")?;
            let (operation, segments) = match format.split_once('/') {
                Some((handle, slug)) => (
                    Operation::FormatsBySlugRunsCreate,
                    vec![handle.to_owned(), slug.to_owned()],
                ),
                None => (Operation::FormatsRunsCreate, vec![format]),
            };
            Wanted::create(operation, segments, arguments)
        }
        Does::Complete => Wanted::create(Operation::AgentCompletionsCreate, Vec::new(), arguments),
        Does::ReadJob(operation) => Ok(Wanted::read(operation, vec![arguments.take_id("job_id")?])),
        Does::RunStatus | Does::RunResult => {
            let id = arguments.take_id("run_id")?;
            let kind = kind_of(exchange, &id, arguments.take_text("kind")?)?;
            let operation = match (kind, tool.does) {
                (RunKind::Format, Does::RunStatus) => Operation::FormatRunsStatus,
                (RunKind::Format, _) => Operation::FormatRunsResult,
                (RunKind::Agent, Does::RunStatus) => Operation::AgentRunsStatus,
                (RunKind::Agent, _) => Operation::AgentRunsResult,
                (RunKind::Action, Does::RunStatus) => Operation::ActionRunsStatus,
                (RunKind::Action, _) => Operation::ActionRunsResult,
            };
            Ok(Wanted::read(operation, vec![id]))
        }
        Does::Read(operation, _) => Ok(Wanted::read(operation, Vec::new())),
    }
}

/// The kind of a run: as it is said, else as it is. A run that is not there is looked for among
/// those of Formats.
fn kind_of(
    exchange: &Exchange<'_>,
    id: &str,
    caption_text: Option<String>,
) -> Result<RunKind, ApiError> {
    match caption_text.as_deref() {
        Some("format") => Ok(RunKind::Format),
        Some("agent") => Ok(RunKind::Agent),
        Some("action") => Ok(RunKind::Action),
        Some(_) => Err(ApiError::field(
            "kind",
            "must be one of format, agent, action",
        )),
        None => {
            let run = exchange.state.runs.by_id(id);
            let ours = run.filter(|run| run.config.workspace == exchange.caller.workspace);
            Ok(ours.map_or(RunKind::Format, |run| run.config.kind))
        }
    }
}

/// The structured content, which is always an object: what stood in `data`.
fn structured(does: Does, mut body: Value) -> Value {
    let data = body.get_mut("data").map(Value::take).unwrap_or_default();
    match (does, data) {
        (Does::Submit(_), Value::Object(mut receipt)) => {
            let id = receipt.get("job").and_then(|job| job.get("id")).cloned();
            receipt.insert("job_id".to_owned(), id.unwrap_or_default());
            Value::Object(receipt)
        }
        (Does::Read(_, Some(name)), items) => {
            json!({name: items, "next_cursor": body.get("next_cursor")})
        }
        (_, data) => data,
    }
}
