//! Tests of the axum extractor, and of what the layer does alike.

use std::task::Poll;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRef, Request};
use axum::http::StatusCode;
use axum::routing::post;
use futures_util::stream;
use svc_webhook_verify::tower::VerifyLayer;
use svc_webhook_verify::{ReceiveError, VerifyError, Webhook, WebhookReceiver, header};
use tower_http::limit::RequestBodyLimitLayer;

use crate::fixtures::{
    JOB, NOW, delivery, echo, invalid_headers, padded_delivery, receiver, request, send,
    send_rejected, signed_at, status, with_header,
};

#[derive(Clone, FromRef)]
struct AppState {
    receiver: WebhookReceiver,
}

async fn receive(webhook: Webhook) -> Result<(StatusCode, Bytes), ReceiveError> {
    assert_eq!(webhook.received_at(), NOW);
    assert_eq!(webhook.signature().key_index(), 0);
    let status = match webhook.event()?.event_type().is_known() {
        true => StatusCode::OK,
        false => StatusCode::NO_CONTENT,
    };
    Ok((status, webhook.into_body()))
}

fn router() -> Router {
    let state = AppState { receiver: receiver() };
    Router::new().route("/webhooks", post(receive)).with_state(state)
}

/// The extractor and the layer, before handlers that return the body.
fn routers() -> [Router; 2] {
    let handler = async |webhook: Webhook| webhook.into_body();
    let with_extractor = Router::new().route("/webhooks", post(handler));
    [with_extractor.with_state(receiver()), echo().layer(VerifyLayer::new(receiver()))]
}

fn chunked<const N: usize>(chunks: [Result<&'static [u8], &'static str>; N]) -> Body {
    let chunks = chunks.map(|chunk| chunk.map(Bytes::from_static));
    Body::from_stream(stream::iter(chunks))
}

#[tokio::test]
async fn the_body_of_a_genuine_delivery_is_unchanged() {
    for router in routers() {
        // It need not be an event or UTF-8.
        for body in [JOB.as_bytes(), b"\x00\xff\xfe\x80"] {
            let response = send(&router, request(signed_at(NOW, body), body)).await;
            assert_eq!(response.status(), StatusCode::OK);
            assert_eq!(axum::body::to_bytes(response.into_body(), 1000).await.unwrap(), body);
        }
    }
}

#[tokio::test]
async fn malformed_headers_are_400_and_invalid_signatures_401_before_the_handler() {
    let after_extractor = async |_: Webhook| -> String { panic!("the handler was called") };
    let after_layer = async || -> String { panic!("the handler was called") };
    let with_extractor = Router::new().route("/webhooks", post(after_extractor));
    let with_layer = Router::new().route("/webhooks", post(after_layer));
    for router in
        [with_extractor.with_state(receiver()), with_layer.layer(VerifyLayer::new(receiver()))]
    {
        for (name, request, expected) in invalid_headers() {
            let (status, error) = send_rejected(&router, request).await;
            assert_eq!(status, expected, "{name}");
            assert!(matches!(error, ReceiveError::Verify(_)), "{name}");
        }
    }
}

#[tokio::test]
async fn the_fingerprint_header_is_not_validated() {
    let request = with_header(header::FINGERPRINT, Some(b"\xff\xfe\x80"));
    assert_eq!(status(&router(), request).await, 200);
}

#[tokio::test]
async fn an_unknown_event_is_not_an_error() {
    let unknown = delivery(r#"{"event":"job.paused"}"#);
    assert_eq!(status(&router(), unknown).await, 204);
}

#[tokio::test]
async fn a_genuine_body_that_is_not_an_event_is_400() {
    for body in ["", "\0", "[]", r#"{"event":5}"#] {
        let (status, error) = send_rejected(&router(), delivery(body)).await;
        assert_eq!(status, 400);
        assert!(matches!(error, ReceiveError::InvalidEvent(_)), "{error}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_of_the_route_is_413() {
    let two_mib = 2 * 1024 * 1024;
    let by_default = router();
    let raised = router().layer(DefaultBodyLimit::max(3 * 1024 * 1024));
    let lowered = router().layer(DefaultBodyLimit::max(100));
    let disabled = router().layer(DefaultBodyLimit::disable());
    let by_tower_http = disabled.clone().layer(RequestBodyLimitLayer::new(100));
    let rows = [
        (&by_default, two_mib, 200),
        (&by_default, two_mib + 1, 413),
        (&raised, two_mib + 1, 200),
        (&lowered, 100, 200),
        (&lowered, 101, 413),
        (&disabled, two_mib + 1, 200),
        (&by_tower_http, 100, 200),
        (&by_tower_http, 101, 413),
    ];
    for (router, len, expected) in rows {
        assert_eq!(status(router, padded_delivery(len)).await, expected, "{len}");
    }
}

#[tokio::test]
async fn a_limit_exceeded_while_reading_is_413() {
    let router = router().layer(RequestBodyLimitLayer::new(100));
    // A stream, so that there is no Content-Length header.
    let body = chunked([Ok(&[b' '; 60]); 2]);
    let (status, error) = send_rejected(&router, request(signed_at(NOW, JOB), body)).await;
    assert_eq!(status, 413);
    assert!(matches!(error, ReceiveError::BodyTooLarge));
}

#[tokio::test]
async fn chunks_are_joined_and_an_incomplete_body_is_400() {
    let (start, end) = JOB.as_bytes().split_at(9);
    let whole = chunked([Ok(start), Ok(b""), Ok(end)]);
    let response = send(&router(), request(signed_at(NOW, JOB), whole)).await;
    assert_eq!(axum::body::to_bytes(response.into_body(), 1000).await.unwrap(), JOB);

    let incomplete = chunked([Ok(start), Err("connection reset")]);
    let (status, error) = send_rejected(&router(), request(signed_at(NOW, JOB), incomplete)).await;
    assert_eq!(status, 400);
    assert!(matches!(error, ReceiveError::IncompleteBody));
}

#[tokio::test]
async fn a_stale_delivery_is_rejected_before_its_body_is_read() {
    let panics = stream::poll_fn(|_| -> Poll<Option<Result<Bytes, &'static str>>> {
        panic!("the body was read");
    });
    let unread = Body::from_stream(panics);
    let stale: Request = request(signed_at(NOW - 301, JOB), unread);
    let (status, error) = send_rejected(&router(), stale).await;
    assert_eq!(status, 401);
    let ReceiveError::Verify(VerifyError::TimestampTooOld { age_seconds: 301 }) = error else {
        panic!("{error}");
    };
}
