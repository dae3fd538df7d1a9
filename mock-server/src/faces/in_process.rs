//! The mock as a transport of the SDK, without sockets, on the runtime's clock.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{Method, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use svc_sdk::transport::{Body as ResponseBody, ResponseFuture, Transport, TransportError};

use crate::addresses::Addresses;
use crate::clock::TimeSource;
use crate::engine::{Call, Delivery, DeliveryOutcome, Host, Reply, Transmission};
use crate::mock_state::WebhookReceiver;
use crate::service::Service;
use crate::setup::Setup;

/// What a piece of a body is at most.
const MAX_CHUNK_BYTES: usize = 16 * 1024;

/// The hosts by name; `.invalid` is the domain that never resolves (RFC 2606).
const HOSTS: [(Host, &str); 4] = [
    (Host::Open, "open.svc.invalid"),
    (Host::Developer, "developer.svc.invalid"),
    (Host::Media, "media.svc.invalid"),
    (Host::Control, "control.svc.invalid"),
];

/// The mock in the same process, as a [`Transport`].
///
/// Its service time follows the runtime's clock, which `tokio::time::pause` stops: under a paused
/// clock a client's waits cost no time, and every test of them is exact. Clones are the same mock.
///
/// What the [control API](crate#the-control-api) does, [`Service`] has as methods, and this
/// dereferences to it; it also answers at [`control_url`](Service::control_url).
#[derive(Clone, Debug)]
pub struct InProcess {
    service: Service,
}

impl InProcess {
    /// A mock that is set up so.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let urls = HOSTS.map(|(_, name)| format!("https://{name}"));
        Self {
            service: setup.service(TimeSource::runtime(), Addresses::new(urls)),
        }
    }

    /// With somebody who answers every attempt to deliver a webhook, in the place of routes.
    ///
    /// An attempt is made at its own moment of service time, and found out about when the mock is
    /// next looked at: by a request, or by a method such as
    /// [`deliveries`](Service::deliveries). `receiver` is asked under the mock's lock, and must not
    /// ask the mock in turn. Without a receiver every attempt fails with `no_route`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use svc_mock_server::engine::DeliveryOutcome;
    /// use svc_mock_server::{InProcess, OPEN_API_KEY, Setup};
    /// use svc_sdk::types::ImageGenerate;
    /// use svc_sdk::{Secret, open};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut answers = [503, 204].into_iter();
    /// let mock = InProcess::new(Setup::default().clock_manual()).webhook_receiver(move |_delivery| {
    ///     DeliveryOutcome::answered(answers.next().unwrap_or(204))
    /// });
    /// let client = open::Client::builder()
    ///     .base_url(mock.base_url())
    ///     .api_key(Secret::new(OPEN_API_KEY)?)
    ///     .transport(Arc::new(mock.clone()))
    ///     .build()?;
    /// let image = ImageGenerate::new("image-i").prompt("a red fox in snow");
    /// let image = image.webhook_url("https://hooks.example.com/svc");
    /// client.image_generate(&image).send().await?;
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
        self.service
            .set_webhook_receiver(WebhookReceiver(Box::new(receiver)));
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
                let message = format!("the mock in this process has no host {name:?}");
                return Err(TransportError::not_sent(message));
            };
            let head = request.method() == Method::HEAD;
            let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
            let answer = service
                .call(Call {
                    host,
                    peer,
                    request,
                })
                .await;
            response(answer, head)
        })
    }
}

/// The answer as it would arrive over a connection.
fn response(answer: Reply, head: bool) -> Result<http::Response<ResponseBody>, TransportError> {
    let Reply {
        mut response,
        transmission,
        ..
    } = answer;
    if transmission == Transmission::Close {
        return Err(connection_closed());
    }
    let length = response.body().len();
    if response.status() != StatusCode::NO_CONTENT {
        response
            .headers_mut()
            .entry(CONTENT_LENGTH)
            .or_insert_with(|| length.into());
    }
    Ok(response.map(|mut bytes| {
        let is_truncated = transmission == Transmission::Truncate && length > 0;
        if head {
            bytes.clear();
        } else if is_truncated {
            bytes.truncate(length / 2);
        }
        ChunkedBody {
            bytes,
            is_truncated: is_truncated && !head,
        }
        .boxed_unsync()
    }))
}

fn connection_closed() -> TransportError {
    TransportError::maybe_sent("the mock closed the connection")
}

/// A body that arrives piece by piece, and perhaps not whole.
struct ChunkedBody {
    bytes: Bytes,
    is_truncated: bool,
}

impl Body for ChunkedBody {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        let next = self.bytes.len().min(MAX_CHUNK_BYTES);
        Poll::Ready(match next {
            0 if self.is_truncated => {
                self.is_truncated = false;
                Some(Err(connection_closed()))
            }
            0 => None,
            _ => Some(Ok(Frame::data(self.bytes.split_to(next)))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty() && !self.is_truncated
    }

    fn size_hint(&self) -> SizeHint {
        match self.is_truncated {
            true => SizeHint::default(),
            false => SizeHint::with_exact(self.bytes.len() as u64),
        }
    }
}

#[cfg(test)]
mod tests;
