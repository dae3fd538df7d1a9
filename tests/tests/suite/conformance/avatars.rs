//! Avatars, talking videos, face swaps, previews and captions.

use super::*;

on_every_frontend! {
    first_party_avatars,
    a_new_avatar,
    a_handle_is_free_again_after_a_failure,
    a_failed_avatar_has_an_error,
    a_sync_submit_returns_the_finished_avatar,
    a_talking_video,
    quality_sets_the_price,
    scenes_are_joined_to_one_script,
    an_avatar_cannot_speak_before_it_is_completed,
    a_face_swap_keeps_the_media_type,
    a_preview,
    a_regenerated_preview_has_new_artifacts,
    a_video_of_a_preview_takes_its_script_and_quality,
    a_failed_preview_can_be_regenerated,
    an_idempotency_key_belongs_to_one_preview: honors_undocumented_keys(true),
    captions,
    a_directive_in_a_caption_url_is_decoded,
    an_avatar_is_made_from_a_prompt_props_or_an_image,
    an_avatar_is_listed_after_completion,
    avatars_are_private_to_their_workspace,
    a_talking_video_has_audio_and_the_reported_duration,
    a_canceled_avatar_video_is_refunded,
    model_aliases_accept_the_same_bodies,
    resources_of_other_workspaces_are_not_found,
}

const GENERATE: &str = "/v1/avatar-1.0/generate";
const TALKING: &str = "/v1/avatar-1.0/talking-video";
const VIDEOS: &str = "/v1/avatar-videos";
const PREVIEWS: &str = "/v1/avatar-video-previews";
const CAPTIONS: &str = "/v1/video-captions";
const CLIP: &str = "https://cdn.example.com/a.mp4";
/// The service time at which each mock starts.
const START: &str = "2027-01-15T08:00:00Z";

async fn submit(mock: &Mock, path: &str, body: Value) -> Value {
    mock.developer().post(path, body).await.expect(202).data()
}

/// Returns the price that was reserved for a receipt's job, in ten-thousandths of a dollar.
async fn reserved(mock: &Mock, receipt: &Value) -> Vec<u64> {
    ledger_amounts(mock, "reservation", &text(&receipt["job"]["id"])).await
}

async fn fetch(mock: &Mock, url: &Value, content_type: &str) -> Response {
    let path = mock.path_of(Host::Media, url);
    let file = mock.client(Host::Media).get(&path).await.expect(200);
    assert_eq!(file.header("content-type"), Some(content_type));
    file
}

async fn first_party_avatars(mock: Mock) {
    let developer = mock.developer();
    let handles = |list: Value| -> Vec<String> {
        let avatars = list.as_array().unwrap().iter();
        avatars
            .map(|avatar| text(&avatar["avatar_handle"]))
            .collect()
    };
    let canonical = handles(developer.get_data("/v1/avatar-1.0/avatars").await);
    assert_eq!(canonical, ["ada", "lin"]);
    let all = handles(developer.get_data("/v1/avatars").await);
    assert_eq!(all.len(), 12);
    let expected = json!({
        "id": "ava_ada", "avatar_handle": "ada", "name": "Ada", "status": "completed",
        "first_party": true, "tags": ["presenter", "business", "studio", "calm"],
        "image_url": format!("{}/artifacts/ava_ada.png", mock.base_url(Host::Media)),
        "created_at": "2025-06-02T09:00:00Z"
    });
    for path in ["/v1/avatars/ava_ada", "/v1/avatar-1.0/avatars/ava_ada"] {
        assert_eq!(developer.get_data(path).await, expected);
    }
    let kofi = developer.get_data("/v1/avatars/ava_kofi").await;
    assert_eq!(kofi["name"], "Kofi");
    fetch(&mock, &kofi["image_url"], "image/png").await;
    for path in ["/v1/avatar-1.0/avatars/ava_kofi", "/v1/avatars/ava_none"] {
        developer.get(path).await.expect_error(404, "not_found");
    }
}

async fn a_new_avatar(mock: Mock) {
    let body = json!({"avatar_handle": "mia", "input": {"prompt": "a calm presenter"}});
    let receipt = submit(&mock, GENERATE, body).await;
    assert_eq!(receipt["job"]["model"], "avatar-1.0");
    let id = text(&receipt["avatar"]["id"]);
    let mut expected = json!({
        "id": id, "avatar_handle": "mia", "name": "Mia", "status": "queued", "first_party": false,
        "tags": [], "image_url": null, "job_id": receipt["job"]["id"], "created_at": START
    });
    assert_eq!(receipt["avatar"], expected);
    mock.advance(5.999).await;
    expected["status"] = json!("processing");
    let path = format!("/v1/avatars/{id}");
    assert_eq!(mock.developer().get_data(&path).await, expected);
    let photo = json!({"photo": "https://cdn.example.com/frontend.png"});
    let body = json!({"avatar_handle": "leo", "input": photo});
    submit(&mock, GENERATE, body).await;
}

