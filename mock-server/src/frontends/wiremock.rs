//! The mock on wiremock servers, for tests that mount additional mocks.
//!
//! wiremock requests a response synchronously and under a lock, so nothing here waits: the delay of
//! a response is predicted and passed to wiremock.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io, mem};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::webhook_sender::WebhookSender;
use crate::addresses::Addresses;
use crate::clock::TimeSource;
use crate::engine::{Host, HostRequest, Reply, Transmission};
use crate::service::Service;
use crate::setup::Setup;

/// A mock for tests, on four wiremock servers.
///
/// [`Mock`]s that a test mounts take precedence over the service, unless their priority is 255:
///
/// ```
/// use svc_mock_server::MockService;
/// use wiremock::matchers::path;
/// use wiremock::{Mock, ResponseTemplate};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let service = MockService::start().await;
/// Mock::given(path("/v1/jobs"))
///     .respond_with(ResponseTemplate::new(418))
///     .mount(service.open_server())
///     .await;
/// # }
/// ```
///
/// The type dereferences to [`Service`], whose methods correspond to the
/// [control API](crate#the-control-api).
///
/// # Limitations of wiremock
///
/// - The delay of a response is predicted when the request arrives. Later events, such as the
///   cancellation of the job, do not shorten it. A `sync` or `subscribe` submit cannot wait for a
///   manual clock and responds with `202` immediately.
/// - The fault `truncate` sends half of the body with a `Content-Length` of that half. The fault `stall`
///   delays the whole response.
/// - Lists of the control API are answered at once, whatever their `wait`, with `satisfied` as it is then:
///   a response that waits would hold up all other requests to the server. [`Service::control`] waits.
/// - `POST /clock/advance` does not wait for webhooks that have a route; they are sent afterwards.
///   [`Service::advance_and_deliver`] sends each one at its own time.
/// - wiremock stores a copy of each request. Use `serve::Server` for long-running programs.
/// - A scoped mock (`mount_as_scoped`) may remove another mock when it is dropped, because
///   wiremock 0.6.5 identifies mocks by their index and reorders them by priority. Use `mount` with
///   `up_to_n_times` instead.
/// - [`MockServer::reset`] also removes the service. Use [`Service::reset`] instead.
pub struct MockService {
    service: Service,
    servers: [MockServer; 4],
    _webhook_sender: WebhookSender,
}

impl MockService {
    /// Starts a mock with the default [`Setup`].
    pub async fn start() -> Self {
        Setup::default().start().await
    }

    /// Returns a [`Setup`] to configure before starting the mock.
    pub fn builder() -> Setup {
        Setup::default()
    }

    /// Returns the server of the open surface.
    #[must_use]
    pub fn open_server(&self) -> &MockServer {
        let [open, ..] = &self.servers;
        open
    }

    /// Returns the server of the developer surface and MCP.
    #[must_use]
    pub fn developer_server(&self) -> &MockServer {
        let [_, developer, ..] = &self.servers;
        developer
    }

    /// Returns the server of artifacts and checkout pages.
    #[must_use]
    pub fn media_server(&self) -> &MockServer {
        let [_, _, media, _] = &self.servers;
        media
    }

    /// Returns the server of the control API.
    #[must_use]
    pub fn control_server(&self) -> &MockServer {
        let [.., control] = &self.servers;
        control
    }
}

impl Setup {
    /// Starts the mock on wiremock.
    pub async fn start(self) -> MockService {
        let servers = [server().await, server().await, server().await, server().await];
        let addresses = Addresses::new(servers.each_ref().map(MockServer::uri));
        let service = self.service(TimeSource::system(), addresses);
        let hosts = [Host::Open, Host::Developer, Host::Media, Host::Control];
        for (host, server) in hosts.into_iter().zip(&servers) {
            mount(ServerState { host, service: service.clone(), reply: Mutex::default() }, server)
                .await;
        }
        MockService { _webhook_sender: WebhookSender::start(service.clone()), service, servers }
    }
}

impl Deref for MockService {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}

impl fmt::Debug for MockService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockService").field("service", &self.service).finish_non_exhaustive()
    }
}

/// Starts a server that does not record a second copy of each request.
async fn server() -> MockServer {
    MockServer::builder().disable_request_recording().start().await
}

/// Mounts the service with the lowest priority.
///
/// A wiremock mock either always or never closes the connection, so the service needs two mocks: one
/// for the requests whose connection is closed, and one for all others. wiremock evaluates the mocks
/// of a server under one lock until a response is found, and those of equal priority in the order of
/// mounting. Therefore the first mock passes each request to the service once, and stores the reply
/// for the second one.
async fn mount(state: ServerState, server: &MockServer) {
    const LAST: u8 = u8::MAX;
    let state = Arc::new(state);
    let first = Arc::clone(&state);
    Mock::given(move |request: &Request| first.closes(request))
        .respond_with_err(|_: &Request| io::Error::from(io::ErrorKind::ConnectionAborted))
        .with_priority(LAST)
        .mount(server)
        .await;
    let response = move |_: &Request| match state.replace_reply(None) {
        Some(reply) => to_response_template(reply),
        // The reply is missing only after a panic in the service.
        None => ResponseTemplate::new(500),
    };
    Mock::given(any()).respond_with(response).with_priority(LAST).mount(server).await;
}

/// The state that the two mocks of a server share.
struct ServerState {
    host: Host,
    service: Service,
    reply: Mutex<Option<Reply>>,
}

impl ServerState {
    fn replace_reply(&self, reply: Option<Reply>) -> Option<Reply> {
        let mut stored = self.reply.lock().unwrap_or_else(PoisonError::into_inner);
        mem::replace(&mut *stored, reply)
    }

    /// Passes a request to the service, and returns whether its connection is closed.
    fn closes(&self, request: &Request) -> bool {
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let call = HostRequest { host: self.host, peer, request: to_http_request(request) };
        let reply = self.service.predict(&call);
        let closes = reply.transmission == Transmission::Close;
        self.replace_reply((!closes).then_some(reply));
        closes
    }
}

fn to_http_request(request: &Request) -> http::Request<Bytes> {
    let url = &request.url;
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let mut converted = http::Request::new(Bytes::copy_from_slice(&request.body));
    *converted.method_mut() = request.method.clone();
    *converted.uri_mut() = target.parse().unwrap_or_default();
    *converted.headers_mut() = request.headers.clone();
    converted
}

fn to_response_template(reply: Reply) -> ResponseTemplate {
    let (mut parts, mut body) = reply.response.into_parts();
    if reply.transmission == Transmission::Truncate {
        parts.headers.remove(CONTENT_LENGTH);
        body.truncate(body.len() / 2);
    }
    let headers = parts.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
    ResponseTemplate::new(parts.status)
        .append_headers(headers)
        .set_body_bytes(body)
        .set_delay(reply.delay)
}

#[cfg(test)]
mod tests;
