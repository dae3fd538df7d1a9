//! Decoding of the endpoint's HTTP responses into JSON-RPC messages.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName};
use rmcp::model::{
    CallToolResult, DiscoverResult, InitializeResult, ListToolsResult, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::StreamableHttpPostResponse;
use serde::Deserialize;
use serde_json::{Value, json};

use svc_sdk::contract::ErrorCategory;
use svc_sdk::types::ErrorBody;
use svc_sdk::{Error, ErrorKind, RawResponse, Result, message};

pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The JSON-RPC errors that are reported before a tool runs: the message or its headers are not
/// valid, the method or the tool is unknown, or the protocol revision is not supported.
const REJECTIONS: [i64; 8] = [-32700, -32600, -32601, -32602, -32002, -32020, -32021, -32022];

/// Decodes the HTTP response to `message`.
///
/// If the message calls a tool that has effects, an error that the reply reports is an error here,
/// so that it is judged like that of any other submit: whether the call ran, whether it may be
/// repeated, and whether it settles an earlier attempt. [`into_reply`] makes a reply of it again.
pub(crate) fn decode(
    message: &Value,
    has_effects: bool,
    response: RawResponse,
) -> Result<StreamableHttpPostResponse> {
    let is_request = message.get("id").is_some() && message.get("method").is_some();
    if response.is_success() && !is_request {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    let session_id = header(&response.headers, &SESSION_ID);
    let mut replies = replies(&response.headers, &response.body);
    // Whatever the answer to a probe is, `initialize` is tried next, unless it needs another API key.
    let needs_key = matches!(response.status, 401 | 403);
    if is_probe(message) && !needs_key && !replies.iter().any(|reply| answers_probe(message, reply))
    {
        replies = vec![probe_error(message)];
    }
    let is_empty = replies.is_empty();
    let reply = reply_to(message, replies);
    if let Some(error) =
        reply.as_ref().filter(|_| has_effects).and_then(|reply| call_error(reply, &response))
    {
        return Err(error);
    }
    let problem = match reply {
        // `rmcp` waits without a limit for the reply with the id of its request, so no other is
        // passed on.
        None => ("id", "no reply has the id of the request"),
        Some(reply) => match check_result(message, &reply) {
            Err(reason) => ("result", reason),
            Ok(()) => match serde_json::from_value::<ServerJsonRpcMessage>(reply) {
                // A JSON-RPC error is a reply whatever the HTTP status is.
                Ok(reply) => return Ok(StreamableHttpPostResponse::Json(reply, session_id)),
                Err(_) => ("result", "not a JSON-RPC message"),
            },
        },
    };
    let response = message::into_success(response)?;
    Err(match is_empty {
        true => message::not_json(&response),
        false => message::undecided(&response, problem.0, problem.1),
    })
}

/// Returns the reply to a message: the one with its id, or an error without an id, which an endpoint
/// sends if it could not read the message.
fn reply_to(message: &Value, replies: Vec<Value>) -> Option<Value> {
    let id = message.get("id")?;
    let mut without_id = None;
    for mut reply in replies {
        match reply.get("id") {
            Some(reply_id) if reply_id == id => return Some(reply),
            None | Some(Value::Null) if reply.pointer("/error/code").is_some_and(Value::is_i64) => {
                if let Some(members) = reply.as_object_mut() {
                    members.insert("id".to_owned(), id.clone());
                }
                without_id = Some(reply);
            }
            _ => {}
        }
    }
    without_id
}

/// Checks that the result in a reply has the shape of the results of the message's method.
fn check_result(message: &Value, reply: &Value) -> std::result::Result<(), &'static str> {
    if reply.get("error").is_some() {
        return Ok(());
    }
    let result = reply.get("result").unwrap_or(&Value::Null);
    let (is_valid, reason) = match message.get("method").and_then(Value::as_str) {
        // A result of another type than `complete` is one that `rmcp` replies to.
        Some("tools/call") if result.get("resultType").is_none_or(|it| it == "complete") => {
            let reason = "not the result of a tool, which has `content`";
            (CallToolResult::deserialize(result).is_ok(), reason)
        }
        Some("tools/list") => {
            (ListToolsResult::deserialize(result).is_ok(), "not a list of `tools`")
        }
        Some("initialize") => {
            (InitializeResult::deserialize(result).is_ok(), "not the result of `initialize`")
        }
        _ => return Ok(()),
    };
    if is_valid { Ok(()) } else { Err(reason) }
}

/// Returns the reply of a tool or an endpoint that rejected a call, or the error if it does not say so.
pub(crate) fn into_reply(message: &Value, error: Error) -> Result<StreamableHttpPostResponse> {
    if is_probe(message)
        && error.response().is_some()
        && let Ok(reply) = serde_json::from_value(probe_error(message))
    {
        return Ok(StreamableHttpPostResponse::Json(reply, None));
    }
    let is_rejection = error.kind() == ErrorKind::ErrorResponse;
    let response = error.response().filter(|_| is_rejection && !error.is_ambiguous());
    let reply = response.and_then(|response| {
        let reply = reply_to(message, replies(&response.headers, &response.body))?;
        let reply = serde_json::from_value(reply).ok()?;
        let session_id = header(&response.headers, &SESSION_ID);
        Some(StreamableHttpPostResponse::Json(reply, session_id))
    });
    reply.ok_or(error)
}

/// Returns the error that the reply to a tool call reports.
fn call_error(reply: &Value, response: &RawResponse) -> Option<Error> {
    // The error of an HTTP response that is no JSON-RPC reply has a code of another type.
    if let Some(code) = reply.pointer("/error/code").and_then(Value::as_i64) {
        return Some(match REJECTIONS.contains(&code) {
            true => message::rejected(response),
            false => message::undecided(response, "error", "the endpoint failed"),
        });
    }
    let result = reply.get("result")?;
    if result.get("isError") != Some(&Value::Bool(true)) {
        return None;
    }
    let error =
        result.pointer("/content/0/text").and_then(Value::as_str).and_then(message::error_body);
    let Some(error) = error else {
        let reason = "the tool failed without an error envelope";
        return Some(message::undecided(response, "result.content", reason));
    };
    Some(message::refused(response, status_of(&error), error))
}

/// Returns the HTTP status that the error would have outside of a tool's result.
fn status_of(error: &ErrorBody) -> u16 {
    let documented = error.code.defaults().and_then(|defaults| defaults.status);
    documented.unwrap_or(match error.category {
        Some(ErrorCategory::Upstream) => 500,
        _ => 400,
    })
}

/// Returns whether a message asks what the endpoint supports, in a newer revision of the protocol.
fn is_probe(message: &Value) -> bool {
    message.get("method") == Some(&json!("server/discover"))
}

/// Returns whether a reply is a valid answer to a probe.
fn answers_probe(probe: &Value, reply: &Value) -> bool {
    let result = reply.get("result").filter(|_| reply.get("id") == probe.get("id"));
    result.is_some_and(|result| DiscoverResult::deserialize(result).is_ok())
}

/// Returns the JSON-RPC error that replaces an invalid answer to a probe.
///
/// `rmcp` falls back to the older revision only if it receives an error with the id of its request.
fn probe_error(probe: &Value) -> Value {
    let error = json!({"code": -32601, "message": "method not found: server/discover"});
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
        RawResponse::new(status, headers, Bytes::from_static(body.as_bytes()))
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
        for (content_type, body) in
            [("application/json", json_body), ("text/event-stream", event_stream)]
        {
            let result = decode(&request("ping"), false, response(200, content_type, body));
            assert!(is_json(&result), "{content_type}");
        }
    }

    #[test]
    fn only_the_reply_to_the_request_is_passed_on() {
        let call = request("tools/call");
        let list = request("tools/list");
        let result = json!({"content": []});
        // (request, reply, what the error says of it)
        let rows = [
            (&call, json!({"id": "zz", "result": result}), "at id"),
            (&call, json!({"result": result}), "at id"),
            (&call, json!({"id": 1, "result": {}}), "at result"),
            (&call, json!({"id": 1, "result": null}), "at result"),
            (&call, json!({"id": 1, "result": {"content": 7}}), "at result"),
            (&list, json!({"id": 1, "result": {"content": []}}), "at result"),
            (&list, json!({"id": 2, "result": {"tools": []}}), "at id"),
        ];
        for (request, mut reply, expected) in rows {
            reply["jsonrpc"] = json!("2.0");
            let body: &'static str = Box::leak(reply.to_string().into_boxed_str());
            for has_effects in [false, true] {
                let decoded = decode(request, has_effects, response(200, "application/json", body));
                let error = decoded.err().unwrap();
                assert!(
                    error.kind() == ErrorKind::InvalidResponse && error.is_ambiguous(),
                    "{body}: {error}"
                );
                assert!(error.to_string().contains(expected), "{body}: {error}");
            }
        }
        let no_id = r#"{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "x"}}"#;
        let reply = decode(&list, false, response(400, "application/json", no_id)).unwrap();
        let StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), _) = reply else {
            panic!("not an error: {reply:?}");
        };
        assert_eq!(serde_json::to_value(error.id).unwrap(), 1);
    }

    #[test]
    fn notification_is_accepted_without_a_reply() {
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let result = decode(&notification, false, response(202, "text/plain", ""));
        assert!(matches!(result, Ok(StreamableHttpPostResponse::Accepted)));
    }

    #[test]
    fn error_responses_are_decoded() {
        let request = request("tools/list");
        let envelope =
            r#"{"error": {"code": "unauthorized", "message": "No key.", "request_id": "req_1"}}"#;
        let error = decode(&request, false, response(401, "application/json", envelope));
        assert!(error.err().unwrap().is_unauthorized());
        let html_page = decode(&request, false, response(200, "text/html", "<html>"));
        assert!(html_page.err().unwrap().is_ambiguous());
        let rpc_error = r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": "x"}}"#;
        let result = decode(&request, false, response(400, "application/json", rpc_error));
        assert!(is_json(&result));
    }

    #[test]
    fn whatever_else_a_probe_is_answered_with_is_a_json_rpc_error() {
        let (probe, json) = (request("server/discover"), "application/json");
        let answers = [
            (400, "text/plain", "?"),
            (404, json, "{}"),
            (405, "text/plain", ""),
            (500, json, r#"{"error": {"code": "internal", "message": "x"}}"#),
            (200, "text/html", "<html>"),
            (200, json, r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#),
            (
                200,
                json,
                r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": "x"}}"#,
            ),
            (202, json, ""),
            (401, json, "{}"),
            (503, "text/plain", "?"),
        ];
        for (status, content_type, body) in answers {
            let answer = decode(&probe, false, response(status, content_type, body));
            assert_eq!(answer.is_err(), status == 401, "{status}");
            let reply = answer.or_else(|error| into_reply(&probe, error)).unwrap();
            let StreamableHttpPostResponse::Json(reply, _) = reply else {
                panic!("{status} {body}")
            };
            assert_eq!(json!(reply)["error"]["code"], -32601, "{status} {body}");
        }
        for status in [400, 404, 405] {
            let list = decode(&request("tools/list"), false, response(status, "text/plain", "?"));
            assert!(list.is_err(), "{status}");
        }
    }

    #[test]
    fn errors_of_tools_with_effects_are_judged_like_those_of_a_submit() {
        let call = request("tools/call");
        let tool_error = |text: &str| {
            let content = json!([{"type": "text", "text": text}]);
            json!({"jsonrpc": "2.0", "id": 1, "result": {"content": content, "isError": true}})
        };
        let envelope = |code: &str, category: &str| {
            let error = json!({"code": code, "message": "x", "category": category});
            tool_error(&json!({ "error": error }).to_string())
        };
        let rpc_error =
            |code: i64| json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "x"}});
        // (reply, is ambiguous)
        let rows = [
            (envelope("insufficient_credits", "funds"), false),
            (envelope("database_busy", "overload"), false),
            (envelope("max_spend_exceeded", "funds"), false),
            (envelope("format_run_failed_to_start", "upstream"), true),
            (envelope("brand_new", "upstream"), true),
            (tool_error("went wrong"), true),
            (rpc_error(-32602), false),
            (rpc_error(-32603), true),
            (rpc_error(-32000), true),
        ];
        for (reply, is_ambiguous) in rows {
            let body = reply.to_string();
            let reply = || {
                let body = Box::leak(body.clone().into_boxed_str());
                response(200, "application/json", body)
            };
            let judged = decode(&call, true, reply()).or_else(|error| into_reply(&call, error));
            match judged {
                Ok(_) => assert!(!is_ambiguous, "{body}"),
                Err(error) => {
                    assert!(is_ambiguous && error.is_ambiguous(), "{body}: {error}");
                }
            }
            // A tool that only reads can be called again.
            assert!(is_json(&decode(&call, false, reply())), "{body}");
        }
        for status in [401, 429, 503] {
            let envelope = r#"{"error": {"code": "brand_new", "message": "x"}}"#;
            let error = decode(&call, true, response(status, "application/json", envelope));
            let error = error.err().unwrap();
            assert_eq!(error.status(), Some(status));
            assert!(error.code().is_some() && !error.is_ambiguous(), "{error}");
        }
    }
}
