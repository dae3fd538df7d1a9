//! A handler for [axum](axum_core).
//!
//! ```
//! use axum::Router;
//! use axum::extract::FromRef;
//! use axum::routing::post;
//! use svc_webhook_inbox::{Inbox, MemoryEventStore};
//! use svc_webhook_verify::{KeySet, Verifier, WebhookReceiver};
//!
//! #[derive(Clone)]
//! struct AppState {
//!     inbox: Inbox,
//!     receiver: WebhookReceiver,
//! }
//!
//! impl FromRef<AppState> for Inbox {
//!     fn from_ref(state: &AppState) -> Self {
//!         state.inbox.clone()
//!     }
//! }
//!
//! impl FromRef<AppState> for WebhookReceiver {
//!     fn from_ref(state: &AppState) -> Self {
//!         state.receiver.clone()
//!     }
//! }
//!
//! let router: Router = Router::new()
//!     .route("/webhooks", post(svc_webhook_inbox::axum::receive))
//!     .with_state(AppState {
//!         inbox: Inbox::new(MemoryEventStore::new()),
//!         receiver: WebhookReceiver::new(Verifier::new(KeySet::new(["whsec_newest"])?)),
//!     });
//! # Ok::<(), svc_webhook_verify::KeyError>(())
//! ```
//!
//! Without a state of your own, [`ReceiveService`](crate::tower::ReceiveService) with
//! `Router::route_service` is shorter.

use axum_core::RequestExt;
use axum_core::extract::{FromRef, FromRequest, Request};
use axum_core::response::Response;
use std::convert::Infallible;
use svc_webhook_verify::WebhookReceiver;

use crate::inbox::Inbox;
use crate::receive;

/// Verifies a delivery, stores its event in the inbox, and answers as
/// [`ReceiveService`](crate::tower::ReceiveService) does.
///
/// The size of the body is limited by axum's `DefaultBodyLimit`.
pub async fn receive(delivery: ReceivedDelivery) -> Response {
    delivery.0
}

/// The extractor behind [`receive`]: accepts the request, and contains the response.
#[derive(Debug)]
pub struct ReceivedDelivery(Response);

impl<S> FromRequest<S> for ReceivedDelivery
where
    Inbox: FromRef<S>,
    WebhookReceiver: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Infallible;

    async fn from_request(request: Request, state: &S) -> Result<Self, Infallible> {
        let (parts, body) = request.with_limited_body().into_parts();
        let (inbox, receiver) = (Inbox::from_ref(state), WebhookReceiver::from_ref(state));
        let limit = usize::MAX;
        let response = receive::receive(&inbox, &receiver, limit, &parts.headers, body).await;
        Ok(Self(response))
    }
}
