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
pub(super) use self::request::Exchange;
use self::revision::Era;
use super::request_checks;
use super::response::{Headers, error_response, json_response, set};

/// `POST {mcp_url}`; `headers` tell how the key stands with its reads.
pub(super) fn answer(exchange: &mut Exchange<'_>, headers: &Headers) -> Response<Bytes> {
    if let Err(failure) = request_checks::check_body(exchange.call) {
        return error_response(exchange.call.host, exchange.request_id, headers, &failure);
    }
    let request = &exchange.call.request;
    if let Err(refused) = transport::check(request.headers(), exchange.hosts) {
        let body = refused.error.body(&Value::Null);
        return json_response(refused.status, exchange.request_id, headers, &body);
    }
    let message = match message::read(request.body()) {
        Ok(message) => message,
        Err((id, error)) => {
            return json_response(400, exchange.request_id, headers, &error.body(&id));
        }
    };
    let ask = match message {
        Message::Request(ask) => ask,
        // There is nothing here that a notification or a late answer could change.
        Message::Notification | Message::Response => return accepted(exchange.request_id, headers),
    };
    let era = Era::of(&ask, request.headers());
    let status_of = |error: &RpcError| match &era {
        Ok(Era::Handshake) => 200,
        _ => error.status(),
    };
    let outcome = match &era {
        Ok(era) => methods::answer(exchange, *era, &ask),
        Err(error) => Err(error.clone()),
    };
    let (status, body) = match outcome {
        Ok(result) => (200, message::result(&ask.id, result)),
        Err(error) => (status_of(&error), error.body(&ask.id)),
    };
    json_response(status, exchange.request_id, headers, &body)
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
