//! Answers that would wait, for a face that cannot.

use super::Service;
use crate::engine::{Call, Reply};

impl Service {
    /// Answers a request of any host now: with the answer that is foreseen, and with all the real
    /// time in `delay` that it has to be kept back for.
    ///
    /// Where a manual clock would have to be waited for, the answer is that of a wait that is
    /// over.
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
