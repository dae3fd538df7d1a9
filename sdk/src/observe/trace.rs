//! The spans and events of the crate.

use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::header::{HeaderMap, HeaderValue};
use tracing::Span;
use url::Url;

use super::observer::error_type;
use super::redact::{format_body, format_headers, format_query, redact};
use crate::call::base_url::BaseUrl;
use crate::call::request::Request;
use crate::contract::Operation;
use crate::error::{Error, ResourceRef};
use crate::transport::Body;

pub(super) fn call_span(base_url: &BaseUrl, request: &Request) -> Span {
    let method = request.method.as_str();
    let template = request.operation.map(Operation::path);
    tracing::info_span!(
        target: "svc_sdk::call",
        "svc.call",
        otel.name = format_args!("{method} {}", template.unwrap_or_default()),
        otel.kind = "client",
        otel.status_code = tracing::field::Empty,
        svc.operation = request.operation.map(Operation::name),
        http.request.method = method,
        url.template = template,
        server.address = base_url.host(),
        server.port = base_url.port(),
        http.response.status_code = tracing::field::Empty,
        http.request.resend_count = tracing::field::Empty,
        "error.type" = tracing::field::Empty,
        svc.request_id = tracing::field::Empty,
        svc.job_id = tracing::field::Empty,
        svc.run_id = tracing::field::Empty,
        svc.queue_id = tracing::field::Empty,
        svc.top_up_id = tracing::field::Empty,
    )
}

/// Creates the span of something that makes several calls about a resource.
macro_rules! resource_span {
    ($target:literal, $name:literal, $resource:expr, $($counter:ident).+) => {{
        let span = tracing::info_span!(
            target: $target,
            $name,
            otel.kind = "internal",
            otel.status_code = tracing::field::Empty,
            "error.type" = tracing::field::Empty,
            $($counter).+ = tracing::field::Empty,
            svc.job_id = tracing::field::Empty,
            svc.run_id = tracing::field::Empty,
            svc.queue_id = tracing::field::Empty,
            svc.top_up_id = tracing::field::Empty,
        );
        record_resource(&span, $resource);
        span
    }};
}

pub(crate) fn wait_span(resource: &ResourceRef) -> Span {
    resource_span!("svc_sdk::wait", "svc.wait", resource, svc.poll_count)
}

pub(crate) fn download_span(resource: &ResourceRef) -> Span {
    resource_span!("svc_sdk::download", "svc.download", resource, svc.files)
}

/// Records how a download ended: with a number of files, or with an error.
pub(crate) fn record_download(span: &Span, result: Result<usize, &Error>) {
    match result {
        Ok(files) => _ = span.record("svc.files", files),
        Err(error) => record_error(span, error),
    }
}

pub(crate) fn record_resource(span: &Span, resource: &ResourceRef) {
    if span.is_disabled() {
        return;
    }
    match resource {
        ResourceRef::Job(id, _) => span.record("svc.job_id", id.as_str()),
        ResourceRef::Run(id, _) => span.record("svc.run_id", id.as_str()),
        ResourceRef::Queue(id) => span.record("svc.queue_id", id.as_str()),
        ResourceRef::TopUp(id) => span.record("svc.top_up_id", id.as_str()),
    };
}

/// Records that what a span covers has failed.
pub(crate) fn record_error(span: &Span, error: &Error) {
    if !span.is_disabled() {
        record_error_type(span, &error_type(error));
    }
}

pub(super) fn record_error_type(span: &Span, error_type: &str) {
    span.record("error.type", error_type);
    span.record("otel.status_code", "ERROR");
}

/// Reports a poll of a wait, and the pause before the next one.
pub(crate) fn poll(span: &Span, count: u32, error: Option<&Error>, next_poll: Option<Duration>) {
    tracing::debug!(
        target: "svc_sdk::wait",
        parent: span,
        {
            svc.poll_count = count,
            "error.type" = error.map(error_type).as_deref(),
            svc.delay_ms = next_poll.map(millis)
        },
        "polled"
    );
}

