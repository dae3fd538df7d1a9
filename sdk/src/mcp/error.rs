//! Why a tool did not do what it was asked for.

use std::fmt;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde::Deserialize;

use super::carrier::Refused;
use crate::contract::ErrorCode;
use crate::transport::TransportError;
use crate::types::{ErrorBody, IdempotencyKey};

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The tool says no: the service refused what was asked for, and nothing ran.
    Tool(Box<ToolError>),
    /// The endpoint refused the message: an unknown tool, or arguments that are no object.
    Protocol {
        /// The JSON-RPC code.
        code: i32,
        /// The endpoint's words.
        message: String,
    },
    /// The request failed below the protocol: no key, no connection, the rate limit.
    Call(crate::Error),
}

/// A tool's refusal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolError {
    /// The tool.
    pub tool: String,
    /// The service's error, where the text is one.
    pub body: Option<ErrorBody>,
    /// The text.
    pub message: String,
    /// The key that the call was made under.
    pub idempotency_key: Option<IdempotencyKey>,
}

impl Error {
    /// The service's code, where it sent one.
    #[must_use]
    pub fn code(&self) -> Option<&ErrorCode> {
        match self {
            Self::Tool(error) => error.code(),
            Self::Protocol { .. } => None,
            Self::Call(error) => error.code(),
        }
    }

    /// Whether the tool may have done what it was asked for: repeat it with the same key only.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        matches!(self, Self::Call(error) if error.is_ambiguous())
    }

    /// The key that the call was made under.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        match self {
            Self::Tool(error) => error.idempotency_key.as_ref(),
            Self::Protocol { .. } => None,
            Self::Call(error) => error.idempotency_key(),
        }
    }

    pub(crate) fn with_key(self, key: Option<&IdempotencyKey>) -> Self {
        match self {
            Self::Call(error) => Self::Call(error.with_key(key)),
            other => other,
        }
    }

    pub(crate) fn of_service(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) => Self::of_rpc(error),
            ServiceError::TransportSend(error) => Self::of_carrier(error.error),
            other => Self::broken(other),
        }
    }

    pub(crate) fn of_start(error: ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::JsonRpcError(error) => Self::of_rpc(error),
            ClientInitializeError::TransportError { error, .. } => Self::of_carrier(error.error),
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                Self::of_start(*fallback)
            }
            other => Self::broken(other),
        }
    }

    fn of_rpc(error: rmcp::ErrorData) -> Self {
        Self::Protocol {
            code: error.code.0,
            message: error.message.into_owned(),
        }
    }

    /// What the carrier of the messages said is told as it is.
    fn of_carrier(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        match error.downcast::<StreamableHttpError<Refused>>() {
            Ok(error) => match *error {
                StreamableHttpError::Client(Refused(error)) => Self::Call(error),
                other => Self::broken(other),
            },
            Err(error) => Self::broken(error),
        }
    }

    fn broken(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Call(TransportError::perhaps_sent(error).into())
    }
}

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Self {
        Self::Call(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(error) => error.fmt(f),
            Self::Protocol { code, message } => {
                write!(
                    f,
                    "the MCP endpoint refused the message: {message} ({code})"
                )
            }
            Self::Call(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Call(error) => error.source(),
            Self::Tool(_) | Self::Protocol { .. } => None,
        }
    }
}

impl ToolError {
    /// The service's code, where it sent one.
    #[must_use]
    pub fn code(&self) -> Option<&ErrorCode> {
        self.body.as_ref().map(|body| &body.code)
    }

    pub(crate) fn of(tool: &str, texts: &[String], key: Option<IdempotencyKey>) -> Self {
        #[derive(Deserialize)]
        struct Envelope {
            error: ErrorBody,
        }

        let message = texts.join("\n");
        let body = serde_json::from_str::<Envelope>(&message)
            .ok()
            .map(|envelope| envelope.error);
        Self {
            tool: tool.to_owned(),
            body,
            message,
            idempotency_key: key,
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.body {
            Some(body) => write!(f, "{}: {} ({})", self.tool, body.message, body.code),
            None => write!(f, "{}: {}", self.tool, self.message),
        }
    }
}

impl std::error::Error for ToolError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_the_code_of_the_service_where_it_says_one() {
        let envelope = r#"{"error": {"code": "insufficient_credits", "message": "Not enough.", "request_id": "req_1"}}"#;
        let error = ToolError::of("image_generate", &[envelope.to_owned()], None);
        assert_eq!(error.code(), Some(&ErrorCode::InsufficientCredits));
        assert_eq!(
            error.to_string(),
            "image_generate: Not enough. (insufficient_credits)"
        );
        let plain = ToolError::of("x", &["went wrong".to_owned()], None);
        assert_eq!(
            (plain.code(), plain.to_string()),
            (None, "x: went wrong".to_owned())
        );
    }
}
