//! The shared state of a running mock: the simulator, its clock and the webhook dispatch.
//!
//! Webhook attempts that no sender makes over the network are answered here, each at its own time.

use std::time::Duration;

use crate::clock::Clock;
use crate::engine::{Delivery, DeliveryOutcome, HostRequest, Time};
use crate::exchanges::{ExchangeId, Exchanges};
use crate::simulator::Simulator;
use crate::webhook_route::{Target, WebhookRoute};

#[derive(Debug)]
pub(crate) struct MockState {
    pub(crate) simulator: Simulator,
    pub(crate) clock: Clock,
    pub(crate) dispatch: WebhookDispatch,
    pub(crate) exchanges: Exchanges,
}

/// The value of `last_error` if no route matches the destination.
const NO_ROUTE: &str = "no_route";

/// The dispatch of webhook deliveries to routes or a receiver.
#[derive(Debug)]
pub(crate) struct WebhookDispatch {
    pub(crate) routes: Vec<WebhookRoute>,
    /// Whether a sender delivers the webhooks that match a route.
    pub(crate) has_sender: bool,
    /// The delivery mark up to which local deliveries were made. Deliveries that are still due at
    /// this mark wait for the sender or are in flight.
    pub(crate) settled_mark: Option<(u64, u64)>,
    #[cfg(feature = "in-process")]
    pub(crate) receiver: Option<WebhookReceiver>,
}

/// A function that answers webhook attempts in this process.
#[cfg(feature = "in-process")]
pub(crate) struct WebhookReceiver(pub(crate) Box<dyn FnMut(&Delivery) -> DeliveryOutcome + Send>);

#[cfg(feature = "in-process")]
impl std::fmt::Debug for WebhookReceiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookReceiver").finish_non_exhaustive()
    }
}

impl WebhookDispatch {
    pub(crate) fn new(routes: Vec<WebhookRoute>) -> Self {
        Self {
            routes,
            has_sender: false,
            settled_mark: None,
            #[cfg(feature = "in-process")]
            receiver: None,
        }
    }

    /// Returns where the sender delivers webhooks to a URL; `None` without a route or sender.
    pub(crate) fn target(&self, url: &str) -> Option<Target> {
        let mut routes = self.routes.iter().filter(|_| self.has_sender);
        routes.find_map(|route| route.target(url))
    }

    /// Answers an attempt with the receiver, or fails it if there is none.
    fn answer(&mut self, _delivery: &Delivery) -> DeliveryOutcome {
        #[cfg(feature = "in-process")]
        if let Some(WebhookReceiver(receive)) = &mut self.receiver {
            return receive(_delivery);
        }
        DeliveryOutcome::failed(NO_ROUTE)
    }
}

impl MockState {
    /// Stores the request that was handled last, if exchanges are stored.
    pub(crate) fn start_exchange(
        &mut self,
        call: &HostRequest,
        started: Duration,
    ) -> Option<ExchangeId> {
        if !self.exchanges.is_enabled() {
            return None;
        }
        let seq = self.simulator.last_seq();
        let caller = self.simulator.caller(call);
        let generation = self.simulator.generation();
        let exchanges = &mut self.exchanges;
        Some(exchanges.start(generation, seq, call, caller, started))
    }

    /// Handles everything that is due up to `now`, including local webhook deliveries at their own
    /// times.
    pub(crate) fn catch_up(&mut self, now: Time) {
        self.deliver_locally();
        while self.is_behind(now) {
            self.simulator.advance_to_next_delivery(now);
            self.deliver_locally();
        }
    }

    fn is_behind(&self, now: Time) -> bool {
        self.simulator.now() < now || self.simulator.next_due().is_some_and(|due| due <= now)
    }

    /// Makes the due webhook attempts that no sender makes.
    fn deliver_locally(&mut self) {
        let Self { simulator, dispatch, .. } = self;
        let mark = Some(simulator.delivery_version());
        if dispatch.settled_mark == mark {
            return;
        }
        let now = simulator.now();
        let is_local = |url: &str| dispatch.target(url).is_none();
        for delivery in simulator.take_deliveries(is_local) {
            let outcome = dispatch.answer(&delivery);
            simulator.record_outcome(now, delivery.id, &outcome);
        }
        dispatch.settled_mark = mark;
    }

    /// Advances a manual clock towards `target`, stopping at the next webhook attempts. Returns
    /// `true` when `target` is reached and no webhook is due or in flight.
    pub(crate) fn advance_step(&mut self, target: Time) -> bool {
        let target = target.max(self.clock.now());
        if self.is_behind(target) {
            let at = self.simulator.advance_to_next_delivery(target);
            self.clock.set(at.max(self.clock.now()));
            self.deliver_locally();
        }
        !self.is_behind(target) && !self.simulator.is_delivering()
    }
}
