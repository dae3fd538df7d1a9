//! Timelines of jobs and runs in service time, and the poll hints derived from them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Hosts, Time};

/// The planned timeline of a job or run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeline {
    created_at: Time,
    /// The microseconds from the submit to the end.
    #[serde(rename = "takes")]
    duration_micros: u64,
    /// Whether the job or run never ends.
    stuck: bool,
}

/// The minimum poll hint, unless less time remains.
const MIN_POLL_HINT: Duration = Duration::from_secs(1);
const MAX_POLL_HINT: Duration = Duration::from_secs(10);

impl Timeline {
    pub(crate) fn new(created_at: Time, duration: Duration, stuck: bool) -> Self {
        let duration_micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Self { created_at, duration_micros, stuck }
    }

    pub(crate) fn created_at(&self) -> Time {
        self.created_at
    }

    /// Returns when the job leaves the queue: after one tenth of its duration.
    pub(crate) fn starts_at(&self) -> Time {
        self.after_tenths(1)
    }

    /// Returns when generation starts and canceling becomes impossible: after three tenths.
    pub(crate) fn generation_starts_at(&self) -> Time {
        self.after_tenths(3)
    }

    /// Returns when the job ends; `None` if it is stuck.
    pub(crate) fn ends_at(&self) -> Option<Time> {
        (!self.stuck).then(|| self.after_tenths(10))
    }

    /// Returns how long clients wait before the next poll, in their own time.
    pub(crate) fn next_poll(&self, is_terminal: bool, now: Time, hosts: &Hosts) -> Duration {
        hosts.client_time(self.poll_hint(is_terminal, now))
    }

    /// Returns how long to wait before the next poll, in whole milliseconds.
    ///
    /// It is half of the remaining time within bounds. Close to the end it is all of the remaining
    /// time, so that the next poll finds the result.
    fn poll_hint(&self, is_terminal: bool, now: Time) -> Duration {
        if is_terminal {
            return Duration::ZERO;
        }
        let Some(end) = self.ends_at() else { return MAX_POLL_HINT };
        let remaining = end.since(now);
        let hint = if remaining < MIN_POLL_HINT {
            remaining
        } else {
            (remaining / 2).clamp(MIN_POLL_HINT, MAX_POLL_HINT)
        };
        let millis = hint.as_micros().div_ceil(1000);
        Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    /// Returns when the given number of tenths of the duration has passed.
    pub(crate) fn after_tenths(&self, tenths: u64) -> Time {
        let micros = u128::from(self.duration_micros) * u128::from(tenths) / 10;
        self.created_at.after(Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)))
    }
}
