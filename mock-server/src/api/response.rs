//! What a handler answers, and how it becomes a response.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

use super::api_error::ApiError;
use crate::engine::rate_limit::RateLimitStatus;
use crate::engine::{Host, Time};

/// What a handler answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) body: Value,
    /// Set where the answer waits for a job.
    pub(crate) wait: Option<JobWait>,
}

/// What an answer waits for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JobWait {
    pub(crate) job_id: String,
    pub(crate) until: Time,
    pub(crate) receipt: Value,
}

/// What a handler comes to.
pub(crate) type ApiResult = Result<ApiResponse, ApiError>;

impl ApiResponse {
    /// A success, wrapped in `data`.
    pub(crate) fn data(status: u16, data: Value) -> Self {
        Self {
            status,
            body: json!({"data": data}),
            wait: None,
        }
    }

    /// A whole list.
    pub(crate) fn list(items: Vec<Value>) -> Self {
        Self::data(200, Value::Array(items))
    }

    /// A page of a list, with the cursor of the next one if there is one.
    pub(crate) fn page(items: Vec<Value>, next_cursor: Option<&str>) -> Self {
        let body = json!({"data": items, "next_cursor": next_cursor});
        Self {
            status: 200,
            body,
            wait: None,
        }
    }
}

/// Headers by name, as they go into a response.
pub(crate) type Headers = Vec<(&'static str, String)>;

/// The `ratelimit-*` headers.
pub(crate) fn rate_limit_headers(status: RateLimitStatus) -> Headers {
    vec![
        ("ratelimit-limit", status.limit.to_string()),
        ("ratelimit-remaining", status.remaining.to_string()),
        ("ratelimit-reset", status.reset.to_string()),
    ]
}

/// A JSON response.
pub(crate) fn json_response(
    status: u16,
    request_id: &str,
    headers: &Headers,
    body: &Value,
) -> Response<Bytes> {
    response(
        status,
        request_id,
        headers,
        "application/json",
        body.to_string(),
    )
}

/// The response of a refusal.
pub(crate) fn error_response(
    host: Host,
    request_id: &str,
    headers: &Headers,
    error: &ApiError,
) -> Response<Bytes> {
    let mut headers = headers.clone();
    headers.extend(error.headers());
    json_response(
        error.status(),
        request_id,
        &headers,
        &error.body(host, request_id),
    )
}

/// A response of any type.
pub(crate) fn response(
    status: u16,
    request_id: &str,
    headers: &Headers,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(
        http::header::CONTENT_TYPE,
        HeaderValue::from_static(content_type),
    );
    set(&mut response, "x-svc-request-id", request_id);
    for (name, value) in headers {
        set(&mut response, name, value);
    }
    response
}

/// Sets a header whose value is known to be a legal one; another is left out.
pub(crate) fn set(response: &mut Response<Bytes>, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response
            .headers_mut()
            .insert(HeaderName::from_static(name), value);
    }
}
