//! JSON-RPC requests, their parsing, and the bodies of responses.

use serde_json::{Map, Value, json};

use crate::api::strict_json;
use crate::json_object::set_field;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct RpcRequest {
    /// A string or an integer.
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

/// An error of the protocol. Errors of tools are not protocol errors, but results.
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
        Self::new(-32601, format!("unknown method {method:?}"))
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    pub(super) fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(-32020, message)
    }

    pub(super) fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        let requested: String = requested.chars().take(100).collect();
        let mut error = Self::new(-32022, "unsupported protocol version");
        error.data = Some(json!({"supported": supported, "requested": requested}));
        error
    }

    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Returns the HTTP status in the current revision.
    pub(super) const fn status(&self) -> u16 {
        match self.code {
            -32601 => 404,
            _ => 400,
        }
    }

    /// Returns the body of the response to the request with this ID.
    pub(super) fn body(&self, id: &Value) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        set_field(&mut error, "data", self.data.clone());
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

/// Returns the body of a successful response.
pub(super) fn result(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// Parses a message. Returns `None` for a notification and for a response, which have no effect: the
/// endpoint is stateless and sends no requests.
pub(super) fn read(body: &[u8]) -> Result<Option<RpcRequest>, (Value, RpcError)> {
    let without_id = |error| (Value::Null, error);
    let message = strict_json::parse(body)
        .map_err(|error| without_id(RpcError::parse(format!("invalid JSON: {error}"))))?;
    let Value::Object(mut fields) = message else {
        let text = match message {
            Value::Array(_) => "batches are not supported since revision 2025-06-18",
            _ => "message must be a JSON object",
        };
        return Err(without_id(RpcError::invalid_request(text)));
    };
    let id = fields.remove("id");
    let with_id = |error| {
        let id = id.clone().filter(is_id).unwrap_or_default();
        (id, error)
    };
    let invalid = |text: &str| with_id(RpcError::invalid_request(text));
    if fields.get("jsonrpc") != Some(&json!("2.0")) {
        return Err(invalid("`jsonrpc` must be \"2.0\""));
    }
    let method = match fields.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return Err(invalid("`method` must be a string")),
        None if fields.contains_key("result") || fields.contains_key("error") => {
            return Ok(None);
        }
        None => return Err(invalid("`method` is required")),
    };
    let params = match fields.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            return Err(with_id(RpcError::invalid_params("`params` must be an object")));
        }
    };
    match id {
        None => Ok(None),
        Some(id) if is_id(&id) => Ok(Some(RpcRequest { id, method, params })),
        Some(_) => Err(invalid("`id` must be a string or an integer")),
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}
