//! Error responses of the control API.

use http::{Method, StatusCode};

use crate::clock::NotManual;
use crate::engine::{ControlError, RestoreError};

#[derive(Debug)]
pub(super) struct ControlApiError {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) allow: Option<String>,
}

impl ControlApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: String) -> Self {
        Self { status, code, message, allow: None }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message.into())
    }

    pub(super) fn not_found(message: String) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// Creates the error of a streaming endpoint, for frontends that cannot stream.
    pub(super) fn no_stream() -> Self {
        let message = "this mock has no event stream: use svc-mock-server, or serve::Server with the feature `dashboard`";
        Self::new(StatusCode::NOT_IMPLEMENTED, "not_implemented", message.to_owned())
    }

    pub(super) fn unknown_path(path: &str, known: &[&str]) -> Self {
        let message = match path.starts_with("/v1/") {
            true => format!(
                "path {path:?} not found: this is the control port; the API has ports of its own"
            ),
            false => format!("path {path:?} not found; available paths: {}", known.join(", ")),
        };
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(super) fn method_not_allowed(path: &str, method: &Method, allowed: &[&str]) -> Self {
        let allow = allowed.join(", ");
        let message = format!("method {method} not allowed for {path}; allowed: {allow}");
        let error = Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message);
        Self { allow: Some(allow), ..error }
    }

    pub(super) fn too_large(limit: usize) -> Self {
        let message = format!("the body is larger than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", message)
    }

    pub(super) fn several_hosts() -> Self {
        Self::invalid("a request must have one Host header")
    }

    /// Appends a usage hint to the message of a `400` response.
    pub(super) fn with_usage(mut self, usage: &str) -> Self {
        if self.status == StatusCode::BAD_REQUEST {
            self.message = format!("{}; {usage}", self.message);
        }
        self
    }
}

impl From<ControlError> for ControlApiError {
    fn from(error: ControlError) -> Self {
        let (status, code) = match error {
            ControlError::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
            ControlError::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid_request"),
            ControlError::Conflict(_) => (StatusCode::CONFLICT, "conflict"),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<NotManual> for ControlApiError {
    fn from(error: NotManual) -> Self {
        Self::new(StatusCode::CONFLICT, "clock_not_manual", error.to_string())
    }
}

impl From<RestoreError> for ControlApiError {
    fn from(error: RestoreError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_state", error.to_string())
    }
}
