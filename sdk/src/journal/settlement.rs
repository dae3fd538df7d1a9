//! The conclusion from a failed submit: whether it was carried out. A decision without I/O.

use crate::contract::ErrorCode;
use crate::error::failure_class::{FailureClass, classify, is_conclusive};
use crate::error::{Error, Kind};
use crate::types::QueueId;

/// The attempts before the one that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EarlierAttempts {
    /// Whether one of them may have been carried out.
    pub(crate) may_have_run: bool,
    /// Whether the service can know the key, which the caller did not choose, with another body only
    /// from the same submission.
    pub(crate) conflict_proves_arrival: bool,
}

/// Whether a failed submit was carried out, over all its attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Settlement {
    /// No attempt was ever sent.
    NotSent,
    /// Nothing was carried out, and sending it again may succeed.
    NothingRan,
    /// The service refused it.
    Refused,
    /// The service accepted it, with a response that has no readable id.
    AcceptedWithoutId,
    /// An earlier attempt was carried out, and made that queue if the error names one.
    Arrived(Option<QueueId>),
    /// It is unknown.
    Unknown,
}

/// Decides what an error says about a submit.
///
/// A rejection says nothing of an earlier attempt if the service rejects before it looks up the
/// idempotency key: all but that of a field.
pub(crate) fn settle(error: &Error, earlier: EarlierAttempts) -> Settlement {
    if let Kind::Decode { .. } = error.variant() {
        return Settlement::AcceptedWithoutId;
    }
    if let Kind::Api { body, .. } = error.variant()
        && body.code == ErrorCode::IdempotencyConflict
    {
        return match earlier {
            EarlierAttempts { conflict_proves_arrival: true, .. } => {
                Settlement::Arrived(error.queue_id())
            }
            EarlierAttempts { may_have_run: true, .. } => Settlement::Unknown,
            _ => Settlement::Refused,
        };
    }
    let settlement = match error.variant() {
        Kind::Timeout { sent, .. } if !sent => Settlement::NotSent,
        Kind::Timeout { .. } => Settlement::Unknown,
        Kind::Configuration(_)
        | Kind::Invalid(_)
        | Kind::Schema(_)
        | Kind::RateLimitExhausted { .. } => Settlement::NotSent,
        _ => match classify(error) {
            FailureClass::NotSent => Settlement::NotSent,
            FailureClass::RateLimited | FailureClass::NothingRan => Settlement::NothingRan,
            FailureClass::Ambiguous | FailureClass::Unanswered => Settlement::Unknown,
            FailureClass::Final => Settlement::Refused,
        },
    };
    match settlement {
        _ if !earlier.may_have_run => settlement,
        Settlement::Refused if is_conclusive(error) => Settlement::Refused,
        _ => Settlement::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::transport::TransportError;
    use crate::types::InvalidField;

    const FIRST: EarlierAttempts =
        EarlierAttempts { may_have_run: false, conflict_proves_arrival: false };
    const AFTER_UNKNOWN: EarlierAttempts =
        EarlierAttempts { may_have_run: true, conflict_proves_arrival: false };
    const AFTER_OTHER_BODY: EarlierAttempts =
        EarlierAttempts { may_have_run: true, conflict_proves_arrival: true };

    fn envelope(status: u16, body: &str) -> Error {
        Error::new(Kind::Api {
            status,
            body: Box::new(serde_json::from_str(body).unwrap()),
            retry_after: None,
        })
    }

    fn page(status: u16) -> Error {
        Error::new(Kind::NoEnvelope { status, snippet: "<html>".to_owned(), retry_after: None })
    }

    fn timeout(sent: bool) -> Error {
        Error::new(Kind::Timeout { timeout: Duration::from_secs(1), sent, last: None })
    }

    /// The class of each failure, what it says of a first attempt, and after one that may have been carried
    /// out.
    #[test]
    fn a_failure_says_what_it_proves_and_no_more() {
        use FailureClass::{Ambiguous, Final, NotSent, NothingRan, RateLimited, Unanswered};
        use Settlement::{AcceptedWithoutId, Refused, Unknown};

        let (not_sent, nothing_ran) = (Settlement::NotSent, Settlement::NothingRan);
        let code = |status, code: &str| envelope(status, &format!(r#"{{"code": "{code}"}}"#));
        let says = |status, code: &str, retryable: bool| {
            envelope(status, &format!(r#"{{"code": "{code}", "retryable": {retryable}}}"#))
        };
        let not_json = Error::new(Kind::NotJson { status: 202, snippet: String::new() });
        let undecodable = Error::new(Kind::Decode {
            status: 202,
            path: String::new(),
            reason: String::new(),
            snippet: String::new(),
        });
        let rows = [
            (TransportError::not_sent("refused").into(), NotSent, not_sent.clone(), Unknown),
            (TransportError::maybe_sent("reset").into(), Ambiguous, Unknown, Unknown),
            (InvalidField::new("prompt", "missing").into(), Final, not_sent.clone(), Unknown),
            (timeout(false), Final, not_sent, Unknown),
            (timeout(true), Final, Unknown, Unknown),
            (code(429, "rate_limited"), RateLimited, nothing_ran.clone(), Unknown),
            (code(503, "database_busy"), NothingRan, nothing_ran.clone(), Unknown),
            (code(502, "stripe_error"), NothingRan, nothing_ran.clone(), Unknown),
            (says(409, "brand_new", true), NothingRan, nothing_ran.clone(), Unknown),
            (says(408, "brand_new", true), NothingRan, nothing_ran.clone(), Unknown),
            (says(503, "database_busy", false), Final, Refused, Unknown),
            (says(429, "rate_limited", false), Final, Refused, Unknown),
            (says(409, "format_run_in_progress", true), Final, Refused, Unknown),
            (says(409, "job_not_completed", true), Final, Refused, Unknown),
            (code(500, "brand_new"), Ambiguous, Unknown, Unknown),
            (code(504, "brand_new"), Ambiguous, Unknown, Unknown),
            (code(302, "brand_new"), Unanswered, Unknown, Unknown),
            (code(408, "brand_new"), Ambiguous, Unknown, Unknown),
            (code(400, "invalid_request"), Final, Refused, Refused),
            (code(413, "payload_too_large"), Final, Refused, Unknown),
            (code(401, "unauthorized"), Final, Refused, Unknown),
            (code(402, "insufficient_funds"), Final, Refused, Unknown),
            (code(403, "insufficient_scope"), Final, Refused, Unknown),
            (code(404, "format_not_found"), Final, Refused, Unknown),
            (code(409, "format_inactive"), Final, Refused, Unknown),
            (code(409, "idempotency_conflict"), Final, Refused, Unknown),
            (code(409, "idempotency_key_in_use"), Ambiguous, Unknown, Unknown),
            (page(302), Unanswered, Unknown, Unknown),
            (page(408), Ambiguous, Unknown, Unknown),
            (page(403), Final, Refused, Unknown),
            (page(429), RateLimited, nothing_ran, Unknown),
            (page(502), Ambiguous, Unknown, Unknown),
            (not_json, Ambiguous, Unknown, Unknown),
            (undecodable, Final, AcceptedWithoutId, AcceptedWithoutId),
        ];
        for (error, class, first, later) in rows {
            assert_eq!(classify(&error), class, "{error}");
            assert_eq!(settle(&error, FIRST), first, "{error}");
            assert_eq!(settle(&error, AFTER_UNKNOWN), later, "later: {error}");
        }
    }

    #[test]
    fn a_conflict_with_ones_own_other_body_proves_that_it_arrived() {
        let plain = envelope(409, r#"{"code": "idempotency_conflict"}"#);
        assert_eq!(settle(&plain, AFTER_OTHER_BODY), Settlement::Arrived(None));
        let queue = r#"{"code": "idempotency_conflict", "details": {"queue_id": "frq_1"}}"#;
        assert_eq!(
            settle(&envelope(409, queue), AFTER_OTHER_BODY),
            Settlement::Arrived(Some("frq_1".into()))
        );
    }
}
