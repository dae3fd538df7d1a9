//! Jobs over their life.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus};

use super::{IMAGE, Mock, VIDEO, image, video};
use crate::engine::ControlError;

fn poll(mock: &mut Mock, id: &str) -> Value {
    mock.open().get(&format!("/v1/jobs/{id}/status")).data(200)
}

#[test]
fn a_job_goes_from_the_queue_to_its_result() {
    let mut mock = Mock::new();
    let id = mock.submit(VIDEO, video("x"));
    let mut seen = Vec::new();
    for millis in [0, 799, 1, 3_200, 3_500, 499, 1] {
        mock.pass(millis);
        let status = poll(&mut mock, &id);
        seen.push(json!([
            status["status"],
            status["terminal"],
            status["next_poll_after_seconds"]
        ]));
    }
    let expected = json!([
        ["queued", false, 4],
        ["queued", false, 3.601],
        ["processing", false, 3.6],
        ["processing", false, 2],
        ["processing", false, 0.5],
        ["processing", false, 0.001],
        ["completed", true, 0]
    ]);
    assert_eq!(json!(seen), expected);
    let done = json!({
        "job_id": id, "status": "completed", "terminal": true, "result_ready": true, "next_poll_after_seconds": 0
    });
    assert_eq!(poll(&mut mock, &id), done);
}

#[test]
fn a_completed_job_has_its_artifacts_in_envelope_and_result() {
    let mut mock = Mock::new();
    let body = json!({"model": "image-i", "prompt": "x", "num_images": 2});
    let id = mock.submit(IMAGE, body);
    let path = format!("/v1/jobs/{id}/result");
    let error = mock.open().get(&path).refused(409, "job_not_completed");
    assert_eq!(
        (&error["details"], &error["retry_after_seconds"]),
        (&json!({"status": "queued"}), &json!(1))
    );
    mock.pass(2_000);
    let result = mock.open().get(&path).data(200);
    assert_eq!(
        (&result["job_id"], &result["status"]),
        (&json!(id), &json!("completed"))
    );
    let artifacts = result["artifacts"].as_array().unwrap();
    assert_eq!(artifacts.len(), 2);
    for artifact in artifacts {
        assert!(artifact["id"].as_str().unwrap().starts_with("art_"));
        let url = artifact["url"].as_str().unwrap();
        assert!(
            url.starts_with("http://127.0.0.1:4012/artifacts/") && url.ends_with(".png"),
            "{url}"
        );
        assert_eq!(
            (&artifact["media_type"], &artifact["content_type"]),
            (&json!("image"), &json!("image/png"))
        );
    }
    let envelope = mock.developer().get(&format!("/v1/jobs/{id}")).data(200);
    assert_eq!(envelope["result"]["artifacts"], result["artifacts"]);
    assert_eq!(envelope["updated_at"], "2026-01-01T00:00:02Z");
}

#[test]
fn a_job_that_fails_says_why() {
    let mut mock = Mock::new();
    let id = mock.submit(
        VIDEO,
        video("[mock:fail=provider_unavailable][mock:seconds=1.5]"),
    );
    mock.pass(1_500);
    let error = json!({
        "code": "provider_unavailable", "message": "job failed: provider_unavailable",
        "details": {"retryable": true}
    });
    let result = mock.open().get(&format!("/v1/jobs/{id}/result")).data(200);
    assert_eq!(
        result,
        json!({"job_id": id, "status": "failed", "artifacts": [], "error": error})
    );
    let envelope = mock.open().get(&format!("/v1/jobs/{id}")).data(200);
    assert_eq!((&envelope["error"], envelope.get("result")), (&error, None));
    let plain = mock.submit(VIDEO, video("[mock:fail] [mock:seconds=0]"));
    let result = mock
        .open()
        .get(&format!("/v1/jobs/{plain}/result"))
        .data(200);
    assert_eq!(result["error"]["code"], "generation_failed");
}

#[test]
fn cancel_works_until_generation_starts_and_is_idempotent() {
    let mut mock = Mock::new();
    let cancel = |mock: &mut Mock, id: &str| {
        mock.open()
            .send("POST", &format!("/v1/jobs/{id}/cancel"), "")
    };
    let (in_time, late) = (
        mock.submit(VIDEO, video("x")),
        mock.submit(VIDEO, video("x")),
    );
    mock.pass(2_399);
    assert_eq!(cancel(&mut mock, &in_time).data(200)["status"], "canceled");
    mock.pass(1);
    cancel(&mut mock, &late).refused(409, "job_generation_already_started");
    assert_eq!(cancel(&mut mock, &in_time).data(200)["status"], "canceled");
    mock.pass(10_000);
    cancel(&mut mock, &late).refused(409, "job_generation_already_started");
    assert_eq!(mock.status(&in_time), "canceled");
    let result = mock
        .open()
        .get(&format!("/v1/jobs/{in_time}/result"))
        .data(200);
    assert_eq!(
        (&result["error"]["code"], &result["artifacts"]),
        (&json!("job_canceled"), &json!([]))
    );
    mock.books_are_balanced();
}

