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
    Claim, DedupeKey, DedupeStore, Event, Lease, MemoryStore, ReceiveError, Webhook,
};
use tower_http::limit::RequestBodyLimitLayer;
use tower_layer::Layer;
use tower_service::Service;

use crate::fixtures::{
    JOB, NOW, bad_headers, delivery, delivery_of, receiver, receiver_at, refusal, request, send,
    signed_at, status,
};

/// Answers with the body that it was passed, and counts how often it was reached.
#[derive(Clone, Default)]
struct Inner {
    reached: Arc<AtomicUsize>,
    answer: Arc<AtomicU16>,
}

impl Inner {
    fn router(&self) -> Router {
        self.answer.store(200, Ordering::SeqCst);
        Router::new()
            .route("/webhooks", post(handle))
            .with_state(self.clone())
    }

    fn reached(&self) -> usize {
        self.reached.load(Ordering::SeqCst)
    }

    fn answer(&self, status: u16) {
        self.answer.store(status, Ordering::SeqCst);
    }
}

async fn handle(
    State(inner): State<Inner>,
    Extension(webhook): Extension<Webhook>,
    body: Bytes,
) -> (StatusCode, Bytes) {
    inner.reached.fetch_add(1, Ordering::SeqCst);
    assert_eq!(webhook.body(), &body);
    let status = inner.answer.load(Ordering::SeqCst);
    (StatusCode::from_u16(status).unwrap(), body)
}

#[tokio::test]
async fn the_layer_passes_a_genuine_body_on_byte_for_byte() {
    let inner = Inner::default();
    let router = inner.router().layer(VerifyLayer::new(receiver()));
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
async fn the_layer_lets_nothing_else_through() {
    let inner = Inner::default();
    let router = inner.router().layer(VerifyLayer::new(receiver()));
    for (name, request, expected) in bad_headers() {
        let (status, _) = refusal(&router, request).await;
        assert_eq!(status, expected, "{name}");
    }
    assert_eq!(inner.reached(), 0);
}

#[tokio::test]
async fn the_layer_keeps_its_own_limit_and_that_of_the_route() {
    let two_mib = 2 * 1024 * 1024;
    let inner = || Inner::default().router().layer(DefaultBodyLimit::disable());
    let plain = inner().layer(VerifyLayer::new(receiver()));
    let raised = inner().layer(VerifyLayer::new(receiver()).max_body_bytes(two_mib + 1));
    let by_tower_http = plain.clone().layer(RequestBodyLimitLayer::new(100));
    let by_default = Inner::default().router().layer(verify_layer(receiver()));
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
            status(router, delivery_of(len)).await,
            expected,
            "{row}: {len}"
        );
    }
}

#[tokio::test]
async fn the_layers_stand_on_any_tower_service() {
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
    assert_eq!(store.claim(&key, NOW).await.unwrap(), Claim::AlreadyHandled);

    // A handler that fails gives the claim up.
    let failing = tower::service_fn(async |_: Request<Full<Bytes>>| {
        Err::<Response<Full<Bytes>>, _>(std::io::Error::other("no disk"))
    });
    let other = JOB.replace("job_1", "job_2");
    let mut request = Request::new(Full::from(other.clone()));
    *request.headers_mut() = signed_at(NOW, other);
    assert!(layers.layer(failing).call(request).await.is_err());
    let key = DedupeKey::new("job.completed", "job:job_2");
    assert!(matches!(
        store.claim(&key, NOW).await.unwrap(),
        Claim::Acquired(_)
    ));
}

fn deduped(inner: &Inner, time: &Arc<AtomicU64>) -> Router {
    let dedupe = DedupeLayer::new(MemoryStore::new(10));
    inner
        .router()
        .layer((verify_layer(receiver_at(time.clone())), dedupe))
}

#[tokio::test]
async fn a_duplicate_is_answered_2xx_and_not_handled_again() {
    let (inner, time) = (Inner::default(), Arc::new(AtomicU64::new(NOW)));
    let router = deduped(&inner, &time);
    for _ in 0..3 {
        assert_eq!(status(&router, delivery(JOB)).await, 200);
    }
    assert_eq!(inner.reached(), 1);

    // Redelivered an hour later: signed anew, the same event.
    time.fetch_add(3600, Ordering::SeqCst);
    let again = request(signed_at(NOW + 3600, JOB), JOB);
    assert_eq!(status(&router, again).await, 200);
    assert_eq!(inner.reached(), 1);

    let other = JOB.replace("job_1", "job_2");
    let other = request(signed_at(NOW + 3600, &other), other);
    assert_eq!(status(&router, other).await, 200);
    assert_eq!(inner.reached(), 2);
}

