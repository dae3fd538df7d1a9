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

    /// What each failure says of a first attempt, and after one that may have been carried out.
    #[test]
    fn a_failure_says_what_it_proves_and_no_more() {
        use Settlement::{AcceptedWithoutId, NotSent, NothingRan, Refused, Unknown};

        let code = |status, code: &str| envelope(status, &format!(r#"{{"code": "{code}"}}"#));
        let rows = [
            (Error::from(TransportError::not_sent("refused")), NotSent, Unknown),
            (Error::from(TransportError::maybe_sent("reset")), Unknown, Unknown),
            (Error::from(InvalidField::new("prompt", "missing")), NotSent, Unknown),
            (timeout(false), NotSent, Unknown),
            (timeout(true), Unknown, Unknown),
            (code(429, "rate_limited"), NothingRan, Unknown),
            (code(503, "database_busy"), NothingRan, Unknown),
            (code(502, "stripe_error"), NothingRan, Unknown),
            (code(500, "brand_new"), Unknown, Unknown),
            (code(302, "brand_new"), Unknown, Unknown),
            (code(408, "brand_new"), Unknown, Unknown),
            (envelope(408, r#"{"code": "brand_new", "retryable": true}"#), NothingRan, Unknown),
            (envelope(429, r#"{"code": "rate_limited", "retryable": false}"#), Refused, Unknown),
            (code(400, "invalid_request"), Refused, Refused),
            (code(413, "payload_too_large"), Refused, Unknown),
            (code(401, "unauthorized"), Refused, Unknown),
            (code(402, "insufficient_funds"), Refused, Unknown),
            (code(403, "insufficient_scope"), Refused, Unknown),
            (code(404, "format_not_found"), Refused, Unknown),
            (code(409, "format_inactive"), Refused, Unknown),
            (code(409, "idempotency_conflict"), Refused, Unknown),
            (code(409, "idempotency_key_in_use"), Unknown, Unknown),
            (page(200 + 102), Unknown, Unknown),
            (page(408), Unknown, Unknown),
            (page(403), Refused, Unknown),
            (page(429), NothingRan, Unknown),
            (page(502), Unknown, Unknown),
            (Error::new(Kind::NotJson { status: 202, snippet: String::new() }), Unknown, Unknown),
            (
                Error::new(Kind::Decode {
                    status: 202,
                    path: String::new(),
                    reason: String::new(),
                    snippet: String::new(),
                }),
                AcceptedWithoutId,
                AcceptedWithoutId,
            ),
        ];
        for (error, first, later) in rows {
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
