//! Replies that wait for service time and real time.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tokio::select;
use tokio::time::{sleep, timeout};

use super::Service;
use crate::addresses::Addresses;
use crate::control::{self, ControlBody};
#[cfg(feature = "serve")]
use crate::engine::RestoreError;
#[cfg(feature = "serve")]
use crate::engine::snapshot::ReadState;
use crate::engine::{Host, HostRequest, PendingReply, Reply, Transmission};

impl Service {
    /// Handles a request to any host and waits until the response is to be sent.
    pub(crate) async fn call(&self, call: HostRequest) -> Reply {
        if call.host == Host::Control {
            if let Some(refusal) = self.refuse_foreign(&call.request) {
                return Reply::immediate(refusal);
            }
            let response = Box::pin(self.call_control(call.request)).await;
            return Reply::immediate(response.map(ControlBody::into_bytes));
        }
        let (reply, exchange) = self.handle(&call);
        if reply.is_final() {
            return reply;
        }
        let addresses = call.request.extensions().get::<Addresses>().cloned();
        drop(call);
        let reply = Box::pin(self.complete(reply, addresses.as_ref())).await;
        self.finish_exchange(exchange, &reply);
        reply
    }

    /// Waits until a response is to be sent.
    async fn complete(&self, mut reply: Reply, addresses: Option<&Addresses>) -> Reply {
        let delay = reply.delay;
        if let Some(pending) = reply.pending {
            reply = self.wait_for_reply(pending, addresses).await;
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
        let Some(wait) = control::requested_wait(&request) else {
            return self.handle_control(&request);
        };
        let mut time_limit = pin!(tokio::time::sleep(wait));
        loop {
            let seen = self.revision();
            let response = self.handle_control(&request).map(ControlBody::into_bytes);
            if time_limit.is_elapsed() || control::is_satisfied(response.body()) {
                return response.map(ControlBody::Complete);
            }
            tokio::select! {
                () = time_limit.as_mut() => {}
                _ = self.wait_for_change(seen, wait) => {}
            }
        }
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
        let next_due = {
            let state = self.lock();
            let next = state.simulator.next_due();
            next.and_then(|due| state.clock.real_time_until(due))
        };
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

    /// Continues from a state that was read from the body of `PUT /state`, and responds to it.
    #[cfg(feature = "serve")]
    pub(crate) fn import(
        &self,
        query: &str,
        restored: Result<ReadState, RestoreError>,
    ) -> http::Response<ControlBody> {
        let (response, before) = control::import(&mut self.lock(), query, restored);
        self.notify_changed();
        // The state before is removed after the new one has been unlocked.
        drop(before);
        response
    }

    async fn wait_for_reply(
        &self,
        mut pending: PendingReply,
        addresses: Option<&Addresses>,
    ) -> Reply {
        loop {
            let mut changed = pin!(self.shared.changed.notified());
            // Changes after this point are not missed.
            changed.as_mut().enable();
            let wait = {
                let mut state = self.lock();
                let now = state.clock.now();
                let reply =
                    state.with_addresses(addresses, |it| it.simulator.resume(now, &pending));
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

/// Replies for frontends that cannot wait.
#[cfg(feature = "wiremock")]
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
