//! The control API: what a test or a person may do to the mock from outside of the service.

use bytes::Bytes;
use serde_json::{Value, json};
use svc_tests::{FaceKind, Host, Mock, on_every_face};

use super::{
    IMAGE, TOP_UPS, VIDEO, amounts, available, image, status_of, submit, text, video, video_of,
};

on_every_face! {
    the_control_api_needs_no_key_and_spends_no_budget,
    the_clock_stands_still_until_it_is_moved,
    what_is_no_step_of_the_clock_is_refused,
    a_reset_goes_back_to_the_start: balance_usd("1.0000"),
    a_new_open_key_works_on_the_open_surface,
    a_new_developer_key_works_on_the_developer_surface,
    a_new_workspace_has_a_full_balance_and_its_own_plan: balance_usd("1.0000"),
    what_is_no_key_is_refused,
    a_job_can_be_completed_now,
    a_job_can_be_failed_now_with_a_code: balance_usd("1.0000"),
    a_job_can_be_canceled_now: balance_usd("1.0000"),
    ending_an_unknown_job_is_refused,
    the_journal_has_every_request,
    the_journal_is_read_from_a_number_on,
    the_journal_keeps_the_newest_10000,
    the_journal_never_has_a_credential,
    every_job_is_listed,
    the_ledger_has_every_entry,
    nothing_is_delivered_without_a_webhook,
}

async fn the_control_api_needs_no_key_and_spends_no_budget(mock: Mock) {
    for path in [
        "/clock",
        "/requests",
        "/deliveries",
        "/ledger",
        "/jobs",
        "/state",
    ] {
        mock.control().get(path).await.expect(200).json();
    }
    let answer = mock.open().get("/v1/jobs").await;
    assert_eq!(answer.number("ratelimit-remaining"), 4_799);
}

async fn the_clock_stands_still_until_it_is_moved(mock: Mock) {
    let first = mock.control().get("/clock").await.expect(200).json();
    assert_eq!(mock.control().get("/clock").await.expect(200).json(), first);
    mock.advance(1).await;
    let second = mock.control().get("/clock").await.expect(200).json();
    assert_ne!(second, first);
    mock.advance(0).await;
    assert_eq!(
        mock.control().get("/clock").await.expect(200).json(),
        second
    );
}

async fn what_is_no_step_of_the_clock_is_refused(mock: Mock) {
    let before = mock.control().get("/clock").await.expect(200).json();
    for body in [
        "{}",
        "[]",
        "",
        "{",
        r#"{"seconds": -1}"#,
        r#"{"seconds": "1"}"#,
        r#"{"seconds": 1e400}"#,
    ] {
        let answer = mock
            .control()
            .send(
                "POST",
                "/clock/advance",
                Some("application/json"),
                Bytes::from(body),
            )
            .await;
        assert_eq!(answer.status(), 400, "{body} got\n{answer:?}");
    }
    assert_eq!(
        mock.control().get("/clock").await.expect(200).json(),
        before
    );
}

async fn a_reset_goes_back_to_the_start(mock: Mock) {
    let open = mock.open();
    let key = mock
        .new_key(json!({"kind": "open", "workspace": "ws_new"}))
        .await;
    let id = submit(&open, VIDEO, video()).await;
    let top_up = open
        .post(TOP_UPS, json!({"amount_usd_cents": 500}))
        .await
        .expect(201)
        .data();
    submit(&open.clone().idempotency_key("order-1"), IMAGE, image()).await;
    mock.fault(json!({"kind": "status_503", "operation": "jobs_list", "times": 1_000}))
        .await;
    mock.advance(60).await;

    let answer = mock.control().post_nothing("/reset").await;
    assert!(answer.status() < 300, "{answer:?}");

    open.get(&format!("/v1/jobs/{id}")).await.expect(404);
    open.get(&format!("{TOP_UPS}/{}", text(&top_up["id"])))
        .await
        .expect(404);
    assert!(open.get("/v1/jobs").await.expect(200).items().is_empty());
    mock.caller(Host::Open)
        .bearer(&key)
        .get("/v1/jobs")
        .await
        .refused(401, "unauthorized");
    assert_eq!(available(&open).await, "1.0000");
    open.clone()
        .idempotency_key("order-1")
        .post(IMAGE, image())
        .await
        .expect(202);
}

