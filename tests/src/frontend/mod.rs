//! The three frontends of the mock server behind one trait.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use svc_mock_server::engine::Time;
use svc_mock_server::{ClockMode, Service, Speed, UndocumentedKeys};

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

/// The configuration of a mock server. Its clock is manual unless it has a speed.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    plan: &'static str,
    balance_usd: &'static str,
    seed: u64,
    webhook_port: Option<u16>,
    webhook_timeout_ms: u64,
    speed: Option<f64>,
    honors_undocumented_keys: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            plan: "free",
            balance_usd: "100",
            seed: 1,
            webhook_port: None,
            webhook_timeout_ms: 10_000,
            speed: None,
            honors_undocumented_keys: false,
        }
    }
}

impl Setup {
    /// Sets the plan of `ws_demo`.
    pub fn plan(mut self, plan: &'static str) -> Self {
        self.plan = plan;
        self
    }

    /// Sets the balance of `ws_demo`, in dollars.
    pub fn balance_usd(mut self, balance: &'static str) -> Self {
        self.balance_usd = balance;
        self
    }

    /// Sets the seed of the mock's random numbers.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets how long a webhook receiver may take to respond, in real milliseconds.
    pub fn webhook_timeout_ms(mut self, milliseconds: u64) -> Self {
        self.webhook_timeout_ms = milliseconds;
        self
    }

    /// Runs the clock in real time, multiplied by a speed.
    pub fn speed(mut self, speed: f64) -> Self {
        self.speed = Some(speed);
        self
    }

    /// Sets whether submits whose idempotency is not documented honor the idempotency key.
    pub fn honors_undocumented_keys(mut self, honors: bool) -> Self {
        self.honors_undocumented_keys = honors;
        self
    }

    /// Routes webhooks for `https://hooks.example.com` to a local port.
    pub fn webhook_port(mut self, port: u16) -> Self {
        self.webhook_port = Some(port);
        self
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

pub(crate) async fn start(kind: FrontendKind, setup: Setup) -> Arc<dyn Frontend> {
    match kind {
        FrontendKind::InProcess => Arc::new(in_process::InProcessFrontend::start(setup)),
        FrontendKind::Wiremock => Arc::new(sockets::SocketFrontend::wiremock(setup).await),
        FrontendKind::Serve => Arc::new(sockets::SocketFrontend::serve(setup).await),
    }
}

/// The initial time of every mock, so that mocks with the same seed give the same responses.
const EPOCH: Time = Time::from_micros(1_800_000_000_000_000);

fn mock_setup(setup: Setup) -> svc_mock_server::Setup {
    let configured = svc_mock_server::Setup::default()
        .plan(setup.plan.into())
        .balance(setup.balance_usd.parse().expect("an amount of dollars"))
        .seed(setup.seed)
        .epoch(EPOCH)
        .webhook_timeout(Duration::from_millis(setup.webhook_timeout_ms))
        .clock_mode(match setup.speed {
            Some(speed) => ClockMode::Real(Speed::new(speed).expect("a valid speed")),
            None => ClockMode::Manual,
        })
        .undocumented_keys(match setup.honors_undocumented_keys {
            true => UndocumentedKeys::Honor,
            false => UndocumentedKeys::Ignore,
        });
    match setup.webhook_port {
        Some(port) => {
            let route = format!("https://hooks.example.com=http://127.0.0.1:{port}");
            configured.route_webhooks(route.parse().expect("a route"))
        }
        None => configured,
    }
}

/// Returns the base URLs in the order of [`Host::ALL`].
fn urls(service: &Service) -> [String; 4] {
    [service.base_url(), service.developer_base_url(), service.media_url(), service.control_url()]
        .map(str::to_owned)
}

fn url_of(urls: &[String; 4], host: Host) -> &str {
    let index = Host::ALL.iter().position(|known| *known == host);
    &urls[index.expect("all hosts are listed")]
}
