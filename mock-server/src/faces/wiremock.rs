//! The mock on wiremock, for tests: its servers are there for a test's own mocks too.
//!
//! wiremock asks for an answer at once and under a lock, so that nothing here waits: how long an
//! answer is to be kept back is foreseen and left to wiremock.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, mem};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use wiremock::matchers::any;
use wiremock::{Match, Mock, MockServer, Request, Respond, ResponseTemplate};

use super::webhook_sender::WebhookSender;
use crate::addresses::Addresses;
use crate::clock::TimeSource;
use crate::engine::{Call, Host, Reply, Transmission};
use crate::service::Service;
use crate::setup::Setup;

/// The mock in a test, on four wiremock servers.
///
/// A test's own [`Mock`]s come before what the service would answer, unless their priority is 255:
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
/// What the [control API](crate#the-control-api) does, [`Service`] has as methods, and this
/// dereferences to it.
///
/// # What wiremock cannot do
///
/// - An answer is kept back for as long as was foreseen when the request came. What happens in the
///   meantime, such as the job's cancellation, does not shorten that. A manual clock cannot be
///   waited for: a `sync` or `subscribe` submit is answered `202` at once.
/// - `truncate` cuts the text of the body in half and announces that half.
/// - `POST /clock/advance` does not wait for webhooks that have a route: they are sent after it.
///   [`Service::advance_and_deliver`] sends each on the way.
/// - wiremock keeps a copy of each request that it answers. For a test that is nothing; a program
///   that runs for long has `serve::Server`.
/// - A scoped mock (`mount_as_scoped`) takes away another mock than itself at its end, since those
///   of wiremock 0.6.5 are known by their place, and mocks move with their priorities. `mount` with
///   `up_to_n_times` does what is meant.
/// - [`MockServer::reset`] takes the service away too. [`Service::reset`] is what a test wants.
pub struct MockService {
    service: Service,
    servers: [MockServer; 4],
    _webhook_sender: WebhookSender,
}

impl MockService {
    /// A mock with the usual [`Setup`].
    pub async fn start() -> Self {
        Setup::default().start().await
    }

    /// A mock that is set up first.
    pub fn builder() -> Setup {
        Setup::default()
    }

    /// The open surface's server.
    #[must_use]
    pub fn open_server(&self) -> &MockServer {
        let [open, ..] = &self.servers;
        open
    }

    /// The developer surface's server, which MCP is on too.
    #[must_use]
    pub fn developer_server(&self) -> &MockServer {
        let [_, developer, ..] = &self.servers;
        developer
    }

    /// The server of artifacts and checkout pages.
    #[must_use]
    pub fn media_server(&self) -> &MockServer {
        let [_, _, media, _] = &self.servers;
        media
    }

    /// The control API's server.
    #[must_use]
    pub fn control_server(&self) -> &MockServer {
        let [.., control] = &self.servers;
        control
    }
}

impl Setup {
    /// Starts the mock on wiremock.
    pub async fn start(self) -> MockService {
        let servers = [
            server().await,
            server().await,
            server().await,
            server().await,
        ];
        let addresses = Addresses::new(servers.each_ref().map(MockServer::uri));
        let service = self.service(TimeSource::system(), addresses);
        let hosts = [Host::Open, Host::Developer, Host::Media, Host::Control];
        for (host, server) in hosts.into_iter().zip(&servers) {
            mount(
                ServerState {
                    host,
                    service: service.clone(),
                    reply: Mutex::default(),
                },
                server,
            )
            .await;
        }
        MockService {
            _webhook_sender: WebhookSender::start(service.clone()),
            service,
            servers,
        }
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
        f.debug_struct("MockService")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

/// A server that does not keep a second copy of each request.
async fn server() -> MockServer {
    MockServer::builder()
        .disable_request_recording()
        .start()
        .await
}

/// Mounts the service below all mocks of the test.
///
/// wiremock breaks a connection for a mock as a whole, so that there are two: one for the requests
/// whose connection is to be closed, and one for all others. It goes through the mocks of a server
/// under one lock, from the request's arrival to its answer, those of a priority in the order of
/// their mounting. The first is therefore where the engine gets each request, once, and what it
/// answered is what the second finds.
async fn mount(state: ServerState, server: &MockServer) {
    const LAST: u8 = u8::MAX;
    let state = Arc::new(state);
    Mock::given(CloseMatcher(Arc::clone(&state)))
        .respond_with_err(|_: &Request| Closed)
        .with_priority(LAST)
        .mount(server)
        .await;
    Mock::given(any())
        .respond_with(ReplyResponder(state))
        .with_priority(LAST)
        .mount(server)
        .await;
}

/// The request that is being answered.
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
}

struct CloseMatcher(Arc<ServerState>);

impl Match for CloseMatcher {
    fn matches(&self, request: &Request) -> bool {
        let Self(state) = self;
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let call = Call {
            host: state.host,
            peer,
            request: to_http_request(request),
        };
        let reply = state.service.predict(&call);
        let closes = reply.transmission == Transmission::Close;
        state.replace_reply((!closes).then_some(reply));
        closes
    }
}

struct ReplyResponder(Arc<ServerState>);

impl Respond for ReplyResponder {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        match self.0.replace_reply(None) {
            Some(reply) => to_response_template(reply),
            // Nothing but a panic in the engine leads here.
            None => ResponseTemplate::new(500),
        }
    }
}

/// The connection is closed in the place of an answer.
#[derive(Debug)]
struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection is closed in the place of an answer")
    }
}

impl std::error::Error for Closed {}

fn to_http_request(request: &Request) -> http::Request<Bytes> {
    let url = &request.url;
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let mut to_http_request = http::Request::new(Bytes::copy_from_slice(&request.body));
    *to_http_request.method_mut() = request.method.clone();
    *to_http_request.uri_mut() = target.parse().unwrap_or_default();
    *to_http_request.headers_mut() = request.headers.clone();
    to_http_request
}

fn to_response_template(reply: Reply) -> ResponseTemplate {
    let (mut parts, mut body) = reply.response.into_parts();
    if reply.transmission == Transmission::Truncate {
        parts.headers.remove(CONTENT_LENGTH);
        body.truncate(body.len() / 2);
    }
    let headers = parts
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()));
    ResponseTemplate::new(parts.status)
        .append_headers(headers)
        .set_body_bytes(body)
        .set_delay(reply.delay)
}

#[cfg(test)]
mod tests;
