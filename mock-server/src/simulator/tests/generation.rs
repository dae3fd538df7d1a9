//! Images, videos and music by the canonical paths and their aliases.

use serde_json::{Value, json};

use super::{Answer, Mock};
use crate::engine::Host;

const IMAGE_1: &str = "/v1/image-1.0/generate";
const VIDEO_1: &str = "/v1/video-1.0/generate";
const MUSIC_1: &str = "/v1/music-1.0/generate";
const PREVIEW: &str = "/v1/generation/admission-preview";

fn prompt(text: &str) -> Value {
    json!({"prompt": text})
}

fn post(mock: &mut Mock, path: &str, body: Value) -> Answer {
    mock.developer().post(path, body)
}

#[test]
fn a_submit_has_the_receipt_of_the_routers() {
    let mut mock = Mock::new();
    let body = json!({"prompt": "a red fox", "metadata": {"order": 7}});
    let answer = post(&mut mock, VIDEO_1, body);
    let receipt = answer.data(202);
    let id = receipt["job"]["id"].as_str().unwrap();
    let url = |end: &str| format!("http://127.0.0.1:4011/v1/jobs/{id}/{end}");
    let expected = json!({
        "request_id": answer.header("x-svc-request-id"),
        "job": {
            "id": id, "status": "queued", "type": "video_generation", "model": "video-1.0",
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
            "metadata": {"order": 7}
        },
        "status_url": url("status"), "result_url": url("result"), "cancel_url": url("cancel"),
        "next_poll_after_seconds": 4
    });
    assert_eq!(receipt, expected);
}

#[test]
fn each_model_makes_its_files_in_its_time_and_at_its_price() {
    let rows = [
        (
            IMAGE_1,
            json!({"num_images": 3}),
            2,
            "0.0300",
            "image/png",
            3,
        ),
        (VIDEO_1, json!({"duration": 3}), 8, "0.1500", "video/mp4", 1),
        (
            MUSIC_1,
            json!({"duration": 12}),
            4,
            "0.1200",
            "audio/wav",
            1,
        ),
    ];
    for (path, more, seconds, price, content_type, files) in rows {
        let mut mock = Mock::new();
        let mut body = prompt("x");
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let receipt = post(&mut mock, path, body).data(202);
        let id = receipt["job"]["id"].as_str().unwrap();
        assert_eq!(
            mock.developer().get("/v1/balance").data(200)["reserved_usd"],
            price
        );
        mock.pass(seconds * 1000 - 1);
        let status = |mock: &mut Mock| {
            let path = format!("/v1/jobs/{id}/status");
            mock.developer().get(&path).data(200)["status"].take()
        };
        assert_eq!(status(&mut mock), "processing", "{path}");
        mock.pass(1);
        assert_eq!(status(&mut mock), "completed", "{path}");
        let result = mock
            .developer()
            .get(&format!("/v1/jobs/{id}/result"))
            .data(200);
        let artifacts = result["artifacts"].as_array().unwrap();
        assert_eq!(artifacts.len(), files, "{path}");
        let url = artifacts[0]["url"].as_str().unwrap();
        let file = mock
            .ask(Host::Media)
            .get(url.strip_prefix("http://127.0.0.1:4012").unwrap());
        assert_eq!(
            (file.status(), file.header("content-type")),
            (200, content_type)
        );
        mock.books_are_balanced();
    }
}

#[test]
fn a_submit_without_cover_is_told_to_add_funds() {
    let mut mock = Mock::new();
    let rich = json!({"prompt": "x", "duration": 30, "resolution": "1080p"});
    for _ in 0..16 {
        post(&mut mock, VIDEO_1, rich.clone()).data(202);
    }
    let error = post(&mut mock, VIDEO_1, rich).refused(402, "insufficient_credits");
    assert_eq!(error["next_action"], "add_funds");
    assert_eq!(
        error["details"],
        json!({"required_usd": "6.0000", "available_usd": "4.0000"})
    );
}

#[test]
fn a_key_sent_again_gets_the_first_receipt() {
    let mut mock = Mock::new();
    let mut send = |path: &str, text: &str| mock.developer().once("k").post(path, prompt(text));
    let first = send(MUSIC_1, "a waltz").data(202);
    assert_eq!(send(MUSIC_1, "a waltz").data(200), first);
    send(MUSIC_1, "a polka").refused(409, "idempotency_conflict");
    assert_ne!(send(IMAGE_1, "a waltz").data(202)["job"], first["job"]);
}

