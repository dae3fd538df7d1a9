//! Methods of the protocol, and the differences between its revisions in their results.

use serde_json::{Map, Value, json};

use super::message::{RpcError, RpcRequest};
use super::request::McpRequest;
use super::revision::{PREVIOUS, Revision, SUPPORTED};
use super::tools::{TOOLS, Tool};
use super::{call_tool, results};
use crate::api::json_object::set_field;

/// How long clients may cache the list of tools, which never changes.
const CACHE_TTL_MS: u64 = 300_000;

/// The description of the server for models.
const INSTRUCTIONS: &str = "Generates images, videos and music, and runs agents. Tools that \
generate return a job_id or run_id immediately. Poll jobs_status or run_status, waiting \
next_poll_after_seconds between polls, until terminal is true, then call jobs_result or \
run_result. Set max_spend_usd to limit the cost of a call. If the outcome of a call is unknown, \
repeat it with the same idempotency_key.";

/// Handles a request and returns its result.
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
    // The server offers the only revision that has this method, whichever the client requested. A
    // client that does not support it disconnects.
    Ok(json!({
        "protocolVersion": PREVIOUS,
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
        return Err(RpcError::invalid_params(
            "`name` must be the name of a tool",
        ));
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
        Ok(structured) => results::success(structured),
        // Errors of tools are results, so that the model can read them.
        Err(error) => results::error(&error.body(host, request_id)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::mcp::revision::CURRENT;

    #[test]
    fn initialize_always_offers_the_previous_revision() {
        let params = |version: &str| {
            let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
            params.as_object().unwrap().clone()
        };
        for requested in [PREVIOUS, "2025-06-18", CURRENT] {
            let result = initialize(&params(requested)).unwrap();
            assert_eq!(result["protocolVersion"], PREVIOUS);
            assert!(result.get("resultType").is_none());
        }
        for missing in ["protocolVersion", "capabilities", "clientInfo"] {
            let mut params = params(PREVIOUS);
            params.remove(missing);
            assert!(initialize(&params).is_err(), "{missing}");
        }
    }

    #[test]
    fn discover_lists_both_revisions() {
        let result = with_stateless_fields(discover());
        assert_eq!(result["supportedVersions"], json!([CURRENT, PREVIOUS]));
        assert_eq!(result["resultType"], "complete");
        let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(server["name"], "svc-mock-server");
    }
}
