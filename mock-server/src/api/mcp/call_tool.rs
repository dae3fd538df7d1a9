//! Tool calls, which run the tool's operation as if it had been requested by its own path.

use http::{HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};
use svc_sdk::contract::{Operation, RateLimitBucket};
use svc_sdk::types::Usd;

use super::McpRequest;
use super::schemas::ToolAction;
use super::tools::Tool;
use crate::api::api_error::ApiError;
use crate::api::dispatch::dispatch;
use crate::api::request::{Request, idempotency_key};
use crate::api::request_checks;
use crate::api::runs::operations;
use crate::engine::runs::RunKind;

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
    let mut arguments = Arguments::parse(tool, arguments)?;
    let (operation, segments) = target(request, tool.action, &mut arguments)?;
    request_checks::check_scope(request.call.host, operation, request.caller)?;
    let (mut headers, mut max_spend, mut body) = (HeaderMap::new(), None, None);
    if tool.is_paid() {
        headers = arguments.take_key()?;
        max_spend = arguments.take_max_spend()?;
        body = Some(Value::Object(arguments.0));
    }
    // As over HTTP, a malformed key is an error even for operations that ignore keys.
    idempotency_key(&headers)?;
    let response = dispatch(&mut Request {
        state: request.state,
        hosts: request.hosts,
        host: request.call.host,
        operation,
        segments: &segments,
        query: "",
        headers: &headers,
        body,
        caller: Some(request.caller),
        request_id: request.request_id,
        max_spend,
    })?;
    let body = serde_json::from_slice(&response.body).unwrap_or_default();
    Ok(structured_content(tool.action, body))
}

/// Returns the operation that a call runs, and the parameters in its path.
fn target(
    request: &McpRequest<'_>,
    action: ToolAction,
    arguments: &mut Arguments,
) -> Result<(Operation, Vec<String>), ApiError> {
    Ok(match action {
        ToolAction::Submit(operation) | ToolAction::Read(operation, _) => (operation, Vec::new()),
        ToolAction::Complete => (Operation::AgentCompletionsCreate, Vec::new()),
        ToolAction::RunFormat => {
            let format = arguments.take_id("format_id")?;
            match format.split_once('/') {
                Some((handle, slug)) => {
                    let segments = vec![handle.to_owned(), slug.to_owned()];
                    (Operation::FormatsBySlugRunsCreate, segments)
                }
                None => (Operation::FormatsRunsCreate, vec![format]),
            }
        }
        ToolAction::ReadJob(operation) => (operation, vec![arguments.take_id("job_id")?]),
        ToolAction::RunStatus | ToolAction::RunResult => {
            let id = arguments.take_id("run_id")?;
            let kind = run_kind(request, &id, arguments.take_text("kind")?)?;
            let [status, result, _] = operations(kind);
            (if action == ToolAction::RunStatus { status } else { result }, vec![id])
        }
    })
}

/// Returns the kind of a run: the requested one, or else the actual one. An unknown run is assumed
/// to be a Format run, so that its operation returns the error.
fn run_kind(
    request: &McpRequest<'_>,
    id: &str,
    requested_kind: Option<String>,
) -> Result<RunKind, ApiError> {
    let Some(name) = requested_kind else {
        let run = request.state.runs.by_id(id);
        let run = run.filter(|run| *run.config.workspace == *request.caller.workspace);
        return Ok(run.map_or(RunKind::Format, |run| run.config.kind));
    };
    let unknown = || ApiError::field("kind", "must be one of format, agent, action");
    RunKind::from_name(&name).ok_or_else(unknown)
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

#[derive(Clone, Debug, PartialEq)]
struct Arguments(Map<String, Value>);

impl Arguments {
    /// Returns the arguments if their names are known. The values are validated when they are read.
    fn parse(tool: &Tool, arguments: Map<String, Value>) -> Result<Self, ApiError> {
        let schema = tool.input_schema();
        let is_known = |name: &str| {
            schema.get("properties").is_some_and(|properties| properties.get(name).is_some())
        };
        match arguments.keys().find(|name| !is_known(name)) {
            Some(name) => {
                let problem = format!("is not an argument of {}", tool.name);
                Err(ApiError::field(name, problem))
            }
            None => Ok(Self(arguments)),
        }
    }

    fn take_id(&mut self, name: &str) -> Result<String, ApiError> {
        let id = self.take_text(name)?;
        id.filter(|id| !id.is_empty()).ok_or_else(|| ApiError::field(name, "is required"))
    }

    fn take_text(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(ApiError::field(name, "must be a string")),
        }
    }

    fn take_max_spend(&mut self) -> Result<Option<Usd>, ApiError> {
        let Some(max_spend) = self.0.remove("max_spend_usd") else { return Ok(None) };
        let amount = max_spend
            .as_number()
            .and_then(|amount| amount.to_string().parse().ok())
            .filter(|amount| *amount >= Usd::ZERO);
        let problem = "must be an amount in dollars, with at most six decimal places";
        let amount = amount.ok_or_else(|| ApiError::field("max_spend_usd", problem))?;
        Ok(Some(amount))
    }

    /// Removes the idempotency key and returns it as a request header.
    fn take_key(&mut self) -> Result<HeaderMap, ApiError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = self.take_text("idempotency_key")? {
            let problem = "must be 1 to 255 printable ASCII characters";
            let key = HeaderValue::from_str(&key)
                .map_err(|_| ApiError::field("idempotency_key", problem))?;
            headers.insert("idempotency-key", key);
        }
        Ok(headers)
    }
}
