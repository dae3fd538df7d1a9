//! The lifecycle of a job: durations, polling hints, timelines, results and errors.

use super::*;

on_every_frontend! {
    a_status_says_when_to_poll_again,
    a_stuck_job_is_polled_every_ten_seconds,
    a_timeline_has_the_time_of_each_event,
    a_job_that_ends_early_skips_the_later_events,
    a_failed_job_has_the_details_of_its_code,
    a_cancel_is_accepted_until_generation_starts,
    a_cancel_body_is_checked_before_the_state,
    each_model_has_its_time_price_and_files,
    a_job_is_ended_by_the_control_api_once,
    jobs_take_their_documented_time,
    refuse_directive_rejects_the_submit: balance_usd("1.0000"),
    job_and_result_have_the_same_artifacts,
    an_unknown_job_is_not_found,
    a_job_of_another_workspace_is_not_found,
    both_surfaces_show_the_jobs_of_the_workspace,
    timelines_are_private_to_their_workspace,
}

async fn a_status_says_when_to_poll_again(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    let path = format!("/v1/jobs/{id}/status");
    for (step, status, terminal, wait) in [
        (0.0, "queued", false, json!(4)),
        (0.799, "queued", false, json!(3.601)),
        (0.001, "processing", false, json!(3.6)),
        (3.2, "processing", false, json!(2)),
        (3.5, "processing", false, json!(0.5)),
        (0.499, "processing", false, json!(0.001)),
        (0.001, "completed", true, json!(0)),
    ] {
        mock.advance(step).await;
        let expected = json!({
            "job_id": id, "status": status, "terminal": terminal, "result_ready": terminal,
            "next_poll_after_seconds": wait
        });
        assert_eq!(open.get_data(&path).await, expected);
    }
    let id = submit(&open, IMAGE, image()).await;
    let early = open.get(&format!("/v1/jobs/{id}/result")).await;
    let error = early.expect_error(409, "job_not_completed");
    assert_eq!(error["details"], json!({"status": "queued"}));
    assert_eq!(error["retry_after_seconds"], 1);
    mock.advance(2).await;
    let job = open.get_data(&format!("/v1/jobs/{id}")).await;
    assert_eq!(job["updated_at"], "2027-01-15T08:00:10Z");
    let artifact = &job["result"]["artifacts"][0];
    let path = mock.path_of(Host::Media, &artifact["url"]);
    assert!(
        path.starts_with("/artifacts/") && path.ends_with(".png"),
        "{path}"
    );
    assert_eq!(artifact["content_type"], "image/png");
}

async fn a_stuck_job_is_polled_every_ten_seconds(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video_with_prompt("[mock:stuck]")).await;
    mock.advance(1_000_000).await;
    let status = open.get_data(&format!("/v1/jobs/{id}/status")).await;
    assert_eq!(status["status"], "processing");
    assert_eq!(status["next_poll_after_seconds"], 10);
}

async fn a_timeline_has_the_time_of_each_event(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video()).await;
    let path = format!("/v1/jobs/{id}/events");
    assert_eq!(mock.developer().get_items(&path).await.len(), 1);
    mock.advance(60).await;
    let at = |time: &str| format!("2027-01-15T08:00:{time}Z");
    let expected = json!([
        {"type": "queued", "job_id": id, "created_at": at("00")},
        {"type": "processing", "job_id": id, "created_at": at("00.8")},
        {"type": "generation_started", "job_id": id, "created_at": at("02.4")},
        {"type": "completed", "job_id": id, "created_at": at("08")}
    ]);
    assert_eq!(mock.developer().get_data(&path).await, expected);
    mock.open().get(&path).await.expect_error(404, "not_found");
}

async fn a_job_that_ends_early_skips_the_later_events(mock: Mock) {
    let (open, developer) = (mock.open(), mock.developer());
    let canceled = submit(&open, VIDEO, video()).await;
    mock.advance(1).await;
    let path = format!("/v1/jobs/{canceled}/cancel");
    open.post_empty(&path).await.expect(200);
    mock.advance(60).await;
    let events = developer
        .get_data(&format!("/v1/jobs/{canceled}/events"))
        .await;
    let types: Vec<_> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|event| text(&event["type"]))
        .collect();
    assert_eq!(types, ["queued", "processing", "canceled"]);
    let failed = submit(
        &open,
        VIDEO,
        video_with_prompt("[mock:fail=provider_unavailable]"),
    )
    .await;
    mock.advance(8).await;
    let events = developer
        .get_data(&format!("/v1/jobs/{failed}/events"))
        .await;
    assert_eq!(events[3]["type"], "failed");
    assert_eq!(events[3]["error"]["code"], "provider_unavailable");
    for id in [canceled, failed] {
        let status = open.get_data(&format!("/v1/jobs/{id}/status")).await;
        assert_eq!(status["terminal"], true);
    }
}

