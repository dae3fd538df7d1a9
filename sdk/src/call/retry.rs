//! The retry policy and the retry budget: whether a failed request is sent again, and after which delay.
//! No I/O.

use std::sync::Mutex;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

use crate::contract::RetryClass;
use crate::error::Error;
use crate::error::failure_class::{allows_retry, classify};
use crate::lock::lock;

/// The longest `Retry-After` that is waited for. An error with a longer one is returned at once.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_secs(120);

/// The retries available at the start, and the most that can be available.
const BUDGET_CAPACITY: f64 = 50.0;
/// The retries that a success adds: a client sustains one failure in three forever.
const BUDGET_REFUND: f64 = 0.5;

/// How a client retries calls that can be retried safely.
///
/// The delay before a retry is drawn between zero and a limit that doubles each time ("full
/// jitter"), and is at least what the service asked for.
///
/// ```
/// use svc_sdk::RetryPolicy;
///
/// assert_eq!(RetryPolicy::default().max_retries, 5);
/// assert_eq!(RetryPolicy::none().max_retries, 0);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The maximum number of retries of one call. The default is 5.
    pub max_retries: u32,
    /// The upper limit of the first delay. The default is half a second.
    pub initial_backoff: Duration,
    /// The upper limit of every delay, unless the service asks for more. The default is 20 seconds.
    pub max_backoff: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 5,
            initial_backoff: Duration::from_millis(500),
            max_backoff: Duration::from_secs(20),
        }
    }
}

impl RetryPolicy {
    /// Returns a policy that retries nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::default().max_retries(0)
    }

    /// Sets the maximum number of retries.
    #[must_use]
    pub fn max_retries(mut self, max_retries: u32) -> Self {
        self.max_retries = max_retries;
        self
    }

    /// Sets the upper limit of the first delay.
    #[must_use]
    pub fn initial_backoff(mut self, initial_backoff: Duration) -> Self {
        self.initial_backoff = initial_backoff;
        self
    }

    /// Sets the upper limit of every delay.
    #[must_use]
    pub fn max_backoff(mut self, max_backoff: Duration) -> Self {
        self.max_backoff = max_backoff;
        self
    }

    /// Returns the upper limit of the delay before retry `attempt`, counted from 0.
    pub(crate) fn backoff_limit(&self, attempt: u32) -> Duration {
        ExponentialBuilder::new()
            .with_min_delay(self.initial_backoff)
            .with_max_delay(self.max_backoff)
            .with_factor(2.0)
            .without_max_times()
            .build()
            .nth(attempt as usize)
            .unwrap_or(self.max_backoff)
            .min(self.max_backoff)
    }
}

/// Returns the delay before the next attempt, or `None` if there must be none.
///
/// `attempt` is the number of retries so far, `jitter` is in [0, 1), `remaining` is what is left of
/// the call's time limit.
pub(crate) fn retry_delay(
    policy: &RetryPolicy,
    class: RetryClass,
    error: &Error,
    attempt: u32,
    jitter: f64,
    remaining: Duration,
) -> Option<Duration> {
    let is_refused = error.body().is_some_and(|body| body.retryable == Some(false));
    if attempt >= policy.max_retries || is_refused || !allows_retry(class, classify(error)) {
        return None;
    }
    let hint = error.retry_after().unwrap_or_default();
    if hint > MAX_RETRY_AFTER {
        return None;
    }
    let delay = policy.backoff_limit(attempt).mul_f64(jitter.clamp(0.0, 1.0)).max(hint);
    (delay < remaining).then_some(delay)
}

/// Reads the `Retry-After` header, in seconds or as an HTTP date.
pub(crate) fn retry_after(
    headers: &http::HeaderMap,
    now: std::time::SystemTime,
) -> Option<Duration> {
    let text = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    if let Some(delay) =
        text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    {
        return Some(delay);
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// A bucket of retries, so that an outage is not answered with a multiple of the load.
#[derive(Debug)]
pub(crate) struct RetryBudget(Mutex<f64>);

impl RetryBudget {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(BUDGET_CAPACITY))
    }

    /// Takes one retry, if one is left.
    pub(crate) fn take(&self) -> bool {
        let mut available = lock(&self.0);
        let granted = *available >= 1.0;
        if granted {
            *available -= 1.0;
        }
        granted
    }

    /// Adds to the budget after a success.
    pub(crate) fn refund(&self) {
        let mut available = lock(&self.0);
        *available = (*available + BUDGET_REFUND).min(BUDGET_CAPACITY);
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::error::failure_class::FailureClass;

    fn error(status: u16, json: &str, retry_after: Option<u64>) -> Error {
        let body = Box::new(serde_json::from_str(json).unwrap());
        Error::new(Kind::Api { status, body, retry_after: retry_after.map(Duration::from_secs) })
    }

    #[test]
    fn each_retry_class_retries_what_its_documentation_says() {
        use FailureClass::{Ambiguous, Final, NotSent, NothingRan, RateLimited, Unanswered};
        use RetryClass::{Idempotent, Key, Never, Safe, Unsent};

        let all = [Safe, Idempotent, Key, Unsent, Never];
        for (failure, retried) in [
            (NotSent, all.as_slice()),
            (RateLimited, &all),
            (NothingRan, &[Safe, Idempotent, Key, Unsent]),
            (Ambiguous, &[Safe, Idempotent, Key]),
            (Unanswered, &[]),
            (Final, &[]),
        ] {
            let allowed = all.into_iter().filter(|class| allows_retry(*class, failure));
            assert!(allowed.eq(retried.iter().copied()), "{failure:?}");
        }
    }

    #[test]
    fn delays_are_drawn_below_a_limit_that_doubles() {
        let policy = RetryPolicy::default().max_retries(10);
        let busy = error(503, r#"{"code": "database_busy"}"#, None);
        let hour = Duration::from_secs(3600);
        let delays: Vec<_> = (0..8)
            .map(|attempt| {
                retry_delay(&policy, RetryClass::Safe, &busy, attempt, 1.0, hour)
                    .unwrap()
                    .as_millis()
            })
            .collect();
        assert_eq!(delays, [500, 1000, 2000, 4000, 8000, 16000, 20000, 20000]);
        let half = retry_delay(&policy, RetryClass::Safe, &busy, 2, 0.5, hour);
        assert_eq!(half, Some(Duration::from_millis(1000)));
        assert_eq!(retry_delay(&policy, RetryClass::Safe, &busy, 10, 0.5, hour), None);
    }

    #[test]
    fn every_form_of_retry_after_is_read() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
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
                retry_after(&headers, now).map(|span| span.as_secs_f64()),
                expected,
                "{text:?}"
            );
        }
        let mut headers = http::HeaderMap::new();
        headers.insert(http::header::RETRY_AFTER, "99999999999999999999999".parse().unwrap());
        assert_eq!(retry_after(&headers, now), Some(Duration::from_secs(u64::MAX)));
    }

    #[test]
    fn an_outage_uses_up_the_retries_and_successes_restore_them() {
        let budget = RetryBudget::new();
        assert_eq!((0..1000).filter(|_| budget.take()).count(), 50);
        budget.refund();
        assert!(!budget.take());
        budget.refund();
        assert!(budget.take());
    }
}
