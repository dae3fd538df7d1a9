//! Reading a request from a connection and responding to it.

use std::convert::Infallible;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HOST};
use http::uri::Authority;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Either};
use hyper::body::Incoming;
use svc_sdk::contract::ErrorCode;
use svc_sdk::contract::limits::MAX_REQUEST_BODY_BYTES;
use tokio::select;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::connections::ActiveRequest;
use super::own_replies::OwnReplies;
use super::socket::AbortHandle;
use super::{cors, document};
use crate::control::{self, ControlBody, MAX_BODY_BYTES};
#[cfg(feature = "dashboard")]
use crate::dashboard::Dashboard;
use crate::engine::{Host, HostRequest, Transmission};
use crate::frontends::stall::stall;
use crate::media;
use crate::service::Service;
use crate::setup::Network;

/// The size up to which a body needs no permit.
const SMALL_BODY_BYTES: usize = 64 * 1024;
/// How much of an invalid state is read and discarded, so that its sender can read the response.
const MAX_DISCARDED_BYTES: usize = 32 * 1024 * 1024;
/// The header of every response with the identifier of its request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-svc-request-id");

/// The body of a page of the dashboard, or of its event stream.
#[cfg(feature = "dashboard")]
type PageBody = axum::body::Body;
#[cfg(not(feature = "dashboard"))]
type PageBody = http_body_util::Empty<Bytes>;

/// The handler of all requests of one listener.
pub(super) struct RequestHandler {
    host: Host,
    own_replies: OwnReplies,
    service: Service,
    limit: usize,
    /// Permits to hold a large body in memory.
    large_bodies: Arc<Semaphore>,
    body_timeout: Duration,
    /// Whether URLs in responses have the host name of the request.
    urls_from_host: bool,
    cors_origins: Arc<[String]>,
    #[cfg(feature = "dashboard")]
    dashboard: Dashboard,
}

impl RequestHandler {
    pub(super) fn new(
        host: Host,
        service: Service,
        body_timeout: Duration,
        network: &Network,
    ) -> Self {
        let (limit, at_once) = match host {
            Host::Control => (MAX_BODY_BYTES, 1),
            Host::Open | Host::Developer | Host::Media => (MAX_REQUEST_BODY_BYTES, 64),
        };
        let large_bodies = Arc::new(Semaphore::new(at_once));
        Self {
            host,
            own_replies: OwnReplies::new(host),
            #[cfg(feature = "dashboard")]
            dashboard: Dashboard::new(service.clone()),
            service,
            limit,
            large_bodies,
            body_timeout,
            urls_from_host: network.urls_from_host,
            cors_origins: network.cors_origins.clone().into(),
        }
    }

    pub(super) fn own_replies(&self) -> OwnReplies {
        self.own_replies.clone()
    }

    /// Responds to a request. The response is active until its body is sent. An error closes the connection
    /// without one.
    pub(super) async fn respond(
        self: Arc<Self>,
        peer: IpAddr,
        abort: AbortHandle,
        active: ActiveRequest,
        mut request: hyper::Request<Incoming>,
    ) -> io::Result<hyper::Response<ActiveBody>> {
        let cors = cors::headers(self.host, &self.cors_origins, &request);
        let is_health = request.uri().path() == "/healthz"
            && matches!(*request.method(), Method::GET | Method::HEAD);
        let mut response = if is_health {
            self.own_response(health())
        } else if cors.is_some() && cors::is_preflight(&request) {
            let mut response = hyper::Response::new(Bytes::new());
            *response.status_mut() = StatusCode::NO_CONTENT;
            self.own_response(response)
        } else {
            if self.urls_from_host {
                self.insert_addresses(&mut request);
            }
            self.answer(peer, abort, request).await?
        };
        response.headers_mut().extend(cors.unwrap_or_default());
        Ok(response.map(|body| ActiveBody { body, _active: active }))
    }

    /// Returns a response that does not come from the service, with the identifier of its request.
    fn own_response(
        &self,
        mut response: hyper::Response<Bytes>,
    ) -> hyper::Response<Either<ResponseBody, PageBody>> {
        response.headers_mut().extend(self.own_replies.request_id().map(|id| (REQUEST_ID, id)));
        response.map(ResponseBody::complete).map(Either::Left)
    }

