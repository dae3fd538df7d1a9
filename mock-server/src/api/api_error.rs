//! Why a request is not answered with what it asks for: the `error` envelope of both surfaces.

use std::time::Duration;

use serde_json::{Map, Value, json};
use svc_sdk::contract::{ErrorCategory, ErrorCode, ErrorDefaults, NextAction};

use crate::engine::Host;

/// How many characters of a field's name are repeated.
const MAX_NAME_CHARS: usize = 100;

/// A refusal.
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
    /// With the status of the catalogue; `400` for a code that it gives none.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let status = code
            .defaults()
            .and_then(|entry| entry.status)
            .unwrap_or(400);
        Self(Box::new(Inner {
            status,
            code,
            message: message.into(),
            details: Map::new(),
            retry_after: None,
            allow: None,
        }))
    }

    /// A field that is not as it must be; `problem` goes on where its name ends.
    pub(crate) fn field(name: impl AsRef<str>, problem: impl AsRef<str>) -> Self {
        // A name may be the caller's own, and as long as they like.
        let name: String = name.as_ref().chars().take(MAX_NAME_CHARS).collect();
        let problem = problem.as_ref();
        Self::new(ErrorCode::InvalidRequest, format!("`{name}` {problem}"))
            .detail("field", json!(name))
    }

    /// With one more entry of `details`.
    pub(crate) fn detail(mut self, name: &str, value: Value) -> Self {
        self.0.details.insert(name.to_owned(), value);
        self
    }

    /// With how long to wait before the same can succeed.
    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// With the methods that the path takes.
    pub(crate) fn allow(mut self, methods: &'static str) -> Self {
        self.0.allow = Some(methods);
        self
    }

    pub(crate) fn status(&self) -> u16 {
        self.0.status
    }

    /// The name of the field that it is about.
    pub(crate) fn field_name(&self) -> Option<&str> {
        self.0.details.get("field")?.as_str()
    }

    /// The headers that go with it.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        if let (429 | 503, Some(wait)) = (self.0.status, self.0.retry_after) {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            headers.push(("retry-after", seconds.to_string()));
        }
        if let Some(methods) = self.0.allow {
            headers.push(("allow", methods.to_owned()));
        }
        headers
    }

    /// The body on that host.
    pub(crate) fn body(&self, host: Host, request_id: &str) -> Value {
        let Inner {
            code,
            message,
            details,
            retry_after,
            ..
        } = &*self.0;
        let mut error = json!({"code": code, "message": message, "request_id": request_id});
        let Some(fields) = error.as_object_mut() else {
            return error;
        };
        let wait = retry_after.map(seconds);
        if host == Host::Developer {
            let (category, retryable, next_action) = self.labels();
            fields.insert("stage".to_owned(), json!(stage(&category)));
            fields.insert("public_reason".to_owned(), json!(public_reason(&category)));
            fields.insert("category".to_owned(), json!(category));
            fields.insert("retryable".to_owned(), json!(retryable));
            fields.insert("next_action".to_owned(), json!(next_action));
            fields.insert("retry_after_seconds".to_owned(), json!(wait));
            fields.insert("details".to_owned(), json!(details));
        } else {
            if !details.is_empty() {
                fields.insert("details".to_owned(), json!(details));
            }
            if *code == ErrorCode::JobNotCompleted {
                fields.insert("retry_after_seconds".to_owned(), json!(wait));
            }
        }
        json!({"error": error})
    }

    fn labels(&self) -> (ErrorCategory, bool, NextAction) {
        match self.0.code.defaults() {
            Some(ErrorDefaults {
                category,
                retryable,
                next_action,
                ..
            }) => (category, retryable, next_action),
            None if self.0.status >= 500 => (ErrorCategory::Upstream, false, NextAction::None),
            None => (ErrorCategory::Validation, false, NextAction::FixInput),
        }
    }
}

/// Seconds as a JSON number: whole ones without a point, others to the millisecond.
pub(crate) fn seconds(span: Duration) -> Value {
    if span.subsec_nanos() == 0 {
        json!(span.as_secs())
    } else {
        json!(span.as_secs_f64())
    }
}

/// Where on its way a request failed.
fn stage(category: &ErrorCategory) -> &'static str {
    match category {
        ErrorCategory::Validation => "validation",
        ErrorCategory::Authentication => "authentication",
        ErrorCategory::Permission => "authorization",
        ErrorCategory::NotFound => "lookup",
        ErrorCategory::Conflict => "state",
        ErrorCategory::Funds | ErrorCategory::RateLimit => "admission",
        ErrorCategory::Job | ErrorCategory::Run => "execution",
        _ => "service",
    }
}

/// What anybody may be told.
fn public_reason(category: &ErrorCategory) -> &'static str {
    match category {
        ErrorCategory::Validation => "invalid_input",
        ErrorCategory::Authentication => "not_authenticated",
        ErrorCategory::Permission => "not_permitted",
        ErrorCategory::Funds => "not_enough_funds",
        ErrorCategory::NotFound => "not_found",
        ErrorCategory::Conflict => "conflict",
        ErrorCategory::RateLimit => "too_many_requests",
        ErrorCategory::Job | ErrorCategory::Run => "failed",
        _ => "temporarily_unavailable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_open_envelope_has_code_message_and_request_id() {
        let error = ApiError::new(ErrorCode::DatabaseBusy, "Busy.")
            .retry_after(Duration::from_millis(1500));
        assert_eq!(error.status(), 503);
        assert_eq!(error.headers(), [("retry-after", "2".to_owned())]);
        let expected =
            json!({"error": {"code": "database_busy", "message": "Busy.", "request_id": "req_1"}});
        assert_eq!(error.body(Host::Open, "req_1"), expected);
    }

    #[test]
    fn the_developer_envelope_says_what_to_do() {
        let error = ApiError::field("duration", "must be from 4 to 15");
        let expected = json!({"error": {
            "code": "invalid_request", "message": "`duration` must be from 4 to 15", "request_id": "req_1",
            "category": "validation", "stage": "validation", "public_reason": "invalid_input",
            "retryable": false, "retry_after_seconds": null, "next_action": "fix_input",
            "details": {"field": "duration"}
        }});
        assert_eq!(error.body(Host::Developer, "req_1"), expected);
        assert_eq!(error.headers(), []);
    }

    #[test]
    fn a_code_without_a_status_of_its_own_is_a_400() {
        assert_eq!(
            ApiError::new(ErrorCode::from("no_such_code"), "").status(),
            400
        );
        assert_eq!(
            ApiError::new(ErrorCode::ProviderUnavailable, "").status(),
            400
        );
        assert_eq!(ApiError::new(ErrorCode::StripeError, "").status(), 502);
    }

    #[test]
    fn seconds_are_whole_where_they_can_be() {
        assert_eq!(seconds(Duration::from_secs(4)).to_string(), "4");
        assert_eq!(seconds(Duration::from_millis(999)).to_string(), "0.999");
        assert_eq!(seconds(Duration::ZERO).to_string(), "0");
    }
}
