//! A request to the control API, and what comes of it.

use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::ControlApiError;

/// The status and the body of the answer, or why there is none.
pub(super) type ControlResult = Result<(StatusCode, Value), ControlApiError>;

/// A request to an endpoint.
pub(super) struct ControlRequest<'r> {
    pub(super) id: &'r str,
    pub(super) query: &'r str,
    pub(super) body: &'r Bytes,
}

impl ControlRequest<'_> {
    /// The body; none at all is as good as an empty object.
    pub(super) fn body<T: DeserializeOwned>(&self) -> Result<T, ControlApiError> {
        let body: &[u8] = if self.body.is_empty() {
            b"{}"
        } else {
            self.body
        };
        serde_json::from_slice(body).map_err(|error| ControlApiError::invalid(error.to_string()))
    }

    pub(super) fn empty_body(&self) -> Result<(), ControlApiError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Empty {}
        self.body::<Empty>().map(|_| ())
    }
}