#[test]
fn magic_words_and_fields_count_as_on_the_routers() {
    let mut mock = Mock::new();
    let rows = [
        (IMAGE_1, json!({}), "prompt"),
        (IMAGE_1, json!({"prompt": " "}), "prompt"),
        (IMAGE_1, json!({"prompt": "x", "model": "image-i"}), "model"),
        (
            IMAGE_1,
            json!({"prompt": "x", "num_images": 5}),
            "num_images",
        ),
        (VIDEO_1, json!({"prompt": "x", "duration": 31}), "duration"),
        (
            VIDEO_1,
            json!({"prompt": "x", "owner_user_id": "u"}),
            "owner_user_id",
        ),
        (
            VIDEO_1,
            json!({"prompt": "x", "mode": "webhook"}),
            "webhook_url",
        ),
        (MUSIC_1, json!({"prompt": "x", "duration": 4}), "duration"),
        (
            MUSIC_1,
            json!({"prompt": "x", "resolution": "720p"}),
            "resolution",
        ),
    ];
    for (path, body, field) in rows {
        let error = post(&mut mock, path, body).refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], field, "{path}");
    }
    let refused = prompt("[mock:refuse=provider_unavailable]");
    post(&mut mock, MUSIC_1, refused).refused(400, "provider_unavailable");
    let failing = post(&mut mock, MUSIC_1, prompt("[mock:fail]")).data(202);
    mock.pass(4_000);
    let id = failing["job"]["id"].as_str().unwrap();
    assert_eq!(mock.status(id), "failed");
}

#[test]
fn a_refusal_at_will_tells_what_its_code_always_tells() {
    let mut mock = Mock::new();
    for (code, status, details) in [
        ("attachment_fetch_failed", 502, json!({"index": 0})),
        ("rate_limited", 429, json!({"scope": "write"})),
        (
            "attachment_too_large",
            413,
            json!({"limit_bytes": 30_000_000}),
        ),
    ] {
        let answer = post(&mut mock, MUSIC_1, prompt(&format!("[mock:refuse={code}]")));
        assert_eq!(answer.refused(status, code)["details"], details, "{code}");
    }
}

#[test]
fn an_alias_is_its_canonical_operation_under_the_first_party_owner() {
    let mut mock = Mock::new();
    for (alias, model, job_type) in [
        ("image-1.0", "image-1.0", "image_generation"),
        ("video-1.0", "video-1.0", "video_generation"),
        ("music-1.0", "music-1.0", "music_generation"),
    ] {
        let path = format!("/v1/models/studio/{alias}/runs");
        let receipt = post(&mut mock, &path, prompt("x")).data(202);
        let job = &receipt["job"];
        assert_eq!(
            (&job["model"], &job["type"]),
            (&json!(model), &json!(job_type))
        );
        post(&mut mock, &path, json!({})).refused(400, "invalid_request");
        let path = format!("/v1/models/somebody/{alias}/runs");
        post(&mut mock, &path, json!({})).refused(404, "model_not_found");
    }
}

#[test]
fn an_admission_preview_submits_nothing_and_counts_as_a_read() {
    let mut mock = Mock::new();
    let body = json!({"model": "video-1.0", "input": {"prompt": "x", "duration": 10}});
    let answer = post(&mut mock, PREVIEW, body);
    assert_eq!(answer.header("ratelimit-limit"), "4800");
    let expected = json!({
        "allowed": true, "reason": null, "model": "video-1.0", "estimated_usd": "0.5000",
        "available_usd": "100.0000",
        "generation_limits": {"concurrent_jobs": 100, "in_flight": 0}
    });
    assert_eq!(answer.data(200), expected);
    assert!(mock.simulator.jobs().is_empty());
    let bad = json!({"model": "video-1.0", "input": {"prompt": "x", "duration": 1}});
    let error = post(&mut mock, PREVIEW, bad).refused(400, "invalid_request");
    assert_eq!(error["details"]["field"], "input.duration");
    post(&mut mock, PREVIEW, json!({"model": "video-9"})).refused(400, "invalid_request");
}
