//! Errors of the service's MCP endpoint, and errors that tools return to the model.

use serde_json::{Value, json};
use svc_mcp::McpError;
use svc_sdk::contract::ErrorCode;
use svc_sdk::types::IdempotencyKey;
use svc_sdk::{Error, ErrorKind};

use crate::error::{ClientCode, Exit, Failure, add_funds};
use crate::output::json::to_value;

/// Converts an error of a request without side effects, which is never ambiguous.
pub(super) fn read_failure(error: McpError) -> Failure {
    if !error.is_ambiguous() {
        return call_failure(error);
    }
    match &error {
        McpError::Request(request) if request.kind() == ErrorKind::InvalidResponse => {
            Failure::other(error.to_string()).with_client_code(ClientCode::UNREADABLE_RESPONSE)
        }
        _ => Failure::new(Exit::Unreachable, error.to_string()),
    }
}

pub(super) fn call_failure(error: McpError) -> Failure {
    match error {
        McpError::Request(error) => Failure::from(error),
        McpError::Tool(error) => {
            let code = error.code();
            let mut failure = Failure::new(exit_of(code), error.to_string());
            if let Some(body) = &error.body {
                let details = to_value(&body.details).ok();
                failure = failure.with_response(
                    Some(body.code.as_str().to_owned()),
                    None,
                    body.request_id.as_ref().map(ToString::to_string),
                    details.filter(|details| !details.is_null()),
                );
            }
            if matches!(code, Some(ErrorCode::InsufficientFunds | ErrorCode::InsufficientCredits)) {
                failure = failure.hint(add_funds(error.body.as_ref()));
            }
            let key = error.idempotency_key.as_ref().map(IdempotencyKey::as_str);
            failure.with_some(key, Failure::with_idempotency_key)
        }
        McpError::Protocol { code: -32602, message } => Failure::usage(message),
        other => {
            Failure::other(other.to_string()).with_client_code(ClientCode::UNREADABLE_RESPONSE)
        }
    }
}

fn exit_of(code: Option<&ErrorCode>) -> Exit {
    match code {
        Some(ErrorCode::InsufficientFunds | ErrorCode::InsufficientCredits) => Exit::Funds,
        Some(code) if code.as_str() == "max_spend_exceeded" => Exit::Funds,
        Some(ErrorCode::ConcurrencyLimitReached) => Exit::Overloaded,
        Some(code) => {
            let status = code.defaults().and_then(|defaults| defaults.status);
            status.map_or(Exit::Failure, Exit::from_status)
        }
        None => Exit::Failure,
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolError(Value);

impl ToolError {
    pub(super) fn new(code: &str, message: impl Into<String>) -> Self {
        Self(json!({"error": {"code": code, "message": message.into()}}))
    }

    pub(super) fn with(mut self, name: &str, value: Value) -> Self {
        let error = self.0.get_mut("error").and_then(Value::as_object_mut);
        if let Some(error) = error {
            error.insert(name.to_owned(), value);
        }
        self
    }

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
        Self::new(code, failure.headline())
    }
}
