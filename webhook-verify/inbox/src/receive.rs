//! Receiving of a whole request: verify, store, answer.

use std::error::Error;
use std::fmt;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::Body;
use http_body_util::Limited;
use svc_webhook_verify::{EventError, ReceiveError, WebhookReceiver};

use crate::inbox::{AcceptOutcome, Inbox};
use crate::store::StoreError;

/// The same as axum's default, and twice the size of the largest receipt.
pub(crate) const DEFAULT_MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// The `Retry-After` of a delivery that could not be stored, in seconds.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("30");

/// The reason why a delivery was not accepted.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcceptError {
    /// The delivery is not genuine, or its body could not be read.
    Rejected(ReceiveError),
    /// The delivery is genuine, but its body is not an event.
    NotAnEvent(EventError),
    /// The event could not be stored.
    Store(StoreError),
}

impl AcceptError {
    /// Returns the status to answer with: `400`, `401` or `413` for a rejected delivery, `503` if
    /// the store failed.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Rejected(error) => error.status(),
            Self::NotAnEvent(_) => StatusCode::BAD_REQUEST,
            Self::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns an empty response with the status and, if the store failed, a `Retry-After`.
    #[must_use]
    pub fn into_http_response<B: Default>(self) -> Response<B> {
        let mut response = empty_response(self.status());
        if matches!(self, Self::Store(_)) {
            response
                .headers_mut()
                .insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
        }
        response
    }
}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(error) => write!(f, "delivery rejected: {error}"),
            Self::NotAnEvent(error) => write!(f, "the body is not an event: {error}"),
            Self::Store(error) => write!(f, "the event could not be stored: {error}"),
        }
    }
}

impl Error for AcceptError {}

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
        inbox
            .accept(headers, &webhook.map_err(AcceptError::Rejected)?)
            .await
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
            tracing::warn!(
                status = error.status().as_u16(),
                "webhook not accepted: {error}"
            );
            error.into_http_response()
        }
    }
}

fn empty_response<B: Default>(status: StatusCode) -> Response<B> {
    let mut response = Response::new(B::default());
    *response.status_mut() = status;
    response
}
