//! Decoding of the endpoint's HTTP responses into JSON-RPC messages.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName};
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_client::StreamableHttpPostResponse;
use serde_json::{Value, json};

use crate::call::RawResponse;
use crate::call::response::snippet;
use crate::error::{Error, Kind, Result};

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// Decodes the HTTP response to `message`.
pub(super) fn decode(message: &Value, response: RawResponse) -> Result<StreamableHttpPostResponse> {
    let is_request = message.get("id").is_some() && message.get("method").is_some();
    if response.is_success() && !is_request {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    let session_id = header(&response.headers, &SESSION_ID);
    let mut replies = replies(&response.headers, &response.body);
    let is_probe = message.get("method") == Some(&json!("server/discover"));
    if is_probe && matches!(response.status, 400 | 404 | 405) {
        replies = vec![probe_error(message, replies.pop())];
    }
    let reply = replies
        .into_iter()
        .find_map(|reply| serde_json::from_value::<ServerJsonRpcMessage>(reply).ok());
    // A JSON-RPC error is a reply whatever the HTTP status is.
    if let Some(reply) = reply {
        return Ok(StreamableHttpPostResponse::Json(reply, session_id));
    }
    let response = response.into_success()?;
    let kind = Kind::NotJson {
        status: response.status,
        snippet: snippet(&response.body),
    };
    let request_id = response.request_id();
    Err(Error::new(kind).with_request_id(request_id))
}

/// Returns the JSON-RPC error for a `server/discover` request that the endpoint rejected.
///
/// `rmcp` falls back to the older revision only if it receives an error with the id of its request.
/// The endpoint's own error is used if there is one, and "method not found" otherwise.
fn probe_error(probe: &Value, reply: Option<Value>) -> Value {
    let error = reply
        .and_then(|mut reply| Some(reply.get_mut("error")?.take()))
        .filter(|error| error.get("code").is_some_and(Value::is_i64))
        .unwrap_or_else(|| json!({"code": -32601, "message": "method not found: server/discover"}));
    json!({"jsonrpc": "2.0", "id": probe.get("id"), "error": error})
}

/// Returns the replies in a response body, which is a JSON document or a complete event stream.
fn replies(headers: &HeaderMap, body: &[u8]) -> Vec<Value> {
    let is_event_stream = header(headers, &CONTENT_TYPE)
        .is_some_and(|value| value.trim_start().starts_with("text/event-stream"));
    if !is_event_stream {
        return serde_json::from_slice(body).into_iter().collect();
    }
    // A stream may also contain requests and notifications, which have a method.
    String::from_utf8_lossy(body)
        .replace("\r\n", "\n")
        .split("\n\n")
        .filter_map(|event| serde_json::from_str::<Value>(&event_data(event)).ok())
        .filter(|message| message.get("method").is_none())
        .collect()
}

/// Joins the `data` lines of a server-sent event.
fn event_data(event: &str) -> String {
    let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderValue;

    use super::*;

    fn response(status: u16, content_type: &'static str, body: &'static str) -> RawResponse {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        RawResponse {
            status,
            headers,
            body: Bytes::from_static(body.as_bytes()),
        }
    }

    fn request(method: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": 1, "method": method})
    }

    fn is_json(result: &Result<StreamableHttpPostResponse>) -> bool {
        matches!(result, Ok(StreamableHttpPostResponse::Json(..)))
    }

    #[test]
    fn reply_is_read_from_json_and_event_streams() {
        let json_body = r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#;
        let event_stream = "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\r\n\r\n: ping\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\n";
        for (content_type, body) in [
            ("application/json", json_body),
            ("text/event-stream", event_stream),
        ] {
            let result = decode(&request("ping"), response(200, content_type, body));
            assert!(is_json(&result), "{content_type}");
        }
    }

    #[test]
    fn notification_is_accepted_without_a_reply() {
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let result = decode(&notification, response(202, "text/plain", ""));
        assert!(matches!(result, Ok(StreamableHttpPostResponse::Accepted)));
    }

    #[test]
    fn error_responses_are_decoded() {
        let request = request("tools/list");
        let envelope =
            r#"{"error": {"code": "unauthorized", "message": "No key.", "request_id": "req_1"}}"#;
        let error = decode(&request, response(401, "application/json", envelope));
        assert!(error.err().unwrap().is_unauthorized());
        let html_page = decode(&request, response(200, "text/html", "<html>"));
        assert!(html_page.err().unwrap().is_ambiguous());
        let rpc_error = r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": "x"}}"#;
        let result = decode(&request, response(400, "application/json", rpc_error));
        assert!(is_json(&result));
    }

    #[test]
    fn rejected_probe_becomes_a_json_rpc_error() {
        let probe = request("server/discover");
        for status in [400, 404, 405] {
            assert!(is_json(&decode(
                &probe,
                response(status, "text/plain", "?")
            )));
            let list = decode(&request("tools/list"), response(status, "text/plain", "?"));
            assert!(list.is_err(), "{status}");
        }
        assert!(decode(&probe, response(503, "text/plain", "?")).is_err());
    }
}
