//! Responses without a body.

use http::{Response, StatusCode};

/// Returns a response with a status.
pub(crate) fn empty_response<B: Default>(status: StatusCode) -> Response<B> {
    let mut response = Response::new(B::default());
    *response.status_mut() = status;
    response
}
