//! The error of a delivery that was not accepted, and the responses to deliveries.

use std::error::Error;
use std::fmt;

use http::header::RETRY_AFTER;
use http::{HeaderValue, Response, StatusCode};
use svc_webhook_verify::{EventError, ReceiveError};

use crate::store::EventStoreError;

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
    Store(EventStoreError),
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
            response.headers_mut().insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
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

pub(crate) fn empty_response<B: Default>(status: StatusCode) -> Response<B> {
    let mut response = Response::new(B::default());
    *response.status_mut() = status;
    response
}
