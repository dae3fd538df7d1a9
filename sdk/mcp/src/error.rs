//! Errors of the MCP client.

use std::fmt;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use svc_sdk::contract::ErrorCode;
use svc_sdk::message;
use svc_sdk::transport::TransportError;
use svc_sdk::types::{ErrorBody, IdempotencyKey};

/// An error of the MCP client.
#[derive(Debug)]
#[non_exhaustive]
pub enum McpError {
    /// The tool rejected the call and did not run.
    ///
    /// A tool that reports an error of the server, or no error of the service's, may have run: that
    /// is a [`Request`](Self::Request) error, and [ambiguous](Self::is_ambiguous).
    Tool(Box<ToolError>),
    /// The endpoint rejected the message with a JSON-RPC error, for example because the tool does
    /// not exist.
    Protocol {
        /// The JSON-RPC error code.
        code: i32,
        /// The endpoint's error message.
        message: String,
    },
    /// The request failed or could not be sent, for example because the API key is invalid or the
    /// connection was refused.
    Request(svc_sdk::Error),
}

/// The error that a tool reported.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolError {
    /// The name of the tool.
    pub tool: String,
    /// The service's error, if the tool's text contains one.
    pub body: Option<ErrorBody>,
    /// The text content of the tool's result.
    pub message: String,
    /// The idempotency key of the call.
    pub idempotency_key: Option<IdempotencyKey>,
}

impl McpError {
    /// Returns the service's error code, if it sent one.
    #[must_use]
    pub fn code(&self) -> Option<&ErrorCode> {
        match self {
            Self::Tool(error) => error.code(),
            Self::Protocol { .. } => None,
            Self::Request(error) => error.code(),
        }
    }

    /// Returns `true` if it is unknown whether the tool ran.
    ///
    /// If the tool [recognizes keys](crate::Tool::recognizes_keys), repeat the call with the same
    /// [idempotency key](Self::idempotency_key) to try again without running it twice.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_ambiguous())
    }

    /// Returns the idempotency key of the call, if it had one.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        match self {
            Self::Tool(error) => error.idempotency_key.as_ref(),
            Self::Protocol { .. } => None,
            Self::Request(error) => error.idempotency_key(),
        }
    }

    pub(crate) fn with_key(self, key: Option<&IdempotencyKey>) -> Self {
        match self {
            Self::Request(error) => Self::Request(message::with_key(error, key)),
            other => other,
        }
    }

    pub(crate) fn from_service_error(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) => Self::from_json_rpc_error(error),
            ServiceError::TransportSend(error) => Self::from_transport_error(error.error),
            ServiceError::UnexpectedResponse => Self::unexpected_result("the request"),
            other => Self::connection_failed(other),
        }
    }

    pub(crate) fn from_initialize_error(error: ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::JsonRpcError(error) => Self::from_json_rpc_error(error),
            ClientInitializeError::TransportError { error, .. } => {
                Self::from_transport_error(error.error)
            }
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                Self::from_initialize_error(*fallback)
            }
            ClientInitializeError::ExpectedInitResponse(_)
            | ClientInitializeError::ExpectedInitResult(_) => {
                Self::unexpected_result("the initialization")
            }
            other => Self::connection_failed(other),
        }
    }

    fn from_json_rpc_error(error: rmcp::ErrorData) -> Self {
        Self::Protocol { code: error.code.0, message: error.message.into_owned() }
    }

    /// Extracts the error of this crate that `rmcp` received from its transport.
    fn from_transport_error(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        match error.downcast::<StreamableHttpError<svc_sdk::Error>>() {
            Ok(error) => match *error {
                StreamableHttpError::Client(error) => Self::Request(error),
                other => Self::connection_failed(other),
            },
            Err(error) => Self::connection_failed(error),
        }
    }

    /// Returns the error of a reply that `rmcp` could not use.
    fn unexpected_result(request: &str) -> Self {
        let reason = format!("not a result of {request}");
        Self::Request(message::unexpected_result(reason))
    }

    fn connection_failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Request(TransportError::maybe_sent(error).into())
    }
}

impl From<svc_sdk::Error> for McpError {
    fn from(error: svc_sdk::Error) -> Self {
        Self::Request(error)
    }
}

impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(error) => error.fmt(f),
            Self::Protocol { code, message } => {
                write!(f, "the MCP endpoint returned error {code}: {message}")
            }
            Self::Request(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for McpError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Request(error) => error.source(),
            Self::Tool(_) | Self::Protocol { .. } => None,
        }
    }
}

impl ToolError {
    /// Returns the service's error code, if it sent one.
    #[must_use]
    pub fn code(&self) -> Option<&ErrorCode> {
        self.body.as_ref().map(|body| &body.code)
    }

    pub(crate) fn new(
        tool: &str,
        texts: &[String],
        idempotency_key: Option<IdempotencyKey>,
    ) -> Self {
        let message = texts.join("\n");
        let body = message::error_body(&message);
        Self { tool: tool.to_owned(), body, message, idempotency_key }
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
    fn tool_error_has_the_service_error_code() {
        let envelope = r#"{"error": {"code": "insufficient_credits", "message": "Not enough.", "request_id": "req_1"}}"#;
        let error = ToolError::new("image_generate", &[envelope.to_owned()], None);
        assert_eq!(error.code(), Some(&ErrorCode::InsufficientCredits));
        assert_eq!(error.to_string(), "image_generate: Not enough. (insufficient_credits)");
        let text_only = ToolError::new("x", &["went wrong".to_owned()], None);
        assert_eq!(text_only.code(), None);
        assert_eq!(text_only.to_string(), "x: went wrong");
    }
}
