//! The media host: files and checkout pages.

use bytes::Bytes;
use http::{HeaderMap, Response};

use super::api_error::ApiError;
use super::response::{REQUEST_ID, error_response, set_header};
use super::route::Route;
use super::{checkout, job_view};
use crate::engine::{HostRequest, Hosts, State};
use crate::{catalog_data, media};

/// Responds to a request to the media host with a file or a checkout page. With `has_other_etag`,
/// a file has another entity tag than usual.
pub(super) fn respond(
    state: &mut State,
    hosts: &Hosts,
    call: &HostRequest,
    route: &Route,
    request_id: &str,
    has_other_etag: bool,
) -> Response<Bytes> {
    let not_found = || {
        let error = ApiError::unknown_path();
        error_response(call.host, request_id, &HeaderMap::new(), &error)
    };
    match route {
        Route::Checkout(token) => checkout::respond(state, hosts, call, token, request_id),
        Route::Artifact(file) => match find_file(state, file) {
            Some(spec) => {
                let etag = match has_other_etag {
                    true => spec.etag().replacen('"', "\"changed-", 1),
                    false => spec.etag(),
                };
                let (method, headers) = (call.request.method(), call.request.headers());
                let mut response = media::serve_with_etag(&spec, &etag, method, headers);
                set_header(&mut response, REQUEST_ID, request_id);
                response
            }
            None => not_found(),
        },
        _ => not_found(),
    }
}

pub(crate) fn requested_file(
    state: &State,
    hosts: &Hosts,
    call: &HostRequest,
) -> Option<media::Spec> {
    match Route::resolve(call, hosts) {
        Route::Artifact(file) => find_file(state, &file),
        _ => None,
    }
}

/// Returns the specification of a file: an artifact of a job or run, an asset, or a file of the catalog.
pub(crate) fn find_file(state: &State, file: &str) -> Option<media::Spec> {
    if let Some(asset) = state.assets.named_file(file) {
        return Some(asset);
    }
    let (name, extension) = file.split_once('.')?;
    let artifact = job_view::artifact(state, name).cloned();
    artifact.or_else(|| catalog_data::file(name)).filter(|spec| spec.extension() == extension)
}
