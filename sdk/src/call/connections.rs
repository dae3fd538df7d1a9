//! Replacement of a client's connections, such as after the computer slept.
//!
//! A connection can be dead without having been closed: while the computer slept, the server or a
//! gateway forgot it, or the network that it went through is gone. A request on it gets no response.

use std::sync::Mutex;
use std::time::Duration;

use super::clock::{self, ClockReading, Instant};
use crate::lock::lock;

/// The state of the connections that are kept for reuse.
#[derive(Debug)]
pub(crate) struct Connections(Mutex<ConnectionState>);

#[derive(Debug)]
struct ConnectionState {
    /// The clocks at the last request.
    last_used: ClockReading,
    replaced_at: Instant,
    total_sleep: Duration,
}

/// The clocks and the sleep since the last request, as noted before a request.
#[derive(Debug)]
pub(crate) struct NotedRequest {
    pub(crate) now: ClockReading,
    /// Whether the computer slept since the last request. The connections then count as replaced.
    pub(crate) has_slept: bool,
    /// How long the computer slept since the client was created.
    pub(crate) total_sleep: Duration,
}

impl Connections {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(ConnectionState {
            last_used: ClockReading::now(),
            replaced_at: clock::now(),
            total_sleep: Duration::ZERO,
        }))
    }

    /// Records the time of a request.
    pub(crate) fn note_request(&self) -> NotedRequest {
        // Read after the lock is held, so that one sleep is noticed once.
        let mut state = lock(&self.0);
        let now = ClockReading::now();
        let slept = state.last_used.slept_until(&now);
        state.last_used = now;
        if let Some(slept) = slept {
            state.replaced_at = now.monotonic();
            state.total_sleep += slept;
        }
        NotedRequest { now, has_slept: slept.is_some(), total_sleep: state.total_sleep }
    }

    /// Marks the connections as replaced after a request got no response, unless they were replaced
    /// since it was sent: then it says nothing of the new ones. Returns whether they were marked.
    pub(crate) fn mark_replaced(&self, sent_at: Instant, now: &ClockReading) -> bool {
        let mut state = lock(&self.0);
        let is_old = state.replaced_at <= sent_at;
        if is_old {
            state.replaced_at = now.monotonic();
        }
        is_old
    }
}
