//! Generation on the developer surface: canonical paths, aliases and charges.

use serde_json::{Value, json};
use svc_tests::{Host, Mock, on_every_frontend};

use super::{ledger_amounts, status_of, submit, text, with};

on_every_frontend! {
    a_submit_returns_a_receipt,
    a_job_is_charged,
    a_failed_job_is_refunded,
    a_job_above_the_balance_is_rejected: balance_usd("1.0000"),
    a_replay_returns_the_original_receipt: honors_undocumented_keys(true),
    a_sync_submit_returns_the_completed_job,
    model_aliases_accept_the_same_body,
    an_admission_preview_is_a_read,
}

const IMAGE_1: &str = "/v1/image-1.0/generate";
const VIDEO_1: &str = "/v1/video-1.0/generate";
const MUSIC_1: &str = "/v1/music-1.0/generate";

fn prompt() -> Value {
    json!({"prompt": "a red fox"})
}

async fn a_submit_returns_a_receipt(mock: Mock) {
    let developer = mock.developer();
    for (path, kind, seconds) in [
        (IMAGE_1, "image_generation", 2),
        (VIDEO_1, "video_generation", 8),
        (MUSIC_1, "music_generation", 4),
    ] {
        let receipt = developer.post_data(path, prompt(), 202).await;
        assert_eq!(receipt["job"]["type"], kind);
        assert_eq!(receipt["job"]["status"], "queued");
        for url in ["status_url", "result_url", "cancel_url"] {
            mock.path_of(Host::Developer, &receipt[url]);
        }
        let id = text(&receipt["job"]["id"]);
        mock.advance(seconds).await;
        assert_eq!(status_of(&developer, &id).await, "completed", "{path}");
        let result = mock.path_of(Host::Developer, &receipt["result_url"]);
        let result = developer.get_data(&result).await;
        mock.download(&result["artifacts"][0]["url"]).await;
    }
}

async fn a_job_is_charged(mock: Mock) {
    let body = with(prompt(), json!({"duration": 3}));
    let id = submit(&mock.developer(), VIDEO_1, body).await;
    assert_eq!(ledger_amounts(&mock, "reservation", &id).await, [1_500]);
    mock.advance(8).await;
    assert_eq!(ledger_amounts(&mock, "capture", &id).await, [1_500]);
    let seen = mock.open().get(&format!("/v1/jobs/{id}")).await;
    assert_eq!(seen.expect(200).data()["price_usd"], "0.1500");
}

async fn a_failed_job_is_refunded(mock: Mock) {
    let body = json!({"prompt": "[mock:fail]"});
    let id = submit(&mock.developer(), MUSIC_1, body).await;
    mock.advance(4).await;
    assert_eq!(status_of(&mock.developer(), &id).await, "failed");
    assert_eq!(ledger_amounts(&mock, "refund", &id).await, [3_000]);
}

async fn a_job_above_the_balance_is_rejected(mock: Mock) {
    let expensive = with(prompt(), json!({"duration": 30, "resolution": "1080p"}));
    let error = mock
        .developer()
        .post_error(VIDEO_1, expensive, 402, "insufficient_credits")
        .await;
    assert_eq!(error["next_action"], "add_funds");
    assert_eq!(error["details"]["required_usd"], "6.0000");
    assert_eq!(error["details"]["available_usd"], "1.0000");
    assert!(mock.jobs().await.is_empty());
}

async fn a_replay_returns_the_original_receipt(mock: Mock) {
    let developer = mock.developer().idempotency_key("order-1");
    let first = developer.post_data(IMAGE_1, prompt(), 202).await;
    let replay = developer.post_data(IMAGE_1, prompt(), 200).await;
    assert_eq!(replay, first);
    let other = json!({"prompt": "a grey wolf"});
    developer
        .post_error(IMAGE_1, other, 409, "idempotency_conflict")
        .await;
    assert_eq!(mock.jobs().await.len(), 1);
}

async fn a_sync_submit_returns_the_completed_job(mock: Mock) {
    let body = json!({"prompt": "[mock:seconds=0]", "mode": "sync"});
    let receipt = mock.developer().post_data(IMAGE_1, body, 200).await;
    assert_eq!(receipt["job"]["status"], "completed");
    assert!(receipt["job"]["result"]["artifacts"][0]["url"].is_string());
}

async fn model_aliases_accept_the_same_body(mock: Mock) {
    let developer = mock.developer();
    for model in ["image-1.0", "video-1.0", "music-1.0"] {
        let path = format!("/v1/models/studio/{model}/runs");
        let receipt = developer.post_data(&path, prompt(), 202).await;
        assert_eq!(receipt["job"]["model"], model);
        let other_owner = format!("/v1/models/other/{model}/runs");
        developer.post(&other_owner, prompt()).await.expect(404);
    }
}

async fn an_admission_preview_is_a_read(mock: Mock) {
    let body = json!({"model": "image-1.0", "input": prompt()});
    let response = mock
        .developer()
        .post("/v1/generation/admission-preview", body)
        .await
        .expect(200);
    assert_eq!(response.int_header("ratelimit-limit"), 4_800);
    assert_eq!(response.data()["allowed"], true);
    assert!(mock.jobs().await.is_empty());
}
