//! API errors: the `error` envelope of both surfaces.

use std::fmt::Display;
use std::time::Duration;

use http::header::{ALLOW, RETRY_AFTER};
use http::{HeaderMap, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Value, json};
use svc_sdk::contract::{ErrorCategory, ErrorCode, ErrorDefaults, NextAction, RateLimitBucket};

use crate::engine::Host;
use crate::json_object::set_field;

const MAX_NAME_CHARS: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiError(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    status: u16,
    code: ErrorCode,
    message: String,
    details: Map<String, Value>,
    retry_after: Option<Duration>,
    /// The `Allow` header of a `405`.
    allow: Option<&'static str>,
}

impl ApiError {
    /// Creates an error with the status of its code, or `400` if the code has none.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let status = code.defaults().and_then(|entry| entry.status).unwrap_or(400);
        Self(Box::new(Inner {
            status,
            code,
            message: message.into(),
            details: Map::new(),
            retry_after: None,
            allow: None,
        }))
    }

    /// Creates an error about a field. The message is the name of the field followed by `problem`.
    pub(crate) fn field(name: impl AsRef<str>, problem: impl AsRef<str>) -> Self {
        // The name of an unknown field comes from the caller and can have any length.
        let name: String = name.as_ref().chars().take(MAX_NAME_CHARS).collect();
        let problem = problem.as_ref();
        Self::new(ErrorCode::InvalidRequest, format!("`{name}` {problem}"))
            .detail("field", json!(name))
    }

    /// Creates the error for a job, run or preview that has not ended.
    pub(super) fn not_terminal(
        code: ErrorCode,
        resource: &str,
        status: impl Display + Serialize,
        wait: Duration,
    ) -> Self {
        Self::new(code, format!("{resource} is {status}"))
            .detail("status", json!(status))
            .retry_after(wait)
    }

    pub(super) fn unknown_path() -> Self {
        Self::new(ErrorCode::NotFound, "no resource at this path")
    }

    pub(super) fn rate_limited(bucket: RateLimitBucket, wait: Duration) -> Self {
        let message = format!("{} rate limit exceeded", bucket.as_str());
        Self::new(ErrorCode::RateLimited, message)
            .detail("scope", json!(bucket.as_str()))
            .retry_after(wait)
    }

    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.0.status = status;
        self
    }

    pub(crate) fn detail(mut self, name: &str, value: Value) -> Self {
        self.0.details.insert(name.to_owned(), value);
        self
    }

    /// Sets how long to wait before the request can succeed.
    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    pub(crate) fn allow(mut self, methods: &'static str) -> Self {
        self.0.allow = Some(methods);
        self
    }

    pub(crate) fn status(&self) -> u16 {
        self.0.status
    }

    pub(crate) fn field_name(&self) -> Option<&str> {
        self.0.details.get("field")?.as_str()
    }

    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let (429 | 503, Some(wait)) = (self.0.status, self.0.retry_after) {
            headers.insert(RETRY_AFTER, whole_seconds(wait).into());
        }
        if let Some(methods) = self.0.allow {
            headers.insert(ALLOW, HeaderValue::from_static(methods));
        }
        headers
    }

    pub(crate) fn body(&self, host: Host, request_id: &str) -> Value {
        let Inner { code, message, details, retry_after, .. } = &*self.0;
        let mut error = json!({"code": code, "message": message, "request_id": request_id});
        let wait = json!(retry_after.map(seconds));
        if host == Host::Developer {
            let (category, retryable, next_action) = self.labels();
            let (stage, public_reason) = stage_and_reason(&category);
            set_field(&mut error, "stage", json!(stage));
            set_field(&mut error, "public_reason", json!(public_reason));
            set_field(&mut error, "category", json!(category));
            set_field(&mut error, "retryable", json!(retryable));
            set_field(&mut error, "next_action", json!(next_action));
            set_field(&mut error, "retry_after_seconds", wait);
            set_field(&mut error, "details", json!(details));
        } else {
            set_field(&mut error, "details", (!details.is_empty()).then(|| json!(details)));
            let has_wait = *code == ErrorCode::JobNotCompleted;
            set_field(&mut error, "retry_after_seconds", has_wait.then_some(wait));
        }
        json!({"error": error})
    }

    fn labels(&self) -> (ErrorCategory, bool, NextAction) {
        match self.0.code.defaults() {
            Some(ErrorDefaults { category, retryable, next_action, .. }) => {
                (category, retryable, next_action)
            }
            None if self.0.status >= 500 => (ErrorCategory::Upstream, false, NextAction::None),
            None => (ErrorCategory::Validation, false, NextAction::FixInput),
        }
    }
}

/// Returns a duration in seconds as a JSON number: an integer for whole seconds, otherwise a
/// decimal.
pub(crate) fn seconds(span: Duration) -> Value {
    if span.subsec_nanos() == 0 { json!(span.as_secs()) } else { json!(span.as_secs_f64()) }
}

/// Returns a duration in seconds for a header: rounded up to whole seconds.
pub(super) fn whole_seconds(span: Duration) -> u64 {
    span.as_secs() + u64::from(span.subsec_nanos() > 0)
}

/// Returns the stage of request processing in which errors of a category occur, and the reason that can
/// be shown to end users.
fn stage_and_reason(category: &ErrorCategory) -> (&'static str, &'static str) {
    match category {
        ErrorCategory::Validation => ("validation", "invalid_input"),
        ErrorCategory::Authentication => ("authentication", "not_authenticated"),
        ErrorCategory::Permission => ("authorization", "not_permitted"),
        ErrorCategory::NotFound => ("lookup", "not_found"),
        ErrorCategory::Conflict => ("state", "conflict"),
        ErrorCategory::Funds => ("admission", "not_enough_funds"),
        ErrorCategory::RateLimit => ("admission", "too_many_requests"),
        ErrorCategory::Job | ErrorCategory::Run => ("execution", "failed"),
        _ => ("service", "temporarily_unavailable"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_without_a_status_have_status_400() {
        assert_eq!(ApiError::new(ErrorCode::from("no_such_code"), "").status(), 400);
        assert_eq!(ApiError::new(ErrorCode::ProviderUnavailable, "").status(), 400);
        assert_eq!(ApiError::new(ErrorCode::StripeError, "").status(), 502);
    }

    #[test]
    fn whole_seconds_are_integers() {
        assert_eq!(seconds(Duration::from_secs(4)).to_string(), "4");
        assert_eq!(seconds(Duration::from_millis(999)).to_string(), "0.999");
        assert_eq!(seconds(Duration::ZERO).to_string(), "0");
    }
}
