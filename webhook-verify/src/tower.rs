//! A layer for [tower](tower_service) services.
//!
//! [`VerifyLayer`] passes on genuine deliveries only, with their bodies unchanged.
//!
//! ```
//! use svc_webhook_verify::tower::VerifyLayer;
//! use svc_webhook_verify::{KeySet, Verifier, WebhookReceiver};
//!
//! let receiver = WebhookReceiver::new(Verifier::new(KeySet::new(["whsec_newest"])?));
//! let layer = VerifyLayer::new(receiver).max_body_bytes(4 * 1024 * 1024);
//! # use tower_layer::Layer;
//! # let _ = layer.layer(());
//! # Ok::<(), svc_webhook_verify::KeyError>(())
//! ```
//!
//! Other requests are answered with an error status and an empty body. The reason, a
//! [`ReceiveError`](crate::ReceiveError), is in the extensions of the response. To store each event
//! once, use `svc-webhook-inbox`.

use core::mem;
use core::task::{Context, Poll};
use std::boxed::Box;
use std::error::Error;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{Full, Limited};
use tower_layer::Layer;
use tower_service::Service;

use crate::receiver::{BoxFuture, WebhookReceiver};

/// The same as axum's default, and twice the size of the largest receipt.
const DEFAULT_MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// A layer that verifies each request as a delivery before it reaches the inner service.
///
/// The inner service receives the unchanged body, and a [`Webhook`](crate::Webhook) in the
/// extensions of the request. Other requests are answered with `400`, `401` or `413`, see
/// [`ReceiveError`](crate::ReceiveError).
///
/// The size of the body is limited to 2 MiB, or to
/// [`max_body_bytes`](VerifyLayer::max_body_bytes). A smaller limit of an outer layer
/// still applies. axum's `DefaultBodyLimit` is not applied by this layer but by
/// `axum::verify_layer`.
#[derive(Clone, Debug)]
pub struct VerifyLayer {
    receiver: WebhookReceiver,
    max_body_bytes: usize,
}

impl VerifyLayer {
    /// Creates a layer from a receiver.
    #[must_use]
    pub fn new(receiver: WebhookReceiver) -> Self {
        Self { receiver, max_body_bytes: DEFAULT_MAX_BODY_BYTES }
    }

    /// Sets the maximum size of a body, in bytes.
    #[must_use]
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }
}

impl<S> Layer<S> for VerifyLayer {
    type Service = Verify<S>;

    fn layer(&self, inner: S) -> Verify<S> {
        let layer = self.clone();
        Verify { layer, inner }
    }
}

/// The service created by [`VerifyLayer`].
#[derive(Clone, Debug)]
pub struct Verify<S> {
    layer: VerifyLayer,
    inner: S,
}

impl<S, B, R> Service<Request<B>> for Verify<S>
where
    S: Service<Request<Full<Bytes>>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    R: Default,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = BoxFuture<Result<Response<R>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Calls the service that was polled ready, and leaves its clone for the next request.
        let clone = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, clone);
        let VerifyLayer { receiver, max_body_bytes } = self.layer.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            let body = Limited::new(body, max_body_bytes);
            match receiver.receive(&parts.headers, body).await {
                Ok(webhook) => {
                    let body = Full::new(webhook.body().clone());
                    parts.extensions.insert(webhook);
                    inner.call(Request::from_parts(parts, body)).await
                }
                Err(error) => Ok(error.into_http_response()),
            }
        })
    }
}
