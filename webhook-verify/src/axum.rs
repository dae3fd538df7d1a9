//! Support for [axum](axum_core): [`Webhook`] as an extractor.
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
//! To store each event only once, use the service of `svc-webhook-inbox`. If other layers or
//! extractors need the body, wrap the route in a [`VerifyLayer`](crate::tower::VerifyLayer). The
//! handler then takes `Extension<Webhook>`.

use axum_core::RequestExt;
use axum_core::extract::{FromRef, FromRequest, Request};
use axum_core::response::{IntoResponse, Response};

use crate::receive_error::ReceiveError;
use crate::receiver::{Webhook, WebhookReceiver};

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
