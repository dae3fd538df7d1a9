//! Tests of the tower layers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, AtomicUsize, Ordering};

use axum::body::Bytes;
use axum::body::HttpBody;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Request, Response, StatusCode};
use axum::routing::post;
use axum::{Extension, Router};
use http_body_util::{BodyExt, Full};
use svc_webhook_verify::axum::verify_layer;
use svc_webhook_verify::tower::{DedupeLayer, VerifyLayer};
use svc_webhook_verify::{
    ClaimResult, DedupeKey, DedupeStore, Event, Lease, MemoryStore, ReceiveError, Webhook,
};
use tower_http::limit::RequestBodyLimitLayer;
use tower_layer::Layer;
use tower_service::Service;

use crate::fixtures::{
    JOB, NOW, delivery, invalid_headers, padded_delivery, receiver, receiver_at, request, send,
    send_rejected, signed_at, status,
};

/// A handler that returns the request body with a configurable status and counts its calls.
#[derive(Clone, Default)]
struct Handler {
    calls: Arc<AtomicUsize>,
    status: Arc<AtomicU16>,
}

impl Handler {
    fn router(&self) -> Router {
        self.status.store(200, Ordering::SeqCst);
        Router::new()
            .route("/webhooks", post(handle))
            .with_state(self.clone())
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn set_status(&self, status: u16) {
        self.status.store(status, Ordering::SeqCst);
    }
}

async fn handle(
    State(handler): State<Handler>,
    Extension(webhook): Extension<Webhook>,
    body: Bytes,
) -> (StatusCode, Bytes) {
    handler.calls.fetch_add(1, Ordering::SeqCst);
    assert_eq!(webhook.body(), &body);
    let status = handler.status.load(Ordering::SeqCst);
    (StatusCode::from_u16(status).unwrap(), body)
}

#[tokio::test]
async fn the_layer_passes_on_genuine_bodies_unchanged() {
    let handler = Handler::default();
    let router = handler.router().layer(VerifyLayer::new(receiver()));
    let response = send(&router, delivery(JOB)).await;
    assert_eq!(
        axum::body::to_bytes(response.into_body(), 1000)
            .await
            .unwrap(),
        JOB
    );
    let body: &'static [u8] = b"\x00\xff\xfe\x80";
    let response = send(&router, request(signed_at(NOW, body), body)).await;
    assert_eq!(
        axum::body::to_bytes(response.into_body(), 1000)
            .await
            .unwrap(),
        body
    );
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
    let router = || {
        Handler::default()
            .router()
            .layer(DefaultBodyLimit::disable())
    };
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
        assert_eq!(
            status(router, padded_delivery(len)).await,
            expected,
            "{row}: {len}"
        );
    }
}

#[tokio::test]
async fn the_layers_work_with_any_tower_service() {
    let store = Arc::new(MemoryStore::new(10));
    let layers = (
        VerifyLayer::new(receiver()),
        DedupeLayer::new(store.clone()),
    );
    let echo = tower::service_fn(async |request: Request<Full<Bytes>>| {
        let body = request.into_body();
        Ok::<_, std::io::Error>(Response::new(body))
    });
    let mut service = layers.layer(echo);
    let mut request = Request::new(Full::from(JOB));
    *request.headers_mut() = signed_at(NOW, JOB);
    let response = service.call(request.clone()).await.unwrap();
    let body = response.into_body().collect().await.unwrap();
    assert_eq!(body.to_bytes(), JOB);
    let again = service.call(request).await.unwrap();
    assert_eq!(again.status(), StatusCode::OK);
    assert!(again.into_body().is_end_stream());
    let key = DedupeKey::new("job.completed", "job:job_1");
    assert_eq!(
        store.claim(&key, NOW).await.unwrap(),
        ClaimResult::AlreadyHandled
    );

    // The lease is released if the inner service fails.
    let failing = tower::service_fn(async |_: Request<Full<Bytes>>| {
        Err::<Response<Full<Bytes>>, _>(std::io::Error::other("disk full"))
    });
    let other = JOB.replace("job_1", "job_2");
    let mut request = Request::new(Full::from(other.clone()));
    *request.headers_mut() = signed_at(NOW, other);
    assert!(layers.layer(failing).call(request).await.is_err());
    let key = DedupeKey::new("job.completed", "job:job_2");
    assert!(matches!(
        store.claim(&key, NOW).await.unwrap(),
        ClaimResult::Acquired(_)
    ));
}

