//! Polls that fail, one after the other.

use std::time::Duration;

use super::WaitOptions;
use crate::call::clock::Instant;
use crate::call::retry::{self, LONGEST_WAIT, RetryPolicy};
use crate::contract::RetryClass;
use crate::error::{Error, Kind};

/// The least pause after a failed poll.
const SHORTEST: Duration = Duration::from_millis(250);

/// A row of failed polls. It says nothing about the job.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    since: Option<Instant>,
    polls: u32,
}

impl Trouble {
    /// A poll succeeded.
    pub(crate) fn over(&mut self) {
        *self = Self::default();
    }

    /// A poll failed: how long to pause before the next, or none where asking again cannot help, or
    /// patience is at its end.
    pub(crate) fn pause(
        &mut self,
        error: &Error,
        now: Instant,
        options: &WaitOptions,
        draw: f64,
    ) -> Option<Duration> {
        let since = *self.since.get_or_insert(now);
        let hint = error.retry_after().unwrap_or_default();
        let patient = now.saturating_duration_since(since) < options.patience;
        if !passes(error) || hint > LONGEST_WAIT || !patient {
            return None;
        }
        let ceiling = RetryPolicy::default().ceiling(self.polls + 1);
        self.polls += 1;
        Some(ceiling.mul_f64(draw).max(hint).max(SHORTEST))
    }
}

/// Whether asking again can help.
fn passes(error: &Error) -> bool {
    let waits = matches!(
        error.kind(),
        Kind::BudgetSpent { .. } | Kind::Deadline { .. }
    );
    waits || retry::allows(RetryClass::Safe, retry::proof(error))
}
