//! Previews of avatar videos, captions, and trending videos.

use serde_json::json;
use svc_tests::{Mock, on_every_frontend};

use super::{NO_AMOUNTS, ledger_amounts, text};

on_every_frontend! {
    a_preview_is_free,
    a_preview_can_be_regenerated,
    a_preview_can_be_turned_into_a_video,
    captions_are_webvtt,
    captions_require_a_public_video_url,
    resources_of_other_workspaces_are_not_found,
    trending_videos_can_be_searched_and_downloaded,
}

const PREVIEWS: &str = "/v1/avatar-video-previews";
const CAPTIONS: &str = "/v1/video-captions";
const TRENDING: &str = "/v1/trending-videos/search";

/// Creates a preview and returns its id.
async fn create_preview(mock: &Mock) -> String {
    let body = json!({"avatar_handle": "lin", "script": "Hello."});
    let receipt = mock.developer().post_data(PREVIEWS, body, 202).await;
    let job = text(&receipt["job"]["id"]);
    assert_eq!(ledger_amounts(mock, "reservation", &job).await, NO_AMOUNTS);
    text(&receipt["preview"]["id"])
}

async fn a_preview_is_free(mock: Mock) {
    let id = create_preview(&mock).await;
    assert!(id.starts_with("pre_"), "{id}");
    mock.advance(3).await;
    let path = format!("{PREVIEWS}/{id}");
    let created = mock.developer().get_data(&path).await;
    assert_eq!(created["status"], "completed");
    mock.download(&created["artifacts"][0]["url"]).await;
    assert!(mock.ledger().await.is_empty());
}

async fn a_preview_can_be_regenerated(mock: Mock) {
    let developer = mock.developer();
    let id = create_preview(&mock).await;
    let path = format!("{PREVIEWS}/{id}/regenerate");
    developer
        .post_empty(&path)
        .await
        .expect_error(409, "job_not_completed");
    mock.advance(3).await;
    let receipt = developer.post_empty(&path).await.expect(202).data();
    assert_eq!(receipt["preview"]["id"], id.as_str());
    mock.advance(3).await;
    let created = developer.get(&format!("{PREVIEWS}/{id}")).await;
    assert_eq!(created.expect(200).data()["job_id"], receipt["job"]["id"]);
}

async fn a_preview_can_be_turned_into_a_video(mock: Mock) {
    let developer = mock.developer();
    let id = create_preview(&mock).await;
    mock.advance(3).await;
    let path = format!("{PREVIEWS}/{id}/generate-video");
    let receipt = developer.post_empty(&path).await.expect(202).data();
    assert_eq!(receipt["job"]["type"], "avatar_video_generation");
    let job = text(&receipt["job"]["id"]);
    assert_eq!(ledger_amounts(&mock, "reservation", &job).await, [2_000]);
    let video = text(&receipt["avatar_video"]["id"]);
    let video = developer.get(&format!("/v1/avatar-videos/{video}")).await;
    assert_eq!(video.expect(200).data()["avatar_handle"], "lin");
    let unknown = format!("{PREVIEWS}/pre_none/generate-video");
    developer.post_empty(&unknown).await.expect(404);
}

async fn captions_are_webvtt(mock: Mock) {
    let developer = mock.developer();
    let body = json!({"video_url": "https://cdn.example.com/a.mp4", "language": "en"});
    let receipt = developer.post_data(CAPTIONS, body, 202).await;
    let id = text(&receipt["caption"]["id"]);
    assert!(id.starts_with("cap_"), "{id}");
    mock.advance(3).await;
    let created = developer.get_data(&format!("{CAPTIONS}/{id}")).await;
    assert_eq!(created["status"], "completed");
    let file = mock.download(&created["artifacts"][0]["url"]).await;
    assert!(file.text().starts_with("WEBVTT"), "{file:?}");
}

async fn captions_require_a_public_video_url(mock: Mock) {
    for url in [
        "https://cdn.example.com/a.png",
        "http://cdn.example.com/a.mp4",
        "https://127.0.0.1/a.mp4",
    ] {
        mock.developer()
            .post(CAPTIONS, json!({"video_url": url}))
            .await
            .expect_invalid_field("video_url");
    }
}

async fn resources_of_other_workspaces_are_not_found(mock: Mock) {
    let id = create_preview(&mock).await;
    mock.advance(3).await;
    let other = mock.developer_as("svc_dev_other");
    other.get(&format!("{PREVIEWS}/{id}")).await.expect(404);
    for action in ["regenerate", "generate-video"] {
        let path = format!("{PREVIEWS}/{id}/{action}");
        other.post_empty(&path).await.expect(404);
    }
    for path in ["/v1/video-captions/cap_none", "/v1/avatar-videos/avv_none"] {
        other.get(path).await.expect(404);
    }
}

async fn trending_videos_can_be_searched_and_downloaded(mock: Mock) {
    let developer = mock.developer();
    let body = json!({"query": "animals", "limit": 1});
    let videos = developer.post(TRENDING, body).await.expect(200).items();
    assert_eq!(videos.len(), 1);
    assert!(videos[0]["views"].as_u64() > Some(0));
    let file = mock.download(&videos[0]["url"]).await;
    assert_eq!(file.header("content-type"), Some("video/mp4"));
    let body = json!({"query": "animals", "limit": 51});
    developer
        .post_error(TRENDING, body, 400, "invalid_request")
        .await;
}
