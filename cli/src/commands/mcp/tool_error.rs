//! Errors that tools return to the model.

use serde_json::{Value, json};
use svc_sdk::Error;

use crate::error::{Exit, Failure};

/// An error in the format of the service's error envelope.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolError(Value);

impl ToolError {
    pub(super) fn new(code: &str, message: impl Into<String>) -> Self {
        Self(json!({"error": {"code": code, "message": message.into()}}))
    }

    /// Adds a field to the error.
    pub(super) fn with(mut self, name: &str, value: Value) -> Self {
        let error = self.0.get_mut("error").and_then(Value::as_object_mut);
        if let Some(error) = error {
            error.insert(name.to_owned(), value);
        }
        self
    }

    /// Returns the error's code.
    pub(super) fn code(&self) -> &str {
        let code = self.0.pointer("/error/code");
        code.and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn envelope(&self) -> &Value {
        &self.0
    }
}

impl From<&Error> for ToolError {
    fn from(error: &Error) -> Self {
        match error.body() {
            Some(body) => Self(json!({ "error": body })),
            None => {
                let code = error.code().map_or("no_answer", |code| code.as_str());
                Self::new(code, error.to_string())
            }
        }
    }
}

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        let code = match (failure.code(), failure.exit()) {
            (Some(code), _) => code,
            (None, Exit::Usage) => "invalid_request",
            (None, Exit::Ambiguous) => "ambiguous",
            (None, Exit::Unreachable | Exit::Overloaded) => "no_answer",
            (None, _) => "failed",
        };
        // An estimate has the arguments in the field `input`.
        Self::new(code, failure.headline().replace("`input.", "`"))
    }
}
