use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRef, Request};
use axum::http::StatusCode;
use axum::routing::post;
use svc_webhook_verify::{ReceiveError, Receiver, VerifyError, Webhook};
use tower_http::limit::RequestBodyLimitLayer;

use crate::fixtures::{
    JOB, NOW, bad_headers, delivery, delivery_of, receiver, refusal, request, send, signed_at,
    status,
};

#[derive(Clone, FromRef)]
struct AppState {
    receiver: Receiver,
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
    let state = AppState {
        receiver: receiver(),
    };
    Router::new()
        .route("/webhooks", post(receive))
        .with_state(state)
}

#[tokio::test]
async fn a_genuine_delivery_arrives_byte_for_byte() {
    let response = send(&router(), delivery(JOB)).await;
    assert_eq!(response.status(), StatusCode::OK);
    let body = axum::body::to_bytes(response.into_body(), 1000).await;
    assert_eq!(body.unwrap(), JOB);
}

#[tokio::test]
async fn bad_headers_are_answered_400_and_bad_signatures_401() {
    for (name, request, expected) in bad_headers() {
        let (status, reason) = refusal(&router(), request).await;
        assert_eq!(status, expected, "{name}");
        assert!(matches!(reason, ReceiveError::Verify(_)), "{name}");
    }
}

#[tokio::test]
async fn an_unknown_event_is_a_value() {
    let paused = delivery(r#"{"event":"job.paused"}"#);
    assert_eq!(status(&router(), paused).await, 204);
}

#[tokio::test]
async fn a_genuine_body_that_is_no_event_is_400() {
    for body in ["", "\0", "[]", r#"{"event":5}"#] {
        let (status, reason) = refusal(&router(), delivery(body)).await;
        assert_eq!(status, 400);
        assert!(matches!(reason, ReceiveError::InvalidEvent(_)), "{reason}");
    }
}

#[tokio::test]
async fn raw_bytes_need_not_be_an_event_nor_utf_8() {
    async fn raw(webhook: Webhook) -> Bytes {
        webhook.into_body()
    }
    let router = Router::new()
        .route("/webhooks", post(raw))
        .with_state(receiver());
    let body: &'static [u8] = b"\x00\xff\xfe\x80";
    let response = send(&router, request(signed_at(NOW, body), body)).await;
    assert_eq!(
        axum::body::to_bytes(response.into_body(), 9).await.unwrap(),
        body
    );
}

#[tokio::test]
async fn the_limit_of_the_route_is_kept_and_answered_413() {
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
        assert_eq!(status(router, delivery_of(len)).await, expected, "{len}");
    }
}

#[tokio::test]
async fn a_limit_that_is_found_while_reading_is_413_too() {
    let router = router().layer(RequestBodyLimitLayer::new(100));
    // In pieces, so that there is no Content-Length to go by.
    let body = Body::from_stream(Pieces(vec![Ok(Bytes::from_static(&[b' '; 60])); 2]));
    let (status, reason) = refusal(&router, request(signed_at(NOW, JOB), body)).await;
    assert_eq!(status, 413);
    assert!(matches!(reason, ReceiveError::BodyTooLarge));
}

#[tokio::test]
async fn a_body_in_pieces_is_joined_and_one_that_breaks_off_is_400() {
    let (start, end) = JOB.as_bytes().split_at(9);
    let pieces = [start, b"", end].map(|piece| Ok(Bytes::from_static(piece)));
    let whole = Body::from_stream(Pieces(pieces.to_vec()));
    let response = send(&router(), request(signed_at(NOW, JOB), whole)).await;
    assert_eq!(
        axum::body::to_bytes(response.into_body(), 1000)
            .await
            .unwrap(),
        JOB
    );

    let broken = Body::from_stream(Pieces(vec![Ok(Bytes::from_static(start)), Err("gone")]));
    let (status, reason) = refusal(&router(), request(signed_at(NOW, JOB), broken)).await;
    assert_eq!(status, 400);
    assert!(matches!(reason, ReceiveError::IncompleteBody));
}

#[tokio::test]
async fn a_stale_delivery_is_refused_before_its_body_is_read() {
    let never = Body::from_stream(Never);
    let stale: Request = request(signed_at(NOW - 301, JOB), never);
    let (status, reason) = refusal(&router(), stale).await;
    assert_eq!(status, 401);
    let ReceiveError::Verify(VerifyError::TimestampTooOld { age_seconds: 301 }) = reason else {
        panic!("{reason}");
    };
}

/// A stream of what it holds, front to back.
#[derive(Debug)]
struct Pieces(Vec<Result<Bytes, &'static str>>);

impl futures_core::Stream for Pieces {
    type Item = Result<Bytes, &'static str>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        let next = (!self.0.is_empty()).then(|| self.0.remove(0));
        std::task::Poll::Ready(next)
    }
}

/// A stream that may not be asked.
struct Never;

impl futures_core::Stream for Never {
    type Item = Result<Bytes, &'static str>;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        panic!("the body was read");
    }
}