#[test]
fn a_stuck_job_never_ends() {
    let mut mock = Mock::new();
    let id = mock.submit(VIDEO, video("[mock:stuck]"));
    mock.pass(1_000_000_000);
    assert_eq!(poll(&mut mock, &id)["next_poll_after_seconds"], 10);
    assert_eq!(mock.status(&id), "processing");
    assert_eq!(mock.simulator.next_due(), None);
}

#[test]
fn the_list_is_newest_first_and_can_be_filtered_and_paged() {
    let mut mock = Mock::new();
    let a = mock.submit(VIDEO, video("x"));
    let b = mock.submit(IMAGE, image("x"));
    mock.pass(3_000);
    let c = mock.submit(IMAGE, image("x"));
    let list = |mock: &mut Mock, query: &str| -> (Vec<String>, Value) {
        let mut page = mock.open().get(&format!("/v1/jobs{query}")).json();
        let ids = page["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| job["id"].as_str().unwrap().to_owned());
        (ids.collect(), page["next_cursor"].take())
    };
    let ids = |ids: &[&String]| ids.iter().map(|id| (*id).clone()).collect::<Vec<_>>();
    for (query, expected) in [
        ("", ids(&[&c, &b, &a])),
        ("?status=completed", ids(&[&b])),
        ("?status=queued&type=image_generation", ids(&[&c])),
        ("?type=image_generation", ids(&[&c, &b])),
        ("?status=failed", ids(&[])),
        ("?limit=1000&unknown=x", ids(&[&c, &b, &a])),
    ] {
        assert_eq!(list(&mut mock, query), (expected, Value::Null), "{query}");
    }
    let (page, cursor) = list(&mut mock, "?limit=2");
    assert_eq!(page, ids(&[&c, &b]));
    let rest = list(
        &mut mock,
        &format!("?limit=2&cursor={}", cursor.as_str().unwrap()),
    );
    assert_eq!(rest, (ids(&[&a]), Value::Null));
    for (query, field) in [
        ("?status=done", "status"),
        ("?status=", "status"),
        ("?type=hologram", "type"),
        ("?limit=0", "limit"),
        ("?limit=1001", "limit"),
        ("?limit=-1", "limit"),
        ("?limit=99999999999999999999999", "limit"),
        ("?cursor=job_x", "cursor"),
        ("?status=queued&status=failed", "status"),
    ] {
        let error = mock
            .open()
            .get(&format!("/v1/jobs{query}"))
            .refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], field, "{query}");
    }
}

#[test]
fn a_job_can_be_ended_at_will_once() {
    let mut mock = Mock::new();
    let now = mock.now;
    let ids: Vec<String> = (0..3)
        .map(|_| mock.submit(VIDEO, video("[mock:stuck]")))
        .collect();
    let mut end = |id: &str, status, code| mock.simulator.end_job(now, id, status, code);
    assert_eq!(
        end(&ids[0], JobStatus::Completed, None).unwrap()["status"],
        "completed"
    );
    let failed = end(
        &ids[1],
        JobStatus::Failed,
        Some(ErrorCode::ProviderUnavailable),
    )
    .unwrap();
    assert_eq!(failed["error"]["code"], "provider_unavailable");
    assert_eq!(
        end(&ids[2], JobStatus::Canceled, None).unwrap()["status"],
        "canceled"
    );
    assert_eq!(
        end(&ids[2], JobStatus::Canceled, None).unwrap()["status"],
        "canceled"
    );
    assert!(matches!(
        end(&ids[2], JobStatus::Completed, None),
        Err(ControlError::Conflict(_))
    ));
    assert!(matches!(
        end("job_x", JobStatus::Completed, None),
        Err(ControlError::NotFound(_))
    ));
    assert!(matches!(
        end(&ids[0], JobStatus::Queued, None),
        Err(ControlError::Invalid(_))
    ));
    let code = Some(ErrorCode::GenerationFailed);
    assert!(matches!(
        end(&ids[0], JobStatus::Completed, code),
        Err(ControlError::Invalid(_))
    ));
    mock.books_are_balanced();
}

#[test]
fn models_are_listed_by_router() {
    let mut mock = Mock::new();
    let ids = |mock: &mut Mock, path: &str| -> Vec<String> {
        let list = mock.open().get(path).data(200);
        list.as_array()
            .unwrap()
            .iter()
            .map(|model| model["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let videos = ["video-f", "video-l", "video-h", "video-r", "lipsync-s"];
    assert_eq!(ids(&mut mock, "/v1/video-router/models"), videos);
    assert_eq!(ids(&mut mock, "/v1/image-router/models"), ["image-i"]);
    assert_eq!(ids(&mut mock, "/v1/open/catalog").len(), 6);
    assert_eq!(
        mock.open().get("/v1/open/catalog/video-h").data(200)["id"],
        "video-h"
    );
    for path in [
        "/v1/video-router/models/image-i",
        "/v1/image-router/models/x",
        "/v1/open/catalog/auto",
    ] {
        mock.open().get(path).refused(404, "model_not_found");
    }
}
