//! The shared state of a running mock: the simulator, its clock and the webhook dispatch.
//!
//! Webhook attempts that no sender makes over the network are answered here, each at its own time.

use std::time::Duration;

use crate::addresses::Addresses;
use crate::clock::{Clock, wall_clock_now};
use crate::engine::destination::RoutedOrigins;
use crate::engine::{Delivery, DeliveryOutcome, HostRequest, Hosts, Time};
use crate::exchanges::{ExchangeId, Exchanges};
use crate::simulator::Simulator;
use crate::webhook_route::{ActiveRoute, Target, WebhookRoute};

#[derive(Debug)]
pub(crate) struct MockState {
    pub(crate) simulator: Simulator,
    pub(crate) clock: Clock,
    pub(crate) dispatch: WebhookDispatch,
    pub(crate) exchanges: Exchanges,
    pub(crate) addresses: Addresses,
}

/// The value of `last_error` if no route matches the destination.
const NO_ROUTE: &str = "no_route";

/// The dispatch of webhook deliveries to routes or a receiver.
#[derive(Debug)]
pub(crate) struct WebhookDispatch {
    pub(crate) routes: Vec<ActiveRoute>,
    /// The routes that the mock was started with, which a reset restores.
    initial_routes: Vec<ActiveRoute>,
    route_count: u64,
    /// Whether the timestamps of webhooks are told in wall-clock time.
    pub(crate) is_wall_time: bool,
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
    pub(crate) fn new(is_wall_time: bool) -> Self {
        Self {
            routes: Vec::new(),
            initial_routes: Vec::new(),
            route_count: 0,
            is_wall_time,
            has_sender: false,
            settled_mark: None,
            #[cfg(feature = "in-process")]
            receiver: None,
        }
    }

    /// Returns where the sender delivers webhooks of a workspace to a URL; `None` without a route or
    /// sender. A route of the workspace precedes one for all.
    pub(crate) fn target(&self, workspace: &str, url: &str) -> Option<Target> {
        let target_of = |owner: Option<&str>| {
            let routes = self.routes.iter().filter(|it| it.workspace.as_deref() == owner);
            routes.rev().find_map(|it| it.route.target(url))
        };
        let target = target_of(Some(workspace)).or_else(|| target_of(None));
        target.filter(|_| self.has_sender)
    }

    /// Returns the wall-clock time for the timestamps of webhooks, unless they are told in service
    /// time.
    pub(crate) fn wall_time(&self) -> Option<Time> {
        self.is_wall_time.then(wall_clock_now)
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
    /// Adds a route, which replaces one of the same origin and workspace, and returns its id.
    pub(crate) fn add_webhook_route(
        &mut self,
        route: WebhookRoute,
        workspace: Option<String>,
    ) -> String {
        let dispatch = &mut self.dispatch;
        dispatch.route_count += 1;
        let id = format!("whr_{}", dispatch.route_count);
        dispatch.routes.retain(|it| it.workspace != workspace || it.route.from() != route.from());
        dispatch.routes.push(ActiveRoute { id: id.clone(), workspace, route });
        self.routes_changed();
        id
    }

    pub(crate) fn remove_webhook_route(&mut self, id: &str) -> bool {
        let before = self.dispatch.routes.len();
        self.dispatch.routes.retain(|it| it.id != id);
        self.routes_changed();
        self.dispatch.routes.len() < before
    }

    /// Makes the current routes those that a reset restores.
    pub(crate) fn keep_routes(&mut self) {
        self.dispatch.initial_routes = self.dispatch.routes.clone();
    }

    /// Resets the service to its initial state, with the routes that it had then.
    pub(crate) fn reset(&mut self) {
        self.simulator.reset();
        self.dispatch.routes = self.dispatch.initial_routes.clone();
        self.routes_changed();
    }

    fn routes_changed(&mut self) {
        self.dispatch.settled_mark = None;
        let origins = self.dispatch.routes.iter().map(ActiveRoute::routed_origin);
        self.simulator.state.routed_origins = RoutedOrigins(origins.collect());
    }

    /// Calls a function with other addresses in URLs, if there are any.
    pub(crate) fn with_addresses<T>(
        &mut self,
        addresses: Option<&Addresses>,
        call: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let Some(addresses) = addresses else { return call(self) };
        let before = std::mem::replace(&mut self.addresses, addresses.clone());
        let hosts = self.simulator.replace_hosts(addresses.hosts.clone());
        let result = call(self);
        self.addresses = before;
        let speed = self.simulator.hosts().speed;
        self.simulator.replace_hosts(Hosts { speed, ..hosts });
        result
    }

    /// Stores the request that was handled last, if exchanges are stored.
    pub(crate) fn start_exchange(
        &mut self,
        call: &HostRequest,
        started: Duration,
    ) -> Option<ExchangeId> {
        if !self.exchanges.is_enabled() {
            return None;
        }
        let seq = self.simulator.state.request_log.last_seq();
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
        let is_local = |workspace: &str, url: &str| dispatch.target(workspace, url).is_none();
        for delivery in simulator.take_deliveries(usize::MAX, dispatch.wall_time(), is_local) {
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
