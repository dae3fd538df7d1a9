//! Whether a failed request is sent again, and after how long: a decision, without doing it.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

use crate::contract::{NextAction, RetryClass};
use crate::error::{Error, Kind};

/// A hint above this is not waited for: the error comes back at once and says how long.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// How persistently a client repeats what may be repeated.
///
/// The delay before a repetition is drawn from zero to a ceiling that doubles each time ("full
/// jitter"), and is at least what the service asked for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Repetitions of one call at most. Default: 5.
    pub retries: u32,
    /// The ceiling of the first delay. Default: half a second.
    pub first_ceiling: Duration,
    /// The ceiling that no delay exceeds, unless the service asks for more. Default: 20 s.
    pub last_ceiling: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 5,
            first_ceiling: Duration::from_millis(500),
            last_ceiling: Duration::from_secs(20),
        }
    }
}

impl RetryPolicy {
    /// Nothing is repeated.
    #[must_use]
    pub fn none() -> Self {
        Self {
            retries: 0,
            ..Self::default()
        }
    }

    /// So many repetitions at most.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// The ceiling of the delay before repetition `attempt` (from 0).
    pub(crate) fn ceiling(&self, attempt: u32) -> Duration {
        ExponentialBuilder::new()
            .with_min_delay(self.first_ceiling)
            .with_max_delay(self.last_ceiling)
            .with_factor(2.0)
            .without_max_times()
            .build()
            .nth(attempt as usize)
            .unwrap_or(self.last_ceiling)
            .min(self.last_ceiling)
    }
}

/// What a failure proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The request never left.
    NeverSent,
    /// It was turned away at the door (429).
    RateLimited,
    /// The service says that nothing ran and that it can be tried again.
    NothingRan,
    /// It may have been carried out.
    Ambiguous,
    /// Sending it again cannot help.
    Final,
}

pub(crate) fn proof(error: &Error) -> Proof {
    match error.kind() {
        Kind::Transport(error) if error.may_have_been_sent() => Proof::Ambiguous,
        Kind::Transport(_) => Proof::NeverSent,
        Kind::Unreadable { .. } => Proof::Ambiguous,
        Kind::NoEnvelope { status: 429, .. } => Proof::RateLimited,
        Kind::NoEnvelope { status: 500.., .. } => Proof::Ambiguous,
        // Waiting for a job is polling, not repeating.
        Kind::Api { body, .. } if body.next_action() == Some(NextAction::PollStatus) => {
            Proof::Final
        }
        Kind::Api { .. } if !error.is_retryable() => Proof::Final,
        Kind::Api { status: 429, .. } => Proof::RateLimited,
        Kind::Api { .. } => Proof::NothingRan,
        _ => Proof::Final,
    }
}

/// Whether the error says what became of the request, and of every earlier attempt at it.
///
/// Only the service can say so, and only once it has looked for the idempotency key: what turns a
/// request away before that (the key's `401` and `403`, an error of its own, a page of a proxy)
/// knows nothing of the attempt that may have arrived.
pub(crate) fn settles(error: &Error) -> bool {
    match error.kind() {
        Kind::Api {
            status: 401 | 403 | 500..,
            ..
        } => false,
        Kind::Api { .. } => proof(error) == Proof::Final,
        Kind::Decode { .. } => true,
        _ => false,
    }
}

/// Whether a request of that class may be sent again after a failure that proves so much.
pub(crate) const fn allows(class: RetryClass, proof: Proof) -> bool {
    match proof {
        Proof::NeverSent | Proof::RateLimited => true,
        Proof::NothingRan => !matches!(class, RetryClass::Never),
        Proof::Ambiguous => matches!(
            class,
            RetryClass::Safe | RetryClass::Idempotent | RetryClass::Key
        ),
        Proof::Final => false,
    }
}

/// The delay before the next attempt; `None` where there is none.
///
/// `attempt` counts the repetitions so far, `draw` is from 0 to 1, `left` is what remains of the
/// call's time.
pub(crate) fn delay(
    policy: &RetryPolicy,
    class: RetryClass,
    error: &Error,
    attempt: u32,
    draw: f64,
    left: Duration,
) -> Option<Duration> {
    if attempt >= policy.retries || !allows(class, proof(error)) {
        return None;
    }
    let hint = error.retry_after().unwrap_or_default();
    if hint > LONGEST_WAIT {
        return None;
    }
    let delay = policy
        .ceiling(attempt)
        .mul_f64(draw.clamp(0.0, 1.0))
        .max(hint);
    (delay < left).then_some(delay)
}

