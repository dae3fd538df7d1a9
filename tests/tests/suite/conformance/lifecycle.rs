//! The lifecycle of a job: receipt, status, result and durations.

use serde_json::{Value, json};
use svc_tests::{Client, Host, Mock, on_every_frontend};

use super::{
    IMAGE, TOP_UPS, VIDEO, available, cancel, image, job, job_result, status_of, submit, text,
    video, video_with_prompt, with,
};

on_every_frontend! {
    a_submit_returns_a_receipt,
    receipt_urls_point_to_the_job,
    jobs_take_their_documented_time,
    stuck_directive_keeps_a_job_running,
    refuse_directive_rejects_the_submit: balance_usd("1.0000"),
    advancing_the_clock_completes_all_due_jobs,
    the_status_reports_terminal_jobs,
    a_job_reflects_its_status,
    job_and_result_have_the_same_artifacts,
    the_result_of_an_unfinished_job_is_rejected,
    a_failed_job_has_an_error,
    fail_directive_sets_the_error_code,
    the_result_of_a_canceled_job_has_no_artifacts,
    an_unknown_job_is_not_found,
    a_job_of_another_workspace_is_not_found,
    both_surfaces_show_the_jobs_of_the_workspace,
    timestamps_are_rfc_3339_in_utc,
    identifiers_have_their_prefixes,
}

async fn a_submit_returns_a_receipt(mock: Mock) {
    for (path, body) in [(VIDEO, video()), (IMAGE, image())] {
        let receipt = mock.open().post_data(path, body, 202).await;
        assert!(receipt["request_id"].is_string(), "{receipt}");
        assert!(receipt["job"]["id"].is_string(), "{receipt}");
        assert_eq!(receipt["job"]["status"], "queued");
        assert!(receipt["job"]["type"].is_string(), "{receipt}");
        for url in ["status_url", "result_url", "cancel_url"] {
            assert!(receipt[url].is_string(), "{url} in {receipt}");
        }
        assert!(
            receipt["next_poll_after_seconds"].as_f64() >= Some(0.0),
            "{receipt}"
        );
    }
    let receipt = mock.open().post_data(VIDEO, video(), 202).await;
    assert_eq!(receipt["job"]["type"], "video_generation");
}

async fn receipt_urls_point_to_the_job(mock: Mock) {
    let open = mock.open();
    let receipt = open.post_data(VIDEO, video(), 202).await;
    let id = text(&receipt["job"]["id"]);
    let path = |name: &str| mock.path_of(Host::Open, &receipt[name]);
    assert_eq!(path("status_url"), format!("/v1/jobs/{id}/status"));
    assert_eq!(path("result_url"), format!("/v1/jobs/{id}/result"));
    assert_eq!(path("cancel_url"), format!("/v1/jobs/{id}/cancel"));
    open.get(&path("status_url")).await.expect(200);
    open.get_error(&path("result_url"), 409, "job_not_completed")
        .await;
    open.post_empty(&path("cancel_url")).await.expect(200);
    open.get(&path("result_url")).await.expect(200);
}

async fn jobs_take_their_documented_time(mock: Mock) {
    let open = mock.open();
    let long = "a fox [mock:seconds=100] in the snow";
    let long_image = with(image(), json!({"prompt": long}));
    // The steps to the last moments of the queued and processing statuses, and the moments after.
    for (path, body, steps) in [
        (VIDEO, video(), [0, 1, 6, 1]),
        (IMAGE, image(), [0, 1, 0, 1]),
        (VIDEO, video_with_prompt(long), [9, 1, 89, 1]),
        (IMAGE, long_image, [9, 1, 89, 1]),
    ] {
        let id = submit(&open, path, body).await;
        let statuses = ["queued", "processing", "processing", "completed"];
        for (step, status) in steps.into_iter().zip(statuses) {
            mock.advance(step).await;
            assert_eq!(status_of(&open, &id).await, status, "{path} {steps:?}");
        }
    }
}

async fn stuck_directive_keeps_a_job_running(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video_with_prompt("[mock:stuck]")).await;
    mock.advance(10_000_000).await;
    let status = open.get_data(&format!("/v1/jobs/{id}/status")).await;
    assert_eq!(status["terminal"], false);
}

async fn refuse_directive_rejects_the_submit(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    for (code, status) in [
        ("organization_wallet_not_provisioned", 402),
        ("attachment_too_large", 413),
        ("attachment_fetch_failed", 502),
        ("studio_agent_upstream_unavailable", 503),
        ("idempotency_key_in_use", 409),
    ] {
        let body = video_with_prompt(&format!("a fox [mock:refuse={code}]"));
        keyed.post_error(VIDEO, body, status, code).await;
    }
    assert!(
        mock.jobs().await.is_empty(),
        "a rejected submit created a job"
    );
    assert_eq!(available(&mock.open()).await, "1.0000");
    keyed.post(VIDEO, video()).await.expect(202);
}

