//! The three faces of the mock server behind one trait.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use svc_mock_server::Service;
use svc_mock_server::engine::Time;

mod in_process;
mod sockets;

/// Which of the mock's four hosts a request goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// The open surface.
    Open,
    /// The developer surface.
    Developer,
    /// Artifacts and checkout pages.
    Media,
    /// The control API.
    Control,
}

impl Host {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Open, Self::Developer, Self::Media, Self::Control];
}

/// No whole answer came: the connection was refused, cut, or carried no HTTP.
#[derive(Debug)]
pub struct Broken(pub String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no whole answer: {}", self.0)
    }
}

/// An exchange on its way.
pub type Exchange<'a> =
    Pin<Box<dyn Future<Output = Result<http::Response<Bytes>, Broken>> + Send + 'a>>;

/// A running mock server, however it is reached.
pub trait Face: Send + Sync {
    /// The URL under which a host is reached, without a slash at its end.
    fn base_url(&self, host: Host) -> &str;

    /// Sends a request whose URI is a path with an optional query.
    fn exchange(&self, host: Host, request: http::Request<Bytes>) -> Exchange<'_>;

    /// Sends bytes as they are and gives what comes back until the connection closes; `None` where
    /// the face has no wire.
    fn raw(&self, host: Host, bytes: Vec<u8>) -> Option<Raw<'_>>;
}

/// Raw bytes on their way back.
pub type Raw<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, Broken>> + Send + 'a>>;

/// How a mock server is set up. The clock is always the manual one.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The plan of `ws_demo`.
    pub plan: &'static str,
    /// The balance of `ws_demo`, in dollars.
    pub balance_usd: &'static str,
    /// The seed.
    pub seed: u64,
    /// The local port to which webhooks to `https://hooks.example.com` are brought.
    pub webhooks_to: Option<u16>,
    /// How long a receiver of webhooks has, in real milliseconds; the service gives it ten seconds.
    pub patience_ms: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            plan: "free",
            balance_usd: "100",
            seed: 1,
            webhooks_to: None,
            patience_ms: 10_000,
        }
    }
}

impl Setup {
    /// Another plan.
    #[must_use]
    pub fn plan(mut self, plan: &'static str) -> Self {
        self.plan = plan;
        self
    }

    /// Another balance.
    #[must_use]
    pub fn balance_usd(mut self, balance: &'static str) -> Self {
        self.balance_usd = balance;
        self
    }

    /// Another seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// A receiver of webhooks has so many real milliseconds.
    #[must_use]
    pub fn patience_ms(mut self, milliseconds: u64) -> Self {
        self.patience_ms = milliseconds;
        self
    }

    /// Webhooks to `https://hooks.example.com` are brought to that local port.
    #[must_use]
    pub fn webhooks_to(mut self, port: u16) -> Self {
        self.webhooks_to = Some(port);
        self
    }
}

/// One of the faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaceKind {
    /// Through the SDK's transport trait, without sockets.
    InProcess,
    /// Inside a test, on wiremock.
    Wiremock,
    /// The long-running program's HTTP server.
    Serve,
}

/// Starts a mock behind that face.
pub(crate) async fn start(kind: FaceKind, chosen: Setup) -> Arc<dyn Face> {
    match kind {
        FaceKind::InProcess => Arc::new(in_process::InProcessFace::start(chosen)),
        FaceKind::Wiremock => Arc::new(sockets::SocketFace::on_wiremock(chosen).await),
        FaceKind::Serve => Arc::new(sockets::SocketFace::serve(chosen).await),
    }
}

/// The moment at which every clock starts: mocks of one seed then give the same answers.
const EPOCH: Time = Time::from_micros(1_800_000_000_000_000);

fn setup(chosen: Setup) -> svc_mock_server::Setup {
    let setup = svc_mock_server::Setup::default()
        .plan(chosen.plan.into())
        .balance(chosen.balance_usd.parse().expect("an amount of dollars"))
        .seed(chosen.seed)
        .epoch(EPOCH)
        .webhook_timeout(Duration::from_millis(chosen.patience_ms))
        .clock_manual();
    match chosen.webhooks_to {
        Some(port) => {
            let route = format!("https://hooks.example.com=http://127.0.0.1:{port}");
            setup.route_webhooks(route.parse().expect("a route"))
        }
        None => setup,
    }
}

/// The base URLs in the order of [`Host::ALL`].
fn urls(service: &Service) -> [String; 4] {
    [
        service.base_url(),
        service.developer_base_url(),
        service.media_url(),
        service.control_url(),
    ]
    .map(str::to_owned)
}

fn url_of(urls: &[String; 4], host: Host) -> &str {
    let index = Host::ALL.iter().position(|known| *known == host);
    &urls[index.expect("all hosts are listed")]
}
