//! The service that all frontends share: a simulator and its clock behind a lock.
//!
//! The lock is not held while waiting. Replies that have to wait do so in `waiting`, which computes the
//! reply and the delay in advance for frontends that cannot wait.

mod control_methods;
mod waiting;
mod webhooks;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use crate::addresses::{Addresses, DEVELOPER_API_KEY, OPEN_API_KEY};
use crate::clock::Clock;
use crate::control::{self, ControlBody};
use crate::engine::{Host, HostRequest, Reply};
use crate::exchanges::{ExchangeId, Exchanges};
use crate::media;
use crate::mock_state::{MockState, WebhookDispatch};
use crate::simulator::Simulator;
use crate::webhook_route::WebhookRoute;

/// A running mock, with the operations of the control API as methods.
///
/// Every frontend dereferences to this type. Clones refer to the same mock.
#[derive(Clone, Debug)]
pub struct Service {
    shared: Arc<ServiceInner>,
    /// The addresses that the dashboard shows instead of the mock's own.
    #[cfg(feature = "dashboard")]
    shown_addresses: Option<Arc<Addresses>>,
}

#[derive(Debug)]
struct ServiceInner {
    addresses: Addresses,
    /// The timeout of a webhook attempt, in real time.
    webhook_timeout: Duration,
    state: Mutex<MockState>,
    /// Notifies pending replies and webhook senders of changes to the state.
    changed: Notify,
    /// The number of changes and requests, by which an event stream notices those that it did not
    /// wait for.
    revision: AtomicU64,
    /// Notifies event streams of requests that `changed` does not report.
    requested: Notify,
    /// The names of the control port's host, besides those of the loopback interface.
    control_hosts: Vec<String>,
    /// Held while the clock is advanced step by step.
    advancing: tokio::sync::Mutex<()>,
}

impl Service {
    pub(crate) fn new(
        simulator: Simulator,
        clock: Clock,
        addresses: Addresses,
        webhook_routes: Vec<WebhookRoute>,
        webhook_timeout: Duration,
        is_wall_time: bool,
    ) -> Self {
        let control_hosts = addresses.control_hosts();
        let mut state = MockState {
            simulator,
            clock,
            dispatch: WebhookDispatch::new(is_wall_time),
            exchanges: Exchanges::default(),
            addresses: addresses.clone(),
        };
        for route in webhook_routes {
            state.add_webhook_route(route, None);
        }
        state.keep_routes();
        let state = Mutex::new(state);
        let changed = Notify::new();
        Self {
            shared: Arc::new(ServiceInner {
                addresses,
                webhook_timeout,
                state,
                changed,
                revision: AtomicU64::new(0),
                requested: Notify::new(),
                control_hosts,
                advancing: tokio::sync::Mutex::default(),
            }),
            #[cfg(feature = "dashboard")]
            shown_addresses: None,
        }
    }

    /// Handles a request to any host without waiting. Unless the reply is final, the exchange is
    /// returned, to be finished with [`finish_exchange`](Self::finish_exchange).
    fn handle(&self, call: &HostRequest) -> (Reply, Option<ExchangeId>) {
        if call.host == Host::Control {
            let response = self.handle_control(&call.request);
            let reply = Reply::immediate(response.map(ControlBody::into_bytes));
            return (reply, None);
        }
        if let Some(file) = self.file_to_render(call) {
            media::rendered(&file);
        }
        let handled = {
            let mut state = self.lock();
            let (now, started) = (state.clock.now(), state.clock.real_time());
            let addresses = call.request.extensions().get::<Addresses>();
            let reply = state.with_addresses(addresses, |it| it.simulator.handle(now, call));
            let mut exchange = state.start_exchange(call, started);
            if reply.is_final()
                && let Some(exchange) = exchange.take()
            {
                let now = state.clock.real_time();
                state.exchanges.finish(exchange, &reply, now);
            }
            (reply, exchange)
        };
        if call.request.method() != http::Method::GET {
            self.notify_changed();
        } else {
            self.notify_requested();
        }
        handled
    }

    /// Stores the bodies of requests and responses from now on.
    pub(crate) fn store_exchanges(&self) {
        self.lock().exchanges.enable();
    }

    /// Stores the final reply of an exchange.
    fn finish_exchange(&self, exchange: Option<ExchangeId>, reply: &Reply) {
        if let Some(exchange) = exchange {
            let mut state = self.lock();
            let now = state.clock.real_time();
            state.exchanges.finish(exchange, reply, now);
            drop(state);
            self.notify_requested();
        }
    }

