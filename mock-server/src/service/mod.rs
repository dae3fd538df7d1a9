//! The mock as its faces share it: one simulator and one clock behind one lock.
//!
//! The lock is never held while anything waits: what the simulator does, it does at once. Answers
//! that have to wait do so in `waiting`; for a face that cannot wait, `predict` says how long it
//! would have been.

mod control_methods;
#[cfg(feature = "wiremock")]
mod predict;
#[cfg(any(feature = "serve", feature = "in-process"))]
mod waiting;
mod webhooks;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::addresses::Addresses;
use crate::clock::Clock;
use crate::control;
use crate::engine::{Call, Host, Reply, Time};
use crate::mock_state::{MockState, WebhookDispatch};
use crate::simulator::Simulator;
use crate::webhook_route::WebhookRoute;

/// A running mock: what every face has in common, and what the control API does, as methods.
///
/// Clones are the same mock. Every face dereferences to this.
#[derive(Clone, Debug)]
pub struct Service {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    addresses: Addresses,
    /// How long an attempt to deliver a webhook may take, in real time.
    webhook_timeout: Duration,
    state: Mutex<MockState>,
    /// Something happened that a pending reply or a webhook sender may have waited for.
    changed: Notify,
    /// Held by whoever moves the clock step by step.
    advancing: tokio::sync::Mutex<()>,
}

impl Service {
    pub(crate) fn new(
        simulator: Simulator,
        clock: Clock,
        addresses: Addresses,
        webhook_routes: Vec<WebhookRoute>,
        webhook_timeout: Duration,
    ) -> Self {
        let state = Mutex::new(MockState {
            simulator,
            clock,
            dispatch: WebhookDispatch::new(webhook_routes),
        });
        let changed = Notify::new();
        Self {
            shared: Arc::new(Shared {
                addresses,
                webhook_timeout,
                state,
                changed,
                advancing: tokio::sync::Mutex::default(),
            }),
        }
    }

    fn handle(&self, call: &Call) -> Reply {
        let reply = {
            let mut state = self.lock();
            if call.host == Host::Control {
                let response = control::answer(&mut state, &call.request);
                Reply::immediate(response)
            } else {
                let now = state.clock.now();
                state.simulator.handle(now, call)
            }
        };
        if call.request.method() != http::Method::GET {
            self.shared.changed.notify_waiters();
        }
        reply
    }

    /// The state as it is now: what has fallen due is done.
    ///
    /// A panic while the lock was held has been reported already, and must not end the others.
    fn lock(&self) -> MutexGuard<'_, MockState> {
        let state = self.shared.state.lock();
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let now = state.clock.now();
        state.catch_up(now);
        state
    }

    fn change<T>(&self, change: impl FnOnce(&mut Simulator, Time) -> T) -> T {
        let result = {
            let mut state = self.lock();
            let now = state.clock.now();
            change(&mut state.simulator, now)
        };
        self.shared.changed.notify_waiters();
        result
    }
}

/// Where the mock is reached. None of the URLs ends in a slash.
impl Service {
    /// The open surface.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.shared.addresses.hosts.open
    }

    /// The developer surface.
    #[must_use]
    pub fn developer_base_url(&self) -> &str {
        &self.shared.addresses.hosts.developer
    }

    /// The MCP endpoint.
    #[must_use]
    pub fn mcp_url(&self) -> &str {
        &self.shared.addresses.hosts.mcp
    }

    /// Artifacts and checkout pages.
    #[must_use]
    pub fn media_url(&self) -> &str {
        &self.shared.addresses.hosts.media
    }

    /// The control API.
    #[must_use]
    pub fn control_url(&self) -> &str {
        &self.shared.addresses.control
    }

    /// The environment variables by which clients find the mock and are let in: `SVC_BASE_URL`,
    /// `SVC_OPEN_API_KEY` and so on.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, String); 8] {
        self.shared.addresses.environment(self.webhook_secret())
    }
}

#[cfg(test)]
#[cfg(all(feature = "wiremock", any(feature = "serve", feature = "in-process")))]
mod tests;