fn deduped_router(handler: &Handler, time: &Arc<AtomicU64>) -> Router {
    let dedupe = DedupeLayer::new(MemoryStore::new(10));
    handler
        .router()
        .layer((verify_layer(receiver_at(time.clone())), dedupe))
}

#[tokio::test]
async fn a_duplicate_is_200_and_not_handled_again() {
    let (handler, time) = (Handler::default(), Arc::new(AtomicU64::new(NOW)));
    let router = deduped_router(&handler, &time);
    for _ in 0..3 {
        assert_eq!(status(&router, delivery(JOB)).await, 200);
    }
    assert_eq!(handler.calls(), 1);

    // The same event, redelivered an hour later with a new signature.
    time.fetch_add(3600, Ordering::SeqCst);
    let again = request(signed_at(NOW + 3600, JOB), JOB);
    assert_eq!(status(&router, again).await, 200);
    assert_eq!(handler.calls(), 1);

    let other = JOB.replace("job_1", "job_2");
    let other = request(signed_at(NOW + 3600, &other), other);
    assert_eq!(status(&router, other).await, 200);
    assert_eq!(handler.calls(), 2);
}

#[tokio::test]
async fn a_forgotten_event_is_handled_again_when_it_is_redelivered() {
    let (handler, store) = (Handler::default(), Arc::new(MemoryStore::new(10)));
    let layers = (verify_layer(receiver()), DedupeLayer::new(store.clone()));
    let router = handler.router().layer(layers);
    let key = DedupeKey::new("job.completed", "job:job_1");
    assert!(!store.forget(&key).await.unwrap());
    for calls in [1, 2] {
        // The second delivery is a duplicate.
        assert_eq!(status(&router, delivery(JOB)).await, 200);
        assert_eq!(status(&router, delivery(JOB)).await, 200);
        assert_eq!(handler.calls(), calls);
        assert!(store.forget(&key).await.unwrap());
    }
}

#[tokio::test]
async fn an_event_that_was_not_handled_is_passed_on_again() {
    let (handler, time) = (Handler::default(), Arc::new(AtomicU64::new(NOW)));
    let router = deduped_router(&handler, &time);
    for expected in [500, 404, 302, 204] {
        handler.set_status(expected);
        assert_eq!(status(&router, delivery(JOB)).await, expected);
    }
    assert_eq!(handler.calls(), 4);
    assert_eq!(status(&router, delivery(JOB)).await, 200);
    assert_eq!(handler.calls(), 4);
}

#[tokio::test]
async fn test_events_and_events_without_ids_are_never_duplicates() {
    let (handler, time) = (Handler::default(), Arc::new(AtomicU64::new(NOW)));
    let router = deduped_router(&handler, &time);
    for body in [
        r#"{"event":"webhook.test","request_id":"r"}"#,
        r#"{"event":"x"}"#,
    ] {
        assert_eq!(status(&router, delivery(body)).await, 200);
        assert_eq!(status(&router, delivery(body)).await, 200);
    }
    assert_eq!(handler.calls(), 4);
    let (status, error) = send_rejected(&router, delivery("[]")).await;
    assert_eq!(status, 400);
    assert!(matches!(error, ReceiveError::InvalidEvent(_)));
}

#[tokio::test]
async fn an_event_of_an_unknown_type_is_not_claimed() {
    let (handler, time) = (Handler::default(), Arc::new(AtomicU64::new(NOW)));
    let store = Arc::new(MemoryStore::new(10));
    let layers = (
        verify_layer(receiver_at(time.clone())),
        DedupeLayer::new(store.clone()),
    );
    let router = handler.router().layer(layers);
    let unknown = r#"{"event":"job.paused","job_id":"job_1"}"#;
    for expected in [204, 200, 500, 204] {
        handler.set_status(expected);
        assert_eq!(status(&router, delivery(unknown)).await, expected);
    }
    assert_eq!(handler.calls(), 4);

    // A version of the receiver that knows the type can claim the event.
    let key = DedupeKey::new("job.paused", "job:job_1");
    assert!(matches!(
        store.claim(&key, NOW).await.unwrap(),
        ClaimResult::Acquired(_)
    ));
}

