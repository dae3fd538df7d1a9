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
            schema
                .get("properties")
                .is_some_and(|properties| properties.get(name).is_some())
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
        id.filter(|id| !id.is_empty())
            .ok_or_else(|| ApiError::field(name, "is required"))
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
        let Some(max_spend) = self.0.remove("max_spend_usd") else {
            return Ok(None);
        };
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::mcp::tools::TOOLS;

    fn parse(name: &str, arguments: Value) -> Result<Arguments, ApiError> {
        let tool = TOOLS.iter().find(|tool| tool.name == name).unwrap();
        Arguments::parse(tool, arguments.as_object().unwrap().clone())
    }

    #[test]
    fn remaining_arguments_are_the_body() {
        let mut arguments = parse(
            "image_generate",
            json!({"prompt": "x", "max_spend_usd": 0.5, "idempotency_key": "k 1"}),
        )
        .unwrap();
        assert_eq!(
            arguments.take_max_spend().unwrap(),
            Some(Usd::from_micros(500_000))
        );
        assert_eq!(arguments.take_key().unwrap()["idempotency-key"], "k 1");
        assert_eq!(arguments.into_body(), json!({"prompt": "x"}));
    }

    #[test]
    fn errors_name_the_invalid_argument() {
        let unknown = parse("image_generate", json!({"mode": "sync"})).unwrap_err();
        assert_eq!(unknown.field_name(), Some("mode"));
        for limit in [json!("1"), json!(-1), json!(null), json!(0.000_000_1)] {
            let mut arguments = parse("image_generate", json!({"max_spend_usd": limit})).unwrap();
            let error = arguments.take_max_spend().unwrap_err();
            assert_eq!(error.field_name(), Some("max_spend_usd"), "{limit}");
        }
        for key in [json!(1), json!("a\u{0}"), json!("a\n")] {
            let mut arguments = parse("image_generate", json!({"idempotency_key": key})).unwrap();
            let error = arguments.take_key().unwrap_err();
            assert_eq!(error.field_name(), Some("idempotency_key"), "{key}");
        }
        for id in [json!({}), json!({"job_id": ""}), json!({"job_id": 1})] {
            let mut arguments = parse("jobs_status", id).unwrap();
            let error = arguments.take_id("job_id").unwrap_err();
            assert_eq!(error.field_name(), Some("job_id"));
        }
    }
}
