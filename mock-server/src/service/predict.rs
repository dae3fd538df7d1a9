//! Predicted replies for frontends that cannot wait.

use super::Service;
use crate::engine::{Call, Reply};

impl Service {
    /// Handles a request to any host and returns the final reply immediately. Its `delay` is the
    /// complete real time to wait before the response is sent.
    ///
    /// With a manual clock, the reply is that of a wait that timed out.
    pub(crate) fn predict(&self, call: &Call) -> Reply {
        let reply = self.handle(call);
        let Some(mut pending) = reply.pending else {
            return reply;
        };
        let mut state = self.lock();
        if let Some(wait) = state.clock.real_time_until(pending.until) {
            let delay = reply.delay.saturating_add(wait);
            return Reply {
                delay,
                ..state.simulator.predict(&pending)
            };
        }
        let now = state.clock.now();
        pending.until = now;
        Reply {
            delay: reply.delay,
            ..state.simulator.resume(now, &pending)
        }
    }
}
