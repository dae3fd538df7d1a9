//! Receiving of a whole request: verify, store, answer.

use std::error::Error;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use http_body::Body;
use http_body_util::Limited;
use svc_webhook_verify::WebhookReceiver;

use crate::accept_error::{AcceptError, empty_response};
use crate::inbox::{AcceptOutcome, Inbox};

/// The same as axum's default, and twice the size of the largest receipt.
pub(crate) const DEFAULT_MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// Verifies, stores and answers a request. The reason of a rejection is logged.
pub(crate) async fn receive<B, R>(
    inbox: &Inbox,
    receiver: &WebhookReceiver,
    max_body_bytes: usize,
    headers: &HeaderMap,
    body: B,
) -> Response<R>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    R: Default,
{
    let accepted = async {
        let body = Limited::new(body, max_body_bytes);
        let webhook = receiver.receive(headers, body).await;
        let webhook = webhook.map_err(AcceptError::Rejected)?;
        // The delivery was signed with an older secret as well, which is soon revoked.
        if let Some(fingerprint) = webhook.unknown_fingerprint() {
            tracing::warn!(
                fingerprint,
                "a delivery is signed with a newer secret, which this receiver does not have"
            );
        }
        inbox.accept(headers, &webhook).await
    };
    match accepted.await {
        Ok(received) => {
            match received {
                AcceptOutcome::Stored(id) => tracing::debug!(%id, "stored a webhook event"),
                AcceptOutcome::Duplicate => tracing::debug!("received a webhook event again"),
            }
            empty_response(StatusCode::OK)
        }
        Err(error) => {
            tracing::warn!(status = error.status().as_u16(), "webhook not accepted: {error}");
            error.into_http_response()
        }
    }
}
