//! The mock as an in-process transport of the SDK, on the runtime's clock.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{Method, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use svc_sdk::transport::{Body as ResponseBody, ResponseFuture, Transport, TransportError};
use tokio::sync::mpsc;

use super::stall::stall;
use crate::addresses::Addresses;
use crate::clock::TimeSource;
use crate::engine::{Delivery, DeliveryOutcome, Host, HostRequest, Reply, Transmission};
use crate::mock_state::WebhookReceiver;
use crate::service::Service;
use crate::setup::Setup;

/// The maximum size of a frame of a response body.
const MAX_CHUNK_BYTES: usize = 16 * 1024;

/// The host names. Names below `.invalid` never resolve (RFC 2606).
const HOSTS: [(Host, &str); 4] = [
    (Host::Open, "open.svc.invalid"),
    (Host::Developer, "developer.svc.invalid"),
    (Host::Media, "media.svc.invalid"),
    (Host::Control, "control.svc.invalid"),
];

/// The mock in the same process, as a [`Transport`].
///
/// Service time follows the runtime's clock. If that is paused (`tokio::time::pause`), waits take no
/// real time and tests of them are exact. Clones share one mock.
///
/// The type dereferences to [`Service`], whose methods correspond to the
/// [control API](crate#the-control-api). The control API itself is available at
/// [`control_url`](Service::control_url).
#[derive(Clone, Debug)]
pub struct InProcess {
    service: Service,
}

impl InProcess {
    /// Creates a mock with that setup.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let urls = HOSTS.map(|(_, name)| format!("https://{name}"));
        Self { service: setup.service(TimeSource::runtime(), Addresses::new(urls)) }
    }

    /// Sets the function that responds to each attempt to deliver a webhook. It replaces routes.
    ///
    /// The function is called during the next request or method call, such as
    /// [`deliveries`](Service::deliveries), after the attempt is due. It is called while the mock
    /// is locked and must not use the mock. Without a receiver, every attempt fails with
    /// `no_route`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use svc_mock_server::engine::DeliveryOutcome;
    /// use svc_mock_server::{InProcess, OPEN_API_KEY, Setup};
    /// use svc_sdk::types::ImageGenerate;
    /// use svc_sdk::{ApiKey, open};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut responses = [503, 204].into_iter();
    /// let mock = InProcess::new(Setup::default().clock_manual()).webhook_receiver(move |_delivery| {
    ///     DeliveryOutcome::answered(responses.next().unwrap_or(204))
    /// });
    /// let client = open::Client::builder()
    ///     .base_url(mock.base_url())
    ///     .api_key(ApiKey::new(OPEN_API_KEY)?)
    ///     .transport(Arc::new(mock.clone()))
    ///     .build()?;
    /// let body = ImageGenerate::new("image-i")
    ///     .prompt("a red fox in snow")
    ///     .webhook_url("https://hooks.example.com/svc");
    /// client.images().generate(&body).await?;
    /// mock.advance(Duration::from_secs(60))?;
    /// let statuses: Vec<_> = mock.deliveries().iter().map(|d| d["status"].clone()).collect();
    /// assert_eq!(statuses, [503, 204]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn webhook_receiver(
        self,
        receiver: impl FnMut(&Delivery) -> DeliveryOutcome + Send + 'static,
    ) -> Self {
        self.service.set_webhook_receiver(WebhookReceiver(Box::new(receiver)));
        self
    }
}

impl Default for InProcess {
    fn default() -> Self {
        Self::new(Setup::default())
    }
}

impl Deref for InProcess {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}

impl Transport for InProcess {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let service = self.service.clone();
        Box::pin(async move {
            let name = request.uri().host().unwrap_or_default();
            let Some((host, _)) = HOSTS.into_iter().find(|(_, known)| *known == name) else {
                let message =
                    format!("unknown host `{name}`: the in-process mock serves only its own hosts");
                return Err(TransportError::not_sent(message));
            };
            let is_head = request.method() == Method::HEAD;
            let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
            let reply = service.call(HostRequest { host, peer, request }).await;
            to_response(reply, is_head)
        })
    }
}

/// Converts a reply to the response that a client would receive over a connection.
fn to_response(
    reply: Reply,
    is_head: bool,
) -> Result<http::Response<ResponseBody>, TransportError> {
    let Reply { mut response, transmission, delay, .. } = reply;
    if transmission == Transmission::Close {
        return Err(connection_closed());
    }
    let length = response.body().len();
    if response.status() != StatusCode::NO_CONTENT {
        response.headers_mut().entry(CONTENT_LENGTH).or_insert_with(|| length.into());
    }
    Ok(response.map(|mut bytes| {
        let is_truncated = transmission == Transmission::Truncate && length > 0 && !is_head;
        let is_stalled = transmission == Transmission::Stall && length > 0 && !is_head;
        if is_head {
            bytes.clear();
        } else if is_truncated {
            bytes.truncate(length / 2);
        }
        let rest = is_stalled.then(|| stall(&mut bytes, delay));
        ChunkedBody { bytes, rest, is_truncated }.boxed_unsync()
    }))
}

fn connection_closed() -> TransportError {
    TransportError::maybe_sent("the mock closed the connection")
}

/// A body that is sent in chunks and can end with an error.
struct ChunkedBody {
    bytes: Bytes,
    /// What follows after the bytes.
    rest: Option<mpsc::Receiver<Bytes>>,
    is_truncated: bool,
}

impl Body for ChunkedBody {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        if self.bytes.is_empty()
            && let Some(rest) = &mut self.rest
        {
            self.bytes = ready!(rest.poll_recv(context)).unwrap_or_default();
            self.rest = None;
        }
        let next = self.bytes.len().min(MAX_CHUNK_BYTES);
        Poll::Ready(match next {
            0 => std::mem::take(&mut self.is_truncated).then(|| Err(connection_closed())),
            _ => Some(Ok(Frame::data(self.bytes.split_to(next)))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty() && !self.is_truncated && self.rest.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.is_truncated || self.rest.is_some() {
            true => SizeHint::default(),
            false => SizeHint::with_exact(self.bytes.len() as u64),
        }
    }
}

#[cfg(test)]
mod tests;
