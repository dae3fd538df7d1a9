//! `Idempotency-Key` of submits, which is valid for a day per workspace and operation, and of
//! operations that do not document it.

use super::runs::{BULK, Kind};
use super::*;

on_every_frontend! {
    a_replay_returns_the_original_receipt,
    a_replay_is_not_charged,
    concurrent_retries_create_one_job,
    reusing_a_key_for_a_different_request_is_a_conflict,
    a_rejected_submit_releases_its_key,
    a_submit_without_funds_releases_its_key: balance_usd("1.0000"),
    a_key_expires_after_a_day,
    keys_of_1_to_255_printable_characters_are_accepted,
    invalid_keys_are_rejected,
    keys_are_scoped_to_the_operation,
    keys_are_scoped_to_the_workspace,
    a_repeated_submit_creates_and_charges_a_second_job,
    a_repeated_run_of_an_action_is_a_second_run,
    another_body_is_not_a_conflict,
    a_lenient_mock_replays_submits: honors_undocumented_keys(true),
    the_setting_is_part_of_the_state,
    malformed_keys_are_rejected_by_every_operation_with_a_body,
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
    mock.advance(86_399.999).await;
    assert_eq!(keyed.post_data(VIDEO, video(), 200).await, first);
    mock.advance(0.001).await;
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

const MUSIC_1: &str = "/v1/music-1.0/generate";
const PREVIEWS: &str = "/v1/avatar-video-previews";

/// Returns submits whose idempotency is not documented.
fn submits() -> Vec<(&'static str, Value)> {
    let prompt = json!({"prompt": "a red fox"});
    let script = json!({"avatar_handle": "ada", "script": "Hello."});
    vec![
        ("/v1/image-1.0/generate", prompt.clone()),
        ("/v1/video-1.0/generate", prompt.clone()),
        (MUSIC_1, prompt.clone()),
        ("/v1/models/studio/image-1.0/runs", prompt),
        (PREVIEWS, script),
        ("/v1/video-captions", json!({"video_url": VIDEO_URL})),
    ]
}

async fn a_repeated_submit_creates_and_charges_a_second_job(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    for (path, body) in submits() {
        let first = keyed.post_data(path, body.clone(), 202).await;
        let second = keyed.post_data(path, body, 202).await;
        let ids = [&first, &second].map(|receipt| text(&receipt["job"]["id"]));
        assert_ne!(ids[0], ids[1], "{path}");
        let charged = [
            ledger_amounts(&mock, "reservation", &ids[0]).await,
            ledger_amounts(&mock, "reservation", &ids[1]).await,
        ];
        assert_eq!(charged[0], charged[1], "{path}");
        mock.advance(30).await;
    }
    assert_eq!(mock.jobs().await.len(), 2 * submits().len());
}

async fn a_repeated_run_of_an_action_is_a_second_run(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    let start = || keyed.post_data(Kind::Action.start(), Kind::Action.body("x"), 202);
    let (first, second) = (start().await, start().await);
    assert_ne!(first["run_id"], second["run_id"]);
}

async fn another_body_is_not_a_conflict(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    for prompt in ["a waltz", "a march"] {
        keyed
            .post(MUSIC_1, json!({"prompt": prompt}))
            .await
            .expect(202);
    }
}

async fn a_lenient_mock_replays_submits(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    for (path, body) in submits() {
        let first = keyed.post_data(path, body.clone(), 202).await;
        assert_eq!(keyed.post_data(path, body, 200).await, first, "{path}");
        mock.advance(30).await;
    }
    assert_eq!(mock.jobs().await.len(), submits().len());
    keyed
        .post_error(
            MUSIC_1,
            json!({"prompt": "a march"}),
            409,
            "idempotency_conflict",
        )
        .await;
    let (path, body) = (Kind::Action.start(), Kind::Action.body("x"));
    let first = keyed.post_data(path, body.clone(), 202).await;
    assert_eq!(keyed.post_data(path, body, 200).await, first);
}

async fn the_setting_is_part_of_the_state(mock: Mock) {
    let lenient = svc_tests::Setup::default().honors_undocumented_keys(true);
    let lenient = mock.start_another(lenient).await;
    mock.put_state(lenient.state().await).await.expect_success();
    let keyed = mock.developer().idempotency_key("order-1");
    let submit = |status| keyed.post_data(MUSIC_1, json!({"prompt": "a waltz"}), status);
    let first = submit(202).await;
    assert_eq!(submit(200).await, first);
}

async fn malformed_keys_are_rejected_by_every_operation_with_a_body(mock: Mock) {
    let submitted = mock
        .developer()
        .post_data(MUSIC_1, json!({"prompt": "a waltz"}), 202)
        .await;
    let cancel = format!("/v1/jobs/{}/cancel", text(&submitted["job"]["id"]));
    let mut requests = submits();
    requests.extend([
        (Kind::Action.start(), Kind::Action.body("x")),
        (Kind::Format.start(), Kind::Format.body("x")),
        (Kind::Agent.start(), Kind::Agent.body("x")),
        (BULK, json!({"items": [{"instruction": "x"}]})),
        (cancel.as_str(), json!({})),
        ("/v1/bgm/pick", json!({})),
        ("/v1/generation/admission-preview", json!({})),
        ("/v1/webhooks/signing-secret/rotate", json!({})),
        ("/v1/webhooks/test-deliveries", json!({})),
        ("/mcp", json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})),
    ]);
    let too_long = "k".repeat(256);
    for key in ["", "a\tb", "schl\u{fc}ssel", &too_long] {
        let client = mock.developer().idempotency_key(key);
        for (path, body) in &requests {
            let response = client.post(path, body.clone()).await;
            response.expect_invalid_field("Idempotency-Key");
        }
        let estimate = json!({"model": "image-i", "input": {"prompt": "x"}});
        let response = mock.open().idempotency_key(key);
        let response = response.post(super::ESTIMATE, estimate).await;
        response.expect_invalid_field("Idempotency-Key");
        // Reads have no body.
        client.get("/v1/jobs").await.expect(200);
    }
    assert_eq!(mock.jobs().await.len(), 1);
}
