//! The reasons why a request is not accepted as a delivery.

use core::fmt;
use std::error::Error;

use http::StatusCode;
use http_body_util::LengthLimitError;

use crate::event::EventError;
use crate::verify_error::VerifyError;

/// The reason why a request was not accepted as a delivery.
///
/// ```
/// use svc_webhook_verify::{ReceiveError, VerifyError};
///
/// let error = ReceiveError::from(VerifyError::SignatureMismatch);
/// assert_eq!(error.status(), 401);
///
/// let response: http::Response<String> = error.into_http_response();
/// assert_eq!(response.status(), 401);
/// assert!(response.extensions().get::<ReceiveError>().is_some());
/// ```
///
/// As a response it has a status and an empty body, because the sender does not need the
/// reason. The error itself is added to the extensions of the response, so that logging
/// middleware can read it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The headers or the signature are invalid. The status is `400` or `401`, see
    /// [`VerifyError::status`].
    Verify(VerifyError),
    /// The body is larger than the route allows. The status is `413`.
    BodyTooLarge,
    /// The body could not be read to its end. The status is `400`.
    IncompleteBody,
    /// The signature is valid, but the body is not an event. The status is `400`.
    InvalidEvent(EventError),
}

impl ReceiveError {
    /// Returns the HTTP status to answer with.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Verify(error) if error.status() == 400 => StatusCode::BAD_REQUEST,
            Self::Verify(_) => StatusCode::UNAUTHORIZED,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::IncompleteBody | Self::InvalidEvent(_) => StatusCode::BAD_REQUEST,
        }
    }

    /// Converts the error into the response to answer with.
    #[must_use]
    pub fn into_http_response<B: Default>(self) -> http::Response<B> {
        let mut response = http::Response::new(B::default());
        *response.status_mut() = self.status();
        response.extensions_mut().insert(self);
        response
    }

    /// Converts an error of reading the body. Frameworks wrap the error of a length limit,
    /// so the whole chain of sources is searched for it.
    pub(crate) fn from_body_error(error: &(dyn Error + 'static)) -> Self {
        let mut source = Some(error);
        while let Some(error) = source {
            if error.is::<LengthLimitError>() {
                return Self::BodyTooLarge;
            }
            source = error.source();
        }
        Self::IncompleteBody
    }
}

impl From<VerifyError> for ReceiveError {
    fn from(error: VerifyError) -> Self {
        Self::Verify(error)
    }
}

impl From<EventError> for ReceiveError {
    fn from(error: EventError) -> Self {
        Self::InvalidEvent(error)
    }
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verify(error) => error.fmt(f),
            Self::BodyTooLarge => f.write_str(
                "body too large for this route: the service sends slightly more than 1 MiB at most",
            ),
            Self::IncompleteBody => {
                f.write_str("incomplete body: the service will retry the delivery")
            }
            Self::InvalidEvent(error) => error.fmt(f),
        }
    }
}

impl Error for ReceiveError {}
