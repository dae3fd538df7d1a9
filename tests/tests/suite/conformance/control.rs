//! The control API of the mock.

use super::*;

on_every_frontend! {
    the_control_api_needs_no_key_and_is_not_rate_limited,
    the_clock_moves_only_when_advanced,
    invalid_clock_steps_are_rejected,
    reset_restores_the_initial_state: balance_usd("1.0000"),
    a_new_open_key_works_on_the_open_surface,
    a_new_workspace_has_a_full_balance_and_its_own_plan: balance_usd("1.0000"),
    a_job_can_be_completed,
    a_job_can_be_failed_with_a_code: balance_usd("1.0000"),
    the_journal_records_every_request,
    the_journal_can_be_read_from_a_sequence_number,
    the_journal_keeps_the_newest_10000,
    the_journal_contains_no_credentials,
    jobs_of_all_workspaces_are_listed,
}

async fn the_control_api_needs_no_key_and_is_not_rate_limited(mock: Mock) {
    for path in [
        "/clock",
        "/requests",
        "/deliveries",
        "/ledger",
        "/jobs",
        "/state",
    ] {
        mock.control().get_json(path).await;
    }
    let response = mock.open().get("/v1/jobs").await;
    assert_eq!(response.int_header("ratelimit-remaining"), 4_799);
}

async fn the_clock_moves_only_when_advanced(mock: Mock) {
    let first = mock.control().get_json("/clock").await;
    assert_eq!(mock.control().get_json("/clock").await, first);
    mock.advance(1).await;
    let second = mock.control().get_json("/clock").await;
    assert_ne!(second, first);
    mock.advance(0).await;
    assert_eq!(mock.control().get_json("/clock").await, second);
}

async fn invalid_clock_steps_are_rejected(mock: Mock) {
    let before = mock.control().get_json("/clock").await;
    for body in [
        "{}",
        "[]",
        "",
        "{",
        r#"{"seconds": -1}"#,
        r#"{"seconds": "1"}"#,
        r#"{"seconds": 1e400}"#,
    ] {
        mock.control()
            .post_bytes("/clock/advance", Bytes::from(body))
            .await
            .expect(400);
    }
    assert_eq!(mock.control().get_json("/clock").await, before);
}

async fn reset_restores_the_initial_state(mock: Mock) {
    let open = mock.open();
    let new_client = mock.new_open_client("ws_new").await;
    let id = submit(&open, VIDEO, video()).await;
    let top_up = open
        .post_data(TOP_UPS, json!({"amount_usd_cents": 500}), 201)
        .await;
    submit(&open.clone().idempotency_key("order-1"), IMAGE, image()).await;
    mock.add_fault(json!({"kind": "status_503", "operation": "jobs_list", "times": 1_000}))
        .await;
    mock.advance(60).await;

    mock.control().post_empty("/reset").await.expect_success();

    open.get(&format!("/v1/jobs/{id}")).await.expect(404);
    open.get(&format!("{TOP_UPS}/{}", text(&top_up["id"])))
        .await
        .expect(404);
    assert!(open.get_items("/v1/jobs").await.is_empty());
    new_client.get_error("/v1/jobs", 401, "unauthorized").await;
    assert_eq!(available(&open).await, "1.0000");
    open.clone()
        .idempotency_key("order-1")
        .post(IMAGE, image())
        .await
        .expect(202);
}

async fn a_new_open_key_works_on_the_open_surface(mock: Mock) {
    let body = json!({"kind": "open"});
    let created = mock.control().post("/keys", body).await;
    let created = created.expect_success().json();
    for field in ["key", "id", "workspace", "scopes"] {
        assert!(created.get(field).is_some(), "{field} in {created}");
    }
    assert!(text(&created["id"]).starts_with("key_"), "{created}");
    let key = text(&created["key"]);
    mock.open_as(&key).get("/v1/jobs").await.expect(200);
    mock.client(Host::Open)
        .api_key(&key)
        .post(VIDEO, video())
        .await
        .expect(202);
    mock.developer_as(&key)
        .get_error("/v1/jobs", 401, "unauthorized")
        .await;
}

async fn a_new_workspace_has_a_full_balance_and_its_own_plan(mock: Mock) {
    submit(&mock.open(), VIDEO, video()).await;
    let body = json!({"kind": "open", "workspace": "ws_rich", "plan": "scale"});
    let key = mock.create_key(body).await;
    let client = mock.open_as(&key);
    assert_eq!(available(&client).await, "1.0000");
    let response = client.get("/v1/jobs").await.expect(200);
    assert_eq!(response.int_header("ratelimit-limit"), 48_000);
    assert_eq!(available(&mock.open()).await, "0.8750");
    let second_key = mock
        .create_key(json!({"kind": "open", "workspace": "ws_rich"}))
        .await;
    assert_ne!(second_key, key);
    submit(&mock.open_as(&second_key), VIDEO, video()).await;
    assert_eq!(available(&client).await, "0.8750");
}

async fn set_job(mock: &Mock, id: &str, body: Value) {
    mock.control()
        .post(&format!("/jobs/{id}"), body)
        .await
        .expect_success();
}

