//! What the faces and the control API share behind one lock: the simulator, its clock, and how
//! webhooks leave it.
//!
//! Attempts that need no socket are made here, each at its own time; the others wait to be sent.

use crate::clock::Clock;
use crate::engine::{Delivery, DeliveryOutcome, Time};
use crate::simulator::Simulator;
use crate::webhook_route::{Target, WebhookRoute};

#[derive(Debug)]
pub(crate) struct MockState {
    pub(crate) simulator: Simulator,
    pub(crate) clock: Clock,
    pub(crate) dispatch: WebhookDispatch,
}

/// What `last_error` says where no route leads on.
const NO_ROUTE: &str = "no_route";

/// How webhooks leave the simulator.
#[derive(Debug)]
pub(crate) struct WebhookDispatch {
    pub(crate) routes: Vec<WebhookRoute>,
    /// Somebody carries what has a route.
    pub(crate) has_sender: bool,
    /// Which webhooks have been looked at: those of this mark wait for a sender, or are in flight.
    pub(crate) settled_mark: Option<(u64, u64)>,
    #[cfg(feature = "in-process")]
    pub(crate) receiver: Option<WebhookReceiver>,
}

/// Answers attempts in this process.
#[cfg(feature = "in-process")]
pub(crate) struct WebhookReceiver(pub(crate) Box<dyn FnMut(&Delivery) -> DeliveryOutcome + Send>);

#[cfg(feature = "in-process")]
impl std::fmt::Debug for WebhookReceiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
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

    /// Where a sender delivers what goes to that URL; `None` if there is no route or no sender.
    pub(crate) fn target(&self, url: &str) -> Option<Target> {
        let mut routes = self.routes.iter().filter(|_| self.has_sender);
        routes.find_map(|route| route.target(url))
    }

    fn answer(&mut self, _delivery: &Delivery) -> DeliveryOutcome {
        #[cfg(feature = "in-process")]
        if let Some(WebhookReceiver(receive)) = &mut self.receiver {
            return receive(_delivery);
        }
        DeliveryOutcome::failed(NO_ROUTE)
    }
}

impl MockState {
    /// Does all that falls due up to `now`. Attempts that no sender makes are made on the way,
    /// each at its own moment.
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

    /// Makes the attempts that are due and that no sender makes.
    fn deliver_locally(&mut self) {
        let Self {
            simulator,
            dispatch,
            ..
        } = self;
        let mark = Some(simulator.delivery_mark());
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

    /// Moves a manual clock towards `target`, but no further than the next webhooks. Says whether
    /// there is nothing left to do.
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