async fn advancing_the_clock_completes_all_due_jobs(mock: Mock) {
    let open = mock.open();
    let first = submit(&open, IMAGE, image()).await;
    let second = submit(&open, VIDEO, video()).await;
    let later = submit(&open, VIDEO, video_with_prompt("[mock:seconds=90000]")).await;
    mock.advance(3_600).await;
    assert_eq!(status_of(&open, &first).await, "completed");
    assert_eq!(status_of(&open, &second).await, "completed");
    assert_eq!(status_of(&open, &later).await, "queued");
}

async fn the_status_reports_terminal_jobs(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    let status = async |id: &str| open.get_data(&format!("/v1/jobs/{id}/status")).await;
    for (step, name, is_terminal) in [
        (0, "queued", false),
        (4, "processing", false),
        (4, "completed", true),
    ] {
        mock.advance(step).await;
        let payload = status(&id).await;
        assert_eq!(payload["job_id"], id.as_str());
        assert_eq!(payload["status"], name);
        assert_eq!(payload["terminal"], is_terminal);
        assert_eq!(payload["result_ready"], is_terminal);
        let next_poll = payload.get("next_poll_after_seconds");
        assert!(next_poll.is_some(), "{payload}");
        let has_delay = next_poll.and_then(Value::as_f64) >= Some(0.0);
        assert!(is_terminal || has_delay, "{payload}");
    }
    for prompt in ["[mock:fail]", "a red fox"] {
        let id = submit(&open, VIDEO, video_with_prompt(prompt)).await;
        cancel(&open, &id).await.expect(200);
        let payload = status(&id).await;
        assert_eq!(payload["status"], "canceled");
        assert_eq!(payload["terminal"], true);
    }
    let id = submit(&open, VIDEO, video_with_prompt("[mock:fail]")).await;
    mock.advance(8).await;
    let payload = status(&id).await;
    assert_eq!(payload["status"], "failed");
    assert_eq!(payload["terminal"], true);
}

async fn a_job_reflects_its_status(mock: Mock) {
    let open = mock.open();
    let body = with(video(), json!({"metadata": {"order": "4711"}}));
    let id = submit(&open, VIDEO, body).await;
    for (step, status) in [(0, "queued"), (4, "processing"), (4, "completed")] {
        mock.advance(step).await;
        let job = job(&open, &id).await;
        assert_eq!(job["id"], id.as_str());
        assert_eq!(job["status"], status);
        assert_eq!(job["type"], "video_generation");
        assert_eq!(job["model"], "video-l");
        assert_eq!(job["price_usd"], "0.1250");
        assert_eq!(job["metadata"], json!({"order": "4711"}));
        assert_eq!(
            job["result"]["artifacts"].is_array(),
            status == "completed",
            "{job}"
        );
    }
}

async fn job_and_result_have_the_same_artifacts(mock: Mock) {
    let open = mock.open();
    let three_images = with(image(), json!({"num_images": 3}));
    for (path, body, kind, count) in [
        (VIDEO, video(), "video", 1),
        (IMAGE, three_images, "image", 3),
    ] {
        let id = submit(&open, path, body).await;
        mock.advance(8).await;
        let result = job_result(&open, &id).await;
        assert_eq!(result["job_id"], id.as_str());
        assert_eq!(result["status"], "completed");
        let artifacts = result["artifacts"].as_array().unwrap();
        assert_eq!(artifacts.len(), count, "{result}");
        for artifact in artifacts {
            assert!(text(&artifact["id"]).starts_with("art_"), "{artifact}");
            assert_eq!(artifact["media_type"], kind);
            assert!(
                text(&artifact["content_type"]).starts_with(kind),
                "{artifact}"
            );
            mock.path_of(Host::Media, &artifact["url"]);
        }
        let ids: std::collections::BTreeSet<_> = artifacts.iter().map(|a| text(&a["id"])).collect();
        let urls: std::collections::BTreeSet<_> =
            artifacts.iter().map(|a| text(&a["url"])).collect();
        assert_eq!((ids.len(), urls.len()), (count, count));
        assert_eq!(
            job(&open, &id).await["result"]["artifacts"],
            result["artifacts"]
        );
    }
}

