//! Generation on the developer surface: the canonical paths, their aliases, and what they cost.

use serde_json::{Value, json};
use svc_tests::{Host, Mock, on_every_face};

use super::{amounts, status_of, submit, text, with};

on_every_face! {
    a_submit_answers_with_a_receipt,
    a_job_is_paid_from_the_ledger,
    a_job_that_fails_is_refunded,
    a_workspace_without_cover_is_refused: balance_usd("1.0000"),
    a_key_sent_again_gets_the_original,
    a_sync_submit_answers_with_the_whole_job,
    fields_that_come_from_the_key_are_refused,
    an_alias_takes_the_same_body,
    an_alias_of_another_owner_is_not_found,
    an_admission_preview_is_a_read,
}

const IMAGE_1: &str = "/v1/image-1.0/generate";
const VIDEO_1: &str = "/v1/video-1.0/generate";
const MUSIC_1: &str = "/v1/music-1.0/generate";

fn fox() -> Value {
    json!({"prompt": "a red fox"})
}

async fn a_submit_answers_with_a_receipt(mock: Mock) {
    let developer = mock.developer();
    for (path, kind, seconds) in [
        (IMAGE_1, "image_generation", 2),
        (VIDEO_1, "video_generation", 8),
        (MUSIC_1, "music_generation", 4),
    ] {
        let receipt = developer.post(path, fox()).await.expect(202).data();
        assert_eq!(receipt["job"]["type"], kind);
        assert_eq!(receipt["job"]["status"], "queued");
        for url in ["status_url", "result_url", "cancel_url"] {
            mock.path_of(Host::Developer, &receipt[url]);
        }
        let id = text(&receipt["job"]["id"]);
        mock.advance(seconds).await;
        assert_eq!(status_of(&developer, &id).await, "completed", "{path}");
        let result = mock.path_of(Host::Developer, &receipt["result_url"]);
        let result = developer.get(&result).await.expect(200).data();
        let file = mock.path_of(Host::Media, &result["artifacts"][0]["url"]);
        mock.caller(Host::Media).get(&file).await.expect(200);
    }
}

async fn a_job_is_paid_from_the_ledger(mock: Mock) {
    let body = with(fox(), json!({"duration": 3}));
    let id = submit(&mock.developer(), VIDEO_1, body).await;
    assert_eq!(amounts(&mock, "reservation", &id).await, [1_500]);
    mock.advance(8).await;
    assert_eq!(amounts(&mock, "capture", &id).await, [1_500]);
    let seen = mock.open().get(&format!("/v1/jobs/{id}")).await;
    assert_eq!(seen.expect(200).data()["price_usd"], "0.1500");
}

async fn a_job_that_fails_is_refunded(mock: Mock) {
    let body = json!({"prompt": "[mock:fail]"});
    let id = submit(&mock.developer(), MUSIC_1, body).await;
    mock.advance(4).await;
    assert_eq!(status_of(&mock.developer(), &id).await, "failed");
    assert_eq!(amounts(&mock, "refund", &id).await, [3_000]);
}

async fn a_workspace_without_cover_is_refused(mock: Mock) {
    let dear = with(fox(), json!({"duration": 30, "resolution": "1080p"}));
    let answer = mock.developer().post(VIDEO_1, dear).await;
    let error = answer.refused(402, "insufficient_credits");
    assert_eq!(error["next_action"], "add_funds");
    assert_eq!(error["details"]["required_usd"], "6.0000");
    assert_eq!(error["details"]["available_usd"], "1.0000");
    assert!(mock.jobs().await.is_empty());
}

async fn a_key_sent_again_gets_the_original(mock: Mock) {
    let developer = mock.developer().idempotency_key("order-1");
    let first = developer.post(IMAGE_1, fox()).await.expect(202).data();
    let again = developer.post(IMAGE_1, fox()).await.expect(200).data();
    assert_eq!(again, first);
    let other = json!({"prompt": "a grey wolf"});
    let answer = developer.post(IMAGE_1, other).await;
    answer.refused(409, "idempotency_conflict");
    assert_eq!(mock.jobs().await.len(), 1);
}

async fn a_sync_submit_answers_with_the_whole_job(mock: Mock) {
    let body = json!({"prompt": "[mock:seconds=0]", "mode": "sync"});
    let receipt = mock.developer().post(IMAGE_1, body).await;
    let receipt = receipt.expect(200).data();
    assert_eq!(receipt["job"]["status"], "completed");
    assert!(receipt["job"]["result"]["artifacts"][0]["url"].is_string());
}

async fn fields_that_come_from_the_key_are_refused(mock: Mock) {
    for field in ["workspace_id", "owner_user_id", "user_id"] {
        for path in [IMAGE_1, VIDEO_1, MUSIC_1] {
            let mut body = fox();
            body[field] = json!("ws_other");
            let answer = mock.developer().post(path, body).await;
            let error = answer.refused(400, "invalid_request");
            assert_eq!(error["details"]["field"], field, "{path}");
        }
    }
}

async fn an_alias_takes_the_same_body(mock: Mock) {
    let developer = mock.developer();
    for model in ["image-1.0", "video-1.0", "music-1.0"] {
        let path = format!("/v1/models/studio/{model}/runs");
        let receipt = developer.post(&path, fox()).await.expect(202).data();
        assert_eq!(receipt["job"]["model"], model);
    }
}

async fn an_alias_of_another_owner_is_not_found(mock: Mock) {
    let developer = mock.developer();
    for model in ["image-1.0", "video-1.0", "music-1.0"] {
        let path = format!("/v1/models/nobody/{model}/runs");
        developer.post(&path, fox()).await.expect(404);
    }
}

async fn an_admission_preview_is_a_read(mock: Mock) {
    let body = json!({"model": "image-1.0", "input": fox()});
    let answer = mock
        .developer()
        .post("/v1/generation/admission-preview", body)
        .await
        .expect(200);
    assert_eq!(answer.number("ratelimit-limit"), 4_800);
    assert_eq!(answer.data()["allowed"], true);
    assert!(mock.jobs().await.is_empty());
}
