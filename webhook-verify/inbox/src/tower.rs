//! A [tower](tower_service) service that receives deliveries into an inbox.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Empty;
use svc_webhook_verify::WebhookReceiver;
use tower_service::Service;

use crate::inbox::Inbox;
use crate::receive::{self, DEFAULT_MAX_BODY_BYTES};

/// A service that verifies each request as a delivery, stores its event, and answers.
///
/// | delivery | response |
/// |---|---|
/// | genuine; its event is stored, now or before | `200` |
/// | genuine, but not an event | `400` |
/// | headers missing or malformed | `400` |
/// | stale timestamp, other scheme, or signed with another secret | `401` |
/// | body larger than the limit | `413` |
/// | the store failed | `503` with `Retry-After` |
///
/// The response has no body.
///
/// ```
/// use svc_webhook_inbox::tower::ReceiveService;
/// use svc_webhook_inbox::{Inbox, MemoryEventStore};
/// use svc_webhook_verify::{KeySet, Verifier, WebhookReceiver};
///
/// let receiver = WebhookReceiver::new(Verifier::new(KeySet::new(["whsec_newest"])?));
/// let inbox = Inbox::new(MemoryEventStore::new());
/// let service = ReceiveService::new(inbox, receiver);
/// let router: axum::Router = axum::Router::new().route_service("/webhooks", service);
/// # Ok::<(), svc_webhook_verify::KeyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReceiveService {
    inbox: Inbox,
    receiver: WebhookReceiver,
    max_body_bytes: usize,
}

impl ReceiveService {
    /// Creates a service that stores the events of genuine deliveries in an inbox.
    #[must_use]
    pub fn new(inbox: Inbox, receiver: WebhookReceiver) -> Self {
        Self { inbox, receiver, max_body_bytes: DEFAULT_MAX_BODY_BYTES }
    }

    /// Sets the maximum size of a body, in bytes. The default is 2 MiB.
    #[must_use]
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }
}

impl<B> Service<Request<B>> for ReceiveService
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Empty<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Empty<Bytes>>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let limit = this.max_body_bytes;
            let headers = &parts.headers;
            Ok(receive::receive(&this.inbox, &this.receiver, limit, headers, body).await)
        })
    }
}
