//! Responses as they were received.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::rate_limit::RateLimit;
use crate::observe::redact::body_without_key;
use crate::types::RequestId;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-svc-request-id");

/// A response as it was received, of whatever status.
///
/// `Debug` leaves the body out, as it may hold a secret.
#[derive(Clone)]
#[non_exhaustive]
pub struct RawResponse {
    /// The HTTP status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl RawResponse {
    #[doc(hidden)]
    #[must_use]
    pub fn new(status: u16, headers: HeaderMap, body: Bytes) -> Self {
        Self { status, headers, body }
    }

    /// Returns whether the status is a success (2xx).
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the response without the key of an `Authorization` header, or `None` if the body does
    /// not contain it.
    pub(crate) fn without_key(&self, key: &HeaderValue) -> Option<Self> {
        let body = body_without_key(&self.body, key)?;
        let headers = self.headers.clone();
        Some(Self::new(self.status, headers, body.into()))
    }

    /// Returns the request's id, to be given to the service's support.
    #[must_use]
    pub fn request_id(&self) -> Option<RequestId> {
        request_id(&self.headers)
    }

    /// Returns what is left of the key's request budget, if the response says so.
    #[must_use]
    pub fn rate_limit(&self) -> Option<RateLimit> {
        RateLimit::from_headers(&self.headers)
    }

    /// Returns the header of that name, if there is one and it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl fmt::Debug for RawResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawResponse")
            .field("status", &self.status)
            .field("request_id", &self.request_id())
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

pub(crate) fn request_id(headers: &HeaderMap) -> Option<RequestId> {
    Some(headers.get(REQUEST_ID)?.to_str().ok()?.into())
}
