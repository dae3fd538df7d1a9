//! Classes of failures: what they prove about the request, and whether it may be sent again.

use super::{Error, Kind};
use crate::contract::{ErrorCode, NextAction, RetryClass};
use crate::journal::error::JournalError;
use crate::types::ErrorBody;

/// What a failure proves about the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureClass {
    /// The request was never sent.
    NotSent,
    /// The rate limit turned it away (429).
    RateLimited,
    /// The service says that nothing ran and that it can be tried again.
    NothingRan,
    /// It may have been carried out.
    Ambiguous,
    /// It may have been carried out, and sending it again cannot help.
    Unanswered,
    /// Sending it again cannot help.
    Final,
}

/// Returns what an error proves about its request.
pub(crate) fn classify(error: &Error) -> FailureClass {
    match error.variant() {
        Kind::Transport(error) if error.may_have_been_sent() => FailureClass::Ambiguous,
        Kind::Transport(error) if error.is_setup() => FailureClass::Final,
        Kind::Transport(_) => FailureClass::NotSent,
        Kind::KeyProvider { .. } => FailureClass::NotSent,
        Kind::NotJson { .. } => FailureClass::Ambiguous,
        Kind::NoEnvelope { status: 429, .. } => FailureClass::RateLimited,
        Kind::NoEnvelope { status: 408 | 500.., .. } => FailureClass::Ambiguous,
        // A proxy that redirects does not say what became of the request.
        Kind::NoEnvelope { status: 300..=399, .. } | Kind::Journal(JournalError::Undecided(_)) => {
            FailureClass::Unanswered
        }
        Kind::Api { status, body, .. } => classify_envelope(*status, body),
        _ => FailureClass::Final,
    }
}

fn classify_envelope(status: u16, body: &ErrorBody) -> FailureClass {
    // An attempt with the same key is under way.
    if body.code == ErrorCode::IdempotencyKeyInUse {
        return FailureClass::Ambiguous;
    }
    // Waiting for a job is polling, not retrying, and a run that `on_active_run: reject` turned away
    // is the answer that was asked for.
    let is_answer = body.next_action() == Some(NextAction::PollStatus)
        || body.code == ErrorCode::FormatRunInProgress;
    let is_transient = body.retryable.unwrap_or_else(|| match body.code.defaults() {
        Some(defaults) => defaults.retryable,
        None => matches!(status, 429 | 502 | 503),
    });
    match status {
        // Something between redirects or times out, and does not say what became of the request.
        300..=399 => FailureClass::Unanswered,
        408 if body.retryable != Some(true) => FailureClass::Ambiguous,
        429 if is_transient => FailureClass::RateLimited,
        // An error of the server proves nothing, unless it says so.
        500.. if !matches!(status, 502 | 503) && body.retryable != Some(true) => {
            FailureClass::Ambiguous
        }
        _ if is_transient && !is_answer => FailureClass::NothingRan,
        _ => FailureClass::Final,
    }
}

/// Returns whether the error settles the outcome of the call, including earlier ambiguous attempts.
///
/// Of all rejections only that of a field does: the service looks up the idempotency key before it. What
/// turns a request away earlier (credentials, permissions, limits, the size of the body, a missing
/// resource, a page of a proxy) knows nothing of an earlier attempt that may have arrived.
pub(crate) fn is_conclusive(error: &Error) -> bool {
    match error.variant() {
        Kind::Api { status: 400, .. } => classify(error) == FailureClass::Final,
        Kind::Decode { .. } => true,
        // The call begins again, and finds what the other process has submitted.
        Kind::Journal(JournalError::GenerationTaken) => true,
        _ => false,
    }
}

/// Returns whether a request of the class may be sent again after such a failure.
pub(crate) const fn allows_retry(class: RetryClass, failure: FailureClass) -> bool {
    match failure {
        FailureClass::NotSent | FailureClass::RateLimited => true,
        FailureClass::NothingRan => !matches!(class, RetryClass::Never),
        FailureClass::Ambiguous => {
            matches!(class, RetryClass::Safe | RetryClass::Idempotent | RetryClass::Key)
        }
        FailureClass::Unanswered | FailureClass::Final => false,
    }
}
