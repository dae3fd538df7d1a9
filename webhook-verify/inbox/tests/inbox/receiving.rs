//! Receiving over HTTP: each answer, and what is stored.

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRef};
use axum::routing::post;
use http::{HeaderMap, Request, Response, StatusCode};
use svc_webhook_inbox::tower::ReceiveService;
use svc_webhook_inbox::{FileEventStore, Inbox, ListQuery, MemoryEventStore, StoreStats};
use svc_webhook_verify::{KeySet, Signer, Verifier, WebhookReceiver};
use tower::ServiceExt;

const NOW: u64 = 1_700_000_000;
const BODY: &str = r#"{"event":"job.completed","job_id":"job_1"}"#;

fn keys() -> KeySet {
    KeySet::new(["whsec_newest"]).unwrap()
}

fn receiver() -> WebhookReceiver {
    WebhookReceiver::new(Verifier::new(keys())).clock(|| NOW)
}

fn delivery(keys: KeySet, timestamp: u64, body: &str) -> Request<Body> {
    let headers: HeaderMap = Signer::new(keys).sign(timestamp, body).into();
    let mut request = Request::post("/webhooks").body(Body::from(body.to_owned())).unwrap();
    *request.headers_mut() = headers;
    request
}

#[derive(Clone)]
struct AppState(Inbox);

impl FromRef<AppState> for Inbox {
    fn from_ref(state: &AppState) -> Self {
        state.0.clone()
    }
}

impl FromRef<AppState> for WebhookReceiver {
    fn from_ref(_: &AppState) -> Self {
        receiver()
    }
}

/// The two adapters on one inbox, both with a limit of 1 KiB.
fn routers(inbox: &Inbox) -> [Router; 2] {
    let service = ReceiveService::new(inbox.clone(), receiver()).max_body_bytes(1024);
    let handler = Router::new()
        .route("/webhooks", post(svc_webhook_inbox::axum::receive))
        .layer(DefaultBodyLimit::max(1024))
        .with_state(AppState(inbox.clone()));
    [Router::new().route_service("/webhooks", service), handler]
}

async fn send(router: &Router, request: Request<Body>) -> Response<Body> {
    router.clone().oneshot(request).await.unwrap()
}

#[tokio::test]
async fn a_genuine_delivery_is_stored_once_and_answered_200() {
    let inbox = Inbox::new(MemoryEventStore::new());
    for router in routers(&inbox) {
        for _ in 0..2 {
            let response = send(&router, delivery(keys(), NOW, BODY)).await;
            assert_eq!(response.status(), StatusCode::OK);
        }
    }
    let events = inbox.store().list(&ListQuery::default()).await.unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].body, BODY);
    assert!(events[0].headers.contains_key("x-svc-webhook-signature"));
}

#[tokio::test]
async fn other_deliveries_are_rejected_and_not_stored() {
    let inbox = Inbox::new(MemoryEventStore::new());
    let forged = KeySet::new(["whsec_other"]).unwrap();
    let large = format!(r#"{{"event":"job.completed","x":"{}"}}"#, "x".repeat(2000));
    for router in routers(&inbox) {
        for (request, status) in [
            (delivery(forged.clone(), NOW, BODY), StatusCode::UNAUTHORIZED),
            (delivery(keys(), NOW - 301, BODY), StatusCode::UNAUTHORIZED),
            (delivery(keys(), NOW, "[1, 2]"), StatusCode::BAD_REQUEST),
            (delivery(keys(), NOW, &large), StatusCode::PAYLOAD_TOO_LARGE),
            (Request::post("/webhooks").body(Body::from(BODY)).unwrap(), StatusCode::BAD_REQUEST),
        ] {
            assert_eq!(send(&router, request).await.status(), status);
        }
    }
    assert_eq!(inbox.store().stats().await.unwrap(), StoreStats::default());
}

#[tokio::test]
async fn a_failed_store_is_answered_503_with_retry_after() {
    let folder = tempfile::tempdir().unwrap();
    drop(FileEventStore::open(folder.path().join("inbox")).unwrap());
    // A store that cannot be written.
    let store = FileEventStore::open_read_only(folder.path().join("inbox")).unwrap();
    for router in routers(&Inbox::new(store)) {
        let response = send(&router, delivery(keys(), NOW, BODY)).await;
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()["retry-after"], "30");
    }
}
