//! Failed requests of a batch, and what they mean for it.

use std::time::Duration;

use serde_json::Value;
use svc_sdk::Error;
use svc_sdk::contract::{ErrorCode, NextAction};

use super::scheduler::{Backpressure, WriteLimit};
use crate::error::{Exit, Failure};

/// A failed request.
#[derive(Debug)]
pub(super) struct RequestFailure {
    pub(super) failure: Failure,
    pub(super) class: FailureClass,
    pub(super) retry_after: Option<Duration>,
    pub(super) writes: Option<WriteLimit>,
    /// Whether the service says that the idempotency key belongs to another request.
    pub(super) is_conflict: bool,
}

impl RequestFailure {
    pub(super) fn new(failure: Failure, class: FailureClass) -> Self {
        Self {
            failure,
            class,
            retry_after: None,
            writes: None,
            is_conflict: false,
        }
    }

    pub(super) fn of(error: Error) -> Self {
        let header = |name: &str| error.response()?.header(name)?.trim().parse::<u32>().ok();
        let writes = || {
            Some(WriteLimit {
                limit: header("ratelimit-limit")?,
                remaining: header("ratelimit-remaining")?,
                reset_after: Duration::from_secs(header("ratelimit-reset")?.into()),
            })
        };
        Self {
            class: classify(&error),
            retry_after: error.retry_after(),
            writes: writes(),
            is_conflict: error.is_idempotency_conflict(),
            failure: Failure::from(error),
        }
    }
}

/// What a failed request means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureClass {
    /// Nothing ran. The request is sent again.
    Backpressure(Backpressure),
    /// It may have been carried out.
    Ambiguous,
    /// It never left.
    NotSent,
    /// No request of the batch will succeed.
    StopsBatch,
    /// This request will not succeed.
    Permanent,
}

/// Returns what a failed submit or estimate means for the batch.
fn classify(error: &Error) -> FailureClass {
    let is_refused = error
        .body()
        .is_some_and(|body| body.retryable == Some(false));
    if error.is_configuration() || error.is_invalid() {
        return FailureClass::Permanent;
    }
    if error.is_ambiguous() {
        return FailureClass::Ambiguous;
    }
    if error.code() == Some(&ErrorCode::ConcurrencyLimitReached) {
        return FailureClass::Backpressure(Backpressure::Capacity);
    }
    if error.code() == Some(&ErrorCode::IdempotencyKeyInUse) {
        // Another request with this key is under way.
        return FailureClass::Ambiguous;
    }
    if error.is_unauthorized() || error.is_forbidden() || error.is_insufficient_funds() {
        return FailureClass::StopsBatch;
    }
    if error.is_rate_limited() && !is_refused {
        return FailureClass::Backpressure(Backpressure::RateLimit);
    }
    // A 502 for a URL in the body, such as an attachment, is not an overload.
    let is_correctable = error.next_action() == Some(NextAction::FixInput);
    if (error.is_overloaded() || error.is_retryable()) && !is_refused && !is_correctable {
        return match error.may_have_been_sent() {
            true => FailureClass::Backpressure(Backpressure::Overload),
            false => FailureClass::NotSent,
        };
    }
    FailureClass::Permanent
}

/// Returns the error of an item as JSON. It always has a code.
pub(super) fn error_json(failure: &Failure, code: &str) -> Value {
    let mut error = match failure.to_json() {
        Value::Object(mut fields) => fields.remove("error").unwrap_or_default(),
        _ => Value::Null,
    };
    if let Some(fields) = error.as_object_mut() {
        for name in [
            "exit_code",
            "resume",
            "job_id",
            "run_id",
            "what",
            "idempotency_key",
        ] {
            fields.remove(name);
        }
        // A failed item can be submitted again, whatever its job or run allows.
        if fields.get("next_action").is_some_and(|it| it == "none") {
            fields.remove("next_action");
        }
        fields
            .entry("code")
            .or_insert_with(|| Value::String(code.to_owned()));
    }
    error
}

/// Returns the code of a failure that is not the service's.
pub(super) fn default_code(exit: Exit) -> &'static str {
    match exit {
        Exit::Ambiguous => "ambiguous",
        Exit::Unreachable => "connection_failed",
        Exit::Overloaded => "bad_gateway",
        Exit::Usage => "usage",
        Exit::StillRunning => "timed_out",
        Exit::Funds => "over_budget",
        Exit::NotFound => "not_found",
        _ => "http_error",
    }
}
