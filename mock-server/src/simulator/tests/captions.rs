//! The captions of videos.

use serde_json::json;

use super::Mock;

const CAPTIONS: &str = "/v1/video-captions";
const CLIP: &str = "https://cdn.example.com/a.mp4";

#[test]
fn captions_are_webvtt_in_the_language_that_was_asked_for() {
    let mut mock = Mock::new();
    let receipt = mock.order(CAPTIONS, json!({"video_url": CLIP, "language": "de-AT"}));
    let id = receipt["caption"]["id"].as_str().unwrap();
    assert_eq!(receipt["job"]["type"], "video_captions");
    assert_eq!(mock.read("/v1/balance")["reserved_usd"], "0.0500");
    mock.pass(3_000);
    let made = mock.read(&format!("{CAPTIONS}/{id}"));
    let expected = json!({
        "id": id, "status": "completed", "video_url": CLIP, "language": "de-AT",
        "job_id": receipt["job"]["id"], "created_at": "2026-01-01T00:00:00Z",
        "artifacts": [{
            "id": made["artifacts"][0]["id"], "url": made["artifacts"][0]["url"],
            "media_type": "text", "content_type": "text/vtt; charset=utf-8"
        }]
    });
    assert_eq!(made, expected);
    let file = mock.file(&made["artifacts"][0]["url"]);
    let text = String::from_utf8_lossy(file.0.response.body()).into_owned();
    assert!(
        text.starts_with("WEBVTT") && text.contains("Willkommen"),
        "{text}"
    );
}

#[test]
fn what_is_no_video_or_no_language_is_refused() {
    let mut mock = Mock::new();
    let rows = [
        (json!({}), "video_url"),
        (
            json!({"video_url": "https://cdn.example.com/a.png"}),
            "video_url",
        ),
        (
            json!({"video_url": "http://cdn.example.com/a.mp4"}),
            "video_url",
        ),
        (json!({"video_url": "https://127.0.0.1/a.mp4"}), "video_url"),
        (
            json!({"video_url": CLIP, "language": "english"}),
            "language",
        ),
        (json!({"video_url": CLIP, "format": "srt"}), "format"),
    ];
    for (body, field) in rows {
        let error = mock
            .developer()
            .post(CAPTIONS, body)
            .refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], field);
    }
}

#[test]
fn a_magic_word_may_be_in_the_address() {
    let mut mock = Mock::new();
    let clip = "https://cdn.example.com/%5Bmock:fail%5D.mp4";
    let receipt = mock.order(CAPTIONS, json!({"video_url": clip}));
    mock.pass(3_000);
    let id = receipt["caption"]["id"].as_str().unwrap();
    assert_eq!(mock.read(&format!("{CAPTIONS}/{id}"))["status"], "failed");
}