#[tokio::test]
async fn of_two_simultaneous_deliveries_one_is_handled_and_the_other_is_503() {
    let (started, resume) = (
        Arc::new(tokio::sync::Notify::new()),
        Arc::new(tokio::sync::Notify::new()),
    );
    let handler = {
        let (started, resume) = (started.clone(), resume.clone());
        move |Extension(event): Extension<Event>| async move {
            started.notify_one();
            resume.notified().await;
            event.job_id().unwrap_or_default().to_owned()
        }
    };
    let dedupe = DedupeLayer::new(MemoryStore::new(10));
    let layers = (verify_layer(receiver()), dedupe);
    let router = Router::new()
        .route("/webhooks", post(handler))
        .layer(layers);

    let first = tokio::spawn({
        let router = router.clone();
        async move { status(&router, delivery(JOB)).await }
    });
    started.notified().await;
    let second = send(&router, delivery(JOB)).await;
    assert_eq!(second.status(), 503);
    assert_eq!(second.headers()["retry-after"], "20");
    resume.notify_one();
    assert_eq!(first.await.unwrap(), 200);
    assert_eq!(status(&router, delivery(JOB)).await, 200);
}

#[tokio::test]
async fn a_disconnected_sender_blocks_the_event_until_the_lease_expires() {
    let time = Arc::new(AtomicU64::new(NOW));
    let dedupe = DedupeLayer::new(MemoryStore::new(10));
    let layers = (verify_layer(receiver_at(time.clone())), dedupe);
    let calls = Arc::new(AtomicUsize::new(0));
    let handler = move || async move {
        if calls.fetch_add(1, Ordering::SeqCst) == 0 {
            std::future::pending::<()>().await;
        }
    };
    let router = Router::new()
        .route("/webhooks", post(handler))
        .layer(layers);
    let disconnected =
        tokio::time::timeout(std::time::Duration::ZERO, send(&router, delivery(JOB)));
    assert!(disconnected.await.is_err());
    assert_eq!(status(&router, delivery(JOB)).await, 503);
    time.fetch_add(20, Ordering::SeqCst);
    assert_eq!(status(&router, delivery(JOB)).await, 200);
}

#[tokio::test]
async fn a_dedupe_layer_without_a_verify_layer_is_500() {
    let handler = Handler::default();
    let router = handler
        .router()
        .layer(DedupeLayer::new(MemoryStore::new(10)));
    let (status, error) = send_rejected(&router, delivery(JOB)).await;
    assert_eq!(status, 500);
    assert!(matches!(error, ReceiveError::MissingVerifyLayer));
    assert_eq!(handler.calls(), 0);
}

/// A store whose writes fail, and optionally its claims.
struct FailingStore {
    can_claim: bool,
}

impl DedupeStore for FailingStore {
    type Error = std::fmt::Error;

    async fn claim(&self, key: &DedupeKey, _: u64) -> Result<ClaimResult, Self::Error> {
        match self.can_claim {
            true => Ok(ClaimResult::Acquired(Lease::new(key.clone(), 1))),
            false => Err(std::fmt::Error),
        }
    }

    async fn commit(&self, _: Lease, _: u64) -> Result<(), Self::Error> {
        Err(std::fmt::Error)
    }

    async fn release(&self, _: Lease) -> Result<(), Self::Error> {
        Err(std::fmt::Error)
    }

    async fn forget(&self, _: &DedupeKey) -> Result<bool, Self::Error> {
        Err(std::fmt::Error)
    }
}

#[tokio::test]
async fn a_failed_claim_is_503_and_a_failed_commit_is_reported_in_the_extensions() {
    let handler = Handler::default();
    let layer = |can_claim| {
        (
            verify_layer(receiver()),
            DedupeLayer::new(FailingStore { can_claim }),
        )
    };
    let (status, error) = send_rejected(&handler.router().layer(layer(false)), delivery(JOB)).await;
    assert_eq!(status, 503);
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(handler.calls(), 0);

    let response = send(&handler.router().layer(layer(true)), delivery(JOB)).await;
    assert_eq!(response.status(), 200);
    let error = response.extensions().get::<ReceiveError>();
    assert!(matches!(error, Some(ReceiveError::Store(_))));
    assert_eq!(handler.calls(), 1);
}
