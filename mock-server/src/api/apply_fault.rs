//! What a fault does to an answer.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE};
use http::{Response, StatusCode};
use serde_json::json;
use svc_sdk::contract::{ErrorCode, RateLimitBucket};

use super::api_error::ApiError;
use super::response::{Headers, error_response, response};
use crate::engine::{Fault, FaultKind, Host, Reply, Transmission};

/// How long the fault `delay` takes where it does not say.
const DELAY: Duration = Duration::from_secs(1);

/// A body that no JSON parser takes.
const GARBAGE: &[u8] = b"{\"data\": \x00\xff <<garbage>>";

/// What a gateway shows to people.
const BAD_GATEWAY: &str = "<!doctype html>\n<html lang=\"en\"><head><title>502 Bad Gateway</title></head>\
<body><h1>502 Bad Gateway</h1><p>The upstream server did not answer.</p></body></html>\n";

/// The answer where a fault keeps the request from being done.
pub(crate) fn fault_response(
    fault: &Fault,
    host: Host,
    budget: RateLimitBucket,
    request_id: &str,
    headers: &Headers,
) -> Option<Response<Bytes>> {
    let wait = Duration::from_secs(fault.retry_after_seconds.unwrap_or(1));
    match fault.kind {
        FaultKind::Status503 => {
            let error =
                ApiError::new(ErrorCode::DatabaseBusy, "The database is busy.").retry_after(wait);
            Some(error_response(host, request_id, headers, &error))
        }
        FaultKind::Status429 => {
            let message = format!("The budget of {}s is spent.", budget.as_str());
            let error = ApiError::new(ErrorCode::RateLimited, message).retry_after(wait);
            let error = error.detail("scope", json!(budget.as_str()));
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

/// What becomes of the answer on its way out.
pub(crate) fn apply_fault(reply: &mut Reply, fault: Option<FaultKind>) {
    match fault {
        Some(FaultKind::DropBefore | FaultKind::DropAfter) => {
            reply.transmission = Transmission::Close;
        }
        Some(FaultKind::Truncate) => reply.transmission = Transmission::Truncate,
        Some(FaultKind::Garbage) => {
            *reply.response.status_mut() = StatusCode::OK;
            *reply.response.body_mut() = Bytes::from_static(GARBAGE);
            // A file's length and range are those of the file: with another body behind them, the
            // connection could not even finish the answer.
            let headers = reply.response.headers_mut();
            headers.remove(CONTENT_LENGTH);
            headers.remove(CONTENT_RANGE);
        }
        _ => {}
    }
}

/// How long the answer is held back in real time.
pub(crate) fn delay(fault: &Fault) -> Duration {
    match (fault.delay_ms, fault.kind) {
        (Some(millis), _) => Duration::from_millis(millis),
        (None, FaultKind::Delay) => DELAY,
        (None, _) => Duration::ZERO,
    }
}

/// The status that the caller sees, if any.
pub(crate) fn status_of(reply: &Reply) -> Option<u16> {
    (reply.transmission != Transmission::Close).then(|| reply.response.status().as_u16())
}
