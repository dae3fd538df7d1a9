//! Previews of avatar videos, captions of videos, and what is trending.

use serde_json::json;
use svc_tests::{Host, Mock, on_every_face};

use super::{NO_AMOUNTS, amounts, text};

on_every_face! {
    a_preview_costs_nothing,
    a_preview_is_made_again,
    a_preview_becomes_a_video,
    captions_are_webvtt,
    captions_are_of_videos,
    another_workspaces_resources_are_not_found,
    trending_videos_are_found_and_play,
}

const PREVIEWS: &str = "/v1/avatar-video-previews";
const CAPTIONS: &str = "/v1/video-captions";
const TRENDING: &str = "/v1/trending-videos/search";

/// Makes a preview and gives its id.
async fn preview(mock: &Mock) -> String {
    let body = json!({"avatar_handle": "lin", "script": "Hello."});
    let receipt = mock.developer().post(PREVIEWS, body).await;
    let receipt = receipt.expect(202).data();
    let job = text(&receipt["job"]["id"]);
    assert_eq!(amounts(mock, "reservation", &job).await, NO_AMOUNTS);
    text(&receipt["preview"]["id"])
}

async fn a_preview_costs_nothing(mock: Mock) {
    let id = preview(&mock).await;
    assert!(id.starts_with("pre_"), "{id}");
    mock.advance(3).await;
    let path = format!("{PREVIEWS}/{id}");
    let made = mock.developer().get(&path).await.expect(200).data();
    assert_eq!(made["status"], "completed");
    let file = mock.path_of(Host::Media, &made["artifacts"][0]["url"]);
    mock.caller(Host::Media).get(&file).await.expect(200);
    assert!(mock.ledger().await.is_empty());
}

async fn a_preview_is_made_again(mock: Mock) {
    let developer = mock.developer();
    let id = preview(&mock).await;
    let path = format!("{PREVIEWS}/{id}/regenerate");
    let early = developer.post_nothing(&path).await;
    early.refused(409, "job_not_completed");
    mock.advance(3).await;
    let receipt = developer.post_nothing(&path).await.expect(202).data();
    assert_eq!(receipt["preview"]["id"], id.as_str());
    mock.advance(3).await;
    let made = developer.get(&format!("{PREVIEWS}/{id}")).await;
    assert_eq!(made.expect(200).data()["job_id"], receipt["job"]["id"]);
}

async fn a_preview_becomes_a_video(mock: Mock) {
    let developer = mock.developer();
    let id = preview(&mock).await;
    mock.advance(3).await;
    let path = format!("{PREVIEWS}/{id}/generate-video");
    let receipt = developer.post_nothing(&path).await.expect(202).data();
    assert_eq!(receipt["job"]["type"], "avatar_video_generation");
    let job = text(&receipt["job"]["id"]);
    assert_eq!(amounts(&mock, "reservation", &job).await, [2_000]);
    let video = text(&receipt["avatar_video"]["id"]);
    let video = developer.get(&format!("/v1/avatar-videos/{video}")).await;
    assert_eq!(video.expect(200).data()["avatar_handle"], "lin");
    let none = format!("{PREVIEWS}/pre_none/generate-video");
    developer.post_nothing(&none).await.expect(404);
}

async fn captions_are_webvtt(mock: Mock) {
    let developer = mock.developer();
    let body = json!({"video_url": "https://cdn.example.com/a.mp4", "language": "en"});
    let receipt = developer.post(CAPTIONS, body).await.expect(202).data();
    let id = text(&receipt["caption"]["id"]);
    assert!(id.starts_with("cap_"), "{id}");
    mock.advance(3).await;
    let made = developer.get(&format!("{CAPTIONS}/{id}")).await;
    let made = made.expect(200).data();
    assert_eq!(made["status"], "completed");
    let path = mock.path_of(Host::Media, &made["artifacts"][0]["url"]);
    let file = mock.caller(Host::Media).get(&path).await.expect(200);
    assert!(file.text().starts_with("WEBVTT"), "{file:?}");
}

async fn captions_are_of_videos(mock: Mock) {
    for url in [
        "https://cdn.example.com/a.png",
        "http://cdn.example.com/a.mp4",
        "https://127.0.0.1/a.mp4",
    ] {
        let answer = mock
            .developer()
            .post(CAPTIONS, json!({"video_url": url}))
            .await;
        let error = answer.refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], "video_url", "{url}");
    }
}

async fn another_workspaces_resources_are_not_found(mock: Mock) {
    let id = preview(&mock).await;
    mock.advance(3).await;
    let stranger = mock.caller(Host::Developer).bearer("svc_dev_other");
    stranger.get(&format!("{PREVIEWS}/{id}")).await.expect(404);
    for action in ["regenerate", "generate-video"] {
        let path = format!("{PREVIEWS}/{id}/{action}");
        stranger.post_nothing(&path).await.expect(404);
    }
    for path in ["/v1/video-captions/cap_none", "/v1/avatar-videos/avv_none"] {
        stranger.get(path).await.expect(404);
    }
}

async fn trending_videos_are_found_and_play(mock: Mock) {
    let developer = mock.developer();
    let body = json!({"query": "animals", "limit": 1});
    let found = developer.post(TRENDING, body).await.expect(200).items();
    assert_eq!(found.len(), 1);
    assert!(found[0]["views"].as_u64() > Some(0));
    let path = mock.path_of(Host::Media, &found[0]["url"]);
    let file = mock.caller(Host::Media).get(&path).await.expect(200);
    assert_eq!(file.header("content-type"), Some("video/mp4"));
    let body = json!({"query": "animals", "limit": 51});
    let answer = developer.post(TRENDING, body).await;
    answer.refused(400, "invalid_request");
}
