//! The HTTP response for a file: conditions, ranges and headers of RFC 9110.

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, ALLOW, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    IF_RANGE, RANGE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};

use super::range::{RequestedRange, parse_range};
use super::{Spec, rendered};

/// Returns the response to a request for the file that `spec` describes.
///
/// The response to a single byte range is a 206, or a 416 if the range is outside of the
/// file; any other `Range` is ignored. `If-Range` matches only the file's entity tag,
/// because files have no date. The response to methods other than `GET` and `HEAD` is a 405.
#[cfg(any(test, feature = "dashboard"))]
pub(crate) fn serve(spec: &Spec, method: &Method, headers: &HeaderMap) -> Response<Bytes> {
    serve_with_etag(spec, &spec.etag(), method, headers)
}

/// Responds like [`serve`], as if the file had the entity tag `etag`.
pub(crate) fn serve_with_etag(
    spec: &Spec,
    etag: &str,
    method: &Method,
    headers: &HeaderMap,
) -> Response<Bytes> {
    if method != Method::GET && method != Method::HEAD {
        let mut response = empty(StatusCode::METHOD_NOT_ALLOWED, 0);
        set(&mut response, ALLOW, "GET, HEAD");
        return response;
    }
    if is_not_modified(headers, etag) {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        set(&mut response, ETAG, etag);
        return response;
    }
    let file = rendered(spec);
    // Ranges are defined only for GET, section 14.2.
    let range = match text(headers, &RANGE) {
        Some(header) if method == Method::GET && allows_range(headers, etag) => {
            parse_range(header, file.len())
        }
        _ => RequestedRange::Whole,
    };
    let mut response = file_response(&file, range);
    if response.status() != StatusCode::RANGE_NOT_SATISFIABLE {
        set(&mut response, CONTENT_TYPE, spec.content_type());
        set(&mut response, ETAG, etag);
    }
    set(&mut response, ACCEPT_RANGES, "bytes");
    if method == Method::HEAD {
        *response.body_mut() = Bytes::new();
    }
    response
}

fn file_response(file: &Bytes, range: RequestedRange) -> Response<Bytes> {
    let total = file.len();
    match range {
        RequestedRange::Whole => with_body(StatusCode::OK, file.clone()),
        RequestedRange::Part { first, last } => {
            let part = file.slice(first..=last);
            let mut response = with_body(StatusCode::PARTIAL_CONTENT, part);
            let range = format!("bytes {first}-{last}/{total}");
            set(&mut response, CONTENT_RANGE, &range);
            response
        }
        RequestedRange::Unsatisfiable => {
            let mut response = empty(StatusCode::RANGE_NOT_SATISFIABLE, 0);
            set(&mut response, CONTENT_RANGE, &format!("bytes */{total}"));
            response
        }
    }
}

/// Evaluates `If-None-Match`, section 13.1.2: a weak comparison with a list, or `*` for any file.
fn is_not_modified(headers: &HeaderMap, etag: &str) -> bool {
    let lists = headers.get_all(IF_NONE_MATCH).into_iter();
    let mut tags = lists
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(str::trim);
    // The files' tags contain no comma, so splitting at commas cannot miss one.
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

/// Evaluates `If-Range`, section 13.1.5: a strong comparison, which weak tags and dates never match.
fn allows_range(headers: &HeaderMap, etag: &str) -> bool {
    match headers.get(IF_RANGE) {
        None => true,
        Some(condition) => condition.as_bytes() == etag.as_bytes(),
    }
}

fn with_body(status: StatusCode, body: Bytes) -> Response<Bytes> {
    let mut response = empty(status, body.len());
    *response.body_mut() = body;
    response
}

fn empty(status: StatusCode, length: usize) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    response
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Sets a header. All values are visible ASCII, which is always valid.
fn set(response: &mut Response<Bytes>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
