//! Tests of the tower layer.

use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::{Request, Response};
use http_body_util::{BodyExt, Full};
use svc_webhook_verify::axum::verify_layer;
use svc_webhook_verify::tower::VerifyLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_layer::Layer;
use tower_service::Service;

use crate::fixtures::{JOB, NOW, echo, padded_delivery, receiver, signed_at, status};

#[tokio::test]
async fn the_body_is_limited_by_the_layer_and_by_the_route() {
    let two_mib = 2 * 1024 * 1024;
    let router = || echo().layer(DefaultBodyLimit::disable());
    let plain = router().layer(VerifyLayer::new(receiver()));
    let raised = router().layer(VerifyLayer::new(receiver()).max_body_bytes(two_mib + 1));
    let by_tower_http = plain.clone().layer(RequestBodyLimitLayer::new(100));
    let by_default = echo().layer(verify_layer(receiver()));
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
