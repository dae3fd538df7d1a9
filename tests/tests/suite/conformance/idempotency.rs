//! `Idempotency-Key`: one key, one job; kept for a day, for a workspace and an operation.

use serde_json::json;
use svc_tests::{Host, Mock, on_every_face};

use super::{
    IMAGE, TOP_UPS, VIDEO, amounts, available, image, status_of, submit, text, video, with, without,
};

on_every_face! {
    a_retry_gets_the_original_receipt,
    the_receipt_is_replayed_as_it_was_at_the_time,
    a_retry_costs_nothing,
    retries_at_the_same_time_make_one_job,
    without_a_key_each_submit_is_a_job_of_its_own,
    a_key_used_for_a_different_request_is_a_conflict,
    a_create_that_is_refused_releases_its_key,
    a_create_without_funds_releases_its_key: balance_usd("1.0000"),
    a_key_is_kept_for_a_day,
    keys_of_1_to_255_printable_characters_are_taken,
    other_keys_are_refused,
    each_operation_has_its_own_keys,
    all_keys_of_a_workspace_share_them,
    each_workspace_has_its_own,
}

async fn a_retry_gets_the_original_receipt(mock: Mock) {
    for (path, body) in [(VIDEO, video()), (IMAGE, image())] {
        let keyed = mock.open().idempotency_key("order-1");
        let first = keyed.post(path, body.clone()).await.expect(202).data();
        let again = keyed.post(path, body.clone()).await.expect(200).data();
        assert_eq!(first, again);
        assert_eq!(keyed.post(path, body).await.expect(200).data(), first);
    }
    assert_eq!(mock.jobs().await.len(), 2);
}

async fn the_receipt_is_replayed_as_it_was_at_the_time(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    let first = keyed.post(VIDEO, video()).await.expect(202).data();
    let id = text(&first["job"]["id"]);
    mock.advance(8).await;
    assert_eq!(status_of(&mock.open(), &id).await, "completed");
    assert_eq!(keyed.post(VIDEO, video()).await.expect(200).data(), first);
}

async fn a_retry_costs_nothing(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    let id = submit(&keyed, VIDEO, video()).await;
    let before = mock.ledger().await;
    keyed.post(VIDEO, video()).await.expect(200);
    assert_eq!(mock.ledger().await, before);
    assert_eq!(amounts(&mock, "reservation", &id).await, [1_250]);
}

async fn retries_at_the_same_time_make_one_job(mock: Mock) {
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let keyed = mock.open().idempotency_key("order-1");
        calls.spawn(async move { keyed.post(VIDEO, video()).await });
    }
    let answers = calls.join_all().await;
    let created = answers.iter().filter(|answer| answer.status() == 202);
    assert_eq!(created.count(), 1, "{answers:?}");
    for answer in answers.iter().filter(|answer| answer.status() != 202) {
        let in_use = answer.status() == 409 && answer.code() == "idempotency_key_in_use";
        assert!(answer.status() == 200 || in_use, "{answer:?}");
    }
    let jobs = mock.jobs().await;
    assert_eq!(jobs.len(), 1);
    assert_eq!(
        amounts(&mock, "reservation", &text(&jobs[0]["id"])).await,
        [1_250]
    );
}

async fn without_a_key_each_submit_is_a_job_of_its_own(mock: Mock) {
    let open = mock.open();
    let first = submit(&open, VIDEO, video()).await;
    let second = submit(&open, VIDEO, video()).await;
    assert_ne!(first, second);
}

async fn a_key_used_for_a_different_request_is_a_conflict(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    let first = keyed.post(VIDEO, video()).await.expect(202).data();
    for other in [
        with(video(), json!({"prompt": "a blue fox"})),
        with(video(), json!({"duration": 3})),
        with(video(), json!({"seed": 1})),
        without(video(), "duration"),
    ] {
        keyed
            .post(VIDEO, other)
            .await
            .refused(409, "idempotency_conflict");
    }
    assert_eq!(keyed.post(VIDEO, video()).await.expect(200).data(), first);
    assert_eq!(mock.jobs().await.len(), 1);
}

async fn a_create_that_is_refused_releases_its_key(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    keyed
        .post(VIDEO, without(video(), "prompt"))
        .await
        .refused(400, "invalid_request");
    keyed.post(VIDEO, video()).await.expect(202);
    keyed.post(VIDEO, video()).await.expect(200);
}

async fn a_create_without_funds_releases_its_key(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    let dear = with(video(), json!({"duration": 30}));
    keyed
        .post(VIDEO, dear)
        .await
        .refused(402, "insufficient_funds");
    keyed.post(VIDEO, video()).await.expect(202);
    assert_eq!(available(&mock.open()).await, "0.8750");
}

async fn a_key_is_kept_for_a_day(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    let first = keyed.post(VIDEO, video()).await.expect(202).data();
    mock.advance(86_399).await;
    assert_eq!(keyed.post(VIDEO, video()).await.expect(200).data(), first);
    mock.advance(2).await;
    let second = keyed.post(VIDEO, video()).await.expect(202).data();
    assert_ne!(first["job"]["id"], second["job"]["id"]);
    assert_eq!(keyed.post(VIDEO, video()).await.expect(200).data(), second);
}

async fn keys_of_1_to_255_printable_characters_are_taken(mock: Mock) {
    let longest = "k".repeat(255);
    let every: String = (b'!'..=b'~').map(char::from).collect();
    for key in ["a", "two words", &every, &longest] {
        let keyed = mock.open().idempotency_key(key);
        let first = keyed.post(IMAGE, image()).await.expect(202).data();
        assert_eq!(
            keyed.post(IMAGE, image()).await.expect(200).data(),
            first,
            "{key:?}"
        );
        mock.advance(2).await;
    }
}

async fn other_keys_are_refused(mock: Mock) {
    let too_long = "k".repeat(256);
    for key in ["", "a\tb", "schl\u{fc}ssel", "\u{1f511}", &too_long] {
        let keyed = mock.open().idempotency_key(key);
        keyed
            .post(VIDEO, video())
            .await
            .refused(400, "invalid_request");
        keyed
            .post(IMAGE, image())
            .await
            .refused(400, "invalid_request");
    }
    assert!(mock.jobs().await.is_empty());
}

async fn each_operation_has_its_own_keys(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    keyed.post(VIDEO, video()).await.expect(202);
    keyed.post(IMAGE, image()).await.expect(202);
    keyed
        .post(TOP_UPS, json!({"amount_usd_cents": 500}))
        .await
        .expect(201);
}

async fn all_keys_of_a_workspace_share_them(mock: Mock) {
    let first = mock
        .open()
        .idempotency_key("order-1")
        .post(VIDEO, video())
        .await
        .expect(202)
        .data();
    let key = mock
        .new_key(json!({"kind": "open", "workspace": "ws_demo"}))
        .await;
    let colleague = mock
        .caller(Host::Open)
        .api_key(&key)
        .idempotency_key("order-1");
    assert_eq!(
        colleague.post(VIDEO, video()).await.expect(200).data(),
        first
    );
}

async fn each_workspace_has_its_own(mock: Mock) {
    let first = mock
        .open()
        .idempotency_key("order-1")
        .post(VIDEO, video())
        .await
        .expect(202)
        .data();
    let key = mock
        .new_key(json!({"kind": "open", "workspace": "ws_elsewhere"}))
        .await;
    let stranger = mock
        .caller(Host::Open)
        .bearer(&key)
        .idempotency_key("order-1");
    let second = stranger.post(VIDEO, video()).await.expect(202).data();
    assert_ne!(first["job"]["id"], second["job"]["id"]);
}
