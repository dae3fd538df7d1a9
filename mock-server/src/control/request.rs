//! Requests to the control API and their results.

use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::ControlApiError;

/// The status and body of a response, or an error.
pub(super) type ControlResult = Result<(StatusCode, Value), ControlApiError>;

/// A request to an endpoint of the control API.
pub(super) struct ControlRequest<'r> {
    pub(super) id: &'r str,
    pub(super) query: &'r str,
    pub(super) body: &'r Bytes,
}

impl ControlRequest<'_> {
    /// Deserializes the body. A missing body is treated as an empty object.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is not valid.
    pub(super) fn body<T: DeserializeOwned>(&self) -> Result<T, ControlApiError> {
        let body: &[u8] = if self.body.is_empty() {
            b"{}"
        } else {
            self.body
        };
        serde_json::from_slice(body).map_err(|error| ControlApiError::invalid(error.to_string()))
    }

    /// Checks that the body is missing or an empty object.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not.
    pub(super) fn empty_body(&self) -> Result<(), ControlApiError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Empty {}
        self.body::<Empty>().map(|_| ())
    }
}