async fn a_job_can_be_completed(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video_with_prompt("[mock:stuck]")).await;
    set_job(&mock, &id, json!({"status": "completed"})).await;
    let result = job_result(&open, &id).await;
    assert_eq!(result["status"], "completed");
    assert_eq!(result["artifacts"].as_array().map(Vec::len), Some(1));
    assert_eq!(ledger_amounts(&mock, "capture", &id).await, [1_250]);
}

async fn a_job_can_be_failed_with_a_code(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    set_job(
        &mock,
        &id,
        json!({"status": "failed", "code": "provider_unavailable"}),
    )
    .await;
    let result = job_result(&open, &id).await;
    assert_eq!(result["status"], "failed");
    assert_eq!(result["error"]["code"], "provider_unavailable");
    assert_eq!(available(&open).await, "1.0000");
    mock.advance(60).await;
    assert_eq!(status_of(&open, &id).await, "failed");
    assert_eq!(ledger_amounts(&mock, "refund", &id).await, [1_250]);
}

async fn the_journal_records_every_request(mock: Mock) {
    submit(&mock.open().idempotency_key("order-1"), VIDEO, video()).await;
    mock.developer()
        .get("/v1/jobs?status=queued")
        .await
        .expect(200);
    mock.open().get("/v1/nothing").await.expect(404);
    let entries = mock.journal(0).await;
    assert_eq!(entries.len(), 3, "{entries:?}");
    for (entry, method, path, status) in [
        (&entries[0], "POST", VIDEO, 202),
        (&entries[1], "GET", "/v1/jobs", 200),
        (&entries[2], "GET", "/v1/nothing", 404),
    ] {
        assert_eq!(entry["method"], method);
        assert!(text(&entry["path"]).starts_with(path), "{entry}");
        assert_eq!(entry["status"], status);
    }
    assert_eq!(entries[0]["surface"], "open");
    assert_eq!(entries[0]["operation"], "video_generate");
    assert_eq!(entries[0]["idempotency_key"], "order-1");
    let headers = entries[0]["headers"].to_string();
    assert!(headers.contains("application/json"), "{headers}");
    assert_eq!(entries[1]["surface"], "developer");
    assert_eq!(entries[1]["operation"], "jobs_list");
}

async fn the_journal_can_be_read_from_a_sequence_number(mock: Mock) {
    for _ in 0..4 {
        mock.open().get("/v1/jobs").await.expect(200);
    }
    assert_eq!(mock.journal(0).await.len(), 4);
    mock.open().get("/v1/image-router/models").await.expect(200);
    let newer = mock.journal(4).await;
    assert_eq!(newer.len(), 1, "{newer:?}");
    assert_eq!(newer[0]["operation"], "image_models_list");
    assert!(mock.journal(1_000_000).await.is_empty());
}

async fn the_journal_keeps_the_newest_10000(mock: Mock) {
    // The engine keeps the journal, so sockets would only make this test slower.
    if mock.kind() != FrontendKind::InProcess {
        return;
    }
    let anonymous = mock.client(Host::Open);
    for number in 0..10_005 {
        anonymous.get(&format!("/v1/jobs/job_{number}")).await;
    }
    let entries = mock.journal(0).await;
    assert_eq!(entries.len(), 10_000);
    assert_eq!(entries[0]["path"], "/v1/jobs/job_5");
    assert_eq!(entries[9_999]["path"], "/v1/jobs/job_10004");
}

async fn the_journal_contains_no_credentials(mock: Mock) {
    for (name, value) in [
        ("authorization", "Bearer svc_open_demo"),
        ("authorization", "bearer svc_canary_1"),
        ("authorization", "svc_canary_2"),
        ("Authorization", "Basic svc_canary_3"),
        ("x-api-key", "svc_open_demo"),
        ("X-API-Key", "svc_canary_4"),
        ("x-api-key", "Bearer svc_canary_5"),
    ] {
        mock.client(Host::Open)
            .header(name, value)
            .get("/v1/jobs")
            .await;
        mock.client(Host::Developer)
            .header(name, value)
            .get("/v1/health")
            .await;
    }
    mock.open()
        .api_key("svc_canary_6")
        .get("/v1/jobs")
        .await
        .expect(401);
    let journal = Value::Array(mock.journal(0).await).to_string();
    assert!(journal.contains("authorization"), "the name is recorded");
    for secret in ["svc_open_demo", "svc_canary"] {
        assert!(!journal.contains(secret), "{secret} is in {journal}");
    }
}

async fn jobs_of_all_workspaces_are_listed(mock: Mock) {
    let first = submit(&mock.open(), VIDEO, video()).await;
    let other_workspace = mock.new_open_client("ws_new").await;
    let second = submit(&other_workspace, IMAGE, image()).await;
    let jobs = mock.jobs().await;
    assert_eq!(jobs.len(), 2);
    for id in [first, second] {
        assert!(
            jobs.iter().any(|job| job["id"] == id.as_str()),
            "{id} in {jobs:?}"
        );
    }
}
