//! Tests of the tower layer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Request, Response};
use axum::routing::post;
use axum::{Extension, Router};
use http_body_util::{BodyExt, Full};
use svc_webhook_verify::Webhook;
use svc_webhook_verify::axum::verify_layer;
use svc_webhook_verify::tower::VerifyLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_layer::Layer;
use tower_service::Service;

use crate::fixtures::{
    JOB, NOW, delivery, invalid_headers, padded_delivery, receiver, request, send, send_rejected,
    signed_at, status,
};

/// A handler that returns the request body and counts its calls.
#[derive(Clone, Default)]
struct Handler {
    calls: Arc<AtomicUsize>,
}

impl Handler {
    fn router(&self) -> Router {
        Router::new().route("/webhooks", post(handle)).with_state(self.clone())
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

async fn handle(
    State(handler): State<Handler>,
    Extension(webhook): Extension<Webhook>,
    body: Bytes,
) -> Bytes {
    handler.calls.fetch_add(1, Ordering::SeqCst);
    assert_eq!(webhook.body(), &body);
    body
}

#[tokio::test]
async fn the_layer_passes_on_genuine_bodies_unchanged() {
    let handler = Handler::default();
    let router = handler.router().layer(VerifyLayer::new(receiver()));
    let response = send(&router, delivery(JOB)).await;
    assert_eq!(axum::body::to_bytes(response.into_body(), 1000).await.unwrap(), JOB);
    let body: &'static [u8] = b"\x00\xff\xfe\x80";
    let response = send(&router, request(signed_at(NOW, body), body)).await;
    assert_eq!(axum::body::to_bytes(response.into_body(), 1000).await.unwrap(), body);
}

#[tokio::test]
async fn the_layer_rejects_invalid_headers() {
    let handler = Handler::default();
    let router = handler.router().layer(VerifyLayer::new(receiver()));
    for (name, request, expected) in invalid_headers() {
        let (status, _) = send_rejected(&router, request).await;
        assert_eq!(status, expected, "{name}");
    }
    assert_eq!(handler.calls(), 0);
}

#[tokio::test]
async fn the_body_is_limited_by_the_layer_and_by_the_route() {
    let two_mib = 2 * 1024 * 1024;
    let router = || Handler::default().router().layer(DefaultBodyLimit::disable());
    let plain = router().layer(VerifyLayer::new(receiver()));
    let raised = router().layer(VerifyLayer::new(receiver()).max_body_bytes(two_mib + 1));
    let by_tower_http = plain.clone().layer(RequestBodyLimitLayer::new(100));
    let by_default = Handler::default().router().layer(verify_layer(receiver()));
    let by_axum = by_default.clone().layer(DefaultBodyLimit::max(100));
    let raised_by_axum = by_default.clone().layer(DefaultBodyLimit::max(two_mib + 1));
    let rows = [
        (&plain, two_mib, 200),
        (&plain, two_mib + 1, 413),
        (&raised, two_mib + 1, 200),
        (&raised, two_mib + 2, 413),
        (&by_tower_http, 100, 200),
        (&by_tower_http, 101, 413),
        (&by_default, two_mib, 200),
        (&by_default, two_mib + 1, 413),
        (&by_axum, 100, 200),
        (&by_axum, 101, 413),
        (&raised_by_axum, two_mib + 1, 200),
    ];
    for (row, (router, len, expected)) in rows.into_iter().enumerate() {
        assert_eq!(status(router, padded_delivery(len)).await, expected, "{row}: {len}");
    }
}

#[tokio::test]
async fn the_layer_works_with_any_tower_service() {
    let layer = VerifyLayer::new(receiver());
    let echo = tower::service_fn(async |request: Request<Full<Bytes>>| {
        let body = request.into_body();
        Ok::<_, std::io::Error>(Response::new(body))
    });
    let mut service = layer.layer(echo);
    let mut request = Request::new(Full::from(JOB));
    *request.headers_mut() = signed_at(NOW, JOB);
    let response = service.call(request).await.unwrap();
    let body = response.into_body().collect().await.unwrap();
    assert_eq!(body.to_bytes(), JOB);
}
