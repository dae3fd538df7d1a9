//! Consecutive polls that failed.

use std::sync::Arc;
use std::time::Duration;

use crate::call::clock::Instant;
use crate::call::retry::{MAX_RETRY_AFTER, RetryPolicy};
use crate::contract::RetryClass;
use crate::error::failure_class::{allows_retry, classify};
use crate::error::{Error, Kind};

/// The shortest pause after a failed poll.
const MIN_PAUSE: Duration = Duration::from_millis(250);

/// A series of failed polls. It says nothing about the resource itself.
#[derive(Debug, Default)]
pub(crate) struct PollFailures {
    since: Option<Instant>,
    count: u32,
    last: Option<Arc<Error>>,
}

impl PollFailures {
    /// Ends the series after a poll that succeeded.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Stores the error of the latest poll, and returns it.
    pub(crate) fn set_last(&mut self, error: Arc<Error>) -> Arc<Error> {
        Arc::clone(self.last.insert(error))
    }

    /// Returns the error of the latest poll, if it failed.
    pub(crate) fn last(&self) -> Option<Arc<Error>> {
        self.last.clone()
    }

    /// Counts a failed poll, and returns the pause before the next one.
    ///
    /// Returns `None` if another poll cannot help, or if polls have failed for `timeout`.
    pub(crate) fn pause(
        &mut self,
        error: &Error,
        now: Instant,
        timeout: Duration,
        jitter: f64,
    ) -> Option<Duration> {
        let since = *self.since.get_or_insert(now);
        let hint = error.retry_after().unwrap_or_default();
        let is_in_time = now.saturating_duration_since(since) < timeout;
        if !is_transient(error) || hint > MAX_RETRY_AFTER || !is_in_time {
            return None;
        }
        let limit = RetryPolicy::default().backoff_limit(self.count + 1);
        self.count += 1;
        Some(limit.mul_f64(jitter).max(hint).max(MIN_PAUSE))
    }
}

/// Returns whether another poll can succeed.
fn is_transient(error: &Error) -> bool {
    let is_local =
        matches!(error.variant(), Kind::RateLimitExhausted { .. } | Kind::Timeout { .. });
    is_local || allows_retry(RetryClass::Safe, classify(error))
}
