//! The MCP endpoint: JSON-RPC over HTTP `POST` with JSON responses, in the current revision of the
//! protocol and the previous one. The endpoint is stateless: there are no sessions.
//!
//! A JSON-RPC request counts as a read. A tool that it calls runs the operation as if it had been
//! requested by its own path: with the same checks, idempotency keys and errors.

mod call_tool;
mod message;
mod methods;
mod revision;
mod schemas;
mod tools;

use bytes::Bytes;
use http::{HeaderMap, Response};
use serde_json::Value;

use self::revision::Revision;
use super::request::idempotency_key;
use super::request_checks;
use super::response::{REQUEST_ID, error_response, json_response, set_header};
use crate::engine::keys::ApiKey;
use crate::engine::{HostRequest, Hosts, State};

/// A request that passed the checks, with the key of its caller.
pub(in crate::api) struct McpRequest<'a> {
    pub(in crate::api) state: &'a mut State,
    pub(in crate::api) hosts: &'a Hosts,
    pub(in crate::api) call: &'a HostRequest,
    pub(in crate::api) caller: &'a ApiKey,
    pub(in crate::api) request_id: &'a str,
}

/// Responds to `POST {mcp_url}`. `headers` are the rate limit headers of the response.
pub(super) fn respond(request: &mut McpRequest<'_>, headers: HeaderMap) -> Response<Bytes> {
    let headers_and_body = request_checks::check_body(request.call)
        .and_then(|()| idempotency_key(request.call.request.headers()));
    if let Err(error) = headers_and_body {
        return error_response(request.call.host, request.request_id, &headers, &error);
    }
    let http_request = &request.call.request;
    if let Err((status, error)) = revision::check_transport(http_request.headers(), request.hosts) {
        let body = error.body(&Value::Null);
        return json_response(status, request.request_id, headers, body.to_string());
    }
    let rpc_request = match message::read(http_request.body()) {
        Ok(Some(rpc_request)) => rpc_request,
        Ok(None) => return accepted(request.request_id, headers),
        Err((id, error)) => {
            return json_response(400, request.request_id, headers, error.body(&id).to_string());
        }
    };
    let revision = Revision::detect(&rpc_request, http_request.headers());
    let is_handshake = revision == Ok(Revision::Handshake);
    let result = revision.and_then(|revision| methods::handle(request, revision, &rpc_request));
    let (status, body) = match result {
        Ok(result) => (200, message::result(&rpc_request.id, result)),
        Err(error) => {
            let status = if is_handshake { 200 } else { error.status() };
            (status, error.body(&rpc_request.id))
        }
    };
    json_response(status, request.request_id, headers, body.to_string())
}

fn accepted(request_id: &str, headers: HeaderMap) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = http::StatusCode::ACCEPTED;
    *response.headers_mut() = headers;
    set_header(&mut response, REQUEST_ID, request_id);
    response
}
