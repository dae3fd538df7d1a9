//! When the connections of a client are replaced.
//!
//! A connection can be dead without having been closed: while the computer slept, the server or a
//! gateway forgot it, or the network that it went through is gone. A request on it gets no response.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::clock::{self, ClockReading, Instant};
use super::core::Core;
use crate::transport::ResponseFuture;

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

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Core {
    /// Sends a request, on a new connection if the computer slept since the last one.
    pub(crate) fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        self.notice_sleep();
        self.transport.send(request)
    }

    /// Replaces the connections if the computer slept since the last request, and ends the
    /// rate-limit windows that ended meanwhile. Returns the clocks.
    pub(crate) fn notice_sleep(&self) -> ClockReading {
        let now = ClockReading::now();
        let slept = {
            let mut state = self.connections.state();
            let slept = state.last_used.slept_until(&now);
            state.last_used = now;
            if slept.is_some() {
                state.replaced_at = now.monotonic();
            }
            slept
        };
        if let Some(slept) = slept {
            self.rate_limiter.skip(slept);
            self.transport.reconnect();
        }
        now
    }

    /// Replaces the connections after a request got no response in time.
    ///
    /// `sent_at` is when it was sent: if the connections were replaced since, it says nothing of the
    /// new ones.
    pub(crate) fn replace_connections(&self, sent_at: Instant) {
        let now = self.notice_sleep();
        let mut state = self.connections.state();
        if state.replaced_at <= sent_at {
            state.replaced_at = now.monotonic();
            drop(state);
            self.transport.reconnect();
        }
    }
}
