//! The three frontends of the mock server behind one trait.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use svc_mock_server::engine::Time;
use svc_mock_server::{Service, Speed, UndocumentedKeys, WebhookTimestamps};

mod in_process;
mod sockets;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    Open,
    Developer,
    /// Artifacts and checkout pages.
    Media,
    Control,
}

impl Host {
    pub const ALL: [Self; 4] = [Self::Open, Self::Developer, Self::Media, Self::Control];
}

/// The error of a request that got no complete response.
#[derive(Debug)]
pub struct TransportError(String);

impl TransportError {
    pub(crate) fn new(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no complete response: {}", self.0)
    }
}

pub type ResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<http::Response<Bytes>, TransportError>> + Send + 'a>>;

/// A future of the bytes that a server sends until it closes the connection.
pub type RawFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, TransportError>> + Send + 'a>>;

/// A running mock server behind one of its frontends.
pub trait Frontend: Send + Sync {
    /// Returns a host's base URL, without a trailing slash.
    fn base_url(&self, host: Host) -> &str;

    /// Sends a request whose URI is a path with an optional query.
    fn send(&self, host: Host, request: http::Request<Bytes>) -> ResponseFuture<'_>;

    /// Sends raw bytes over a new connection, or returns `None` if the frontend has no sockets.
    fn send_raw(&self, host: Host, bytes: Vec<u8>) -> Option<RawFuture<'_>>;
}

/// The configuration of a mock server, in words of tests. Its clock is manual unless it has a speed.
#[derive(Clone, Debug)]
pub struct Setup(svc_mock_server::Setup);

impl Default for Setup {
    fn default() -> Self {
        let setup = svc_mock_server::Setup::default().epoch(EPOCH).clock_manual();
        Self(setup.webhook_timestamps(WebhookTimestamps::Service))
    }
}

impl Setup {
    /// Sets an option as scripts write it, such as `balance=1.0000`.
    pub(crate) fn option(self, option: &str) -> Self {
        let (name, value) = option.split_once('=').expect("an option of a mock");
        match name {
            "plan" => self.plan(value),
            "balance" => self.balance_usd(value),
            "speed" => self.speed(value.parse().expect("a speed")),
            "webhook-timeout-ms" => self.webhook_timeout_ms(value.parse().expect("milliseconds")),
            "retain-days" => Self(self.0.retain_days(value.parse().expect("days"))),
            "honors-undocumented-keys" => self.honors_undocumented_keys(value == "true"),
            other => panic!("no option of a mock is called {other}"),
        }
    }

    /// Sets the plan of `ws_demo`.
    pub fn plan(self, plan: &str) -> Self {
        Self(self.0.plan(plan.into()))
    }

    /// Sets the balance of `ws_demo`, in dollars.
    pub fn balance_usd(self, balance: &str) -> Self {
        Self(self.0.balance(balance.parse().expect("an amount of dollars")))
    }

    /// Sets the seed of the mock's random numbers.
    pub fn seed(self, seed: u64) -> Self {
        Self(self.0.seed(seed))
    }

    /// Sets how long a webhook receiver may take to respond, in real milliseconds.
    pub fn webhook_timeout_ms(self, milliseconds: u64) -> Self {
        Self(self.0.webhook_timeout(Duration::from_millis(milliseconds)))
    }

    /// Runs the clock in real time, multiplied by a speed.
    pub fn speed(self, speed: f64) -> Self {
        Self(self.0.speed(Speed::new(speed).expect("a valid speed")))
    }

    /// Lets the timestamps of webhooks show the wall clock.
    pub fn wall_timestamps(self) -> Self {
        Self(self.0.webhook_timestamps(WebhookTimestamps::Wall))
    }

    /// Sets whether submits whose idempotency is not documented honor the idempotency key.
    pub fn honors_undocumented_keys(self, honors: bool) -> Self {
        let keys = if honors { UndocumentedKeys::Honor } else { UndocumentedKeys::Ignore };
        Self(self.0.undocumented_keys(keys))
    }

    /// Routes webhooks for `https://hooks.example.com` to a local port.
    pub fn webhook_port(self, port: u16) -> Self {
        let route = format!("https://hooks.example.com=http://127.0.0.1:{port}");
        Self(self.0.route_webhooks(route.parse().expect("a route")))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontendKind {
    /// The SDK's transport trait, without sockets.
    InProcess,
    /// A wiremock server inside a test.
    Wiremock,
    /// The long-running program's HTTP server.
    Serve,
}

impl FrontendKind {
    /// Returns the name in scripts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Wiremock => "wiremock",
            Self::Serve => "serve",
        }
    }
}

pub(crate) async fn start(kind: FrontendKind, setup: Setup) -> Arc<dyn Frontend> {
    match kind {
        FrontendKind::InProcess => Arc::new(in_process::InProcessFrontend::start(setup)),
        FrontendKind::Wiremock => Arc::new(sockets::SocketFrontend::wiremock(setup).await),
        FrontendKind::Serve => Arc::new(sockets::SocketFrontend::serve(setup).await),
    }
}

/// The initial time of every mock, so that mocks with the same seed give the same responses.
const EPOCH: Time = Time::from_micros(1_800_000_000_000_000);

/// Returns the base URLs in the order of [`Host::ALL`].
fn urls(service: &Service) -> [String; 4] {
    [service.base_url(), service.developer_base_url(), service.media_url(), service.control_url()]
        .map(str::to_owned)
}

fn url_of(urls: &[String; 4], host: Host) -> &str {
    let index = Host::ALL.iter().position(|known| *known == host);
    &urls[index.expect("all hosts are listed")]
}
