//! Previews of avatar videos.

use serde_json::json;

use super::Mock;

const PREVIEWS: &str = "/v1/avatar-video-previews";

fn preview(mock: &mut Mock, script: &str) -> String {
    let body = json!({"avatar_handle": "ada", "script": script, "quality": "max"});
    let receipt = mock.order(PREVIEWS, body);
    assert_eq!(receipt["job"]["type"], "avatar_video_preview");
    receipt["preview"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_preview_is_free_short_and_small() {
    let mut mock = Mock::new();
    let id = preview(&mut mock, &"Good morning. ".repeat(20));
    assert_eq!(mock.read("/v1/usage"), json!([]));
    mock.pass(3_000);
    let made = mock.read(&format!("{PREVIEWS}/{id}"));
    let expected = json!({
        "id": id, "status": "completed", "avatar_handle": "ada", "quality": "max",
        "script": "Good morning. ".repeat(20), "duration_seconds": 3, "job_id": made["job_id"],
        "created_at": "2026-01-01T00:00:00Z",
        "artifacts": [{
            "id": made["artifacts"][0]["id"], "url": made["artifacts"][0]["url"],
            "media_type": "video", "content_type": "video/mp4"
        }]
    });
    assert_eq!(made, expected);
    mock.file(&made["artifacts"][0]["url"]);
    for path in [
        "/v1/avatar-video-previews/pre_none",
        "/v1/avatar-videos/avv_none",
    ] {
        mock.developer().get(path).refused(404, "not_found");
    }
    let other_kind = format!("/v1/video-captions/{id}");
    mock.developer().get(&other_kind).refused(404, "not_found");
}

#[test]
fn a_preview_is_made_again_under_its_id() {
    let mut mock = Mock::new();
    let id = preview(&mut mock, "Hi.");
    let path = format!("{PREVIEWS}/{id}/regenerate");
    let early = mock.developer().send("POST", &path, "");
    let error = early.refused(409, "job_not_completed");
    assert_eq!(error["details"]["status"], "queued");
    mock.pass(3_000);
    let first = mock.read(&format!("{PREVIEWS}/{id}"));
    let receipt = mock.developer().send("POST", &path, "").data(202);
    assert_eq!(receipt["preview"]["id"], id.as_str());
    assert_eq!(receipt["preview"]["status"], "queued");
    assert_eq!(receipt["preview"]["job_id"], receipt["job"]["id"]);
    mock.pass(3_000);
    let second = mock.read(&format!("{PREVIEWS}/{id}"));
    assert_ne!(second["artifacts"], first["artifacts"]);
    mock.books_are_balanced();
}

#[test]
fn a_video_is_made_from_a_completed_preview() {
    let mut mock = Mock::new();
    let id = preview(&mut mock, "Hi.");
    let path = format!("{PREVIEWS}/{id}/generate-video");
    let early = mock.developer().post(&path, json!({}));
    early.refused(409, "job_not_completed");
    mock.pass(3_000);
    let receipt = mock.order(&path, json!({"metadata": {"x": 1}}));
    assert_eq!(receipt["job"]["type"], "avatar_video_generation");
    let video = &receipt["avatar_video"];
    assert_eq!(
        (&video["preview_id"], &video["quality"]),
        (&json!(id), &json!("max"))
    );
    let error = mock
        .developer()
        .post(&path, json!({"script": "Other."}))
        .refused(400, "invalid_request");
    assert_eq!(error["details"]["field"], "script");
    let none = format!("{PREVIEWS}/pre_none/generate-video");
    mock.developer()
        .post(&none, json!({}))
        .refused(404, "not_found");
}

#[test]
fn a_failed_preview_can_be_made_again_and_gives_no_video() {
    let mut mock = Mock::new();
    let id = preview(&mut mock, "[mock:fail]");
    mock.pass(3_000);
    let video = format!("{PREVIEWS}/{id}/generate-video");
    let error = mock
        .developer()
        .post(&video, json!({}))
        .refused(409, "job_not_completed");
    assert_eq!(error["details"]["status"], "failed");
    mock.order(&format!("{PREVIEWS}/{id}/regenerate"), json!({}));
}

#[test]
fn a_key_belongs_to_the_preview_that_it_was_used_for() {
    let mut mock = Mock::new();
    let (one, other) = (preview(&mut mock, "One."), preview(&mut mock, "Two."));
    mock.pass(3_000);
    let mut again = |id: &str| {
        let path = format!("{PREVIEWS}/{id}/regenerate");
        mock.developer().once("k").post(&path, json!({}))
    };
    let first = again(&one).data(202);
    assert_eq!(again(&one).data(200), first);
    again(&other).refused(409, "idempotency_conflict");
}
