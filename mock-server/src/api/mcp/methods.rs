//! Methods of the protocol, and the differences between its revisions in their results.

use serde_json::{Map, Value, json};

use super::message::{RpcError, RpcRequest};
use super::revision::{HANDSHAKE, Revision, SUPPORTED};
use super::tools::{TOOLS, Tool};
use super::{McpRequest, call_tool};
use crate::json_object::set_field;

/// How long clients may cache the list of tools, which never changes.
const CACHE_TTL_MS: u64 = 300_000;

/// The description of the server for models.
const INSTRUCTIONS: &str = "Generates images, videos and music, and runs agents. Tools that \
generate return a job_id or run_id immediately. Poll jobs_status or run_status, waiting \
next_poll_after_seconds between polls, until terminal is true, then call jobs_result or \
run_result. Set max_spend_usd to limit the cost of a call. If the outcome of format_run or \
agent_completion is unknown, repeat the call with the same idempotency_key. Do not repeat other \
calls that cost money, which may be charged again: ask the user.";

pub(super) fn handle(
    request: &mut McpRequest<'_>,
    revision: Revision,
    rpc_request: &RpcRequest,
) -> Result<Value, RpcError> {
    let result = match (rpc_request.method.as_str(), revision) {
        ("initialize", Revision::Handshake) => initialize(&rpc_request.params)?,
        ("ping", Revision::Handshake) => json!({}),
        ("server/discover", Revision::Stateless) => discover(),
        ("tools/list", _) => list(&rpc_request.params, revision)?,
        ("tools/call", _) => call(request, &rpc_request.params)?,
        (method, _) => return Err(RpcError::method_not_found(method)),
    };
    Ok(match revision {
        Revision::Handshake => result,
        Revision::Stateless => with_stateless_fields(result),
    })
}

/// Adds the fields that every result of the stateless revision has.
fn with_stateless_fields(mut result: Value) -> Value {
    set_field(&mut result, "resultType", json!("complete"));
    let meta = json!({"io.modelcontextprotocol/serverInfo": server_info()});
    set_field(&mut result, "_meta", meta);
    result
}

fn initialize(params: &Map<String, Value>) -> Result<Value, RpcError> {
    let client_field = |name: &str| params.get("clientInfo").and_then(|client| client.get(name));
    let is_valid = params.get("protocolVersion").is_some_and(Value::is_string)
        && params.get("capabilities").is_some_and(Value::is_object)
        && client_field("name").is_some_and(Value::is_string)
        && client_field("version").is_some_and(Value::is_string);
    if !is_valid {
        let message = "initialize requires `protocolVersion`, `capabilities`, and `clientInfo` with \
    `name` and `version`";
        return Err(RpcError::invalid_params(message));
    }
    // If the server does not support the revision that the client requests, it offers its newest one
    // that has this method. A client that does not support that disconnects.
    let requested = params.get("protocolVersion").and_then(Value::as_str);
    let [newest, ..] = HANDSHAKE;
    let revision = HANDSHAKE.into_iter().find(|known| Some(*known) == requested).unwrap_or(newest);
    Ok(json!({
        "protocolVersion": revision,
        "capabilities": capabilities(),
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    }))
}

fn discover() -> Value {
    json!({
        "supportedVersions": SUPPORTED,
        "capabilities": capabilities(),
        "instructions": INSTRUCTIONS,
        "ttlMs": CACHE_TTL_MS,
        "cacheScope": "public",
    })
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": false}})
}

fn server_info() -> Value {
    json!({
        "name": "svc-mock-server",
        "title": "svc (mock)",
        "version": env!("CARGO_PKG_VERSION"),
    })
}

fn list(params: &Map<String, Value>, revision: Revision) -> Result<Value, RpcError> {
    if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
        return Err(RpcError::invalid_params(
            "invalid cursor: the list of tools has a single page",
        ));
    }
    let tools: Vec<Value> = TOOLS.iter().map(Tool::view).collect();
    let mut result = json!({"tools": tools});
    if revision == Revision::Stateless {
        set_field(&mut result, "ttlMs", json!(CACHE_TTL_MS));
        set_field(&mut result, "cacheScope", json!("public"));
    }
    Ok(result)
}

fn call(request: &mut McpRequest<'_>, params: &Map<String, Value>) -> Result<Value, RpcError> {
    let Some(name) = params.get("name").and_then(Value::as_str) else {
        return Err(RpcError::invalid_params("`name` must be the name of a tool"));
    };
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        let name: String = name.chars().take(100).collect();
        return Err(RpcError::invalid_params(format!("unknown tool {name:?}")));
    };
    let arguments = match params.get("arguments") {
        None => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(_) => return Err(RpcError::invalid_params("`arguments` must be an object")),
    };
    let (host, request_id) = (request.call.host, request.request_id);
    Ok(match call_tool::call_tool(request, tool, arguments) {
        Ok(structured) => successful_call(structured),
        // Errors of tools are results, so that the model can read them.
        Err(error) => failed_call(&error.body(host, request_id)),
    })
}

/// Returns the result of a successful call: structured content, the same as text for clients that
/// do not support it, and a link for each file.
fn successful_call(structured: Value) -> Value {
    let mut content = vec![text(&structured)];
    content.extend(links(&structured));
    json!({"content": content, "structuredContent": structured, "isError": false})
}

/// Returns the result of a failed call: the error envelope as text. It has no structured content,
/// because clients validate that against the output schema even for errors.
fn failed_call(envelope: &Value) -> Value {
    json!({"content": [text(envelope)], "isError": true})
}

fn text(value: &Value) -> Value {
    json!({"type": "text", "text": value.to_string()})
}

fn links(structured: &Value) -> Vec<Value> {
    let artifacts = structured.get("artifacts").and_then(Value::as_array);
    let link = |artifact: &Value| {
        let url = artifact.get("url")?.as_str()?;
        Some(json!({
            "type": "resource_link",
            "uri": url,
            "name": artifact.get("id")?,
            "mimeType": artifact.get("content_type")?,
        }))
    };
    artifacts.into_iter().flatten().filter_map(link).collect()
}