    /// Adds the addresses to a request that its response shows: those of the host that it names.
    fn insert_addresses(&self, request: &mut hyper::Request<Incoming>) {
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        let authority = host.and_then(|host| host.parse::<Authority>().ok());
        if let Some(authority) = authority {
            let addresses = self.service.addresses().with_host(authority.host());
            request.extensions_mut().insert(addresses);
        }
    }

    /// Answers a request. What few requests need is in boxes, because each request moves the future of
    /// all.
    async fn answer(
        &self,
        peer: IpAddr,
        abort: AbortHandle,
        request: hyper::Request<Incoming>,
    ) -> io::Result<hyper::Response<Either<ResponseBody, PageBody>>> {
        if self.host == Host::Control
            && let Some(refusal) = self.service.refuse_foreign(&request)
        {
            return Ok(refusal.map(ResponseBody::complete).map(Either::Left));
        }
        #[cfg(feature = "dashboard")]
        if self.host == Host::Control && Dashboard::is_for(&request) {
            let request = request.map(|_| ());
            return Ok(Box::pin(self.dashboard.respond(request)).await.map(Either::Right));
        }
        let (parts, body) = request.into_parts();
        if self.host == Host::Control && control::is_import(&parts.method, parts.uri.path()) {
            let query = parts.uri.query().unwrap_or_default();
            let response = Box::pin(self.import(query, body)).await?;
            return Ok(Box::pin(control_response(response)).await.map(Either::Left));
        }
        let body = match self.read(body).await {
            Ok(body) => body,
            Err(error) if is_malformed(&*error) => {
                let message = "the body of the request is not valid HTTP";
                let code = ErrorCode::InvalidRequest;
                let response = self.own_replies.unreadable(StatusCode::BAD_REQUEST, code, message);
                return Ok(response.map(ResponseBody::complete).map(Either::Left));
            }
            Err(_) => return Err(incomplete()),
        };
        let call =
            HostRequest { host: self.host, peer, request: http::Request::from_parts(parts, body) };
        if self.host == Host::Control {
            let response = Box::pin(self.service.call_control(call.request)).await;
            return Ok(Box::pin(control_response(response)).await.map(Either::Left));
        }
        if let Some(file) = self.service.file_to_render(&call) {
            // If rendering fails, so does the request.
            let _ = spawn_blocking(move || media::rendered(&file)).await;
        }
        let reply = self.service.call(call).await;
        let response = match reply.transmission {
            Transmission::Close => return Err(ErrorKind::ConnectionAborted.into()),
            Transmission::Complete => reply.response.map(ResponseBody::complete),
            Transmission::Truncate => {
                reply.response.map(|body| ResponseBody::truncated(body, abort))
            }
            Transmission::Stall => {
                reply.response.map(|body| ResponseBody::stalled(body, reply.delay))
            }
        };
        Ok(response.map(Either::Left))
    }

    /// Reads a state while it arrives, and continues from it.
    async fn import(
        &self,
        query: &str,
        mut body: Incoming,
    ) -> io::Result<hyper::Response<ControlBody>> {
        // One import at a time bounds the memory.
        let _permit = self.large_bodies.acquire().await;
        let (pieces, state) = document::state_reader();
        let mut discarded = 0;
        loop {
            let frame = timeout(self.body_timeout, body.frame()).await;
            let Some(frame) = frame.map_err(|_| incomplete())? else { break };
            let frame = frame.map_err(|_| incomplete())?;
            if let Ok(piece) = frame.into_data()
                && let Err(unread) = pieces.send(piece).await
            {
                // The state is invalid. The rest is discarded so that its sender can read the
                // response.
                discarded += unread.0.len();
                if discarded > MAX_DISCARDED_BYTES {
                    break;
                }
            }
        }
        drop(pieces);
        let state = state.await.ok_or_else(incomplete)?;
        Ok(self.service.import(query, state.map(|state| *state)))
    }