async fn a_new_open_key_works_on_the_open_surface(mock: Mock) {
    let answer = mock.control().post("/keys", json!({"kind": "open"})).await;
    assert!(answer.status() < 300, "{answer:?}");
    let made = answer.json();
    for field in ["key", "id", "workspace", "scopes"] {
        assert!(made.get(field).is_some(), "no {field} in {made}");
    }
    assert!(text(&made["id"]).starts_with("key_"), "{made}");
    let key = text(&made["key"]);
    mock.caller(Host::Open)
        .bearer(&key)
        .get("/v1/jobs")
        .await
        .expect(200);
    mock.caller(Host::Open)
        .api_key(&key)
        .post(VIDEO, video())
        .await
        .expect(202);
    mock.caller(Host::Developer)
        .bearer(&key)
        .get("/v1/jobs")
        .await
        .refused(401, "unauthorized");
}

async fn a_new_developer_key_works_on_the_developer_surface(mock: Mock) {
    let key = mock
        .new_key(json!({"kind": "developer", "workspace": "ws_demo"}))
        .await;
    let caller = mock.caller(Host::Developer).bearer(&key);
    caller.get("/v1/jobs").await.expect(200);
    mock.caller(Host::Open)
        .bearer(&key)
        .get("/v1/jobs")
        .await
        .refused(401, "unauthorized");
}

async fn a_new_workspace_has_a_full_balance_and_its_own_plan(mock: Mock) {
    submit(&mock.open(), VIDEO, video()).await;
    let body = json!({"kind": "open", "workspace": "ws_rich", "plan": "scale"});
    let key = mock.new_key(body).await;
    let caller = mock.caller(Host::Open).bearer(&key);
    assert_eq!(available(&caller).await, "1.0000");
    assert_eq!(
        caller
            .get("/v1/jobs")
            .await
            .expect(200)
            .number("ratelimit-limit"),
        48_000
    );
    assert_eq!(available(&mock.open()).await, "0.8750");
    let again = mock
        .new_key(json!({"kind": "open", "workspace": "ws_rich"}))
        .await;
    assert_ne!(again, key);
    submit(&mock.caller(Host::Open).bearer(&again), VIDEO, video()).await;
    assert_eq!(available(&caller).await, "0.8750");
}

async fn what_is_no_key_is_refused(mock: Mock) {
    for body in [
        json!({}),
        json!({"kind": "golden"}),
        json!({"kind": 7}),
        json!({"kind": "developer", "scopes": "all"}),
        json!({"kind": "developer", "scopes": ["no:such"]}),
    ] {
        let answer = mock.control().post("/keys", body.clone()).await;
        assert!(
            (400..500).contains(&answer.status()),
            "{body} got\n{answer:?}"
        );
    }
}

async fn end(mock: &Mock, id: &str, body: Value) {
    let answer = mock.control().post(&format!("/jobs/{id}"), body).await;
    assert!(answer.status() < 300, "{answer:?}");
}

async fn a_job_can_be_completed_now(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video_of("[mock:stuck]")).await;
    end(&mock, &id, json!({"status": "completed"})).await;
    let result = open
        .get(&format!("/v1/jobs/{id}/result"))
        .await
        .expect(200)
        .data();
    assert_eq!(result["status"], "completed");
    assert_eq!(result["artifacts"].as_array().map(Vec::len), Some(1));
    assert_eq!(amounts(&mock, "capture", &id).await, [1_250]);
}

async fn a_job_can_be_failed_now_with_a_code(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    end(
        &mock,
        &id,
        json!({"status": "failed", "code": "provider_unavailable"}),
    )
    .await;
    let result = open
        .get(&format!("/v1/jobs/{id}/result"))
        .await
        .expect(200)
        .data();
    assert_eq!(result["status"], "failed");
    assert_eq!(result["error"]["code"], "provider_unavailable");
    assert_eq!(available(&open).await, "1.0000");
    mock.advance(60).await;
    assert_eq!(status_of(&open, &id).await, "failed");
    assert_eq!(amounts(&mock, "refund", &id).await, [1_250]);
}

async fn a_job_can_be_canceled_now(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    end(&mock, &id, json!({"status": "canceled"})).await;
    assert_eq!(status_of(&open, &id).await, "canceled");
    assert_eq!(available(&open).await, "1.0000");
}