#[tokio::test]
async fn what_was_not_handled_is_let_through_again() {
    let (inner, time) = (Inner::default(), Arc::new(AtomicU64::new(NOW)));
    let router = deduped(&inner, &time);
    for answer in [500, 404, 302, 204] {
        inner.answer(answer);
        assert_eq!(status(&router, delivery(JOB)).await, answer);
    }
    assert_eq!(inner.reached(), 4);
    assert_eq!(status(&router, delivery(JOB)).await, 200);
    assert_eq!(inner.reached(), 4);
}

#[tokio::test]
async fn test_deliveries_and_what_nothing_identifies_always_arrive() {
    let (inner, time) = (Inner::default(), Arc::new(AtomicU64::new(NOW)));
    let router = deduped(&inner, &time);
    for body in [
        r#"{"event":"webhook.test","request_id":"r"}"#,
        r#"{"event":"x"}"#,
    ] {
        assert_eq!(status(&router, delivery(body)).await, 200);
        assert_eq!(status(&router, delivery(body)).await, 200);
    }
    assert_eq!(inner.reached(), 4);
    let (status, reason) = refusal(&router, delivery("[]")).await;
    assert_eq!(status, 400);
    assert!(matches!(reason, ReceiveError::InvalidEvent(_)));
}

#[tokio::test]
async fn of_two_at_once_one_is_handled_and_the_other_is_asked_to_come_again() {
    let (started, go_on) = (
        Arc::new(tokio::sync::Notify::new()),
        Arc::new(tokio::sync::Notify::new()),
    );
    let handler = {
        let (started, go_on) = (started.clone(), go_on.clone());
        move |Extension(event): Extension<Event>| async move {
            started.notify_one();
            go_on.notified().await;
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
    go_on.notify_one();
    assert_eq!(first.await.unwrap(), 200);
    assert_eq!(status(&router, delivery(JOB)).await, 200);
}

#[tokio::test]
async fn a_sender_that_hangs_up_blocks_its_event_until_the_lease_ends() {
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
    let hung_up = tokio::time::timeout(std::time::Duration::ZERO, send(&router, delivery(JOB)));
    assert!(hung_up.await.is_err());
    assert_eq!(status(&router, delivery(JOB)).await, 503);
    time.fetch_add(20, Ordering::SeqCst);
    assert_eq!(status(&router, delivery(JOB)).await, 200);
}

#[tokio::test]
async fn a_dedupe_layer_alone_lets_nothing_through() {
    let inner = Inner::default();
    let router = inner.router().layer(DedupeLayer::new(MemoryStore::new(10)));
    let (status, reason) = refusal(&router, delivery(JOB)).await;
    assert_eq!(status, 500);
    assert!(matches!(reason, ReceiveError::MissingVerifyLayer));
    assert_eq!(inner.reached(), 0);
}

/// Fails at one of its two ends.
struct Broken {
    claims: bool,
}

impl DedupeStore for Broken {
    type Error = std::fmt::Error;

    async fn claim(&self, key: &DedupeKey, _: u64) -> Result<Claim, Self::Error> {
        match self.claims {
            true => Ok(Claim::Acquired(Lease::new(key.clone(), 1))),
            false => Err(std::fmt::Error),
        }
    }

    async fn commit(&self, _: Lease, _: u64) -> Result<(), Self::Error> {
        Err(std::fmt::Error)
    }

    async fn release(&self, _: Lease) -> Result<(), Self::Error> {
        Err(std::fmt::Error)
    }
}

#[tokio::test]
async fn a_store_that_cannot_claim_is_answered_503_and_one_that_cannot_commit_is_noted() {
    let inner = Inner::default();
    let layer = |claims| {
        (
            verify_layer(receiver()),
            DedupeLayer::new(Broken { claims }),
        )
    };
    let (status, reason) = refusal(&inner.router().layer(layer(false)), delivery(JOB)).await;
    assert_eq!(status, 503);
    assert!(std::error::Error::source(&reason).is_some());
    assert_eq!(inner.reached(), 0);

    let response = send(&inner.router().layer(layer(true)), delivery(JOB)).await;
    assert_eq!(response.status(), 200);
    let noted = response.extensions().get::<ReceiveError>();
    assert!(matches!(noted, Some(ReceiveError::Store(_))));
    assert_eq!(inner.reached(), 1);
}
