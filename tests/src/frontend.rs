//! The three frontends of the mock server.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use svc_mock_server::engine::Time;
use svc_mock_server::serve::Server;
use svc_mock_server::{InProcess, Service, Setup, UndocumentedKeys, WebhookTimestamps};
use svc_sdk::transport::Transport;

use crate::http1::{self, HttpClient};

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

/// A running mock server behind one of its frontends. It stops when it is dropped.
pub(crate) struct Frontend {
    /// The base URLs in the order of [`Host::ALL`].
    urls: [String; 4],
    connection: Connection,
}

enum Connection {
    InProcess(InProcess),
    Sockets { client: Box<HttpClient>, _server: Box<dyn Any + Send + Sync> },
}

impl Frontend {
    pub(crate) async fn start(kind: FrontendKind, options: &str) -> Self {
        let setup = setup(options);
        match kind {
            FrontendKind::InProcess => {
                let mock = InProcess::new(setup);
                Self { urls: urls(&mock), connection: Connection::InProcess(mock) }
            }
            FrontendKind::Wiremock => Self::on_sockets(setup.start().await),
            FrontendKind::Serve => {
                let server = Server::bind(setup, 0, |_| ()).await;
                Self::on_sockets(server.expect("four free ports"))
            }
        }
    }

    fn on_sockets(server: impl Deref<Target = Service> + Send + Sync + 'static) -> Self {
        let (urls, client) = (urls(&server), Box::new(http1::client()));
        Self { urls, connection: Connection::Sockets { client, _server: Box::new(server) } }
    }

    /// Returns a host's base URL, without a trailing slash.
    pub(crate) fn base_url(&self, host: Host) -> &str {
        &self.urls[host as usize]
    }

    /// Sends a request whose URI is a path with an optional query, and reads the complete response.
    pub(crate) async fn send(
        &self,
        host: Host,
        mut request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, TransportError> {
        let url = format!("{}{}", self.base_url(host), request.uri());
        *request.uri_mut() = url.parse().map_err(TransportError::new)?;
        match &self.connection {
            Connection::InProcess(mock) => {
                whole(mock.send(request).await.map_err(TransportError::new)?).await
            }
            Connection::Sockets { client, .. } => {
                let response = client.request(request.map(Full::new)).await;
                whole(response.map_err(TransportError::new)?).await
            }
        }
    }

    /// Sends raw bytes over a new connection, or returns `None` if the frontend has no sockets.
    pub(crate) async fn send_raw(
        &self,
        host: Host,
        bytes: Vec<u8>,
    ) -> Option<Result<Vec<u8>, TransportError>> {
        let Connection::Sockets { .. } = &self.connection else { return None };
        let authority = self.base_url(host).trim_start_matches("http://");
        Some(http1::send_raw(authority, bytes).await)
    }
}

async fn whole<B>(response: http::Response<B>) -> Result<http::Response<Bytes>, TransportError>
where
    B: BodyExt<Data = Bytes>,
    B::Error: fmt::Display,
{
    let (head, body) = response.into_parts();
    let body = body.collect().await.map_err(TransportError::new)?;
    Ok(http::Response::from_parts(head, body.to_bytes()))
}

fn urls(service: &Service) -> [String; 4] {
    [service.base_url(), service.developer_base_url(), service.media_url(), service.control_url()]
        .map(str::to_owned)
}

/// The initial time of every mock, so that mocks with the same seed give the same responses.
const EPOCH: Time = Time::from_micros(1_800_000_000_000_000);

/// Returns the setup of a mock with the given options, such as `plan=scale balance=1.0000`. Its clock is manual
/// unless it has a speed.
fn setup(options: &str) -> Setup {
    let setup = Setup::default().epoch(EPOCH).clock_manual();
    let setup = setup.webhook_timestamps(WebhookTimestamps::Service);
    options.split_whitespace().fold(setup, |setup, option| {
        let (name, value) = option.split_once('=').expect("an option of a mock");
        set(setup, name, value)
    })
}

/// Sets an option of a mock, whose workspace is `ws_demo`.
fn set(setup: Setup, name: &str, value: &str) -> Setup {
    let number = || value.parse::<u64>().expect("a number");
    match name {
        "plan" => setup.plan(value.into()),
        "balance" => setup.balance(value.parse().expect("an amount of dollars")),
        "seed" => setup.seed(number()),
        "speed" => setup.speed(value.parse().expect("a speed")),
        "retain-days" => setup.retain_days(value.parse().expect("days")),
        // In real time.
        "webhook-timeout-ms" => setup.webhook_timeout(Duration::from_millis(number())),
        // Of the port that receives webhooks for this host.
        "webhook-port" => {
            let route = format!("https://hooks.example.com=http://127.0.0.1:{value}");
            setup.route_webhooks(route.parse().expect("a route"))
        }
        "webhook-timestamps" if value == "wall" => {
            setup.webhook_timestamps(WebhookTimestamps::Wall)
        }
        // Whether submits whose idempotency is not documented honor the idempotency key.
        "honors-undocumented-keys" if value == "true" => {
            setup.undocumented_keys(UndocumentedKeys::Honor)
        }
        _ => panic!("no option of a mock is {name}={value}"),
    }
}