/// Reports a pause before a retry. `attempt` is the next one, counted from 1.
pub(crate) fn retry(
    operation: Option<Operation>,
    error: &Error,
    attempt: u32,
    max_attempts: u32,
    delay: Duration,
) {
    tracing::info!(
        target: "svc_sdk::retry",
        {
            svc.operation = operation.map(Operation::name),
            http.response.status_code = error.status(),
            "error.type" = &*error_type(error),
            svc.error_code = error.code().map(|code| redact(code.as_str(), None)).as_deref(),
            svc.attempt = attempt,
            svc.max_attempts = max_attempts,
            svc.delay_ms = millis(delay)
        },
        "retrying"
    );
}

pub(crate) fn rate_limit(operation: Option<Operation>, delay: Duration) {
    tracing::debug!(
        target: "svc_sdk::rate_limit",
        { svc.operation = operation.map(Operation::name), svc.delay_ms = millis(delay) },
        "waiting for the rate limit"
    );
}

/// Reports the headers and the body of a request. A call has a [`Request`], a download none.
pub(crate) fn request_message(
    message: &http::Request<Bytes>,
    request: Option<&Request>,
    key: Option<&HeaderValue>,
) {
    if tracing::enabled!(target: "svc_sdk::headers", tracing::Level::TRACE) {
        let mut url = redact(&message.uri().to_string(), key);
        if let Some(request) = request.filter(|request| !request.query.is_empty()) {
            url.truncate(url.find('?').unwrap_or(url.len()));
            url.push_str(&format_query(&request.query, key));
        }
        tracing::trace!(
            target: "svc_sdk::headers",
            {
                http.request.method = message.method().as_str(),
                url.full = url,
                svc.headers = format_headers(message.headers(), key)
            },
            "request headers"
        );
    }
    if !message.body().is_empty()
        && tracing::enabled!(target: "svc_sdk::body", tracing::Level::TRACE)
    {
        let body = format_body(message.body(), key);
        tracing::trace!(target: "svc_sdk::body", { svc.body = body }, "request body");
    }
}

pub(crate) fn response_headers(status: u16, headers: &HeaderMap, key: Option<&HeaderValue>) {
    if tracing::enabled!(target: "svc_sdk::headers", tracing::Level::TRACE) {
        tracing::trace!(
            target: "svc_sdk::headers",
            { http.response.status_code = status, svc.headers = format_headers(headers, key) },
            "response headers"
        );
    }
}

pub(crate) fn response_body(operation: Option<Operation>, body: &[u8], key: Option<&HeaderValue>) {
    if !body.is_empty() && tracing::enabled!(target: "svc_sdk::body", tracing::Level::TRACE) {
        let is_secret =
            matches!(operation, Some(Operation::SigningSecretGet | Operation::SigningSecretRotate));
        let body = if is_secret { "[redacted]".to_owned() } else { format_body(body, key) };
        tracing::trace!(target: "svc_sdk::body", { svc.body = body }, "response body");
    }
}

/// Reports a request of a download, when its response has begun or failed.
pub(crate) fn download_request(
    url: &Url,
    attempt: u32,
    duration: Duration,
    response: Result<&Response<Body>, &Error>,
) {
    if let Ok(response) = response {
        response_headers(response.status().as_u16(), response.headers(), None);
    }
    tracing::debug!(
        target: "svc_sdk::attempt",
        {
            http.request.method = "GET",
            url.full = redact(url.as_str(), None),
            server.address = url.host_str(),
            server.port = url.port_or_known_default(),
            http.response.status_code = response.ok().map(|response| response.status().as_u16()),
            http.request.resend_count = resend_count(attempt),
            "error.type" = response.err().map(error_type).as_deref(),
            svc.attempt = attempt,
            svc.duration_ms = millis(duration)
        },
        "attempt"
    );
}

/// Returns the number of retries, which OpenTelemetry leaves out of a first attempt.
pub(super) fn resend_count(attempt: u32) -> Option<u32> {
    attempt.checked_sub(1).filter(|retries| *retries > 0)
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
