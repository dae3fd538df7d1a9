//! Property tests: every request gets a response, and only signed requests are accepted.

use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderValue};
use axum::routing::post;
use axum::{Extension, Router};
use proptest::collection::vec;
use proptest::prelude::*;
use svc_webhook_verify::{Event, ReceiveError, Webhook, axum::verify_layer, header};
use tokio::runtime::{Builder, Runtime};

use crate::fixtures::{NOW, receiver, request, signed_at, status};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().build().unwrap());

fn event_of(webhook: &Webhook) -> Result<(), ReceiveError> {
    Ok(webhook.event().map(drop)?)
}

fn routers() -> [Router; 2] {
    let with_extractor =
        Router::new().route("/webhooks", post(async |webhook: Webhook| event_of(&webhook)));
    let with_layer = Router::new()
        .route("/webhooks", post(async |Extension(webhook): Extension<Webhook>| event_of(&webhook)))
        .layer(verify_layer(receiver()));
    [with_extractor.with_state(receiver()), with_layer]
}

fn header_value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..200),
        "1700000[0-9]{3}".prop_map(String::into_bytes),
        "(svc-v1=[0-9a-f]{64},? ?){0,3}".prop_map(String::into_bytes),
        vec(any::<u8>(), 4000..4200),
    ]
}

fn json_fragment() -> impl Strategy<Value = String> {
    "(\\{|\\[|\\}|\\]|,|:|null|7|\"event\":|\"job_id\":|\"payload\":|\"run_id\":|\"x\"|\"job.completed\"|\\{\"event\":\"x\"){0,12}"
}

proptest! {
    #[test]
    fn arbitrary_unsigned_requests_are_rejected(
        lines in vec((any::<bool>(), header_value()), 0..4),
        body in vec(any::<u8>(), 0..300),
    ) {
        let mut headers = HeaderMap::new();
        for (is_signature, value) in lines {
            let name = if is_signature { header::SIGNATURE } else { header::TIMESTAMP };
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                headers.append(name, value);
            }
        }
        for router in routers() {
            let request = request(headers.clone(), body.clone());
            let status = RUNTIME.block_on(status(&router, request));
            prop_assert!(status == 400 || status == 401, "{}", status);
        }
    }

    #[test]
    fn signed_bodies_are_accepted_if_they_are_events(body in prop_oneof![
        vec(any::<u8>(), 0..300),
        json_fragment().prop_map(String::into_bytes),
    ]) {
        let expected = if Event::parse(&body).is_ok() { 200 } else { 400 };
        for router in routers() {
            let request = request(signed_at(NOW, &body), body.clone());
            prop_assert_eq!(RUNTIME.block_on(status(&router, request)), expected);
        }
    }
}
