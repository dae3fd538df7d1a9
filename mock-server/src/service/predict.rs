//! Predicted replies for frontends that cannot wait.

use super::Service;
use crate::engine::{Host, HostRequest, Reply};

impl Service {
    /// Handles a request to any host and returns the final reply immediately. Its `delay` is the
    /// complete real time to wait before the response is sent.
    ///
    /// With a manual clock, the reply is that of a wait that timed out.
    pub(crate) fn predict(&self, call: &HostRequest) -> Reply {
        if call.host == Host::Control
            && let Some(refusal) = self.refuse_foreign(&call.request)
        {
            return Reply::immediate(refusal);
        }
        let (reply, exchange) = self.handle(call);
        let reply = self.predict_reply(reply);
        self.finish_exchange(exchange, &reply);
        reply
    }

    fn predict_reply(&self, reply: Reply) -> Reply {
        let Some(mut pending) = reply.pending else { return reply };
        let mut state = self.lock();
        if let Some(wait) = state.clock.real_time_until(pending.until) {
            let delay = reply.delay.saturating_add(wait);
            return Reply { delay, ..state.simulator.predict(&pending) };
        }
        let now = state.clock.now();
        pending.until = now;
        Reply { delay: reply.delay, ..state.simulator.resume(now, &pending) }
    }
}
