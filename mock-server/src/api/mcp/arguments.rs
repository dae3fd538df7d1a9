//! Arguments of tool calls, split into the parts of the operation's request: body, path parameters,
//! idempotency key and spend limit.

use http::{HeaderMap, HeaderValue};
use serde_json::{Map, Value};
use svc_sdk::types::Usd;

use super::tools::Tool;
use crate::api::api_error::ApiError;

/// The arguments of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    /// Returns the arguments if their names are known. The values are validated when they are read.
    pub(super) fn parse(tool: &Tool, arguments: Map<String, Value>) -> Result<Self, ApiError> {
        let schema = tool.input_schema();
        let is_known = |name: &str| {
            schema.get("properties").is_some_and(|properties| properties.get(name).is_some())
        };
        match arguments.keys().find(|name| !is_known(name)) {
            Some(name) => {
                let problem = format!("is not an argument of {}", tool.name);
                Err(ApiError::field(name, problem))
            }
            None => Ok(Self(arguments)),
        }
    }

    /// Removes a required identifier.
    pub(super) fn take_id(&mut self, name: &str) -> Result<String, ApiError> {
        let id = self.take_text(name)?;
        id.filter(|id| !id.is_empty()).ok_or_else(|| ApiError::field(name, "is required"))
    }

    /// Removes a string, if it is present.
    pub(super) fn take_text(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(ApiError::field(name, "must be a string")),
        }
    }

    /// Removes the spend limit of the call.
    pub(super) fn take_max_spend(&mut self) -> Result<Option<Usd>, ApiError> {
        let Some(max_spend) = self.0.remove("max_spend_usd") else { return Ok(None) };
        let amount = max_spend
            .as_number()
            .and_then(|amount| amount.to_string().parse().ok())
            .filter(|amount| *amount >= Usd::ZERO);
        let problem = "must be an amount in dollars, with at most six decimal places";
        let amount = amount.ok_or_else(|| ApiError::field("max_spend_usd", problem))?;
        Ok(Some(amount))
    }

    /// Removes the idempotency key and returns it as a request header.
    pub(super) fn take_key(&mut self) -> Result<HeaderMap, ApiError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = self.take_text("idempotency_key")? {
            let problem = "must be 1 to 255 printable ASCII characters";
            let key = HeaderValue::from_str(&key)
                .map_err(|_| ApiError::field("idempotency_key", problem))?;
            headers.insert("idempotency-key", key);
        }
        Ok(headers)
    }

    pub(super) fn into_body(self) -> Value {
        Value::Object(self.0)
    }
}