/// The `Retry-After` header: seconds or an HTTP date.
pub(crate) fn retry_after(
    headers: &http::HeaderMap,
    wall: std::time::SystemTime,
) -> Option<Duration> {
    let text = headers
        .get(http::header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    if let Some(seconds) = text.parse().ok().and_then(seconds) {
        return Some(seconds);
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(wall).unwrap_or_default())
}

/// Seconds of a header, where they are a span of time.
fn seconds(value: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::TransportError;

    fn error(status: u16, json: &str, retry_after: Option<u64>) -> Error {
        let body = Box::new(serde_json::from_str(json).unwrap());
        Error::new(Kind::Api {
            status,
            body,
            retry_after: retry_after.map(Duration::from_secs),
        })
    }

    fn page(status: u16) -> Error {
        Error::new(Kind::NoEnvelope {
            status,
            snippet: "<html>".into(),
            retry_after: None,
        })
    }

    #[test]
    fn the_classes_repeat_what_the_table_says() {
        use RetryClass::{Idempotent, Key, Never, Safe, Unsent};

        let never_sent = || Error::from(TransportError::not_sent("refused"));
        let reset = || Error::from(TransportError::perhaps_sent("reset"));
        let limited = || error(429, r#"{"code": "rate_limited"}"#, None);
        let busy = || error(503, r#"{"code": "database_busy"}"#, None);
        let again = || error(409, r#"{"code": "brand_new", "retryable": true}"#, None);
        let refused = || {
            error(
                503,
                r#"{"code": "database_busy", "retryable": false}"#,
                None,
            )
        };
        let broken = || error(500, r#"{"code": "brand_new"}"#, None);
        let running = || {
            error(
                409,
                r#"{"code": "job_not_completed", "retryable": true}"#,
                None,
            )
        };

        let all = [Safe, Idempotent, Key, Unsent, Never];
        let rows = [
            ("never sent", never_sent(), all.as_slice()),
            ("429", limited(), &all),
            (
                "503 with an envelope",
                busy(),
                &[Safe, Idempotent, Key, Unsent],
            ),
            ("retryable: true", again(), &[Safe, Idempotent, Key, Unsent]),
            ("reset after sending", reset(), &[Safe, Idempotent, Key]),
            (
                "502 without an envelope",
                page(502),
                &[Safe, Idempotent, Key],
            ),
            ("retryable: false", refused(), &[]),
            ("500 with an envelope", broken(), &[]),
            ("still running", running(), &[]),
        ];
        for (name, error, repeats) in rows {
            for class in all {
                let proof = proof(&error);
                assert_eq!(
                    allows(class, proof),
                    repeats.contains(&class),
                    "{name}, {class:?}"
                );
            }
        }
    }

    #[test]
    fn delays_are_drawn_below_a_ceiling_that_doubles() {
        let policy = RetryPolicy::default().retries(10);
        let busy = error(503, r#"{"code": "database_busy"}"#, None);
        let hour = Duration::from_secs(3600);
        let delays: Vec<_> = (0..8)
            .map(|attempt| {
                delay(&policy, RetryClass::Safe, &busy, attempt, 1.0, hour)
                    .unwrap()
                    .as_millis()
            })
            .collect();
        assert_eq!(delays, [500, 1000, 2000, 4000, 8000, 16000, 20000, 20000]);
        let half = delay(&policy, RetryClass::Safe, &busy, 2, 0.5, hour);
        assert_eq!(half, Some(Duration::from_millis(1000)));
        assert_eq!(delay(&policy, RetryClass::Safe, &busy, 10, 0.5, hour), None);
    }

    #[test]
    fn the_services_hint_is_a_floor_and_a_long_one_comes_back_at_once() {
        let policy = RetryPolicy::default();
        let limited = |hint| error(429, r#"{"code": "rate_limited"}"#, Some(hint));
        let hour = Duration::from_secs(3600);
        let after = |hint| delay(&policy, RetryClass::Safe, &limited(hint), 0, 0.0, hour);
        assert_eq!(after(7), Some(Duration::from_secs(7)));
        assert_eq!(after(120), Some(Duration::from_secs(120)));
        assert_eq!(after(121), None);
        assert_eq!(after(9_999_999_999), None);
    }

    #[test]
    fn nothing_is_repeated_past_the_deadline() {
        let policy = RetryPolicy::default();
        let limited = error(429, r#"{"code": "rate_limited"}"#, Some(7));
        let left = Duration::from_secs(7);
        assert_eq!(
            delay(&policy, RetryClass::Safe, &limited, 0, 0.0, left),
            None
        );
    }

    #[test]
    fn retry_after_is_read_in_every_form() {
        let wall = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let rows = [
            ("7", Some(7.0)),
            (" 7 ", Some(7.0)),
            ("0", Some(0.0)),
            ("1.5", Some(1.5)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30.0)),
            ("Sun, 06 Nov 1994 08:49:07 GMT", Some(0.0)),
            ("-1", None),
            ("soon", None),
            ("", None),
            ("inf", None),
            ("NaN", None),
        ];
        for (text, expected) in rows {
            let mut headers = http::HeaderMap::new();
            headers.insert(http::header::RETRY_AFTER, text.parse().unwrap());
            assert_eq!(
                retry_after(&headers, wall).map(|span| span.as_secs_f64()),
                expected,
                "{text:?}"
            );
        }
        let mut headers = http::HeaderMap::new();
        headers.insert(
            http::header::RETRY_AFTER,
            "99999999999999999999999".parse().unwrap(),
        );
        assert_eq!(
            retry_after(&headers, wall),
            Some(Duration::from_secs(u64::MAX))
        );
    }
}
