//! An extractor for [axum](axum_core), and the layers with its body limit.
//!
//! Put a [`Receiver`] into the router's state and take a [`Webhook`] as the handler's
//! last argument:
//!
//! ```
//! use axum::Router;
//! use axum::http::StatusCode;
//! use axum::routing::post;
//! use svc_webhook_verify::{KeySet, Receiver, Refused, Verifier, Webhook};
//!
//! async fn receive(webhook: Webhook) -> Result<StatusCode, Refused> {
//!     let event = webhook.event()?;
//!     if !event.kind().is_known() {
//!         return Ok(StatusCode::NO_CONTENT);
//!     }
//!     // … store `webhook.body()` …
//!     Ok(StatusCode::OK)
//! }
//!
//! let receiver = Receiver::new(Verifier::new(KeySet::new(["whsec_newest"])?));
//! let router: Router = Router::new().route("/webhooks", post(receive)).with_state(receiver);
//! # Ok::<(), svc_webhook_verify::KeyError>(())
//! ```
//!
//! The body is bounded as the route says: by `DefaultBodyLimit`, which is 2 MiB where
//! nothing is set, or by tower-http's `RequestBodyLimitLayer`. Past it the answer is
//! `413`. A state of several parts implements `FromRef` for the receiver.
//!
//! To have each event handled once, put [`verify`] and a
//! [`DedupeLayer`](crate::tower::DedupeLayer) around the route instead of the extractor.
//! The handler then takes `Extension<Webhook>` and `Extension<Event>`.

use core::task::{Context, Poll};

use axum_core::RequestExt;
use axum_core::body::Body;
use axum_core::extract::{FromRef, FromRequest, Request};
use axum_core::response::{IntoResponse, Response};
use tower_layer::Layer;
use tower_service::Service;

use crate::receiver::{Receiver, Refused, Webhook};
use crate::tower::VerifyLayer;

impl<S> FromRequest<S> for Webhook
where
    Receiver: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refused> {
        let (parts, body) = request.with_limited_body().into_parts();
        let receiver = Receiver::from_ref(state);
        receiver.receive(&parts.headers, body).await
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.response()
    }
}

/// A [`VerifyLayer`] whose limit is the route's `DefaultBodyLimit`.
///
/// ```
/// use axum::extract::DefaultBodyLimit;
/// use axum::routing::post;
/// use axum::{Extension, Router};
/// use svc_webhook_verify::axum::verify;
/// use svc_webhook_verify::tower::DedupeLayer;
/// use svc_webhook_verify::{Event, KeySet, MemoryStore, Receiver, Verifier};
///
/// async fn receive(Extension(event): Extension<Event>) {
///     // … store it; an answer of 2xx makes it handled …
/// }
///
/// let receiver = Receiver::new(Verifier::new(KeySet::new(["whsec_newest"])?));
/// let dedupe = DedupeLayer::new(MemoryStore::new(10_000));
/// let router: Router = Router::new()
///     .route("/webhooks", post(receive))
///     .layer((verify(receiver), dedupe))
///     .layer(DefaultBodyLimit::max(4 * 1024 * 1024));
/// # Ok::<(), svc_webhook_verify::KeyError>(())
/// ```
pub fn verify(receiver: Receiver) -> (BodyLimitLayer, VerifyLayer) {
    let unlimited = VerifyLayer::new(receiver).max_body(usize::MAX);
    (BodyLimitLayer, unlimited)
}

/// Puts `DefaultBodyLimit` in force for layers, which it is otherwise not.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BodyLimitLayer;

impl<S> Layer<S> for BodyLimitLayer {
    type Service = BodyLimit<S>;

    fn layer(&self, inner: S) -> BodyLimit<S> {
        BodyLimit(inner)
    }
}

/// The service that a [`BodyLimitLayer`] makes.
#[derive(Clone, Debug)]
pub struct BodyLimit<S>(S);

impl<S: Service<Request<Body>>> Service<Request<Body>> for BodyLimit<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> S::Future {
        self.0.call(request.with_limited_body())
    }
}
