//! Support for [axum](axum_core): [`Webhook`] as an extractor, and layers that apply the
//! body limit of the route.
//!
//! Add a [`WebhookReceiver`] to the state of the router and take a [`Webhook`] as the last
//! argument of the handler:
//!
//! ```
//! use axum::Router;
//! use axum::http::StatusCode;
//! use axum::routing::post;
//! use svc_webhook_verify::{KeySet, ReceiveError, Verifier, Webhook, WebhookReceiver};
//!
//! async fn receive(webhook: Webhook) -> Result<StatusCode, ReceiveError> {
//!     let event = webhook.event()?;
//!     if !event.event_type().is_known() {
//!         return Ok(StatusCode::NO_CONTENT);
//!     }
//!     // … store `webhook.body()` …
//!     Ok(StatusCode::OK)
//! }
//!
//! let receiver = WebhookReceiver::new(Verifier::new(KeySet::new(["whsec_newest"])?));
//! let router: Router = Router::new().route("/webhooks", post(receive)).with_state(receiver);
//! # Ok::<(), svc_webhook_verify::KeyError>(())
//! ```
//!
//! The size of the body is limited by axum's `DefaultBodyLimit`, 2 MiB unless configured
//! otherwise, and by tower-http's `RequestBodyLimitLayer`. A larger body is answered with
//! `413`. If the state of the router is a struct, implement `FromRef` for the receiver.
//!
//! To store each event only once, use the handler of `svc-webhook-inbox`. If other layers or
//! extractors need the body, wrap the route in [`verify_layer`]. The handler then takes
//! `Extension<Webhook>`.

use core::task::{Context, Poll};

use axum_core::RequestExt;
use axum_core::body::Body;
use axum_core::extract::{FromRef, FromRequest, Request};
use axum_core::response::{IntoResponse, Response};
use tower_layer::Layer;
use tower_service::Service;

use crate::receive_error::ReceiveError;
use crate::receiver::{Webhook, WebhookReceiver};
use crate::tower::VerifyLayer;

impl<S> FromRequest<S> for Webhook
where
    WebhookReceiver: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ReceiveError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ReceiveError> {
        let (parts, body) = request.with_limited_body().into_parts();
        let receiver = WebhookReceiver::from_ref(state);
        receiver.receive(&parts.headers, body).await
    }
}

impl IntoResponse for ReceiveError {
    fn into_response(self) -> Response {
        self.into_http_response()
    }
}

/// Creates a [`VerifyLayer`] that applies the `DefaultBodyLimit` of the route.
///
/// ```
/// use axum::extract::DefaultBodyLimit;
/// use axum::routing::post;
/// use axum::{Extension, Router};
/// use svc_webhook_verify::axum::verify_layer;
/// use svc_webhook_verify::{KeySet, Verifier, Webhook, WebhookReceiver};
///
/// async fn receive(Extension(webhook): Extension<Webhook>) {
///     // … store `webhook.body()` …
/// }
///
/// let receiver = WebhookReceiver::new(Verifier::new(KeySet::new(["whsec_newest"])?));
/// let router: Router = Router::new()
///     .route("/webhooks", post(receive))
///     .layer(verify_layer(receiver))
///     .layer(DefaultBodyLimit::max(4 * 1024 * 1024));
/// # Ok::<(), svc_webhook_verify::KeyError>(())
/// ```
pub fn verify_layer(receiver: WebhookReceiver) -> (EnforceBodyLimitLayer, VerifyLayer) {
    let without_own_limit = VerifyLayer::new(receiver).max_body_bytes(usize::MAX);
    (EnforceBodyLimitLayer, without_own_limit)
}

/// A layer that applies axum's `DefaultBodyLimit` to the request body.
///
/// axum applies this limit only in its extractors, so layers that read the body have to
/// apply it themselves.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EnforceBodyLimitLayer;

impl<S> Layer<S> for EnforceBodyLimitLayer {
    type Service = EnforceBodyLimit<S>;

    fn layer(&self, inner: S) -> EnforceBodyLimit<S> {
        EnforceBodyLimit(inner)
    }
}

/// The service created by [`EnforceBodyLimitLayer`].
#[derive(Clone, Debug)]
pub struct EnforceBodyLimit<S>(S);

impl<S: Service<Request<Body>>> Service<Request<Body>> for EnforceBodyLimit<S> {
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
