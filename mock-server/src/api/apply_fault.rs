//! The effects of injected faults on responses.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, RETRY_AFTER};
use http::{HeaderMap, HeaderName, Response, StatusCode};
use svc_sdk::contract::{ErrorCode, Operation};

use super::api_error::ApiError;
use super::error_details::injected_error;
use super::response::{
    RATE_LIMIT_REMAINING, RATE_LIMIT_RESET, error_response, response, set_header,
};
use crate::engine::{Fault, FaultKind, Host, Reply, Transmission};

/// The delay of the fault `delay` if it has no duration.
const DELAY: Duration = Duration::from_secs(1);
/// The pause of the fault `stall` if it has no duration, longer than usual read timeouts.
const STALL: Duration = Duration::from_secs(300);

const GARBAGE: &[u8] = b"{\"data\": \x00\xff <<garbage>>";

const BAD_GATEWAY: &str = "<!doctype html>\n<html lang=\"en\"><head><title>502 Bad Gateway</title></head>\
<body><h1>502 Bad Gateway</h1><p>The upstream server did not answer.</p></body></html>\n";

/// Returns the response to send instead of handling the request, if the fault has one.
pub(super) fn fault_response(
    fault: &Fault,
    host: Host,
    operation: Option<Operation>,
    request_id: &str,
    headers: &HeaderMap,
) -> Option<Response<Bytes>> {
    let error_with = |code: &ErrorCode| {
        let wait = fault.retry_after_seconds.map(Duration::from_secs);
        let error = injected_error(code, operation, wait);
        let headers = match code {
            ErrorCode::RateLimited => exhausted_limit_headers(headers, &error),
            _ => headers.clone(),
        };
        error_response(host, request_id, &headers, &error)
    };
    match fault.kind {
        FaultKind::Error => fault.code.as_ref().map(error_with),
        FaultKind::Status503 => Some(error_with(&ErrorCode::DatabaseBusy)),
        FaultKind::Status429 => Some(error_with(&ErrorCode::RateLimited)),
        FaultKind::Status502Html => Some(response(
            502,
            request_id,
            HeaderMap::new(),
            "text/html; charset=utf-8",
            BAD_GATEWAY,
        )),
        FaultKind::Status403 => Some(response(
            403,
            request_id,
            HeaderMap::new(),
            "text/plain; charset=utf-8",
            "403 Forbidden\n",
        )),
        FaultKind::Status404 => {
            let error = ApiError::unknown_path();
            Some(error_response(host, request_id, headers, &error))
        }
        FaultKind::DropBefore => Some(Response::new(Bytes::new())),
        FaultKind::DropAfter
        | FaultKind::Truncate
        | FaultKind::Garbage
        | FaultKind::Delay
        | FaultKind::Stall
        | FaultKind::Status416
        | FaultKind::WrongLength
        | FaultKind::ChangedEtag => None,
    }
}

/// Returns the rate limit headers of an exhausted limit that is reset when the error says so.
fn exhausted_limit_headers(headers: &HeaderMap, error: &ApiError) -> HeaderMap {
    let mut headers = headers.clone();
    let reset = error.headers().remove(RETRY_AFTER);
    for (name, value) in [(RATE_LIMIT_REMAINING, Some(0.into())), (RATE_LIMIT_RESET, reset)] {
        if let (Some(known), Some(value)) = (headers.get_mut(name), value) {
            *known = value;
        }
    }
    headers
}

pub(super) fn apply_fault(reply: &mut Reply, fault: Option<FaultKind>) {
    match fault {
        Some(FaultKind::DropBefore | FaultKind::DropAfter) => {
            reply.transmission = Transmission::Close;
        }
        Some(FaultKind::Truncate) => reply.transmission = Transmission::Truncate,
        Some(FaultKind::Stall) => reply.transmission = Transmission::Stall,
        Some(FaultKind::Garbage) => {
            *reply.response.status_mut() = StatusCode::OK;
            *reply.response.body_mut() = Bytes::from_static(GARBAGE);
            // The length and range of a file do not match the replaced body, and the connection
            // would fail to send it.
            let headers = reply.response.headers_mut();
            headers.remove(CONTENT_LENGTH);
            headers.remove(CONTENT_RANGE);
        }
        Some(FaultKind::Status416) if reply.response.status().is_success() => {
            reject_range(&mut reply.response);
        }
        Some(FaultKind::WrongLength) if reply.response.status().is_success() => {
            halve(&mut reply.response);
        }
        _ => {}
    }
}

/// Replaces the response with a file by the rejection of any range.
fn reject_range(response: &mut Response<Bytes>) {
    let range = header(response, &CONTENT_RANGE);
    let total = match range.as_deref().and_then(|range| range.rsplit_once('/')) {
        Some((_, total)) => total.to_owned(),
        None => length(response).to_string(),
    };
    *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
    *response.body_mut() = Bytes::new();
    let headers = response.headers_mut();
    for name in [CONTENT_TYPE, ETAG] {
        headers.remove(name);
    }
    headers.insert(CONTENT_LENGTH, 0.into());
    set_header(response, CONTENT_RANGE, &format!("bytes */{total}"));
}

fn halve(response: &mut Response<Bytes>) {
    let half = length(response) / 2;
    response.body_mut().truncate(half);
    response.headers_mut().insert(CONTENT_LENGTH, half.into());
}

/// Returns the length of the body, which the response to `HEAD` has only in its header.
fn length(response: &Response<Bytes>) -> usize {
    let length = header(response, &CONTENT_LENGTH).and_then(|length| length.parse().ok());
    length.unwrap_or(response.body().len())
}

fn header(response: &Response<Bytes>, name: &HeaderName) -> Option<String> {
    let value = response.headers().get(name)?.to_str().ok()?;
    Some(value.to_owned())
}

/// Returns how long the reply is delayed, in real time.
pub(super) fn delay(fault: &Fault) -> Duration {
    match (fault.delay_ms, fault.kind) {
        (Some(millis), _) => Duration::from_millis(millis),
        (None, FaultKind::Delay) => DELAY,
        (None, FaultKind::Stall) => STALL,
        (None, _) => Duration::ZERO,
    }
}

/// Returns the status that the caller receives, or `None` if the connection is closed.
pub(super) fn status_of(reply: &Reply) -> Option<u16> {
    (reply.transmission != Transmission::Close).then(|| reply.response.status().as_u16())
}
