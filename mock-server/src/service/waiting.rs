//! Replies that wait for service time and real time.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{sleep, timeout};

use super::Service;
use crate::control::{self, ControlBody};
use crate::engine::{Host, HostRequest, PendingReply, Reply, Transmission};
#[cfg(feature = "serve")]
use crate::engine::{RestoreError, State};

impl Service {
    /// Handles a request to any host and waits until the response is to be sent.
    pub(crate) async fn call(&self, call: HostRequest) -> Reply {
        if call.host == Host::Control {
            if let Some(refusal) = self.refuse_foreign(&call.request) {
                return Reply::immediate(refusal);
            }
            let response = self.call_control(call.request).await;
            return Reply::immediate(response.map(ControlBody::into_bytes));
        }
        let (reply, exchange) = self.handle(&call);
        drop(call);
        let reply = self.complete(reply).await;
        self.finish_exchange(exchange, &reply);
        reply
    }

    /// Waits until a response is to be sent.
    async fn complete(&self, mut reply: Reply) -> Reply {
        let delay = reply.delay;
        if let Some(pending) = reply.pending {
            reply = self.wait_for_reply(pending).await;
        }
        if reply.transmission == Transmission::Stall {
            // The frontend pauses in the middle of the body.
            return Reply { delay, ..reply };
        }
        if !delay.is_zero() {
            sleep(delay).await;
        }
        Reply { delay: Duration::ZERO, ..reply }
    }

    /// Handles a request to the control API, and waits for the webhooks of an advance of the clock.
    /// The body of the response may be a document that is not written yet.
    pub(crate) async fn call_control(
        &self,
        request: http::Request<Bytes>,
    ) -> http::Response<ControlBody> {
        if let Some(span) = control::requested_advance(&request)
            && self.advance_and_deliver(span).await.is_ok()
        {
            return control::clock(&mut self.lock());
        }
        self.handle_control(&request)
    }

    /// Continues from a state that was read from the body of `PUT /state`, and responds to it.
    #[cfg(feature = "serve")]
    pub(crate) fn import(
        &self,
        restored: Result<State, RestoreError>,
    ) -> http::Response<ControlBody> {
        let (response, before) = control::import(&mut self.lock(), restored);
        self.notify_changed();
        // The state before is removed after the new one has been unlocked.
        drop(before);
        response
    }

    async fn wait_for_reply(&self, mut pending: PendingReply) -> Reply {
        loop {
            let mut changed = pin!(self.shared.changed.notified());
            // Changes after this point are not missed.
            changed.as_mut().enable();
            let wait = {
                let mut state = self.lock();
                let now = state.clock.now();
                let reply = state.simulator.resume(now, &pending);
                let Some(still_pending) = reply.pending else { return reply };
                pending = still_pending;
                state.clock.real_time_until(pending.until)
            };
            match wait {
                // The next iteration checks whether the time has come, so the result is not used.
                Some(wait) => drop(timeout(wait, changed).await),
                None => changed.await,
            }
        }
    }
}