async fn generate(mock: &Mock, prompt: &str) -> Response {
    let body = json!({"avatar_handle": "mia", "input": {"prompt": prompt}});
    mock.developer().post(GENERATE, body).await
}

async fn a_handle_is_free_again_after_a_failure(mock: Mock) {
    generate(&mock, "[mock:fail]").await.expect(202);
    generate(&mock, "x")
        .await
        .expect_error(400, "invalid_request");
    mock.advance(6).await;
    let receipt = generate(&mock, "x").await.expect(202).data();
    mock.advance(6).await;
    let path = format!("/v1/avatars/{}", text(&receipt["avatar"]["id"]));
    assert_eq!(
        mock.developer().get_data(&path).await["status"],
        "completed"
    );
    let listed = mock.developer().get_data("/v1/avatar-1.0/avatars").await;
    assert_eq!(listed.as_array().map(Vec::len), Some(3), "{listed}");
}

async fn a_failed_avatar_has_an_error(mock: Mock) {
    let input = json!({"props": {"like": "[mock:fail]"}});
    let body = json!({"avatar_handle": "mia", "input": input});
    let receipt = submit(&mock, GENERATE, body).await;
    mock.advance(6).await;
    let path = format!("/v1/avatars/{}", text(&receipt["avatar"]["id"]));
    let avatar = mock.developer().get_data(&path).await;
    assert_eq!(avatar["status"], "failed");
    assert_eq!(avatar["error"]["code"], "generation_failed");
}

async fn a_sync_submit_returns_the_finished_avatar(mock: Mock) {
    let body = json!({
        "avatar_handle": "mia", "input": {"prompt": "[mock:seconds=0]"}, "mode": "sync"
    });
    let response = mock.developer().post(GENERATE, body).await.expect(200);
    let avatar = response.data()["avatar"].take();
    assert_eq!(avatar["status"], "completed");
    assert!(avatar["image_url"].is_string(), "{avatar}");
}

async fn a_talking_video(mock: Mock) {
    let script = "Good morning. Here is what is new this week, and why it matters.";
    let body = json!({"avatar_handle": "ada", "script": script});
    let receipt = submit(&mock, TALKING, body).await;
    assert_eq!(receipt["job"]["type"], "avatar_video_generation");
    assert_eq!(reserved(&mock, &receipt).await, [5_000]);
    let id = text(&receipt["avatar_video"]["id"]);
    let mut expected = json!({
        "id": id, "status": "queued", "avatar_handle": "ada", "script": script, "quality": "plus",
        "duration_seconds": 5, "preview_id": null, "job_id": receipt["job"]["id"],
        "artifacts": [], "created_at": START
    });
    assert_eq!(receipt["avatar_video"], expected);
    mock.advance(8).await;
    let video = mock.developer().get_data(&format!("{VIDEOS}/{id}")).await;
    let artifact = &video["artifacts"][0];
    fetch(&mock, &artifact["url"], "video/mp4").await;
    expected["status"] = json!("completed");
    expected["artifacts"] = json!([{
        "id": artifact["id"], "url": artifact["url"],
        "media_type": "video", "content_type": "video/mp4"
    }]);
    assert_eq!(video, expected);
}

async fn quality_sets_the_price(mock: Mock) {
    for (handle, quality, price) in [
        ("lin", "standard", 1_000),
        ("ada", "plus", 2_000),
        ("kofi", "max", 4_000),
    ] {
        let body = json!({"avatar_handle": handle, "script": "Hi.", "quality": quality});
        let receipt = submit(&mock, TALKING, body).await;
        assert_eq!(reserved(&mock, &receipt).await, [price], "{quality}");
    }
}

async fn scenes_are_joined_to_one_script(mock: Mock) {
    let body = json!({
        "avatar_handle": "ada",
        "video_inputs": [{"script": "One."}, {"text": "Two.", "camera": "close"}, {}],
        "product_image": "https://cdn.example.com/shoe.png",
        "scene": {"image_url": "https://cdn.example.com/beach.jpg", "light": "evening"},
        "metadata": {"campaign": "[mock:fail]"}
    });
    let receipt = submit(&mock, TALKING, body).await;
    assert_eq!(receipt["avatar_video"]["script"], "One. Two.");
    mock.advance(8).await;
    // A directive in the metadata has no effect.
    let listed = mock.developer().get_data(VIDEOS).await;
    assert_eq!(listed[0]["status"], "completed");
}

