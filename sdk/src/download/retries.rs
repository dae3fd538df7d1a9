//! The retry policy of interrupted downloads.

use std::time::Duration;

use crate::call::retry::{MAX_RETRY_AFTER, RetryPolicy};
use crate::contract::RetryClass;
use crate::error::failure_class::{allows_retry, classify};
use crate::error::{Error, Kind};
use crate::observe::trace;

/// The maximum number of consecutive attempts that do not get beyond the furthest byte so far.
const MAX_ATTEMPTS_WITHOUT_PROGRESS: u32 = 8;
/// The maximum number of times that a complete file may fail its check.
const MAX_FAILED_CHECKS: u32 = 2;

/// The failed attempts of a download.
#[derive(Debug)]
pub(super) struct Retries {
    /// The current attempt, counted from 1.
    attempt: u32,
    /// The furthest byte that an attempt has reached. The current length does not show progress, as
    /// each attempt starts from the beginning if the file keeps changing.
    furthest: u64,
    attempts_without_progress: u32,
    failed_checks: u32,
}

impl Retries {
    /// Begins with the length of what is already present.
    pub(super) fn new(length: u64) -> Self {
        Self { attempt: 1, furthest: length, attempts_without_progress: 0, failed_checks: 0 }
    }

    /// Returns the current attempt, counted from 1.
    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Counts a complete file that failed its check.
    pub(super) fn count_failed_check(&mut self) {
        self.failed_checks += 1;
    }

    /// Counts a failed attempt that ended at `length`, and returns the delay before the next one, or
    /// `None` if there is none.
    pub(super) fn next_delay(&mut self, error: &Error, length: u64) -> Option<Duration> {
        self.attempts_without_progress =
            if length > self.furthest { 0 } else { self.attempts_without_progress + 1 };
        self.furthest = self.furthest.max(length);
        let cause = underlying_error(error);
        let retry_after = cause.retry_after().unwrap_or_default();
        let can_retry = allows_retry(RetryClass::Safe, classify(cause))
            && self.attempts_without_progress < MAX_ATTEMPTS_WITHOUT_PROGRESS
            && self.failed_checks < MAX_FAILED_CHECKS
            && retry_after <= MAX_RETRY_AFTER;
        let backoff = RetryPolicy::default().backoff_limit(self.attempts_without_progress);
        if !can_retry {
            return None;
        }
        let delay = backoff.max(retry_after);
        let left = MAX_ATTEMPTS_WITHOUT_PROGRESS - self.attempts_without_progress;
        let max_attempts = self.attempt.saturating_add(left);
        self.attempt = self.attempt.saturating_add(1);
        trace::retry(None, cause, self.attempt, max_attempts, delay);
        Some(delay)
    }
}

/// Returns the error that decides whether a download can be retried.
fn underlying_error(error: &Error) -> &Error {
    match error.variant() {
        Kind::Download { source: Some(source), .. } => source,
        _ => error,
    }
}
