//! JSON-RPC messages: one to a request, and what is answered.

use serde_json::{Map, Value, json};

use crate::api::strict_json;

/// What a client may send.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Message {
    Request(RpcRequest),
    Notification,
    /// The answer to a request; this server sends none.
    Response,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RpcRequest {
    /// A string or an integer.
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

/// A refusal at the level of the protocol. What goes wrong in a tool is none.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RpcError {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl RpcError {
    pub(super) fn parse(message: impl Into<String>) -> Self {
        Self::new(-32700, message)
    }

    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    pub(super) fn method_not_found(method: &str) -> Self {
        let method: String = method.chars().take(100).collect();
        Self::new(-32601, format!("There is no method {method:?} here."))
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    pub(super) fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(-32020, message)
    }

    pub(super) fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        let requested: String = requested.chars().take(100).collect();
        let mut error = Self::new(-32022, "Unsupported protocol version");
        error.data = Some(json!({"supported": supported, "requested": requested}));
        error
    }

    fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The HTTP status that the current revision gives it.
    pub(super) const fn status(&self) -> u16 {
        match self.code {
            -32601 => 404,
            _ => 400,
        }
    }

    /// The body of the answer to the request of that id.
    pub(super) fn body(&self, id: &Value) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(data), Some(fields)) = (&self.data, error.as_object_mut()) {
            fields.insert("data".to_owned(), data.clone());
        }
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

/// The body of a success.
pub(super) fn result(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// Reads the one message of a body. A refusal comes with the id that it answers, or `null`.
pub(super) fn read(body: &[u8]) -> Result<Message, (Value, RpcError)> {
    let unnamed = |error| (Value::Null, error);
    let message = strict_json::parse(body)
        .map_err(|error| unnamed(RpcError::parse(format!("This is no sound JSON: {error}"))))?;
    let Value::Object(mut fields) = message else {
        let text = match message {
            Value::Array(_) => "Batches went with revision 2025-06-18: send one message a request.",
            _ => "A message is a JSON object.",
        };
        return Err(unnamed(RpcError::invalid_request(text)));
    };
    let id = fields.remove("id");
    let named = |error| {
        let id = id.clone().filter(is_id).unwrap_or_default();
        (id, error)
    };
    let invalid = |text: &str| named(RpcError::invalid_request(text));
    if fields.get("jsonrpc") != Some(&json!("2.0")) {
        return Err(invalid("`jsonrpc` must be \"2.0\"."));
    }
    let method = match fields.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return Err(invalid("`method` must be a string.")),
        None if fields.contains_key("result") || fields.contains_key("error") => {
            return Ok(Message::Response);
        }
        None => return Err(invalid("`method` is required.")),
    };
    let params = match fields.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            return Err(named(RpcError::invalid_params(
                "`params` must be an object.",
            )));
        }
    };
    match id {
        None => Ok(Message::Notification),
        Some(id) if is_id(&id) => Ok(Message::Request(RpcRequest { id, method, params })),
        Some(_) => Err(invalid("`id` must be a string or an integer.")),
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(body: &str) -> (Value, i64) {
        let (id, error) = read(body.as_bytes()).unwrap_err();
        (id, error.code)
    }

    #[test]
    fn a_message_is_a_request_a_notification_or_an_answer() {
        let request = read(br#"{"jsonrpc": "2.0", "id": "a", "method": "ping"}"#);
        let message = RpcRequest {
            id: json!("a"),
            method: "ping".to_owned(),
            params: Map::new(),
        };
        assert_eq!(request, Ok(Message::Request(message)));
        for (body, expected) in [
            (
                r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#,
                Message::Notification,
            ),
            (
                r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#,
                Message::Response,
            ),
        ] {
            assert_eq!(read(body.as_bytes()), Ok(expected), "{body}");
        }
    }

    #[test]
    fn what_is_none_is_refused_under_its_id_where_it_has_one() {
        let rows = [
            ("", Value::Null, -32700),
            ("{", Value::Null, -32700),
            (r#"{"id": 1, "id": 2}"#, Value::Null, -32700),
            ("3", Value::Null, -32600),
            (
                r#"[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]"#,
                Value::Null,
                -32600,
            ),
            (r#"{"id": 1, "method": "ping"}"#, json!(1), -32600),
            (
                r#"{"jsonrpc": "1.0", "id": "x", "method": "ping"}"#,
                json!("x"),
                -32600,
            ),
            (r#"{"jsonrpc": "2.0", "id": 1}"#, json!(1), -32600),
            (
                r#"{"jsonrpc": "2.0", "id": 1, "method": 2}"#,
                json!(1),
                -32600,
            ),
            (
                r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#,
                Value::Null,
                -32600,
            ),
            (
                r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#,
                Value::Null,
                -32600,
            ),
            (
                r#"{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}"#,
                json!(1),
                -32602,
            ),
        ];
        for (body, id, code) in rows {
            assert_eq!(rejected(body), (id, code), "{body}");
        }
    }
}
