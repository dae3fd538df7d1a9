//! Deliveries, and a receiver with a fixed clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Router};
use svc_webhook_verify::{
    KeySet, ReceiveError, Signer, Verifier, Webhook, WebhookReceiver, header,
};
use tower_service::Service;

pub(crate) const NOW: u64 = 1_700_000_000;
pub(crate) const JOB: &str = r#"{"event":"job.completed","job_id":"job_1"}"#;

pub(crate) fn receiver() -> WebhookReceiver {
    receiver_at(Arc::new(AtomicU64::new(NOW)))
}

pub(crate) fn receiver_at(time: Arc<AtomicU64>) -> WebhookReceiver {
    let keys = KeySet::new(["whsec_newest", "whsec_previous"]).unwrap();
    WebhookReceiver::new(Verifier::new(keys)).clock(move || time.load(Ordering::SeqCst))
}

/// A handler behind a layer, which returns the body.
pub(crate) fn echo() -> Router {
    let handler = async |Extension(webhook): Extension<Webhook>, body: Bytes| {
        assert_eq!(webhook.body(), &body);
        body
    };
    Router::new().route("/webhooks", post(handler))
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

/// Returns a delivery of [`JOB`], padded with spaces to a length in bytes.
pub(crate) fn padded_delivery(len: usize) -> Request {
    let body = [JOB, &" ".repeat(len - JOB.len())].concat();
    delivery(&body)
}

/// Returns a delivery with one header removed or replaced.
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

/// Returns the status and the error of a response, and checks that its body is empty.
pub(crate) async fn send_rejected(router: &Router, request: Request) -> (u16, ReceiveError) {
    let response = send(router, request).await;
    let error = response.extensions().get::<ReceiveError>().cloned();
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), 100).await;
    assert!(body.unwrap().is_empty());
    (status, error.unwrap())
}

/// Returns requests with invalid headers, and the expected status of each.
pub(crate) fn invalid_headers() -> Vec<(&'static str, Request, u16)> {
    let zeros = format!("svc-v1={}", "0".repeat(64));
    let signed_for_another_body = request(signed_at(NOW, "{}"), JOB);
    let (timestamp, signature) = (header::TIMESTAMP, header::SIGNATURE);
    vec![
        ("no headers", request(HeaderMap::new(), JOB), 400),
        ("no timestamp", with_header(timestamp, None), 400),
        ("no signature", with_header(signature, None), 400),
        ("signature not UTF-8", with_header(signature, Some(b"\xff\xfe")), 400),
        ("timestamp not UTF-8", with_header(timestamp, Some(b"17\xff")), 400),
        ("negative timestamp", with_header(timestamp, Some(b"-9223372036854775808")), 400),
        ("truncated tag", with_header(signature, Some(&zeros.as_bytes()[..39])), 400),
        ("too many entries", with_header(signature, Some(&[b','; 40])), 400),
        ("signature too long", with_header(signature, Some(&[b'a'; 5000])), 400),
        ("another scheme", with_header(signature, Some(b"svc-v2=00")), 401),
        ("wrong signature", with_header(signature, Some(zeros.as_bytes())), 401),
        ("another body", signed_for_another_body, 401),
        ("too old", request(signed_at(NOW - 301, JOB), JOB), 401),
        ("in the future", request(signed_at(NOW + 301, JOB), JOB), 401),
    ]
}
