//! The effects of injected faults on responses.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE};
use http::{Response, StatusCode};
use svc_sdk::contract::{ErrorCode, RateLimitBucket};

use super::api_error::ApiError;
use super::response::{Headers, error_response, response};
use crate::engine::{Fault, FaultKind, Host, Reply, Transmission};

/// The delay of the fault `delay` if it has no duration.
const DELAY: Duration = Duration::from_secs(1);

/// A body that is not valid JSON.
const GARBAGE: &[u8] = b"{\"data\": \x00\xff <<garbage>>";

/// The error page of a gateway.
const BAD_GATEWAY: &str = "<!doctype html>\n<html lang=\"en\"><head><title>502 Bad Gateway</title></head>\
<body><h1>502 Bad Gateway</h1><p>The upstream server did not answer.</p></body></html>\n";

/// Returns the response to send instead of handling the request, if the fault has one.
pub(super) fn fault_response(
    fault: &Fault,
    host: Host,
    bucket: RateLimitBucket,
    request_id: &str,
    headers: &Headers,
) -> Option<Response<Bytes>> {
    let wait = Duration::from_secs(fault.retry_after_seconds.unwrap_or(1));
    match fault.kind {
        FaultKind::Status503 => {
            let error =
                ApiError::new(ErrorCode::DatabaseBusy, "database is busy").retry_after(wait);
            Some(error_response(host, request_id, headers, &error))
        }
        FaultKind::Status429 => {
            let error = ApiError::rate_limited(bucket, wait);
            let mut headers = headers.clone();
            for (name, value) in &mut headers {
                match *name {
                    "ratelimit-remaining" => *value = "0".to_owned(),
                    "ratelimit-reset" => *value = wait.as_secs().to_string(),
                    _ => {}
                }
            }
            Some(error_response(host, request_id, &headers, &error))
        }
        FaultKind::Status502Html => Some(response(
            502,
            request_id,
            &Headers::new(),
            "text/html; charset=utf-8",
            BAD_GATEWAY,
        )),
        FaultKind::DropBefore => Some(Response::new(Bytes::new())),
        FaultKind::DropAfter | FaultKind::Truncate | FaultKind::Garbage | FaultKind::Delay => None,
    }
}

/// Applies the fault to a finished reply.
pub(super) fn apply_fault(reply: &mut Reply, fault: Option<FaultKind>) {
    match fault {
        Some(FaultKind::DropBefore | FaultKind::DropAfter) => {
            reply.transmission = Transmission::Close;
        }
        Some(FaultKind::Truncate) => reply.transmission = Transmission::Truncate,
        Some(FaultKind::Garbage) => {
            *reply.response.status_mut() = StatusCode::OK;
            *reply.response.body_mut() = Bytes::from_static(GARBAGE);
            // The length and range of a file do not match the replaced body, and the connection
            // would fail to send it.
            let headers = reply.response.headers_mut();
            headers.remove(CONTENT_LENGTH);
            headers.remove(CONTENT_RANGE);
        }
        _ => {}
    }
}

/// Returns how long the reply is delayed, in real time.
pub(super) fn delay(fault: &Fault) -> Duration {
    match (fault.delay_ms, fault.kind) {
        (Some(millis), _) => Duration::from_millis(millis),
        (None, FaultKind::Delay) => DELAY,
        (None, _) => Duration::ZERO,
    }
}

/// Returns the status that the caller receives, or `None` if the connection is closed.
pub(super) fn status_of(reply: &Reply) -> Option<u16> {
    (reply.transmission != Transmission::Close).then(|| reply.response.status().as_u16())
}