async fn the_result_of_an_unfinished_job_is_rejected(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    for (step, status) in [(0, "queued"), (4, "processing")] {
        mock.advance(step).await;
        let error = open
            .get_error(&format!("/v1/jobs/{id}/result"), 409, "job_not_completed")
            .await;
        assert_eq!(error["details"]["status"], status);
        let wait = error
            .get("retry_after_seconds")
            .or_else(|| error["details"].get("retry_after_seconds"));
        assert!(
            wait.and_then(Value::as_f64).is_some_and(|wait| wait >= 0.0),
            "{error}"
        );
    }
}

async fn a_failed_job_has_an_error(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video_with_prompt("a fox [mock:fail]")).await;
    mock.advance(8).await;
    let job = job(&open, &id).await;
    assert_eq!(job["status"], "failed");
    assert!(
        job["error"]["code"].is_string() && job["error"]["message"].is_string(),
        "{job}"
    );
    let result = job_result(&open, &id).await;
    assert_eq!(
        (&result["job_id"], &result["status"]),
        (&json!(id), &json!("failed"))
    );
    assert_eq!(result["error"]["code"], job["error"]["code"]);
    assert!(
        result["artifacts"].as_array().is_none_or(Vec::is_empty),
        "{result}"
    );
}

async fn fail_directive_sets_the_error_code(mock: Mock) {
    let open = mock.open();
    let code = "provider_unavailable";
    let body = with(image(), json!({"prompt": format!("[mock:fail={code}]")}));
    let id = submit(&open, IMAGE, body).await;
    mock.advance(2).await;
    assert_eq!(job(&open, &id).await["error"]["code"], code);
    assert_eq!(job_result(&open, &id).await["error"]["code"], code);
}

async fn the_result_of_a_canceled_job_has_no_artifacts(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    cancel(&open, &id).await.expect(200);
    let result = job_result(&open, &id).await;
    assert_eq!(result["status"], "canceled");
    assert!(result["error"].is_object(), "{result}");
    assert!(
        result["artifacts"].as_array().is_none_or(Vec::is_empty),
        "{result}"
    );
}

async fn assert_not_found(client: &Client, id: &str) {
    for suffix in ["", "/status", "/result"] {
        client
            .get(&format!("/v1/jobs/{id}{suffix}"))
            .await
            .expect(404);
    }
    cancel(client, id).await.expect(404);
}

async fn an_unknown_job_is_not_found(mock: Mock) {
    for id in [
        "job_unknown",
        "x",
        "%00",
        "%2e%2e",
        "job_%ff",
        "a%2Fb",
        &"j".repeat(2_000),
    ] {
        assert_not_found(&mock.open(), id).await;
        assert_not_found(&mock.developer(), id).await;
    }
}

async fn a_job_of_another_workspace_is_not_found(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video()).await;
    assert_not_found(&mock.new_open_client("ws_elsewhere").await, &id).await;
    assert_not_found(&mock.developer_as("svc_dev_other"), &id).await;
    assert_eq!(status_of(&mock.open(), &id).await, "queued");
}

async fn both_surfaces_show_the_jobs_of_the_workspace(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video()).await;
    let developer = mock.developer();
    assert_eq!(status_of(&developer, &id).await, "queued");
    assert_eq!(job(&developer, &id).await["id"], id.as_str());
    mock.advance(8).await;
    let open_result = job_result(&mock.open(), &id).await;
    assert_eq!(
        job_result(&developer, &id).await["artifacts"],
        open_result["artifacts"]
    );
    let listed = developer.get_items("/v1/jobs").await;
    assert!(listed.iter().any(|job| job["id"] == id.as_str()));
}

async fn timestamps_are_rfc_3339_in_utc(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    let created = job(&open, &id).await;
    mock.advance(8).await;
    let completed = job(&open, &id).await;
    for field in ["created_at", "updated_at"] {
        for job in [&created, &completed] {
            let time = text(&job[field]);
            assert!(
                time.len() >= 20 && time.ends_with('Z') && &time[10..11] == "T",
                "{time}"
            );
        }
    }
    assert_eq!(created["created_at"], completed["created_at"]);
    assert_ne!(created["updated_at"], completed["updated_at"]);
}

async fn identifiers_have_their_prefixes(mock: Mock) {
    let response = mock.open().post(VIDEO, video()).await.expect(202);
    assert!(
        response
            .header("x-svc-request-id")
            .is_some_and(|id| id.starts_with("req_")),
        "{response:?}"
    );
    let receipt = response.data();
    assert!(text(&receipt["request_id"]).starts_with("req_"));
    assert!(text(&receipt["job"]["id"]).starts_with("job_"));
    let top_up = mock
        .open()
        .post(TOP_UPS, json!({"amount_usd_cents": 500}))
        .await
        .expect(201);
    assert!(text(&top_up.data()["id"]).starts_with("top_"));
}
