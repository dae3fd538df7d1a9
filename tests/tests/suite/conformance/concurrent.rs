//! Requests at the same time, and the ids of many requests.

use super::runs::{RUNS, RUNS_BY_SLUG, instruction};
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
    assert_eq!(available(&mock.open()).await, "0.0020");
}

async fn concurrent_retries_create_one_run(mock: Mock) {
    let mut calls = tokio::task::JoinSet::new();
    for index in 0..12 {
        let keyed = mock.developer().idempotency_key("order-1");
        let path = if index % 2 == 0 { RUNS } else { RUNS_BY_SLUG };
        calls.spawn(async move { keyed.post(path, instruction("x")).await });
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
    let jobs = mock.jobs().await;
    assert_eq!(jobs.len(), 1);
    let id = text(&jobs[0]["id"]);
    assert_eq!(ledger_amounts(&mock, "reservation", &id).await, [1_250]);
}
