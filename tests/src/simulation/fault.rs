//! What goes wrong with requests, and the replies that the SDK is given.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::stream;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde::de::IgnoredAny;
use svc_sdk::transport::{Body, TransportError};

use super::oracle::Defect;
use super::plan::FaultRates;
use super::rng::Rng;

/// The host that redirects lead to.
const OTHER_ORIGIN: &str = "https://other.example";
/// How many bytes of a body arrive at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// What comes back of a request.
pub(super) type ServiceReply = Result<MockReply, TransportError>;

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    Refused,
    LostRequest,
    LostReply,
    LateRequest,
    Truncated,
    Garbage,
    RateLimited,
    Unavailable,
    GatewayPage,
    ServerError,
    Slow,
    Redirect,
    /// An intermediary that replaces the API key, as while a key is exchanged.
    WrongKey,
    /// A repeated submit in other bytes, which the service takes for another one.
    Conflict,
}

impl Fault {
    pub(super) const ALL: [Self; 14] = [
        Self::Refused,
        Self::LostRequest,
        Self::LostReply,
        Self::LateRequest,
        Self::Truncated,
        Self::Garbage,
        Self::RateLimited,
        Self::Unavailable,
        Self::GatewayPage,
        Self::ServerError,
        Self::Slow,
        Self::Redirect,
        Self::WrongKey,
        Self::Conflict,
    ];
}

/// A reply before it is put on the wire.
pub(super) struct MockReply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) is_cut: bool,
}

/// Returns a body, or the first half of one after which the connection breaks.
fn in_chunks(
    mut bytes: Bytes,
    is_cut: bool,
) -> impl hyper::body::Body<Data = Bytes, Error = TransportError> {
    if is_cut {
        bytes.truncate(bytes.len() / 2);
    }
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        frames.push(Ok(Frame::data(bytes.split_to(bytes.len().min(CHUNK_BYTES)))));
    }
    frames.extend(is_cut.then(|| Err(TransportError::maybe_sent("connection reset"))));
    StreamBody::new(stream::iter(frames))
}

impl MockReply {
    /// The reply of the mock itself.
    pub(super) fn of(response: Response<Bytes>) -> Self {
        let (head, body) = response.into_parts();
        Self { status: head.status, headers: head.headers, body, is_cut: false }
    }

    fn new(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Self {
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            body: body.into(),
            is_cut: false,
        }
    }

    /// Returns the pause that the service asked for, if that can be read.
    pub(super) fn retry_after_ms(&self) -> Option<u64> {
        let seconds: u64 = self.headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
        (!self.is_cut).then_some(seconds * 1_000)
    }

    /// Whether the body is a JSON object.
    pub(super) fn is_envelope(&self) -> bool {
        let object = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(&self.body);
        !self.is_cut && object.is_ok()
    }

    /// Returns the response that the SDK is given.
    pub(super) fn into_response(mut self, defect: Option<Defect>) -> Response<Body> {
        let hidden: &[_] = match defect {
            Some(Defect::RetryAfterIgnored) => &["retry-after"],
            Some(Defect::RateLimitIgnored) => {
                &["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]
            }
            _ => &[],
        };
        for name in hidden {
            self.headers.remove(*name);
        }
        let mut response = Response::new(in_chunks(self.body, self.is_cut).boxed_unsync());
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// Returns an error envelope. Only a service that knows that nothing ran says `retryable`.
fn envelope(status: u16, code: &str) -> MockReply {
    let mut error = serde_json::json!({"code": code, "message": "injected"});
    if status != 500 {
        error["retryable"] = (status != 409).into();
    }
    let body = serde_json::json!({"error": error});
    MockReply::new(status, "application/json", body.to_string())
}

/// Returns the reply to a repeated submit in other bytes.
pub(super) fn conflict() -> MockReply {
    envelope(409, "idempotency_conflict")
}

fn page() -> MockReply {
    MockReply::new(502, "text/html", "<html><body>Bad gateway</body></html>")
}

pub(super) fn draw(rates: &FaultRates, rng: &mut Rng) -> Fault {
    let drawn = rng.below(1_000);
    let mut sum = 0;
    let drawn_fault = Fault::ALL.into_iter().zip(rates.0).find(|(_, rate)| {
        sum += rate;
        drawn < sum
    });
    drawn_fault.map_or(Fault::None, |(fault, _)| fault)
}

/// Returns the reply of a gateway that did not pass the request on.
pub(super) fn injected_before(fault: Fault, is_after: bool, rng: &mut Rng) -> Option<MockReply> {
    let mut reply = match fault {
        Fault::RateLimited => envelope(429, "rate_limited"),
        Fault::Unavailable => envelope(503, "database_busy"),
        Fault::GatewayPage if !is_after => page(),
        Fault::ServerError if !is_after => envelope(500, "internal_error"),
        Fault::Redirect => {
            let mut reply = MockReply::new(307, "text/html", "");
            let location = format!("{OTHER_ORIGIN}/moved");
            reply.headers.insert(LOCATION, HeaderValue::from_str(&location).unwrap());
            reply
        }
        _ => return None,
    };
    if matches!(fault, Fault::RateLimited | Fault::Unavailable) && rng.per_mille(700) {
        reply.headers.insert(RETRY_AFTER, HeaderValue::from(rng.between(1, 20)));
    }
    Some(reply)
}

/// Changes the reply of the media host on its way back: a page takes the place of the file.
pub(super) fn change_media(fault: Fault, answer: &mut MockReply) {
    match fault {
        Fault::Garbage if answer.status.is_success() => {
            let status = answer.status;
            *answer = MockReply { status, ..page() };
        }
        Fault::GatewayPage => *answer = page(),
        Fault::ServerError => *answer = envelope(500, "internal_error"),
        _ => {}
    }
}

/// Changes a reply on its way back. A receipt may lose its id.
pub(super) fn change_after(fault: Fault, loses_id: bool, answer: &mut MockReply) {
    match fault {
        Fault::Garbage if answer.status.is_success() && loses_id => {
            answer.body = Bytes::from_static(b"{\"data\": {}}");
        }
        Fault::Garbage if answer.status.is_success() => {
            answer.body = Bytes::from_static(b"\x00 not what you expected");
        }
        Fault::GatewayPage => *answer = page(),
        Fault::ServerError => *answer = envelope(500, "internal_error"),
        _ => {}
    }
    answer.headers.remove(CONTENT_LENGTH);
}
