//! Webhook routes, and advancing the clock in step with webhook deliveries.

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

/// Webhook routes and deliveries.
impl Service {
    /// Adds a route that delivers the webhooks of one origin to another, and returns its id. It
    /// replaces a route of the same origin.
    pub fn route_webhooks(&self, route: WebhookRoute) -> String {
        self.change(|state| state.add_webhook_route(route, None))
    }

    /// Adds a route for the webhooks of one workspace, which precedes those for all, and returns its
    /// id.
    pub fn route_webhooks_of(&self, workspace: &str, route: WebhookRoute) -> String {
        self.change(|state| state.add_webhook_route(route, Some(workspace.to_owned())))
    }

    /// Removes a route by its id. Returns `false` if there is none.
    pub fn remove_webhook_route(&self, id: &str) -> bool {
        self.change(|state| state.remove_webhook_route(id))
    }

    /// Returns the webhook routes.
    #[must_use]
    pub fn webhook_routes(&self) -> Vec<WebhookRoute> {
        self.lock().dispatch.routes.iter().map(|it| it.route.clone()).collect()
    }

    /// Advances a manual clock like [`advance`](Self::advance), and waits for webhooks to be sent.
    ///
    /// Each attempt is made at its own service time. The clock advances further only when the
    /// outcome is known.
    ///
    /// # Errors
    ///
    /// Returns [`NotManual`] if the clock runs in real time.
    pub async fn advance_and_deliver(&self, span: Duration) -> Result<Time, NotManual> {
        let _guard = self.shared.advancing.lock().await;
        let target = self.lock().clock.after(span)?;
        loop {
            if !self.wait_for_deliveries().await {
                // The sender no longer responds, so the rest is not delivered step by step.
                return self.advance(target.since(self.now()));
            }
            let done = {
                let mut state = self.lock();
                // The clock may have been set to run meanwhile.
                state.clock.after(Duration::ZERO)?;
                state.advance_step(target)
            };
            self.notify_changed();
            if done {
                return Ok(target);
            }
        }
    }

    /// Waits until no webhook is due or in flight. Returns `false` if nothing changes for longer
    /// than the timeout of an attempt.
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

    /// Sets the function that answers webhook attempts in this process.
    #[cfg(feature = "in-process")]
    pub(crate) fn set_webhook_receiver(&self, receiver: WebhookReceiver) {
        self.lock().dispatch.receiver = Some(receiver);
    }
}

/// The interface of webhook senders.
#[cfg(feature = "webhook-sender")]
impl Service {
    /// Sets whether a sender delivers the webhooks that match a route.
    pub(crate) fn set_sender_active(&self, is_active: bool) {
        {
            let dispatch = &mut self.lock().dispatch;
            (dispatch.has_sender, dispatch.settled_mark) = (is_active, None);
        }
        self.notify_changed();
    }

    /// Returns a future that completes when the state has changed.
    pub(crate) fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.shared.changed.notified()
    }

    /// Returns up to `limit` due deliveries with their targets, and the real time until the next
    /// event; `None` if waiting for it is pointless.
    pub(crate) fn take_deliveries_to_send(
        &self,
        limit: usize,
    ) -> (Vec<(Delivery, Target)>, Option<Duration>) {
        let mut state = self.lock();
        let MockState { simulator, clock, dispatch, .. } = &mut *state;
        let has_target = |workspace: &str, url: &str| dispatch.target(workspace, url).is_some();
        let deliveries = simulator.take_deliveries(limit, dispatch.wall_time(), has_target);
        let to_send = deliveries.into_iter().filter_map(|delivery| {
            let target = dispatch.target(&delivery.workspace, &delivery.url)?;
            Some((delivery, target))
        });
        let to_send = to_send.collect();
        let next = simulator.next_webhook_due().filter(|_| !dispatch.routes.is_empty());
        (to_send, next.and_then(|due| clock.real_time_until(due)))
    }

    pub(crate) fn record_outcome(&self, delivery: &Delivery, outcome: &DeliveryOutcome) {
        self.change(|state| {
            let now = state.clock.now();
            state.simulator.record_outcome(now, delivery.id, outcome);
        });
    }

    pub(crate) fn webhook_timeout(&self) -> Duration {
        self.shared.webhook_timeout
    }
}
