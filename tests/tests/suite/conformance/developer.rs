//! Checks of all operations of the developer surface that require a key and no scope.

use super::*;

on_every_frontend! {
    a_developer_key_is_required,
    no_scope_is_required,
    unknown_resources_are_not_found,
    unknown_fields_are_rejected,
}

const READS: [&str; 12] = [
    "/v1/me",
    "/v1/balance",
    "/v1/usage",
    "/v1/avatar-1.0/avatars",
    "/v1/avatar-1.0/avatars/ava_x",
    "/v1/avatars",
    "/v1/avatars/ava_x",
    "/v1/avatar-videos",
    "/v1/avatar-videos/avv_x",
    "/v1/avatar-video-previews/pre_x",
    "/v1/video-captions/cap_x",
    "/v1/jobs/job_x/events",
];

const WRITES: [&str; 19] = [
    "/v1/avatar-1.0/generate",
    "/v1/avatar-1.0/talking-video",
    "/v1/image-1.0/generate",
    "/v1/video-1.0/generate",
    "/v1/music-1.0/generate",
    "/v1/models/studio/avatar/v1.0/runs",
    "/v1/models/studio/avatar-1.0/generate/runs",
    "/v1/models/studio/avatar-1.0/talking-video/runs",
    "/v1/models/studio/avatar-video/v1.0/runs",
    "/v1/models/studio/avatar-face-swap/v1.0/runs",
    "/v1/models/studio/image-1.0/runs",
    "/v1/models/studio/video-1.0/runs",
    "/v1/models/studio/music-1.0/runs",
    "/v1/avatar-catalog/search",
    "/v1/avatar-video-previews",
    "/v1/video-captions",
    "/v1/trending-videos/search",
    "/v1/generation/admission-preview",
    "/v1/avatar-video-previews/pre_x/regenerate",
];

async fn send_all(client: &Client) -> Vec<Response> {
    let mut responses = Vec::new();
    for path in READS {
        responses.push(client.get(path).await);
    }
    for path in WRITES {
        responses.push(client.post(path, json!({})).await);
    }
    responses
}

async fn a_developer_key_is_required(mock: Mock) {
    let anonymous = mock.client(Host::Developer);
    let open_key = mock.developer_as("svc_open_demo");
    let revoked = mock.client(Host::Developer).api_key("svc_revoked");
    let two_keys = mock.developer().api_key("svc_dev_demo");
    for client in [anonymous, open_key, revoked, two_keys] {
        for response in send_all(&client).await {
            let error = response.expect_error(401, "unauthorized");
            assert_eq!(error["next_action"], "authenticate");
        }
    }
}

async fn no_scope_is_required(mock: Mock) {
    let client = mock.developer_as("svc_dev_noscope");
    for response in send_all(&client).await {
        let status = response.status();
        assert!([200, 400, 404].contains(&status), "{response:?}");
    }
}

async fn unknown_resources_are_not_found(mock: Mock) {
    let developer = mock.developer();
    for path in READS.iter().filter(|path| path.contains("_x")) {
        developer.get(path).await.expect(404);
    }
    for action in ["regenerate", "generate-video"] {
        let path = format!("/v1/avatar-video-previews/pre_x/{action}");
        developer.post_empty(&path).await.expect(404);
    }
}

async fn unknown_fields_are_rejected(mock: Mock) {
    for path in WRITES.iter().filter(|path| !path.contains("pre_x")) {
        for field in ["colour", "workspace_id", "owner_user_id", "user_id"] {
            mock.developer()
                .post(path, json!({field: "x"}))
                .await
                .expect_invalid_field(field);
        }
    }
    assert!(mock.jobs().await.is_empty());
}
