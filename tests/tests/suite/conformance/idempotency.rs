//! `Idempotency-Key` of submits, which is valid for a day per workspace and operation.

use serde_json::json;
use svc_tests::{Mock, on_every_frontend};

use super::{
    IMAGE, TOP_UPS, VIDEO, available, image, ledger_amounts, status_of, submit, text, video, with,
    without,
};

on_every_frontend! {
    a_replay_returns_the_original_receipt,
    a_replay_is_not_charged,
    concurrent_retries_create_one_job,
    submits_without_a_key_create_separate_jobs,
    reusing_a_key_for_a_different_request_is_a_conflict,
    a_rejected_submit_releases_its_key,
    a_submit_without_funds_releases_its_key: balance_usd("1.0000"),
    a_key_expires_after_a_day,
    keys_of_1_to_255_printable_characters_are_accepted,
    invalid_keys_are_rejected,
    keys_are_scoped_to_the_operation,
    keys_are_scoped_to_the_workspace,
}

async fn a_replay_returns_the_original_receipt(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    for (path, body) in [(VIDEO, video()), (IMAGE, image())] {
        let first = keyed.post_data(path, body.clone(), 202).await;
        assert_eq!(keyed.post_data(path, body.clone(), 200).await, first);
        mock.advance(8).await;
        let id = text(&first["job"]["id"]);
        assert_eq!(status_of(&mock.open(), &id).await, "completed");
        assert_eq!(keyed.post_data(path, body, 200).await, first);
    }
    assert_eq!(mock.jobs().await.len(), 2);
}

async fn a_replay_is_not_charged(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    let id = submit(&keyed, VIDEO, video()).await;
    let before = mock.ledger().await;
    keyed.post(VIDEO, video()).await.expect(200);
    assert_eq!(mock.ledger().await, before);
    assert_eq!(ledger_amounts(&mock, "reservation", &id).await, [1_250]);
}

async fn concurrent_retries_create_one_job(mock: Mock) {
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let keyed = mock.open().idempotency_key("order-1");
        calls.spawn(async move { keyed.post(VIDEO, video()).await });
    }
    let responses = calls.join_all().await;
    let created = responses.iter().filter(|response| response.status() == 202);
    assert_eq!(created.count(), 1, "{responses:?}");
    for response in responses.iter().filter(|response| response.status() != 202) {
        let in_use = response.status() == 409 && response.code() == "idempotency_key_in_use";
        assert!(response.status() == 200 || in_use, "{response:?}");
    }
    let jobs = mock.jobs().await;
    assert_eq!(jobs.len(), 1);
    assert_eq!(
        ledger_amounts(&mock, "reservation", &text(&jobs[0]["id"])).await,
        [1_250]
    );
}

async fn submits_without_a_key_create_separate_jobs(mock: Mock) {
    let open = mock.open();
    let first = submit(&open, VIDEO, video()).await;
    let second = submit(&open, VIDEO, video()).await;
    assert_ne!(first, second);
}

async fn reusing_a_key_for_a_different_request_is_a_conflict(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    let first = keyed.post_data(VIDEO, video(), 202).await;
    for other in [
        with(video(), json!({"prompt": "a blue fox"})),
        with(video(), json!({"duration": 3})),
        with(video(), json!({"seed": 1})),
        without(video(), "duration"),
    ] {
        keyed
            .post_error(VIDEO, other, 409, "idempotency_conflict")
            .await;
    }
    assert_eq!(keyed.post_data(VIDEO, video(), 200).await, first);
    assert_eq!(mock.jobs().await.len(), 1);
}

async fn a_rejected_submit_releases_its_key(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    keyed
        .post_error(VIDEO, without(video(), "prompt"), 400, "invalid_request")
        .await;
    keyed.post(VIDEO, video()).await.expect(202);
    keyed.post(VIDEO, video()).await.expect(200);
}

async fn a_submit_without_funds_releases_its_key(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    let expensive = with(video(), json!({"duration": 30}));
    keyed
        .post_error(VIDEO, expensive, 402, "insufficient_funds")
        .await;
    keyed.post(VIDEO, video()).await.expect(202);
    assert_eq!(available(&mock.open()).await, "0.8750");
}

async fn a_key_expires_after_a_day(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    let first = keyed.post_data(VIDEO, video(), 202).await;
    mock.advance(86_399).await;
    assert_eq!(keyed.post_data(VIDEO, video(), 200).await, first);
    mock.advance(2).await;
    let second = keyed.post_data(VIDEO, video(), 202).await;
    assert_ne!(first["job"]["id"], second["job"]["id"]);
    assert_eq!(keyed.post_data(VIDEO, video(), 200).await, second);
}

async fn keys_of_1_to_255_printable_characters_are_accepted(mock: Mock) {
    let longest = "k".repeat(255);
    let all_printable: String = (b'!'..=b'~').map(char::from).collect();
    for key in ["a", "two words", &all_printable, &longest] {
        let keyed = mock.open().idempotency_key(key);
        let first = keyed.post_data(IMAGE, image(), 202).await;
        assert_eq!(keyed.post_data(IMAGE, image(), 200).await, first, "{key:?}");
        mock.advance(2).await;
    }
}

async fn invalid_keys_are_rejected(mock: Mock) {
    let too_long = "k".repeat(256);
    for key in ["", "a\tb", "schl\u{fc}ssel", "\u{1f511}", &too_long] {
        let keyed = mock.open().idempotency_key(key);
        keyed
            .post_error(VIDEO, video(), 400, "invalid_request")
            .await;
        keyed
            .post_error(IMAGE, image(), 400, "invalid_request")
            .await;
    }
    assert!(mock.jobs().await.is_empty());
}

async fn keys_are_scoped_to_the_operation(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    keyed.post(VIDEO, video()).await.expect(202);
    keyed.post(IMAGE, image()).await.expect(202);
    keyed
        .post(TOP_UPS, json!({"amount_usd_cents": 500}))
        .await
        .expect(201);
}

async fn keys_are_scoped_to_the_workspace(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    let first = keyed.post_data(VIDEO, video(), 202).await;
    let same_workspace = mock.new_open_client("ws_demo").await;
    let same_workspace = same_workspace.idempotency_key("order-1");
    assert_eq!(same_workspace.post_data(VIDEO, video(), 200).await, first);
    let other_workspace = mock.new_open_client("ws_elsewhere").await;
    let other_workspace = other_workspace.idempotency_key("order-1");
    let second = other_workspace.post_data(VIDEO, video(), 202).await;
    assert_ne!(first["job"]["id"], second["job"]["id"]);
}
