//! The media host: files and checkout pages.

use bytes::Bytes;
use http::Response;
use svc_sdk::contract::ErrorCode;

use super::api_error::ApiError;
use super::response::{Headers, error_response, set};
use super::route::Route;
use super::{checkout, job_view};
use crate::engine::{Call, Hosts, State};
use crate::{catalog_data, media};

/// A request of the media host: a file or a checkout page.
pub(super) fn answer(
    state: &mut State,
    hosts: &Hosts,
    call: &Call,
    route: &Route,
    request_id: &str,
) -> Response<Bytes> {
    let nothing = || {
        let error = ApiError::new(ErrorCode::NotFound, "There is nothing at this path.");
        error_response(call.host, request_id, &Headers::new(), &error)
    };
    match route {
        Route::Checkout(token) => checkout::answer(state, hosts, call, token, request_id),
        Route::Artifact(file) => match find_file(state, file) {
            Some(spec) => {
                let mut response =
                    media::serve(&spec, call.request.method(), call.request.headers());
                set(&mut response, "x-svc-request-id", request_id);
                response
            }
            None => nothing(),
        },
        _ => nothing(),
    }
}

/// What a file of the media host is made from: what a job made, or what comes with the service.
fn find_file(state: &State, file: &str) -> Option<media::Spec> {
    let (name, extension) = file.split_once('.')?;
    let made = job_view::artifact(state, name).cloned();
    made.or_else(|| catalog_data::file(name))
        .filter(|spec| spec.extension() == extension)
}
