//! When the connections of a client are replaced.
//!
//! A connection can be dead without having been closed: while the computer slept, the server or a
//! gateway forgot it, or the network that it went through is gone. A request on it gets no response.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::clock::{self, ClockReading, Instant};

/// What is known of the connections that are kept for reuse.
#[derive(Debug)]
pub(crate) struct Connections(Mutex<State>);

#[derive(Debug)]
struct State {
    /// The clocks at the last request.
    last_used: ClockReading,
    replaced_at: Instant,
}

impl Connections {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State {
            last_used: ClockReading::now(),
            replaced_at: clock::now(),
        }))
    }

    /// Records the time of a request. Returns the clocks, and how long the computer slept since the
    /// last one: if it did, the connections count as replaced.
    pub(crate) fn note_request(&self) -> (ClockReading, Option<Duration>) {
        // Read after the lock is held, so that one sleep is noticed once.
        let mut state = self.state();
        let now = ClockReading::now();
        let slept = state.last_used.slept_until(&now);
        state.last_used = now;
        if slept.is_some() {
            state.replaced_at = now.monotonic();
        }
        (now, slept)
    }

    /// Marks the connections as replaced after a request got no response, unless they were replaced
    /// since it was sent: then it says nothing of the new ones. Returns whether they were marked.
    pub(crate) fn mark_replaced(&self, sent_at: Instant, now: &ClockReading) -> bool {
        let mut state = self.state();
        let is_old = state.replaced_at <= sent_at;
        if is_old {
            state.replaced_at = now.monotonic();
        }
        is_old
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
