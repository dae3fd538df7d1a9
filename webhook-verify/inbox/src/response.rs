//! Responses without a body.

use http::{Response, StatusCode};

pub(crate) fn empty_response<B: Default>(status: StatusCode) -> Response<B> {
    let mut response = Response::new(B::default());
    *response.status_mut() = status;
    response
}