async fn an_avatar_cannot_speak_before_it_is_completed(mock: Mock) {
    let mia = json!({"avatar_handle": "mia", "input": {"prompt": "x"}});
    submit(&mock, "/v1/models/studio/avatar/v1.0/runs", mia).await;
    let body = json!({"avatar_handle": "mia", "script": "Hi."});
    let early = mock.developer().post(TALKING, body.clone()).await;
    early.expect_error(400, "invalid_request");
    mock.advance(6).await;
    submit(&mock, TALKING, body).await;
}

async fn a_face_swap_keeps_the_media_type(mock: Mock) {
    let path = "/v1/models/studio/avatar-face-swap/v1.0/runs";
    for (field, url, content_type) in [
        ("video_url", CLIP, "video/mp4"),
        ("image_url", "https://cdn.example.com/a.png", "image/png"),
    ] {
        let receipt = submit(&mock, path, json!({"avatar_handle": "ada", field: url})).await;
        mock.advance(8).await;
        let result = format!("/v1/jobs/{}/result", text(&receipt["job"]["id"]));
        let result = mock.developer().get_data(&result).await;
        assert_eq!(result["artifacts"][0]["content_type"], content_type);
    }
}

async fn new_preview(mock: &Mock, script: &str) -> String {
    let body = json!({"avatar_handle": "ada", "script": script, "quality": "max"});
    let receipt = submit(mock, PREVIEWS, body).await;
    assert_eq!(receipt["job"]["type"], "avatar_video_preview");
    text(&receipt["preview"]["id"])
}

async fn a_preview(mock: Mock) {
    let developer = mock.developer();
    let script = "Good morning. ".repeat(20);
    let id = new_preview(&mock, &script).await;
    mock.advance(3).await;
    let preview = developer.get_data(&format!("{PREVIEWS}/{id}")).await;
    let artifact = &preview["artifacts"][0];
    let expected = json!({
        "id": id, "status": "completed", "avatar_handle": "ada", "quality": "max",
        "script": script, "duration_seconds": 3, "job_id": preview["job_id"],
        "created_at": START,
        "artifacts": [{
            "id": artifact["id"], "url": artifact["url"],
            "media_type": "video", "content_type": "video/mp4"
        }]
    });
    assert_eq!(preview, expected);
    assert!(id.starts_with("pre_"), "{id}");
    assert!(mock.ledger().await.is_empty(), "a preview is free");
    // A preview cannot be read as captions.
    for path in [
        format!("{CAPTIONS}/{id}"),
        format!("{PREVIEWS}/pre_none"),
        format!("{VIDEOS}/avv_none"),
    ] {
        developer.get(&path).await.expect_error(404, "not_found");
    }
}

async fn a_regenerated_preview_has_new_artifacts(mock: Mock) {
    let developer = mock.developer();
    let id = new_preview(&mock, "Hi.").await;
    let path = format!("{PREVIEWS}/{id}");
    let regenerate = format!("{path}/regenerate");
    let early = developer.post_empty(&regenerate).await;
    let error = early.expect_error(409, "job_not_completed");
    assert_eq!(error["details"]["status"], "queued");
    mock.advance(3).await;
    let first = developer.get_data(&path).await;
    let receipt = developer.post_empty(&regenerate).await.expect(202).data();
    assert_eq!(receipt["preview"]["status"], "queued");
    assert_eq!(receipt["preview"]["job_id"], receipt["job"]["id"]);
    mock.advance(3).await;
    let second = developer.get_data(&path).await;
    assert_ne!(second["artifacts"], first["artifacts"]);
}

async fn a_video_of_a_preview_takes_its_script_and_quality(mock: Mock) {
    let developer = mock.developer();
    let id = new_preview(&mock, "Hi.").await;
    let path = format!("{PREVIEWS}/{id}/generate-video");
    let early = developer.post(&path, json!({})).await;
    early.expect_error(409, "job_not_completed");
    mock.advance(3).await;
    let receipt = submit(&mock, &path, json!({"metadata": {"x": 1}})).await;
    assert_eq!(reserved(&mock, &receipt).await, [4_000]);
    let video = &receipt["avatar_video"];
    assert_eq!(
        (&video["preview_id"], &video["quality"]),
        (&json!(id), &json!("max"))
    );
    let response = developer.post(&path, json!({"script": "Other."})).await;
    let error = response.expect_error(400, "invalid_request");
    assert_eq!(error["details"]["field"], "script");
}

