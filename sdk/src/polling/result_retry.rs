//! Reading the result of a resource that has ended.

use std::time::Duration;

use super::WaitOptions;
use super::failures::PollFailures;
use crate::call::Call;
use crate::call::clock::{self, Instant};
use crate::contract::NextAction;
use crate::error::{Error, Result};
use crate::handle::{Handle, Resource};

/// The least time to read the result, even if the wait's own time limit has passed.
const MIN_READ_TIME: Duration = Duration::from_secs(10);
/// How far the replica that answers may be behind the one that said that the resource has ended.
pub(super) const MAX_REPLICA_LAG: Duration = Duration::from_secs(15);
/// The pause before a replica that is behind is asked again.
pub(crate) const REPLICA_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How the result is read at the end of a wait.
///
/// Reads that fail are retried for as long as polls are: the result is paid for.
#[derive(Debug)]
pub struct ResultRetry {
    pub(super) deadline: Option<Instant>,
    replica_deadline: Instant,
    failure_timeout: Duration,
    failures: PollFailures,
}

impl ResultRetry {
    pub(super) fn new(options: &WaitOptions, deadline: Option<Instant>) -> Self {
        let now = clock::now();
        Self {
            deadline: deadline.map(|deadline| deadline.max(now + MIN_READ_TIME)),
            replica_deadline: now + MAX_REPLICA_LAG,
            failure_timeout: options.poll_failure_timeout,
            failures: PollFailures::default(),
        }
    }

    /// Limits a call to the time that is left.
    pub(crate) fn limit<T, R: Resource>(&self, call: Call<T>, handle: &Handle<R>) -> Call<T> {
        let timeout = handle.core.timeout;
        let timeout = self.deadline.map_or(timeout, |deadline| {
            deadline.saturating_duration_since(clock::now()).min(timeout)
        });
        call.timeout(timeout).max_retries(0)
    }

    /// Pauses before the result is read again, or returns the error if it must not be.
    pub(crate) async fn pause<R: Resource>(
        &mut self,
        handle: &Handle<R>,
        error: Error,
    ) -> Result<()> {
        let now = clock::now();
        let pause = if error.next_action() == Some(NextAction::PollStatus) {
            let pause = error.retry_after().unwrap_or_default().max(REPLICA_POLL_INTERVAL);
            Some(pause)
                .filter(|pause| *pause < self.replica_deadline.saturating_duration_since(now))
        } else {
            let jitter = handle.core.random.fraction();
            self.failures.pause(&error, now, self.failure_timeout, jitter)
        };
        let is_in_time = |pause: &Duration| {
            self.deadline.is_none_or(|deadline| *pause < deadline.saturating_duration_since(now))
        };
        match pause.filter(is_in_time) {
            Some(pause) => clock::pause(pause).await,
            None => return Err(handle.annotate(error).with_ended_wait()),
        }
        Ok(())
    }
}
