//! Deliveries to send, and a receiver whose clock stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use svc_webhook_verify::{KeySet, ReceiveError, Receiver, Signer, Verifier, header};
use tower_service::Service;

pub(crate) const NOW: u64 = 1_700_000_000;
pub(crate) const JOB: &str = r#"{"event":"job.completed","job_id":"job_1"}"#;

pub(crate) fn receiver() -> Receiver {
    receiver_at(Arc::new(AtomicU64::new(NOW)))
}

pub(crate) fn receiver_at(time: Arc<AtomicU64>) -> Receiver {
    let keys = KeySet::new(["whsec_newest", "whsec_previous"]).unwrap();
    Receiver::new(Verifier::new(keys)).clock(move || time.load(Ordering::SeqCst))
}

pub(crate) fn signed_at(time: u64, body: impl AsRef<[u8]>) -> HeaderMap {
    let keys = KeySet::new(["whsec_newest"]).unwrap();
    Signer::new(keys).sign(time, body).into()
}

pub(crate) fn request(headers: HeaderMap, body: impl Into<Body>) -> Request {
    let mut request = Request::post("/webhooks").body(body.into()).unwrap();
    *request.headers_mut() = headers;
    request
}

pub(crate) fn delivery(body: &str) -> Request {
    request(signed_at(NOW, body), body.to_owned())
}

/// A delivery of so many bytes: [`JOB`] and then spaces, which is still the same event.
pub(crate) fn delivery_of(len: usize) -> Request {
    let body = [JOB, &" ".repeat(len - JOB.len())].concat();
    delivery(&body)
}

/// The delivery without one of its headers, or with another value in it.
pub(crate) fn with_header(name: &'static str, value: Option<&[u8]>) -> Request {
    let mut request = delivery(JOB);
    request.headers_mut().remove(name);
    if let Some(value) = value {
        let value = value.try_into().unwrap();
        request.headers_mut().insert(name, value);
    }
    request
}

pub(crate) async fn send(router: &Router, request: Request) -> Response {
    router.clone().call(request).await.unwrap()
}

pub(crate) async fn status(router: &Router, request: Request) -> u16 {
    send(router, request).await.status().as_u16()
}

/// Status and reason of a refusal; its body is empty.
pub(crate) async fn refusal(router: &Router, request: Request) -> (u16, ReceiveError) {
    let response = send(router, request).await;
    let reason = response.extensions().get::<ReceiveError>().cloned();
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), 100).await;
    assert!(body.unwrap().is_empty());
    (status, reason.unwrap())
}

/// Requests that are refused for their headers, and what they are answered.
pub(crate) fn bad_headers() -> Vec<(&'static str, Request, u16)> {
    let zeros = format!("svc-v1={}", "0".repeat(64));
    let of_another_body = request(signed_at(NOW, "{}"), JOB);
    let (timestamp, signature) = (header::TIMESTAMP, header::SIGNATURE);
    vec![
        ("none", request(HeaderMap::new(), JOB), 400),
        ("no timestamp", with_header(timestamp, None), 400),
        ("no signature", with_header(signature, None), 400),
        ("not UTF-8", with_header(signature, Some(b"\xff\xfe")), 400),
        (
            "time not UTF-8",
            with_header(timestamp, Some(b"17\xff")),
            400,
        ),
        (
            "a negative time",
            with_header(timestamp, Some(b"-9223372036854775808")),
            400,
        ),
        (
            "a cut tag",
            with_header(signature, Some(&zeros.as_bytes()[..39])),
            400,
        ),
        (
            "too many entries",
            with_header(signature, Some(&[b','; 40])),
            400,
        ),
        ("too long", with_header(signature, Some(&[b'a'; 5000])), 400),
        (
            "another scheme",
            with_header(signature, Some(b"svc-v2=00")),
            401,
        ),
        (
            "a wrong signature",
            with_header(signature, Some(zeros.as_bytes())),
            401,
        ),
        ("another body", of_another_body, 401),
        ("too old", request(signed_at(NOW - 301, JOB), JOB), 401),
        (
            "in the future",
            request(signed_at(NOW + 301, JOB), JOB),
            401,
        ),
    ]
}
