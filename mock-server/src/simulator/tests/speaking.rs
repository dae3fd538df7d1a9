//! Talking videos and swapped faces.

use serde_json::json;

use super::Mock;

const TALKING: &str = "/v1/avatar-1.0/talking-video";
const SWAP: &str = "/v1/models/studio/avatar-face-swap/v1.0/runs";
const VIDEOS: &str = "/v1/avatar-videos";

#[test]
fn a_script_becomes_a_video_of_its_length() {
    let mut mock = Mock::new();
    let script = "Good morning. Here is what is new this week, and why it matters.";
    let receipt = mock.order(TALKING, json!({"avatar_handle": "ada", "script": script}));
    let id = receipt["avatar_video"]["id"].as_str().unwrap();
    let job = &receipt["job"];
    assert_eq!(job["type"], "avatar_video_generation");
    let mut expected = json!({
        "id": id, "status": "queued", "avatar_handle": "ada", "script": script, "quality": "plus",
        "duration_seconds": 5, "preview_id": null, "job_id": job["id"], "artifacts": [],
        "created_at": "2026-01-01T00:00:00Z"
    });
    assert_eq!(receipt["avatar_video"], expected);
    let balance = mock.read("/v1/balance");
    assert_eq!(balance["reserved_usd"], "0.5000", "5 seconds of 10 credits");
    mock.pass(8_000);
    let made = mock.read(&format!("{VIDEOS}/{id}"));
    let file = mock.file(&made["artifacts"][0]["url"]);
    assert_eq!(file.header("content-type"), "video/mp4");
    expected["status"] = json!("completed");
    expected["artifacts"] = json!([{
        "id": made["artifacts"][0]["id"], "url": made["artifacts"][0]["url"],
        "media_type": "video", "content_type": "video/mp4"
    }]);
    assert_eq!(made, expected);
    assert_eq!(mock.read(VIDEOS), json!([expected]));
}

#[test]
fn quality_decides_on_the_size_and_the_price() {
    for (quality, price) in [
        ("standard", "0.1000"),
        ("plus", "0.2000"),
        ("max", "0.4000"),
    ] {
        let mut mock = Mock::new();
        let body = json!({"avatar_handle": "lin", "script": "Hi.", "quality": quality});
        mock.order(TALKING, body);
        assert_eq!(mock.read("/v1/balance")["reserved_usd"], price, "{quality}");
    }
}

#[test]
fn scenes_say_their_texts_one_after_the_other() {
    let mut mock = Mock::new();
    let body = json!({
        "avatar_handle": "ada",
        "video_inputs": [{"script": "One."}, {"text": "Two.", "camera": "close"}, {}],
        "product_image": "https://cdn.example.com/shoe.png",
        "scene": {"image_url": "https://cdn.example.com/beach.jpg", "light": "evening"},
        "metadata": {"campaign": "[mock:fail]"}
    });
    let receipt = mock.order(TALKING, body);
    assert_eq!(receipt["avatar_video"]["script"], "One. Two.");
    mock.pass(8_000);
    assert_eq!(mock.read(VIDEOS)[0]["status"], "completed");
}

#[test]
fn a_talking_video_takes_exactly_one_of_script_and_scenes() {
    let mut mock = Mock::new();
    let with = |more: serde_json::Value| {
        let mut body = json!({"avatar_handle": "ada", "script": "Hi."});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let rows = [
        (json!({"avatar_handle": "ada"}), "script"),
        (json!({"script": "Hi."}), "avatar_handle"),
        (with(json!({"avatar_handle": "nobody"})), "avatar_handle"),
        (with(json!({"script": "  "})), "script"),
        (
            with(json!({"video_inputs": [{"script": "Hi."}]})),
            "video_inputs",
        ),
        (
            json!({"avatar_handle": "ada", "video_inputs": []}),
            "video_inputs",
        ),
        (
            json!({"avatar_handle": "ada", "video_inputs": ["Hi."]}),
            "video_inputs[0]",
        ),
        (with(json!({"quality": "ultra"})), "quality"),
        (with(json!({"product_image": "ftp://x"})), "product_image"),
        (with(json!({"product_image": 7})), "product_image"),
        (
            with(json!({"scene": {"image_url": "https://localhost/a.png"}})),
            "scene.image_url",
        ),
        (with(json!({"prompt": "x"})), "prompt"),
        (with(json!({"workspace_id": "ws_other"})), "workspace_id"),
    ];
    for (body, field) in rows {
        let error = mock
            .developer()
            .post(TALKING, body.clone())
            .refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], field, "{body}");
    }
    assert!(mock.simulator.jobs().is_empty());
}

#[test]
fn an_avatar_speaks_once_it_is_made() {
    let mut mock = Mock::new();
    let mia = json!({"avatar_handle": "mia", "input": {"prompt": "x"}});
    mock.order("/v1/models/studio/avatar/v1.0/runs", mia);
    let body = json!({"avatar_handle": "mia", "script": "Hi."});
    let early = mock.developer().post(TALKING, body.clone());
    early.refused(400, "invalid_request");
    mock.pass(6_000);
    mock.order("/v1/models/studio/avatar-video/v1.0/runs", body.clone());
    mock.order("/v1/models/studio/avatar-1.0/talking-video/runs", body);
    assert_eq!(mock.read(VIDEOS).as_array().map(Vec::len), Some(2));
}

#[test]
fn a_face_goes_into_a_video_or_an_image() {
    let mut mock = Mock::new();
    let (clip, still) = (
        "https://cdn.example.com/a.mp4",
        "https://cdn.example.com/a.png",
    );
    for (field, url, content_type) in [
        ("video_url", clip, "video/mp4"),
        ("image_url", still, "image/png"),
    ] {
        let receipt = mock.order(SWAP, json!({"avatar_handle": "ada", field: url}));
        assert_eq!(receipt["job"]["type"], "avatar_face_swap");
        mock.pass(8_000);
        let id = receipt["job"]["id"].as_str().unwrap();
        let result = mock.read(&format!("/v1/jobs/{id}/result"));
        assert_eq!(result["artifacts"][0]["content_type"], content_type);
    }
    for (body, field) in [
        (json!({"avatar_handle": "ada"}), "video_url"),
        (
            json!({"avatar_handle": "ada", "video_url": clip, "image_url": still}),
            "image_url",
        ),
        (
            json!({"avatar_handle": "zoe", "video_url": clip}),
            "avatar_handle",
        ),
    ] {
        let error = mock
            .developer()
            .post(SWAP, body)
            .refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], field);
    }
}
