//! The HTTP response for a file: conditions, ranges and headers of RFC 9110.

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, ALLOW, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    IF_RANGE, RANGE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};

use super::range::{RequestedRange, parse_range};
use super::{Spec, rendered};

/// Returns the response to a request for the file that `spec` describes, as if it had the entity tag `etag`.
///
/// The response to a single byte range is a 206, or a 416 if the range is outside of the
/// file; any other `Range` is ignored. `If-Range` matches only the file's entity tag,
/// because files have no date. The response to methods other than `GET` and `HEAD` is a 405.
pub(crate) fn serve(
    spec: &Spec,
    etag: &str,
    method: &Method,
    headers: &HeaderMap,
) -> Response<Bytes> {
    if method != Method::GET && method != Method::HEAD {
        let headers = [(ALLOW, "GET, HEAD"), (CONTENT_LENGTH, "0")];
        return response(StatusCode::METHOD_NOT_ALLOWED, Bytes::new(), headers);
    }
    if is_not_modified(headers, etag) {
        return response(StatusCode::NOT_MODIFIED, Bytes::new(), [(ETAG, etag)]);
    }
    let file = rendered(spec);
    let total = file.len();
    // Ranges are defined only for GET, section 14.2.
    let range = match headers.get(RANGE).and_then(|range| range.to_str().ok()) {
        Some(range) if method == Method::GET && allows_range(headers, etag) => {
            parse_range(range, total)
        }
        _ => RequestedRange::Whole,
    };
    let of_file = [(CONTENT_TYPE, spec.content_type()), (ETAG, etag)];
    let mut response = match range {
        RequestedRange::Whole => response(StatusCode::OK, file, of_file),
        RequestedRange::Part { first, last } => {
            let range = format!("bytes {first}-{last}/{total}");
            let headers = of_file.into_iter().chain([(CONTENT_RANGE, &*range)]);
            response(StatusCode::PARTIAL_CONTENT, file.slice(first..=last), headers)
        }
        RequestedRange::Unsatisfiable => {
            let range = format!("bytes */{total}");
            let headers = [(CONTENT_RANGE, &*range)];
            response(StatusCode::RANGE_NOT_SATISFIABLE, Bytes::new(), headers)
        }
    };
    let length = response.body().len();
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    response.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if method == Method::HEAD {
        *response.body_mut() = Bytes::new();
    }
    response
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

/// Returns a response. All values are visible ASCII, which is always valid.
fn response<'v>(
    status: StatusCode,
    body: Bytes,
    headers: impl IntoIterator<Item = (HeaderName, &'v str)>,
) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = headers.into_iter().map(|(name, value)| Some((name, value.parse().ok()?)));
    response.headers_mut().extend(headers.flatten());
    response
}