async fn a_failed_job_has_the_details_of_its_code(mock: Mock) {
    let open = mock.open();
    let words = "[mock:fail=provider_unavailable][mock:seconds=1.5]";
    let id = submit(&open, VIDEO, video_with_prompt(words)).await;
    mock.advance(1.5).await;
    let job = open.get_data(&format!("/v1/jobs/{id}")).await;
    let error = &job["error"];
    assert_eq!(error["code"], "provider_unavailable");
    assert_eq!(error["details"], json!({"retryable": true}));
    assert_eq!(job.get("result"), None);
    let result = open.get_data(&format!("/v1/jobs/{id}/result")).await;
    let expected = json!({"job_id": id, "status": "failed", "artifacts": [], "error": error});
    assert_eq!(result, expected);
    for (code, pointer) in [
        ("output_schema_unsatisfied", "/violations"),
        ("agent_reported_failure", "/reason"),
        ("incomplete_assembly", "/pending_jobs/0/id"),
        ("output_extraction_failed", "/reason"),
        ("mcp_unavailable", "/charged"),
    ] {
        let prompt = json!({"prompt": format!("[mock:fail={code}][mock:seconds=0]")});
        let id = submit(&open, IMAGE, with(image(), prompt)).await;
        let job = open.get_data(&format!("/v1/jobs/{id}")).await;
        assert!(job["error"]["details"].pointer(pointer).is_some(), "{job}");
    }
    let id = submit(
        &open,
        VIDEO,
        video_with_prompt("[mock:fail][mock:seconds=0]"),
    )
    .await;
    let result = open.get_data(&format!("/v1/jobs/{id}/result")).await;
    assert_eq!(result["error"]["code"], "generation_failed");
}

async fn a_cancel_is_accepted_until_generation_starts(mock: Mock) {
    let open = mock.open();
    let early = submit(&open, VIDEO, video()).await;
    let late = submit(&open, VIDEO, video()).await;
    let cancel = async |id: &str| open.post_empty(&format!("/v1/jobs/{id}/cancel")).await;
    mock.advance(2.399).await;
    assert_eq!(
        cancel(&early).await.expect(200).data()["status"],
        "canceled"
    );
    mock.advance(0.001).await;
    let code = "job_generation_already_started";
    cancel(&late).await.expect_error(409, code);
    let result = open.get_data(&format!("/v1/jobs/{early}/result")).await;
    assert_eq!(result["error"]["code"], "job_canceled");
    assert_eq!(result["artifacts"], json!([]));
}

async fn a_cancel_body_is_checked_before_the_state(mock: Mock) {
    let open = mock.open();
    let owner = json!({"user_id": "x"});
    let unknown = open.post("/v1/jobs/job_none/cancel", owner.clone()).await;
    unknown.expect_error(404, "job_not_found");
    let id = submit(&open, IMAGE, image()).await;
    mock.advance(2).await;
    let path = format!("/v1/jobs/{id}/cancel");
    let error = open
        .post(&path, owner)
        .await
        .expect_error(400, "invalid_request");
    assert_eq!(error["details"], json!({"field": "user_id"}));
    open.post(&path, json!([]))
        .await
        .expect_error(400, "invalid_request");
    let untyped = open.send("POST", &path, None, "{}".into()).await;
    untyped.expect_error(415, "unsupported_media_type");
    let typed = Some("Application/JSON; charset=utf-8");
    let response = open.send("POST", &path, typed, "{}".into()).await;
    response.expect_error(409, "job_generation_already_started");
}

async fn each_model_has_its_time_price_and_files(mock: Mock) {
    let developer = mock.developer();
    for (model, fields, seconds, price, content_type, files) in [
        (
            "image-1.0",
            json!({"num_images": 3}),
            2.0,
            300,
            "image/png",
            3,
        ),
        (
            "video-1.0",
            json!({"duration": 3}),
            8.0,
            1_500,
            "video/mp4",
            1,
        ),
        (
            "music-1.0",
            json!({"duration": 12}),
            4.0,
            1_200,
            "audio/wav",
            1,
        ),
    ] {
        let path = format!("/v1/{model}/generate");
        let body = with(json!({"prompt": "x"}), fields);
        let id = submit(&developer, &path, body).await;
        assert_eq!(
            ledger_amounts(&mock, "reservation", &id).await,
            [price],
            "{model}"
        );
        mock.advance(seconds - 0.001).await;
        assert_eq!(
            super::status_of(&developer, &id).await,
            "processing",
            "{model}"
        );
        mock.advance(0.001).await;
        let result = developer.get_data(&format!("/v1/jobs/{id}/result")).await;
        let artifacts = result["artifacts"].as_array().unwrap();
        assert_eq!(artifacts.len(), files, "{model}");
        let path = mock.path_of(Host::Media, &artifacts[0]["url"]);
        let file = mock.client(Host::Media).get(&path).await.expect(200);
        assert_eq!(file.header("content-type"), Some(content_type));
        assert!(
            file.header("x-svc-request-id")
                .is_some_and(|id| id.starts_with("req_"))
        );
    }
}

async fn a_job_is_ended_by_the_control_api_once(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video_with_prompt("[mock:stuck]")).await;
    let end = async |id: &str, body: Value| {
        let path = format!("/jobs/{id}");
        mock.control().post(&path, body).await.status()
    };
    let canceled = json!({"status": "canceled"});
    assert_eq!(end(&id, canceled.clone()).await, 200);
    assert_eq!(end(&id, canceled).await, 200, "repeated");
    let completed = json!({"status": "completed"});
    assert_eq!(end(&id, completed.clone()).await, 409);
    assert_eq!(end("job_none", completed).await, 404);
    assert_eq!(end(&id, json!({"status": "queued"})).await, 400);
    let with_code = json!({"status": "completed", "code": "generation_failed"});
    assert_eq!(end(&id, with_code).await, 400);
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

async fn timelines_are_private_to_their_workspace(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video()).await;
    let path = format!("/v1/jobs/{id}/events");
    let other = mock.developer_as("svc_dev_other");
    other.get_error(&path, 404, "job_not_found").await;
    mock.developer()
        .get_error("/v1/jobs/job_none/events", 404, "job_not_found")
        .await;
}