    /// Returns the error response for a request to the control port that a web page of another
    /// origin may have sent.
    pub(crate) fn refuse_foreign<B>(
        &self,
        request: &http::Request<B>,
    ) -> Option<http::Response<Bytes>> {
        let refusal = control::refuse_foreign(request, &self.shared.control_hosts)?;
        Some(refusal.map(ControlBody::into_bytes))
    }

    /// Returns the specification of the file that a request is for, unless it is rendered already.
    /// Files are rendered before the request is handled, because that takes time and the state is
    /// locked while it is handled.
    pub(crate) fn file_to_render(&self, call: &HostRequest) -> Option<media::Spec> {
        if call.host != Host::Media {
            return None;
        }
        self.lock().simulator.file_to_render(call)
    }

    /// Handles a request to the control API. The body of the response may be a document that is
    /// not written yet.
    fn handle_control(&self, request: &http::Request<Bytes>) -> http::Response<ControlBody> {
        let addresses = request.extensions().get::<Addresses>();
        let mut state = self.lock();
        let response = state.with_addresses(addresses, |state| control::answer(state, request));
        drop(state);
        if request.method() != http::Method::GET {
            self.notify_changed();
        }
        response
    }

    /// Locks the state and handles everything that is due.
    ///
    /// A poisoned lock is ignored, so that a panic in one request does not fail all later ones.
    fn lock(&self) -> MutexGuard<'_, MockState> {
        let state = self.shared.state.lock();
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let now = state.clock.now();
        state.catch_up(now);
        state
    }

    fn notify_changed(&self) {
        self.shared.revision.fetch_add(1, Ordering::Release);
        self.shared.changed.notify_waiters();
    }

    /// Notifies event streams of a request that changed nothing but the request log and rate limits.
    fn notify_requested(&self) {
        self.shared.revision.fetch_add(1, Ordering::Release);
        self.shared.requested.notify_waiters();
    }

    /// Applies a change at the current time and notifies waiting tasks.
    fn change<T>(&self, change: impl FnOnce(&mut MockState) -> T) -> T {
        let result = change(&mut self.lock());
        self.notify_changed();
        result
    }
}

#[cfg(feature = "serve")]
impl Service {
    pub(crate) fn addresses(&self) -> &Addresses {
        &self.shared.addresses
    }
}

/// Queries of the dashboard and the event stream.
#[cfg(feature = "dashboard")]
impl Service {
    pub(crate) fn read<T>(&self, read: impl FnOnce(&mut MockState) -> T) -> T {
        self.lock().with_addresses(self.shown_addresses.as_deref(), read)
    }

    /// Returns the same mock, which shows other addresses if there are any.
    pub(crate) fn showing(&self, addresses: Option<Addresses>) -> Self {
        Self { shown_addresses: addresses.map(Arc::new), ..self.clone() }
    }

    pub(crate) fn hosts(&self) -> &crate::engine::Hosts {
        &self.shown_addresses.as_deref().unwrap_or(&self.shared.addresses).hosts
    }
}

/// The addresses of the mock, without trailing slashes.
impl Service {
    /// Returns the base URL of the open surface.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.shared.addresses.hosts.open
    }

    /// Returns the base URL of the developer surface.
    #[must_use]
    pub fn developer_base_url(&self) -> &str {
        &self.shared.addresses.hosts.developer
    }

    /// Returns the URL of the MCP endpoint.
    #[must_use]
    pub fn mcp_url(&self) -> &str {
        &self.shared.addresses.hosts.mcp
    }

    /// Returns the base URL of artifacts and checkout pages.
    #[must_use]
    pub fn media_url(&self) -> &str {
        &self.shared.addresses.hosts.media
    }

    /// Returns the base URL of the control API.
    #[must_use]
    pub fn control_url(&self) -> &str {
        &self.shared.addresses.control
    }

    /// Returns the environment variables that configure clients to use the mock, such as
    /// `SVC_BASE_URL` and `SVC_OPEN_API_KEY`.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, String); 8] {
        let secret = self.webhook_secret();
        self.shared.addresses.environment(OPEN_API_KEY, DEVELOPER_API_KEY, secret)
    }
}

#[cfg(test)]
#[cfg(all(feature = "wiremock", any(feature = "serve", feature = "in-process")))]
mod tests;
