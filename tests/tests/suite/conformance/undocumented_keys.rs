//! Idempotency keys of operations that do not document them.

use serde_json::{Value, json};
use svc_tests::{Mock, on_every_frontend};

use super::runs::Kind;
use super::{VIDEO_URL, ledger_amounts, text};

on_every_frontend! {
    a_repeated_submit_creates_and_charges_a_second_job,
    a_repeated_run_of_an_action_is_a_second_run,
    another_body_is_not_a_conflict,
    a_lenient_mock_replays_submits: honors_undocumented_keys(true),
    the_setting_is_part_of_the_state,
    malformed_keys_are_rejected_by_every_operation_with_a_body,
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
