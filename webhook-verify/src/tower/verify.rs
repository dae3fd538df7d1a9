//! The layer that verifies.

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

use crate::receiver::Receiver;
use crate::tower::BoxFuture;

/// As much as axum allows where nothing is said, and twice the longest receipt.
const DEFAULT_MAX_BODY: usize = 2 * 1024 * 1024;

/// Verifies each request as a delivery before the inner service sees it.
///
/// The inner service gets the same body, and a [`Webhook`](crate::Webhook) in the
/// request's extensions. Otherwise the answer is `400`, `401` or `413`, see
/// [`Refused`](crate::Refused).
///
/// The body may have 2 MiB, or as much as [`max_body`](VerifyLayer::max_body) says. A
/// stricter limit that was put around the body before is kept to as well. axum's
/// `DefaultBodyLimit` is none of these: use `axum::verify` there.
#[derive(Clone, Debug)]
pub struct VerifyLayer {
    receiver: Receiver,
    max_body: usize,
}

impl VerifyLayer {
    /// Makes a layer of a receiver.
    #[must_use]
    pub fn new(receiver: Receiver) -> Self {
        Self {
            receiver,
            max_body: DEFAULT_MAX_BODY,
        }
    }

    /// Sets how many bytes a body may have.
    #[must_use]
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
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

/// The service that a [`VerifyLayer`] makes.
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
        // The one that was polled ready is the one to call.
        let fresh = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, fresh);
        let VerifyLayer { receiver, max_body } = self.layer.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            let body = Limited::new(body, max_body);
            match receiver.receive(&parts.headers, body).await {
                Ok(webhook) => {
                    let body = Full::new(webhook.body().clone());
                    parts.extensions.insert(webhook);
                    inner.call(Request::from_parts(parts, body)).await
                }
                Err(refused) => Ok(refused.response()),
            }
        })
    }
}