async fn ending_an_unknown_job_is_refused(mock: Mock) {
    let answer = mock
        .control()
        .post("/jobs/job_unknown", json!({"status": "completed"}))
        .await;
    assert!((400..500).contains(&answer.status()), "{answer:?}");
    let id = submit(&mock.open(), VIDEO, video()).await;
    for status in ["melted", "queued"] {
        let answer = mock
            .control()
            .post(&format!("/jobs/{id}"), json!({"status": status}))
            .await;
        assert!((400..500).contains(&answer.status()), "{answer:?}");
    }
    assert_eq!(status_of(&mock.open(), &id).await, "queued");
}

async fn the_journal_has_every_request(mock: Mock) {
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
    assert!(
        entries[0]["headers"]
            .to_string()
            .contains("application/json"),
        "{}",
        entries[0]
    );
    assert_eq!(entries[1]["surface"], "developer");
    assert_eq!(entries[1]["operation"], "jobs_list");
}

async fn the_journal_is_read_from_a_number_on(mock: Mock) {
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
    // The journal is the engine's; so many requests over sockets would only be slower.
    if mock.kind() != FaceKind::InProcess {
        return;
    }
    let stranger = mock.caller(Host::Open);
    for number in 0..10_005 {
        stranger.get(&format!("/v1/jobs/job_{number}")).await;
    }
    let kept = mock.journal(0).await;
    assert_eq!(kept.len(), 10_000);
    assert_eq!(kept[0]["path"], "/v1/jobs/job_5");
    assert_eq!(kept[9_999]["path"], "/v1/jobs/job_10004");
}

async fn the_journal_never_has_a_credential(mock: Mock) {
    for (name, value) in [
        ("authorization", "Bearer svc_open_demo"),
        ("authorization", "bearer svc_canary_1"),
        ("authorization", "svc_canary_2"),
        ("Authorization", "Basic svc_canary_3"),
        ("x-api-key", "svc_open_demo"),
        ("X-API-Key", "svc_canary_4"),
        ("x-api-key", "Bearer svc_canary_5"),
    ] {
        mock.caller(Host::Open)
            .with(name, value)
            .get("/v1/jobs")
            .await;
        mock.caller(Host::Developer)
            .with(name, value)
            .get("/v1/health")
            .await;
    }
    mock.open()
        .api_key("svc_canary_6")
        .get("/v1/jobs")
        .await
        .expect(401);
    let journal = Value::Array(mock.journal(0).await).to_string();
    assert!(
        journal.contains("authorization"),
        "that there was one is told"
    );
    for secret in ["svc_open_demo", "svc_canary"] {
        assert!(!journal.contains(secret), "{secret} is in {journal}");
    }
}

async fn every_job_is_listed(mock: Mock) {
    let ours = submit(&mock.open(), VIDEO, video()).await;
    let key = mock
        .new_key(json!({"kind": "open", "workspace": "ws_new"}))
        .await;
    let theirs = submit(&mock.caller(Host::Open).bearer(&key), IMAGE, image()).await;
    let jobs = mock.jobs().await;
    assert_eq!(jobs.len(), 2);
    for id in [ours, theirs] {
        assert!(
            jobs.iter().any(|job| job["id"] == id.as_str()),
            "{id} in {jobs:?}"
        );
    }
}

async fn the_ledger_has_every_entry(mock: Mock) {
    let id = submit(&mock.open(), VIDEO, video()).await;
    let created = mock
        .open()
        .post(TOP_UPS, json!({"amount_usd_cents": 500}))
        .await
        .expect(201)
        .data();
    let top_up = text(&created["id"]);
    mock.control()
        .post(&format!("/top-ups/{top_up}"), json!({"status": "paid"}))
        .await;
    mock.advance(8).await;
    assert_eq!(amounts(&mock, "reservation", &id).await, [1_250]);
    assert_eq!(amounts(&mock, "capture", &id).await, [1_250]);
    assert_eq!(amounts(&mock, "top_up", &top_up).await, [50_000]);
    for entry in mock.ledger().await {
        let kind = text(&entry["kind"]);
        assert!(
            ["reservation", "capture", "refund", "top_up"].contains(&kind.as_str()),
            "{entry}"
        );
    }
}

async fn nothing_is_delivered_without_a_webhook(mock: Mock) {
    submit(&mock.open(), VIDEO, video()).await;
    mock.advance(8).await;
    let deliveries = mock.control().get("/deliveries").await.expect(200).json();
    assert!(!deliveries.to_string().contains("job."), "{deliveries}");
}