async fn a_failed_preview_can_be_regenerated(mock: Mock) {
    let id = new_preview(&mock, "[mock:fail]").await;
    mock.advance(3).await;
    let video = format!("{PREVIEWS}/{id}/generate-video");
    let response = mock.developer().post(&video, json!({})).await;
    let error = response.expect_error(409, "job_not_completed");
    assert_eq!(error["details"]["status"], "failed");
    submit(&mock, &format!("{PREVIEWS}/{id}/regenerate"), json!({})).await;
}

async fn an_idempotency_key_belongs_to_one_preview(mock: Mock) {
    let one = new_preview(&mock, "One.").await;
    let other = new_preview(&mock, "Two.").await;
    mock.advance(3).await;
    let keyed = mock.developer().idempotency_key("order-1");
    let regenerate = async |id: &str| {
        let path = format!("{PREVIEWS}/{id}/regenerate");
        keyed.post(&path, json!({})).await
    };
    let first = regenerate(&one).await.expect(202).data();
    assert_eq!(regenerate(&one).await.expect(200).data(), first);
    let conflict = regenerate(&other).await;
    conflict.expect_error(409, "idempotency_conflict");
}

async fn captions(mock: Mock) {
    let body = json!({"video_url": CLIP, "language": "de-AT"});
    let receipt = submit(&mock, CAPTIONS, body).await;
    assert_eq!(receipt["job"]["type"], "video_captions");
    assert_eq!(reserved(&mock, &receipt).await, [500]);
    let id = text(&receipt["caption"]["id"]);
    mock.advance(3).await;
    let caption = mock.developer().get_data(&format!("{CAPTIONS}/{id}")).await;
    let artifact = &caption["artifacts"][0];
    let expected = json!({
        "id": id, "status": "completed", "video_url": CLIP, "language": "de-AT",
        "job_id": receipt["job"]["id"], "created_at": START,
        "artifacts": [{
            "id": artifact["id"], "url": artifact["url"],
            "media_type": "text", "content_type": "text/vtt; charset=utf-8"
        }]
    });
    assert_eq!(caption, expected);
    let file = fetch(&mock, &artifact["url"], "text/vtt; charset=utf-8").await;
    let vtt = file.text();
    assert!(
        vtt.starts_with("WEBVTT") && vtt.contains("Willkommen"),
        "{vtt}"
    );
}

async fn a_directive_in_a_caption_url_is_decoded(mock: Mock) {
    let url = "https://cdn.example.com/%5Bmock:fail%5D.mp4";
    let receipt = submit(&mock, CAPTIONS, json!({"video_url": url})).await;
    mock.advance(3).await;
    let path = format!("{CAPTIONS}/{}", text(&receipt["caption"]["id"]));
    assert_eq!(mock.developer().get_data(&path).await["status"], "failed");
}

const LISTS: [&str; 2] = ["/v1/avatar-1.0/avatars", "/v1/avatars"];

fn avatar_body() -> Value {
    json!({"avatar_handle": "mia", "input": {"prompt": "a calm presenter"}})
}

fn talking_video_body() -> Value {
    json!({"avatar_handle": "ada", "script": "Good morning. Here is what is new this week."})
}

async fn handles(mock: &Mock, list: &str) -> Vec<String> {
    let avatars = mock.developer().get_items(list).await;
    avatars
        .iter()
        .map(|avatar| text(&avatar["avatar_handle"]))
        .collect()
}

async fn an_avatar_is_made_from_a_prompt_props_or_an_image(mock: Mock) {
    for (handle, input) in [
        ("mia", json!({"prompt": "a calm presenter"})),
        ("leo", json!({"props": {"age": 30, "hair": "red"}})),
        (
            "eve",
            json!({"image_url": "https://cdn.example.com/frontend.png"}),
        ),
    ] {
        let receipt = submit(
            &mock,
            GENERATE,
            json!({"avatar_handle": handle, "input": input}),
        )
        .await;
        assert_eq!(receipt["job"]["type"], "avatar_generation");
        assert!(text(&receipt["avatar"]["id"]).starts_with("ava_"));
    }
}

