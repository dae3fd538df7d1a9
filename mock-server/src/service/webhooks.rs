//! Webhook routes, and a clock that advances no faster than webhooks are delivered.

use std::time::Duration;

use super::Service;
use crate::clock::NotManual;
use crate::engine::Time;
#[cfg(feature = "webhook-sender")]
use crate::engine::{Delivery, DeliveryOutcome};
#[cfg(feature = "webhook-sender")]
use crate::mock_state::MockState;
#[cfg(feature = "in-process")]
use crate::mock_state::Receiver;
#[cfg(feature = "webhook-sender")]
use crate::webhook_route::Target;
use crate::webhook_route::WebhookRoute;

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
            if !self.lock().simulator.is_delivering() {
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
#[cfg(feature = "webhook-sender")]
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
        let MockState {
            simulator,
            clock,
            dispatch,
        } = &mut *state;
        let deliveries = simulator.take_some_deliveries(room, |url| dispatch.target(url).is_some());
        let carried = deliveries.into_iter().filter_map(|delivery| {
            let target = dispatch.target(&delivery.url)?;
            Some((delivery, target))
        });
        let carried = carried.collect();
        let next = simulator.next_due().filter(|_| !dispatch.routes.is_empty());
        (carried, next.and_then(|due| clock.real_until(due)))
    }

    /// Takes in how an attempt went.
    pub(crate) fn delivered(&self, delivery: &Delivery, outcome: &DeliveryOutcome) {
        self.change(|simulator, now| simulator.delivered(now, delivery.id, outcome));
    }

    /// How long an attempt may take, in real time.
    pub(crate) fn webhook_timeout(&self) -> Duration {
        self.shared.webhook_timeout
    }
}
