//! Requests to the control API and their results.

use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::body::ControlBody;
use super::error::ControlApiError;
use crate::engine::page::Page;

/// The status and body of a response, or an error.
pub(super) type ControlResult = Result<(StatusCode, ControlBody), ControlApiError>;

/// The maximum number of items on a page.
const MAX_PAGE_SIZE: usize = 1000;

/// A request to an endpoint of the control API.
pub(super) struct ControlRequest<'r> {
    pub(super) id: &'r str,
    pub(super) query: &'r str,
    pub(super) body: &'r Bytes,
}

impl ControlRequest<'_> {
    /// Deserializes the body. A missing body is treated as an empty object.
    pub(super) fn body<T: DeserializeOwned>(&self) -> Result<T, ControlApiError> {
        let body: &[u8] = if self.body.is_empty() { b"{}" } else { self.body };
        serde_json::from_slice(body).map_err(|error| ControlApiError::invalid(error.to_string()))
    }

    /// Returns the page that the query asks for; `None` if it asks for everything.
    pub(super) fn page(&self) -> Result<Option<Page>, ControlApiError> {
        let mut page = None;
        for pair in self.query.split('&').filter(|pair| !pair.is_empty()) {
            let page = page.get_or_insert(Page { limit: MAX_PAGE_SIZE, start: 0 });
            let invalid = |name, text, expected: &str| {
                let message = format!("{name}: invalid value {text:?}: expected {expected}");
                ControlApiError::invalid(message)
            };
            match pair.split_once('=') {
                Some(("limit", text)) => {
                    let limit = text.parse().ok();
                    let limit = limit.filter(|limit| (1..=MAX_PAGE_SIZE).contains(limit));
                    let expected = format!("1 to {MAX_PAGE_SIZE}");
                    page.limit = limit.ok_or_else(|| invalid("limit", text, &expected))?;
                }
                Some(("cursor", text)) => {
                    let start = text.parse().ok();
                    let expected = "the next_cursor of a page";
                    page.start = start.ok_or_else(|| invalid("cursor", text, expected))?;
                }
                _ => {
                    let message =
                        format!("unknown query parameter {pair:?}: expected limit or cursor");
                    return Err(ControlApiError::invalid(message));
                }
            }
        }
        Ok(page)
    }

    /// Checks that the body is missing or an empty object.
    pub(super) fn empty_body(&self) -> Result<(), ControlApiError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Empty {}
        self.body::<Empty>().map(|_| ())
    }
}
