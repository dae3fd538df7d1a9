//! Queries of the dashboard and the event stream.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::select;
use tokio::time::sleep;

use super::Service;
use crate::engine::Hosts;
use crate::mock_state::MockState;

impl Service {
    pub(crate) fn read<T>(&self, read: impl FnOnce(&mut MockState) -> T) -> T {
        read(&mut self.lock())
    }

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.shared.addresses.hosts
    }

    /// Returns the number of changes and requests so far.
    pub(crate) fn revision(&self) -> u64 {
        self.shared.revision.load(Ordering::Acquire)
    }

    /// Waits until the revision differs from `seen` or a timer is due, and returns the new revision;
    /// `None` after the time limit.
    pub(crate) async fn wait_for_change(&self, seen: u64, time_limit: Duration) -> Option<u64> {
        let mut changed = pin!(self.shared.changed.notified());
        let mut requested = pin!(self.shared.requested.notified());
        // From here on, no change is missed.
        changed.as_mut().enable();
        requested.as_mut().enable();
        let next_due = self.read(|state| {
            let next = state.simulator.next_due();
            next.and_then(|due| state.clock.real_time_until(due))
        });
        if self.revision() != seen {
            return Some(self.revision());
        }
        let until_due = next_due.filter(|wait| *wait < time_limit);
        select! {
            () = changed => {}
            () = requested => {}
            () = sleep(until_due.unwrap_or(time_limit)) => {
                until_due?;
            }
        }
        Some(self.revision())
    }
}
