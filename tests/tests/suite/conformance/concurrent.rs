//! Requests at the same time, and the ids of many requests.

use super::*;

on_every_frontend! {
    concurrent_retries_create_one_job,
    request_ids_are_unique,
    concurrent_submits_do_not_overspend: balance_usd("0.0120"),
    concurrent_retries_create_one_run,
}

async fn request_ids_are_unique(mock: Mock) {
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        for client in [mock.open(), mock.developer(), mock.client(Host::Open)] {
            let response = client.get("/v1/jobs").await;
            let id = response.header("x-svc-request-id").unwrap().to_owned();
            assert!(id.starts_with("req_"), "{id}");
            assert!(seen.insert(id), "a request id came twice");
        }
    }
}

async fn concurrent_submits_do_not_overspend(mock: Mock) {
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let open = mock.open();
        calls.spawn(async move { open.post(IMAGE, image()).await.status() });
    }
    let mut statuses = calls.join_all().await;
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 202, 402, 402, 402, 402, 402, 402]);
    run_script(&mock, None, "available 0.0020").await;
}

async fn concurrent_retries_create_one_run(mock: Mock) {
    let mut calls = tokio::task::JoinSet::new();
    for index in 0..12 {
        let keyed = mock.developer().idempotency_key("order-1");
        let path = if index % 2 == 0 { RUNS } else { "/v1/formats/demo/teaser/runs" };
        calls.spawn(async move { keyed.post(path, json!({"instruction": "x"})).await });
    }
    assert_created_once(&calls.join_all().await);
    assert_eq!(mock.developer().get_items(RUNS).await.len(), 1);
}

async fn concurrent_retries_create_one_job(mock: Mock) {
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let keyed = mock.open().idempotency_key("order-1");
        calls.spawn(async move { keyed.post(VIDEO, video()).await });
    }
    assert_created_once(&calls.join_all().await);
    let script = "control /jobs => 200 #=1 0.id=<id>\nledger <id> = reservation 0.1250";
    run_script(&mock, None, script).await;
}

/// Asserts that one of several concurrent submits created something, and that the others got its
/// receipt or were told that the key is in use.
#[track_caller]
fn assert_created_once(responses: &[Response]) {
    let (created, others): (Vec<_>, Vec<_>) = responses.iter().partition(|it| it.status() == 202);
    assert_eq!(created.len(), 1, "{responses:?}");
    for response in others {
        let is_in_use = response.status() == 409 && response.code() == "idempotency_key_in_use";
        assert!(response.status() == 200 || is_in_use, "{response:?}");
    }
}
