//! Webhooks on their way out of the engine: which attempts are made without a socket, which wait
//! for a courier, and time that passes no faster than they are made.

use std::time::Duration;

use super::{Service, State};
use crate::clock::NotManual;
use crate::engine::{Delivery, DeliveryOutcome, Time};
use crate::webhook_route::{Target, WebhookRoute};

/// What `last_error` says where no route leads on.
const NO_ROUTE: &str = "no_route";

/// How webhooks leave the engine.
#[derive(Debug)]
pub(crate) struct Dispatch {
    routes: Vec<WebhookRoute>,
    /// Somebody carries what has a route.
    carried: bool,
    /// Which webhooks have been looked at: those of this mark wait for a courier, or are under way.
    settled: Option<(u64, u64)>,
    #[cfg(feature = "in-process")]
    receiver: Option<Receiver>,
}

/// Answers attempts in this process.
#[cfg(feature = "in-process")]
pub(crate) struct Receiver(pub(crate) Box<dyn FnMut(&Delivery) -> DeliveryOutcome + Send>);

#[cfg(feature = "in-process")]
impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

impl Dispatch {
    pub(crate) fn new(routes: Vec<WebhookRoute>) -> Self {
        Self {
            routes,
            carried: false,
            settled: None,
            #[cfg(feature = "in-process")]
            receiver: None,
        }
    }

    /// Where a courier takes what is sent to that URL; nowhere, if there is no route or no courier.
    fn target(&self, url: &str) -> Option<Target> {
        let mut routes = self.routes.iter().filter(|_| self.carried);
        routes.find_map(|route| route.target(url))
    }

    fn answer(&mut self, _delivery: &Delivery) -> DeliveryOutcome {
        #[cfg(feature = "in-process")]
        if let Some(Receiver(receive)) = &mut self.receiver {
            return receive(_delivery);
        }
        DeliveryOutcome::failed(NO_ROUTE)
    }
}

impl State {
    /// Does all that falls due up to `now`. Attempts that no courier makes are made on the way,
    /// each at its own moment.
    pub(crate) fn catch_up(&mut self, now: Time) {
        self.settle();
        while self.is_behind(now) {
            self.engine.advance_to_a_delivery(now);
            self.settle();
        }
    }

    fn is_behind(&self, now: Time) -> bool {
        self.engine.now() < now || self.engine.next_due().is_some_and(|due| due <= now)
    }

    /// Makes the attempts that are due and that no courier makes.
    fn settle(&mut self) {
        let Self {
            engine, dispatch, ..
        } = self;
        let mark = Some(engine.due_mark());
        if dispatch.settled == mark {
            return;
        }
        let now = engine.now();
        let stays = |url: &str| dispatch.target(url).is_none();
        for delivery in engine.take_deliveries(stays) {
            let outcome = dispatch.answer(&delivery);
            engine.delivered(now, delivery.id, &outcome);
        }
        dispatch.settled = mark;
    }

    /// Moves a manual clock towards `target`, but no further than the next webhooks. Says whether
    /// there is nothing left to do.
    fn step(&mut self, target: Time) -> bool {
        let target = target.max(self.clock.now());
        if self.is_behind(target) {
            let at = self.engine.advance_to_a_delivery(target);
            self.clock.set(at.max(self.clock.now()));
            self.settle();
        }
        !self.is_behind(target) && !self.engine.is_delivering()
    }
}

/// Where webhooks go.
impl Service {
    /// What is sent to one origin is delivered to another from now on.
    pub fn route_webhooks(&self, route: WebhookRoute) {
        {
            let dispatch = &mut self.lock().dispatch;
            dispatch.routes.push(route);
            dispatch.settled = None;
        }
        self.shared.moved.notify_waiters();
    }

    /// The routes that there are.
    #[must_use]
    pub fn webhook_routes(&self) -> Vec<WebhookRoute> {
        self.lock().dispatch.routes.clone()
    }

    /// Moves a manual clock as [`advance`](Self::advance) does, and waits for webhooks that are
    /// really sent: each attempt is made at its own moment of service time, which goes on only
    /// when its outcome is known.
    ///
    /// # Errors
    ///
    /// [`NotManual`] where the clock passes by itself.
    pub async fn advance_and_deliver(&self, span: Duration) -> Result<Time, NotManual> {
        let _in_turn = self.shared.advancing.lock().await;
        let target = self.lock().clock.after(span)?;
        loop {
            if !self.nothing_under_way().await {
                // Whoever carried them is gone.
                return self.advance(target.since(self.now()));
            }
            let done = self.lock().step(target);
            self.shared.moved.notify_waiters();
            if done {
                return Ok(target);
            }
        }
    }

    /// Waits until no webhook is under way. Says whether that came about: nothing takes longer than
    /// an attempt does.
    async fn nothing_under_way(&self) -> bool {
        let patience = self.shared.webhook_timeout + Duration::from_secs(2);
        loop {
            let mut moved = std::pin::pin!(self.shared.moved.notified());
            moved.as_mut().enable();
            if !self.lock().engine.is_delivering() {
                return true;
            }
            if tokio::time::timeout(patience, moved).await.is_err() {
                return false;
            }
        }
    }

    /// With somebody who answers every attempt in this process.
    #[cfg(feature = "in-process")]
    pub(crate) fn receive_webhooks(&self, receiver: Receiver) {
        self.lock().dispatch.receiver = Some(receiver);
    }
}

/// What a courier needs.
#[cfg(feature = "courier")]
impl Service {
    /// Somebody carries from now on what has a route, or no longer does.
    pub(crate) fn set_carried(&self, carried: bool) {
        {
            let dispatch = &mut self.lock().dispatch;
            (dispatch.carried, dispatch.settled) = (carried, None);
        }
        self.shared.moved.notify_waiters();
    }

    /// Ends when something has happened after which it is worth a look.
    pub(crate) fn moved(&self) -> tokio::sync::futures::Notified<'_> {
        self.shared.moved.notified()
    }

    /// What is to be carried now, so much at most, and the real time until there may be more; none
    /// where no waiting brings it about.
    pub(crate) fn to_carry(&self, room: usize) -> (Vec<(Delivery, Target)>, Option<Duration>) {
        let mut state = self.lock();
        let State {
            engine,
            clock,
            dispatch,
        } = &mut *state;
        let deliveries = engine.take_some_deliveries(room, |url| dispatch.target(url).is_some());
        let carried = deliveries.into_iter().filter_map(|delivery| {
            let target = dispatch.target(&delivery.url)?;
            Some((delivery, target))
        });
        let carried = carried.collect();
        let next = engine.next_due().filter(|_| !dispatch.routes.is_empty());
        (carried, next.and_then(|due| clock.real_until(due)))
    }

    /// Takes in how an attempt went.
    pub(crate) fn delivered(&self, delivery: &Delivery, outcome: &DeliveryOutcome) {
        self.change(|engine, now| engine.delivered(now, delivery.id, outcome));
    }

    /// How long an attempt may take, in real time.
    pub(crate) fn webhook_timeout(&self) -> Duration {
        self.shared.webhook_timeout
    }
}
