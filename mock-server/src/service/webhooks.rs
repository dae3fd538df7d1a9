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
use crate::mock_state::WebhookReceiver;
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
            dispatch.settled_mark = None;
        }
        self.shared.changed.notify_waiters();
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
        let _guard = self.shared.advancing.lock().await;
        let target = self.lock().clock.after(span)?;
        loop {
            if !self.wait_for_deliveries().await {
                // Whoever carried them is gone.
                return self.advance(target.since(self.now()));
            }
            let done = self.lock().advance_step(target);
            self.shared.changed.notify_waiters();
            if done {
                return Ok(target);
            }
        }
    }

    /// Waits until no webhook is under way. Says whether that came about: nothing takes longer than
    /// an attempt does.
    async fn wait_for_deliveries(&self) -> bool {
        let time_limit = self.shared.webhook_timeout + Duration::from_secs(2);
        loop {
            let mut changed = std::pin::pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            if !self.lock().simulator.is_delivering() {
                return true;
            }
            if tokio::time::timeout(time_limit, changed).await.is_err() {
                return false;
            }
        }
    }

    /// With somebody who answers every attempt in this process.
    #[cfg(feature = "in-process")]
    pub(crate) fn set_webhook_receiver(&self, receiver: WebhookReceiver) {
        self.lock().dispatch.receiver = Some(receiver);
    }
}

/// What a webhook sender needs.
#[cfg(feature = "webhook-sender")]
impl Service {
    /// Somebody carries from now on what has a route, or no longer does.
    pub(crate) fn set_sender_active(&self, to_send: bool) {
        {
            let dispatch = &mut self.lock().dispatch;
            (dispatch.has_sender, dispatch.settled_mark) = (to_send, None);
        }
        self.shared.changed.notify_waiters();
    }

    /// Ends when something has happened after which it is worth a look.
    pub(crate) fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.shared.changed.notified()
    }

    /// What is to be carried now, so much at most, and the real time until there may be more; none
    /// where no waiting brings it about.
    pub(crate) fn take_deliveries_to_send(
        &self,
        limit: usize,
    ) -> (Vec<(Delivery, Target)>, Option<Duration>) {
        let mut state = self.lock();
        let MockState {
            simulator,
            clock,
            dispatch,
        } = &mut *state;
        let deliveries =
            simulator.take_deliveries_up_to(limit, |url| dispatch.target(url).is_some());
        let to_send = deliveries.into_iter().filter_map(|delivery| {
            let target = dispatch.target(&delivery.url)?;
            Some((delivery, target))
        });
        let to_send = to_send.collect();
        let next = simulator.next_due().filter(|_| !dispatch.routes.is_empty());
        (to_send, next.and_then(|due| clock.real_time_until(due)))
    }

    /// Takes in how an attempt went.
    pub(crate) fn record_outcome(&self, delivery: &Delivery, outcome: &DeliveryOutcome) {
        self.change(|simulator, now| simulator.record_outcome(now, delivery.id, outcome));
    }

    /// How long an attempt may take, in real time.
    pub(crate) fn webhook_timeout(&self) -> Duration {
        self.shared.webhook_timeout
    }
}
