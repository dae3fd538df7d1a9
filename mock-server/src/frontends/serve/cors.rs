//! Headers that let web pages of other origins read responses (CORS).

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use http::{HeaderMap, HeaderValue, Method, Request};

use crate::engine::Host;

/// The headers of the service that a page may read.
const EXPOSED: &str =
    "x-svc-request-id, ratelimit-limit, ratelimit-remaining, ratelimit-reset, retry-after";
const ALLOWED: &str = "authorization, content-type, idempotency-key, range, x-api-key, \
                       mcp-protocol-version, mcp-session-id, mcp-method, mcp-name";

/// Returns the headers for a response to the origin of a request; `None` if it may not be read.
/// Files may be read by any origin.
pub(super) fn headers<B>(
    host: Host,
    origins: &[String],
    request: &Request<B>,
) -> Option<HeaderMap> {
    let origin = request.headers().get(ORIGIN)?;
    let is_allowed = |allowed: &String| allowed == "*" || allowed.as_bytes() == origin.as_bytes();
    let allowed = match host {
        Host::Media => HeaderValue::from_static("*"),
        _ if origins.iter().any(is_allowed) => origin.clone(),
        _ => return None,
    };
    let mut headers = HeaderMap::new();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    headers.insert(VARY, HeaderValue::from_static("origin"));
    if is_preflight(request) {
        let methods = HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE");
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED));
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    }
    Some(headers)
}

/// Returns whether a browser asks whether it may send a request.
pub(super) fn is_preflight<B>(request: &Request<B>) -> bool {
    *request.method() == Method::OPTIONS
        && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}
