//! The MCP endpoint: JSON-RPC by POST, answered with JSON, in the protocol's current revision and
//! the one before. Nothing is kept from one request to the next: there are no sessions.
//!
//! The JSON-RPC request is a read of the key's budget. What a tool then does is done as the
//! operation would have been by its own path: same checks, same idempotency keys, same errors.

mod arguments;
mod call_tool;
mod message;
mod methods;
mod request;
mod results;
mod revision;
mod schemas;
mod tool_action;
mod tools;
mod transport;

use bytes::Bytes;
use http::Response;
use serde_json::Value;

use self::message::{Message, RpcError};
pub(super) use self::request::McpRequest;
use self::revision::Revision;
use super::request_checks;
use super::response::{Headers, error_response, json_response, set};

/// `POST {mcp_url}`; `headers` tell how the key stands with its reads.
pub(super) fn answer(request: &mut McpRequest<'_>, headers: &Headers) -> Response<Bytes> {
    if let Err(error) = request_checks::check_body(request.call) {
        return error_response(request.call.host, request.request_id, headers, &error);
    }
    let http_request = &request.call.request;
    if let Err(rejected) = transport::check(http_request.headers(), request.hosts) {
        let body = rejected.error.body(&Value::Null);
        return json_response(rejected.status, request.request_id, headers, &body);
    }
    let message = match message::read(http_request.body()) {
        Ok(message) => message,
        Err((id, error)) => {
            return json_response(400, request.request_id, headers, &error.body(&id));
        }
    };
    let rpc_request = match message {
        Message::Request(rpc_request) => rpc_request,
        // There is nothing here that a notification or a late answer could change.
        Message::Notification | Message::Response => return accepted(request.request_id, headers),
    };
    let revision = Revision::detect(&rpc_request, http_request.headers());
    let status_of = |error: &RpcError| match &revision {
        Ok(Revision::Handshake) => 200,
        _ => error.status(),
    };
    let outcome = match &revision {
        Ok(revision) => methods::answer(request, *revision, &rpc_request),
        Err(error) => Err(error.clone()),
    };
    let (status, body) = match outcome {
        Ok(result) => (200, message::result(&rpc_request.id, result)),
        Err(error) => (status_of(&error), error.body(&rpc_request.id)),
    };
    json_response(status, request.request_id, headers, &body)
}

/// `202`, without a body.
fn accepted(request_id: &str, headers: &Headers) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = http::StatusCode::ACCEPTED;
    set(&mut response, "x-svc-request-id", request_id);
    for (name, value) in headers {
        set(&mut response, name, value);
    }
    response
}
