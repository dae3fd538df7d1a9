//! The methods of the protocol, and what its revisions want in their results.

use serde_json::{Map, Value, json};

use super::message::{RpcError, RpcRequest};
use super::request::McpRequest;
use super::revision::{PREVIOUS, Revision, SUPPORTED};
use super::tools::{TOOLS, Tool};
use super::{call_tool, results};

/// How long a client may rely on the list of tools, which never changes.
const CACHE_TTL_MS: u64 = 300_000;

/// What a model is told of the server as a whole.
const INSTRUCTIONS: &str = "Generates images, videos and music, and runs agents. A tool that \
generates answers at once with a job_id or run_id; ask jobs_status or run_status no sooner than \
next_poll_after_seconds, until terminal is true, then jobs_result or run_result. Set \
max_spend_usd to limit what a call may cost, and repeat a call whose outcome is unknown with the \
same idempotency_key.";

/// Answers a request.
pub(super) fn answer(
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
        Revision::Stateless => complete(result),
    })
}

/// What the current revision has in every result.
fn complete(mut result: Value) -> Value {
    if let Some(fields) = result.as_object_mut() {
        fields.insert("resultType".to_owned(), json!("complete"));
        let meta = json!({"io.modelcontextprotocol/serverInfo": server_info()});
        fields.insert("_meta".to_owned(), meta);
    }
    result
}

fn initialize(params: &Map<String, Value>) -> Result<Value, RpcError> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).is_some();
    let client = params.get("clientInfo");
    let of_client = |name: &str| client.and_then(|client| client.get(name));
    let whole = text(params.get("protocolVersion"))
        && params.get("capabilities").is_some_and(Value::is_object)
        && text(of_client("name"))
        && text(of_client("version"));
    if !whole {
        let message = "initialize takes `protocolVersion`, `capabilities` and `clientInfo` with \
`name` and `version`.";
        return Err(RpcError::invalid_params(message));
    }
    // Whatever is asked for, this is what there is; a client that cannot speak it goes away.
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
        return Err(RpcError::invalid_params("There is one page of tools only."));
    }
    let tools: Vec<Value> = TOOLS.iter().map(Tool::view).collect();
    let mut result = json!({"tools": tools});
    if let (Revision::Stateless, Some(fields)) = (revision, result.as_object_mut()) {
        fields.insert("ttlMs".to_owned(), json!(CACHE_TTL_MS));
        fields.insert("cacheScope".to_owned(), json!("public"));
    }
    Ok(result)
}

fn call(request: &mut McpRequest<'_>, params: &Map<String, Value>) -> Result<Value, RpcError> {
    let Some(name) = params.get("name").and_then(Value::as_str) else {
        return Err(RpcError::invalid_params("`name` must be that of a tool."));
    };
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        let name: String = name.chars().take(100).collect();
        return Err(RpcError::invalid_params(format!("Unknown tool: {name}")));
    };
    let arguments = match params.get("arguments") {
        None => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(_) => return Err(RpcError::invalid_params("`arguments` must be an object.")),
    };
    let (host, request_id) = (request.call.host, request.request_id);
    Ok(match call_tool::call_tool(request, tool, arguments) {
        Ok(structured) => results::success(structured),
        // What goes wrong in a tool is for the model to read.
        Err(error) => results::error(&error.body(host, request_id)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::mcp::revision::CURRENT;

    #[test]
    fn initialize_answers_the_revision_that_has_it() {
        let params = |version: &str| {
            let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
            params.as_object().unwrap().clone()
        };
        for asked in [PREVIOUS, "2025-06-18", CURRENT] {
            let result = initialize(&params(asked)).unwrap();
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
    fn discover_names_both_revisions() {
        let result = complete(discover());
        assert_eq!(result["supportedVersions"], json!([CURRENT, PREVIOUS]));
        assert_eq!(result["resultType"], "complete");
        let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(server["name"], "svc-mock-server");
    }
}