async fn an_avatar_is_listed_after_completion(mock: Mock) {
    let developer = mock.developer();
    let receipt = developer.post_data(GENERATE, avatar_body(), 202).await;
    let path = format!("/v1/avatars/{}", text(&receipt["avatar"]["id"]));
    let early = developer.get_data(&path).await;
    assert_eq!(early["status"], "queued");
    for list in LISTS {
        assert!(!handles(&mock, list).await.contains(&"mia".to_owned()));
    }
    mock.advance(6).await;
    for list in LISTS {
        assert_eq!(handles(&mock, list).await[0], "mia");
    }
    let created = developer.get_data(&path).await;
    assert_eq!(created["status"], "completed");
    mock.download(&created["image_url"]).await;
}

async fn avatars_are_private_to_their_workspace(mock: Mock) {
    let receipt = mock.developer().post(GENERATE, avatar_body()).await;
    let id = text(&receipt.expect(202).data()["avatar"]["id"]);
    mock.advance(6).await;
    let other = mock.developer_as("svc_dev_other");
    for list in LISTS {
        other.get(&format!("{list}/{id}")).await.expect(404);
        let seen = other.get_items(list).await;
        assert!(seen.iter().all(|avatar| avatar["id"] != id.as_str()));
    }
    other.post(GENERATE, avatar_body()).await.expect(202);
}

async fn a_talking_video_has_audio_and_the_reported_duration(mock: Mock) {
    let developer = mock.developer();
    let receipt = developer
        .post_data(TALKING, talking_video_body(), 202)
        .await;
    let id = text(&receipt["avatar_video"]["id"]);
    assert!(id.starts_with("avv_"), "{id}");
    mock.advance(8).await;
    let video = developer.get_data(&format!("/v1/avatar-videos/{id}")).await;
    assert_eq!(video["status"], "completed");
    let file = mock.download(&video["artifacts"][0]["url"]).await;
    let movie = mp4(file.body());
    assert!(movie.has_audio());
    let reported = video["duration_seconds"].as_f64().unwrap();
    assert!((movie.seconds - reported).abs() < 0.1, "{movie:?}");
    let listed = developer.get("/v1/avatar-videos").await.expect(200);
    assert_eq!(listed.items(), [video]);
}

async fn a_canceled_avatar_video_is_refunded(mock: Mock) {
    let developer = mock.developer();
    let receipt = developer
        .post_data(TALKING, talking_video_body(), 202)
        .await;
    let cancel = mock.path_of(Host::Developer, &receipt["cancel_url"]);
    developer.post_empty(&cancel).await.expect(200);
    let job = text(&receipt["job"]["id"]);
    assert_eq!(
        ledger_amounts(&mock, "refund", &job).await,
        ledger_amounts(&mock, "reservation", &job).await
    );
    let id = text(&receipt["avatar_video"]["id"]);
    let video = developer.get(&format!("/v1/avatar-videos/{id}")).await;
    assert_eq!(video.expect(200).data()["status"], "canceled");
}

async fn model_aliases_accept_the_same_bodies(mock: Mock) {
    let developer = mock.developer();
    let swap = json!({"avatar_handle": "ada", "video_url": CLIP});
    let prompt = || json!({"prompt": "a red fox"});
    let zoe = with(avatar_body(), json!({"avatar_handle": "zoe"}));
    for (alias, body, kind) in [
        ("avatar/v1.0", avatar_body(), "avatar_generation"),
        ("avatar-1.0/generate", zoe, "avatar_generation"),
        (
            "avatar-1.0/talking-video",
            talking_video_body(),
            "avatar_video_generation",
        ),
        (
            "avatar-video/v1.0",
            talking_video_body(),
            "avatar_video_generation",
        ),
        ("avatar-face-swap/v1.0", swap, "avatar_face_swap"),
        ("image-1.0", prompt(), "image_generation"),
        ("video-1.0", prompt(), "video_generation"),
        ("music-1.0", prompt(), "music_generation"),
    ] {
        let path = format!("/v1/models/studio/{alias}/runs");
        let receipt = developer.post_data(&path, body.clone(), 202).await;
        assert_eq!(receipt["job"]["type"], kind, "{alias}");
        let path = format!("/v1/models/other/{alias}/runs");
        developer.post(&path, body).await.expect(404);
    }
}

async fn resources_of_other_workspaces_are_not_found(mock: Mock) {
    let id = new_preview(&mock, "Hi.").await;
    mock.advance(3).await;
    let other = mock.developer_as("svc_dev_other");
    other.get(&format!("{PREVIEWS}/{id}")).await.expect(404);
    for action in ["regenerate", "generate-video"] {
        let path = format!("{PREVIEWS}/{id}/{action}");
        other.post_empty(&path).await.expect(404);
    }
}
