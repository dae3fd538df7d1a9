//! Tool calls, which run the tool's operation as if it had been requested by its own path.

use http::HeaderMap;
use serde_json::{Map, Value, json};
use svc_sdk::contract::{Operation, RateLimitBucket};
use svc_sdk::types::Usd;

use super::McpRequest;
use super::arguments::Arguments;
use super::schemas::ToolAction;
use super::tools::Tool;
use crate::api::api_error::ApiError;
use crate::api::dispatch::dispatch;
use crate::api::request::{Request, idempotency_key};
use crate::api::request_checks;
use crate::api::runs::operations;
use crate::engine::runs::RunKind;

/// An operation and the parts of its request.
struct OperationCall {
    operation: Operation,
    segments: Vec<String>,
    headers: HeaderMap,
    body: Option<Value>,
    max_spend: Option<Usd>,
}

impl OperationCall {
    fn read(operation: Operation, segments: Vec<String>) -> Self {
        Self { operation, segments, headers: HeaderMap::new(), body: None, max_spend: None }
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

/// Calls a tool and returns the structured content of its result. A paid tool counts as a write of
/// the key, like the request that its operation would have.
pub(super) fn call_tool(
    request: &mut McpRequest<'_>,
    tool: &Tool,
    arguments: Map<String, Value>,
) -> Result<Value, ApiError> {
    if tool.is_paid() {
        request_checks::acquire(
            request.state,
            request.hosts,
            request.caller,
            RateLimitBucket::Write,
        )?;
    }
    // As over HTTP, the scope is judged before the arguments, unless these decide about the operation.
    if let Some(operation) = tool.action.operation() {
        request_checks::check_scope(request.call.host, operation, request.caller)?;
    }
    let arguments = Arguments::parse(tool, arguments)?;
    let operation_call = operation_call(request, tool, arguments)?;
    request_checks::check_scope(request.call.host, operation_call.operation, request.caller)?;
    // As over HTTP, a malformed key is an error even for operations that ignore keys.
    idempotency_key(&operation_call.headers)?;
    let undocumented_keys = request.state.undocumented_keys;
    let response = dispatch(&mut Request {
        state: request.state,
        hosts: request.hosts,
        host: request.call.host,
        operation: operation_call.operation,
        segments: operation_call.segments,
        query: "",
        headers: &operation_call.headers,
        body: operation_call.body,
        caller: Some(request.caller.clone()),
        request_id: request.request_id,
        undocumented_keys,
        max_spend: operation_call.max_spend,
    })?;
    let body = serde_json::from_slice(&response.body).unwrap_or_default();
    Ok(structured_content(tool.action, body))
}

fn operation_call(
    request: &McpRequest<'_>,
    tool: &Tool,
    mut arguments: Arguments,
) -> Result<OperationCall, ApiError> {
    match tool.action {
        ToolAction::Submit(operation) => OperationCall::create(operation, Vec::new(), arguments),
        ToolAction::RunFormat => {
            let format = arguments.take_id("format_id")?;
            let (operation, segments) = match format.split_once('/') {
                Some((handle, slug)) => {
                    (Operation::FormatsBySlugRunsCreate, vec![handle.to_owned(), slug.to_owned()])
                }
                None => (Operation::FormatsRunsCreate, vec![format]),
            };
            OperationCall::create(operation, segments, arguments)
        }
        ToolAction::Complete => {
            OperationCall::create(Operation::AgentCompletionsCreate, Vec::new(), arguments)
        }
        ToolAction::ReadJob(operation) => {
            Ok(OperationCall::read(operation, vec![arguments.take_id("job_id")?]))
        }
        ToolAction::RunStatus | ToolAction::RunResult => {
            let id = arguments.take_id("run_id")?;
            let kind = run_kind(request, &id, arguments.take_text("kind")?)?;
            let [status, result, _] = operations(kind);
            let operation = match tool.action {
                ToolAction::RunStatus => status,
                _ => result,
            };
            Ok(OperationCall::read(operation, vec![id]))
        }
        ToolAction::Read(operation, _) => Ok(OperationCall::read(operation, Vec::new())),
    }
}

/// Returns the kind of a run: the requested one, or else the actual one. An unknown run is assumed
/// to be a Format run, so that its operation returns the error.
fn run_kind(
    request: &McpRequest<'_>,
    id: &str,
    requested_kind: Option<String>,
) -> Result<RunKind, ApiError> {
    match requested_kind.as_deref() {
        Some("format") => Ok(RunKind::Format),
        Some("agent") => Ok(RunKind::Agent),
        Some("action") => Ok(RunKind::Action),
        Some(_) => Err(ApiError::field("kind", "must be one of format, agent, action")),
        None => {
            let run = request.state.runs.by_id(id);
            let run = run.filter(|run| *run.config.workspace == *request.caller.workspace);
            Ok(run.map_or(RunKind::Format, |run| run.config.kind))
        }
    }
}

/// Returns the value of `data` as structured content, which must be an object.
fn structured_content(action: ToolAction, mut body: Value) -> Value {
    let data = body.get_mut("data").map(Value::take).unwrap_or_default();
    match (action, data) {
        (ToolAction::Submit(_), Value::Object(mut receipt)) => {
            let id = receipt.get("job").and_then(|job| job.get("id")).cloned();
            receipt.insert("job_id".to_owned(), id.unwrap_or_default());
            Value::Object(receipt)
        }
        (ToolAction::Read(_, Some(name)), items) => {
            json!({name: items, "next_cursor": body.get("next_cursor")})
        }
        (_, data) => data,
    }
}
