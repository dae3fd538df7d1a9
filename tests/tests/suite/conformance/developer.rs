//! What holds for every operation of the developer surface that needs a key and no scope.

use serde_json::json;
use svc_tests::{Answer, Caller, Host, Mock, on_every_face};

on_every_face! {
    a_key_of_this_host_is_needed,
    a_key_without_scopes_is_enough,
    what_is_not_there_is_not_found,
    a_field_that_is_not_known_is_refused,
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

async fn answers(caller: &Caller) -> Vec<Answer> {
    let mut answers = Vec::new();
    for path in READS {
        answers.push(caller.get(path).await);
    }
    for path in WRITES {
        answers.push(caller.post(path, json!({})).await);
    }
    answers
}

async fn a_key_of_this_host_is_needed(mock: Mock) {
    let anonymous = mock.caller(Host::Developer);
    let foreign = mock.caller(Host::Developer).bearer("svc_open_demo");
    let revoked = mock.caller(Host::Developer).api_key("svc_revoked");
    let two = mock.developer().api_key("svc_dev_demo");
    for caller in [anonymous, foreign, revoked, two] {
        for answer in answers(&caller).await {
            let error = answer.refused(401, "unauthorized");
            assert_eq!(error["next_action"], "authenticate");
        }
    }
}

async fn a_key_without_scopes_is_enough(mock: Mock) {
    let caller = mock.caller(Host::Developer).bearer("svc_dev_noscope");
    for answer in answers(&caller).await {
        assert!(
            [200, 400, 404].contains(&answer.status()),
            "it is judged by what it asks for:\n{answer:?}"
        );
    }
}

async fn what_is_not_there_is_not_found(mock: Mock) {
    let developer = mock.developer();
    for path in READS.iter().filter(|path| path.contains("_x")) {
        developer.get(path).await.expect(404);
    }
    for action in ["regenerate", "generate-video"] {
        let path = format!("/v1/avatar-video-previews/pre_x/{action}");
        developer.post_nothing(&path).await.expect(404);
    }
}

async fn a_field_that_is_not_known_is_refused(mock: Mock) {
    for path in WRITES.iter().filter(|path| !path.contains("pre_x")) {
        for field in ["colour", "workspace_id", "owner_user_id", "user_id"] {
            let answer = mock.developer().post(path, json!({field: "x"})).await;
            let error = answer.refused(400, "invalid_request");
            assert_eq!(error["details"]["field"], field, "{path}");
        }
    }
    assert!(mock.jobs().await.is_empty());
}