    /// Reads the body up to one byte above the limit, by which the service recognizes that it is
    /// too large. The rest is discarded within the time limit, so that its sender can read the response.
    async fn read(&self, mut body: Incoming) -> Result<Bytes, Box<dyn Error + Send + Sync>> {
        if body.is_end_stream() {
            return Ok(Bytes::new());
        }
        let mut limit = pin!(sleep(self.body_timeout));
        let mut received = BytesMut::new();
        let mut permit = None;
        loop {
            let frame = select! {
                frame = body.frame() => frame.transpose()?,
                () = &mut limit => match received.len() > self.limit {
                    true => None,
                    false => return Err(incomplete().into()),
                },
            };
            let Some(frame) = frame else { break };
            let Ok(data) = frame.into_data() else { continue };
            if permit.is_none() && received.len() + data.len() > SMALL_BODY_BYTES {
                permit = self.large_bodies.acquire().await.ok();
            }
            let remaining = (self.limit + 1).saturating_sub(received.len());
            received.extend_from_slice(data.get(..remaining).unwrap_or(&data));
        }
        Ok(received.freeze())
    }
}

/// Returns a response of the control API. A document that is a single piece has a known length.
async fn control_response(response: hyper::Response<ControlBody>) -> hyper::Response<ResponseBody> {
    let (parts, body) = response.into_parts();
    let body = match body {
        ControlBody::Complete(bytes) => ResponseBody::complete(bytes),
        ControlBody::Document(document) => {
            let mut pieces = document::pieces(document);
            let first = pieces.recv().await.unwrap_or_default();
            match pieces.recv().await {
                None => ResponseBody::complete(first),
                Some(second) => ResponseBody::document([first, second].concat().into(), pieces),
            }
        }
    };
    hyper::Response::from_parts(parts, body)
}

/// Returns the error of a client that closed the connection or was too slow.
fn incomplete() -> io::Error {
    ErrorKind::UnexpectedEof.into()
}

/// Returns whether the bytes of a body are not valid HTTP, which hyper reports like the end of a connection.
fn is_malformed(error: &(dyn Error + 'static)) -> bool {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(cause) = cause.downcast_ref::<io::Error>() {
            return matches!(cause.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData);
        }
        source = cause.source();
    }
    false
}

/// The response of `GET /healthz`, which is not logged.
fn health() -> hyper::Response<Bytes> {
    let mut response = hyper::Response::new(Bytes::from_static(b"{\"status\":\"ok\"}\n"));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// The body of a response to a request that is active until the body is sent.
pub(super) struct ActiveBody {
    body: Either<ResponseBody, PageBody>,
    _active: ActiveRequest,
}

impl Body for ActiveBody {
    type Data = Bytes;
    type Error = <Either<ResponseBody, PageBody> as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response, or the half of it after which the connection is aborted.
pub(super) struct ResponseBody {
    bytes: Bytes,
    /// What follows after the bytes.
    rest: Option<mpsc::Receiver<Bytes>>,
    /// The length, unless this is a document of unknown length.
    content_length: Option<u64>,
    abort: Option<AbortHandle>,
}

impl ResponseBody {
    fn complete(bytes: Bytes) -> Self {
        Self { content_length: Some(bytes.len() as u64), bytes, rest: None, abort: None }
    }

    /// Creates a body of a document whose pieces follow after `bytes`.
    fn document(bytes: Bytes, pieces: mpsc::Receiver<Bytes>) -> Self {
        Self { bytes, rest: Some(pieces), content_length: None, abort: None }
    }

    fn stalled(bytes: Bytes, pause: Duration) -> Self {
        let mut body = Self::complete(bytes);
        body.rest = (!body.bytes.is_empty()).then(|| stall(&mut body.bytes, pause));
        body
    }

    fn truncated(bytes: Bytes, abort: AbortHandle) -> Self {
        let mut body = Self::complete(bytes);
        body.abort = (!body.bytes.is_empty()).then_some(abort);
        body.bytes.truncate(body.bytes.len() / 2);
        body
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if !self.bytes.is_empty() {
            let bytes = std::mem::take(&mut self.bytes);
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if let Some(rest) = &mut self.rest {
            let piece = ready!(rest.poll_recv(context));
            return Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))));
        }
        match &self.abort {
            None => Poll::Ready(None),
            // Next, hyper flushes the socket, which aborts the connection.
            Some(abort) => {
                abort.abort();
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty() && self.rest.is_none() && self.abort.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.content_length.map(SizeHint::with_exact).unwrap_or_default()
    }
}
