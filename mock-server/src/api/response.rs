//! Results of handlers, and the HTTP responses made from them.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use serde::Serialize;
use serde_json::Value;
use svc_sdk::contract::ErrorCode;

use super::api_error::{ApiError, whole_seconds};
use crate::engine::rate_limit::RateLimitStatus;
use crate::engine::{Host, Hosts, Time};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ApiResponse {
    pub(super) status: u16,
    /// The body as JSON text.
    pub(super) body: Bytes,
    pub(super) wait: Option<JobWait>,
}

/// The wait of a response for the end of a job.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JobWait {
    pub(super) job_id: String,
    pub(super) until: Time,
    pub(super) receipt: Value,
}

pub(super) type ApiResult = Result<ApiResponse, ApiError>;

impl ApiResponse {
    /// Creates a response whose body wraps a value in `data`.
    pub(super) fn data(status: u16, data: impl Serialize) -> Self {
        #[derive(Serialize)]
        struct DataBody<D> {
            data: D,
        }
        Self::body(status, &DataBody { data })
    }

    pub(super) fn list(items: Vec<Value>) -> Self {
        Self::data(200, items)
    }

    /// Creates a response with a page of a list, and the cursor of the next page if there is one.
    pub(super) fn page(items: Vec<impl Serialize>, next_cursor: Option<&str>) -> Self {
        #[derive(Serialize)]
        struct ListBody<'c, I> {
            data: Vec<I>,
            next_cursor: Option<&'c str>,
        }
        let data = items;
        Self::body(200, &ListBody { data, next_cursor })
    }

    pub(super) fn data_value(&self) -> Value {
        let body = serde_json::from_slice::<Value>(&self.body).ok();
        let data = body.as_ref().and_then(|body| body.get("data"));
        data.cloned().unwrap_or_default()
    }

    /// Creates a response with a body that is not wrapped.
    pub(super) fn body(status: u16, body: &impl Serialize) -> Self {
        let mut text = Vec::with_capacity(1024);
        // Writing to memory does not fail, and all maps have texts as keys.
        let _ = serde_json::to_writer(&mut text, body);
        Self { status, body: text.into(), wait: None }
    }
}

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-svc-request-id");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
pub(super) const RATE_LIMIT_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
pub(super) const RATE_LIMIT_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

pub(super) fn rate_limit_headers(status: RateLimitStatus, hosts: &Hosts) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(RATE_LIMIT, status.limit.into());
    headers.insert(RATE_LIMIT_REMAINING, status.remaining.into());
    let reset = whole_seconds(hosts.client_time(status.reset));
    headers.insert(RATE_LIMIT_RESET, reset.into());
    headers
}

pub(super) fn json_response(
    status: u16,
    request_id: &str,
    headers: HeaderMap,
    body: impl Into<Bytes>,
) -> Response<Bytes> {
    response(status, request_id, headers, "application/json", body)
}

pub(super) fn error_response(
    host: Host,
    request_id: &str,
    headers: &HeaderMap,
    error: &ApiError,
) -> Response<Bytes> {
    let mut headers = headers.clone();
    headers.extend(error.headers());
    json_response(error.status(), request_id, headers, error.body(host, request_id).to_string())
}

/// Returns the response to a request that cannot be read, and that the service does not see therefore.
pub(crate) fn unreadable(
    host: Host,
    request_id: &str,
    status: StatusCode,
    code: ErrorCode,
    message: &str,
) -> Response<Bytes> {
    let error = ApiError::new(code, message).with_status(status.as_u16());
    error_response(host, request_id, &HeaderMap::new(), &error)
}

pub(super) fn response(
    status: u16,
    request_id: &str,
    headers: HeaderMap,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = headers;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    set_header(&mut response, REQUEST_ID, request_id);
    response
}

/// Sets a header. Values that are not valid in a header are skipped.
pub(super) fn set_header(response: &mut Response<Bytes>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
