//! Errors: their codes, details and headers, beyond the field that is invalid.

use super::concurrency::fill_concurrency_limit;
use super::*;

on_every_frontend! {
    body_errors_have_details,
    a_field_that_occurs_twice_is_rejected,
    an_unknown_path_without_a_key_is_unauthorized,
    a_refused_create_has_the_details_of_its_code: plan("scale"),
    estimates_ignore_directives_and_idempotency_keys,
    the_concurrency_limit_comes_before_a_refuse_directive: balance_usd("5.0000"),
    equal_json_values_are_one_idempotent_request,
    an_idempotency_key_is_checked_before_the_body,
    public_routes_ignore_an_invalid_key,
    a_window_starts_with_the_first_request,
    a_key_is_by_default_of_the_demo_workspace_with_all_scopes,
    faults_are_recorded_in_the_journal,
    faults_of_the_media_host,
    a_redelivery_belongs_to_the_jobs_workspace,
}

async fn body_errors_have_details(mock: Mock) {
    let open = mock.open();
    let huge = Bytes::from(vec![b' '; 4 * 1024 * 1024 + 1]);
    let json_type = "application/json";
    for (content_type, body, status, code, details) in [
        (
            "text/plain",
            huge.clone(),
            415,
            "unsupported_media_type",
            json!({"received_content_type": "text/plain"}),
        ),
        (
            json_type,
            huge,
            413,
            "payload_too_large",
            json!({"limit_bytes": 4_194_304}),
        ),
        (
            json_type,
            "{".into(),
            400,
            "invalid_request",
            json!({"field": "body"}),
        ),
    ] {
        let response = open.send("POST", TOP_UPS, Some(content_type), body).await;
        assert_eq!(response.expect_error(status, code)["details"], details);
    }
    let empty = open.send("POST", VIDEO, None, Bytes::new()).await;
    empty.expect_invalid_field("body");
}

async fn a_field_that_occurs_twice_is_rejected(mock: Mock) {
    for path in [VIDEO, IMAGE, ESTIMATE, TOP_UPS] {
        let body = r#"{"model": "video-l", "model": "video-f"}"#;
        let json_type = Some("application/json");
        let response = mock.open().send("POST", path, json_type, body.into()).await;
        response.expect_error(400, "invalid_request");
    }
}

async fn an_unknown_path_without_a_key_is_unauthorized(mock: Mock) {
    let anonymous = mock.client(Host::Open).get("/v1/nothing").await;
    anonymous.expect_error(401, "unauthorized");
}

async fn a_refused_create_has_the_details_of_its_code(mock: Mock) {
    for (code, status) in [
        ("generation_failed", 400),
        ("no_such_code", 400),
        ("provider_unavailable", 400),
        ("studio_agent_upstream_unavailable", 503),
        ("attachment_too_large", 413),
    ] {
        let prompt = json!({"prompt": format!("a fox [mock:refuse={code}]")});
        let response = mock.open().post(IMAGE, with(image(), prompt)).await;
        response.expect_error(status, code);
        let retry_after = (status == 503).then_some("1");
        assert_eq!(response.header("retry-after"), retry_after, "{code}");
    }
    for (code, status, details) in [
        ("attachment_fetch_failed", 502, json!({"index": 0})),
        ("rate_limited", 429, json!({"scope": "write"})),
        (
            "attachment_too_large",
            413,
            json!({"limit_bytes": 30_000_000}),
        ),
    ] {
        let body = json!({"prompt": format!("[mock:refuse={code}]")});
        let path = "/v1/music-1.0/generate";
        let response = mock.developer().post(path, body).await;
        assert_eq!(
            response.expect_error(status, code)["details"],
            details,
            "{code}"
        );
    }
}

async fn estimates_ignore_directives_and_idempotency_keys(mock: Mock) {
    let input = json!({"prompt": "[mock:refuse=database_busy]"});
    let body = json!({"model": "image-i", "input": input});
    let keyed = mock.open().idempotency_key("order-1");
    keyed.post(ESTIMATE, body).await.expect(200);
    let other = json!({"model": "image-i", "input": {"prompt": "x"}});
    keyed.post(ESTIMATE, other).await.expect(200);
}

async fn the_concurrency_limit_comes_before_a_refuse_directive(mock: Mock) {
    let open = mock.open();
    assert_eq!(fill_concurrency_limit(&open).await.len(), 100);
    let prompt = json!({"prompt": "[mock:refuse=stripe_error]"});
    let response = open.post(IMAGE, with(image(), prompt)).await;
    let error = response.expect_error(400, "concurrency_limit_reached");
    assert_eq!(error["details"], json!({"limit": 100}));
}

async fn equal_json_values_are_one_idempotent_request(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    let first = keyed.post(VIDEO, video()).await.expect(202);
    let reordered = r#"{ "prompt":"a red fox", "duration":2, "model":"video-l" }"#;
    let json_type = Some("application/json");
    let again = keyed.send("POST", VIDEO, json_type, reordered.into()).await;
    assert_eq!(again.clone().expect(200).json(), first.json());
    let id = "x-svc-request-id";
    assert_ne!(again.header(id), first.header(id));
}

async fn an_idempotency_key_is_checked_before_the_body(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    keyed.post(VIDEO, video()).await.expect(202);
    for other in [
        json!({}),
        json!([]),
        with(video(), json!({"duration": 2.0})),
    ] {
        let response = keyed.post(VIDEO, other).await;
        response.expect_error(409, "idempotency_conflict");
    }
}

async fn public_routes_ignore_an_invalid_key(mock: Mock) {
    for key in ["svc_open_demo", "svc_revoked", "nonsense"] {
        let client = mock.client(Host::Developer).api_key(key);
        let response = client.get("/v1/health").await.expect(200);
        assert_eq!(response.int_header("ratelimit-limit"), 480, "{key}");
    }
    let developer = mock.developer();
    let health = developer.get("/v1/health").await;
    assert_eq!(health.int_header("ratelimit-limit"), 4_800);
    let pick = developer.post("/v1/bgm/pick", json!({})).await;
    assert_eq!(pick.int_header("ratelimit-limit"), 120);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(
        developer
            .post("/mcp", ping)
            .await
            .int_header("ratelimit-limit"),
        4_800
    );
    // An address has one budget on both hosts.
    let unknown = mock.client(Host::Open).api_key("svc_unknown");
    for _ in 0..477 {
        unknown
            .get("/v1/jobs")
            .await
            .expect_error(401, "unauthorized");
    }
    let anonymous = mock.client(Host::Developer).get("/v1/health").await;
    let error = anonymous.expect_error(429, "rate_limited");
    assert_eq!(error["details"], json!({"scope": "read"}));
}

async fn a_window_starts_with_the_first_request(mock: Mock) {
    let open = mock.open();
    let estimate = async || open.post(ESTIMATE, json!({})).await;
    let first = open.get("/v1/jobs").await;
    assert_eq!(first.int_header("ratelimit-reset"), 60);
    mock.advance(0.5).await;
    let second = open.get("/v1/nothing").await;
    assert_eq!(second.int_header("ratelimit-remaining"), 4_798);
    assert_eq!(second.int_header("ratelimit-reset"), 60, "rounded up");
    for _ in 0..120 {
        estimate().await.expect(400);
    }
    mock.advance(14.001).await;
    let refused = estimate().await;
    refused.expect_error(429, "rate_limited");
    assert_eq!(refused.int_header("retry-after"), 46);
    mock.advance(45.999).await;
    estimate().await.expect(400);
}

async fn a_key_is_by_default_of_the_demo_workspace_with_all_scopes(mock: Mock) {
    let response = mock
        .control()
        .post("/keys", json!({"kind": "developer"}))
        .await;
    let key = response.json();
    assert_eq!(key["workspace"], "ws_demo");
    assert_eq!(key["scopes"].as_array().map(Vec::len), Some(9));
}

async fn faults_are_recorded_in_the_journal(mock: Mock) {
    for (kind, jobs) in [("drop_before", 0), ("drop_after", 1)] {
        mock.add_fault(json!({"kind": kind})).await;
        let response = mock.open().try_post(VIDEO, video()).await;
        assert!(response.is_err(), "{kind}: {response:?}");
        assert_eq!(mock.jobs().await.len(), jobs, "{kind}");
    }
    mock.add_fault(json!({"kind": "status_502_html"})).await;
    let page = mock
        .open()
        .try_post(VIDEO, video())
        .await
        .unwrap()
        .expect(502);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    mock.add_fault(json!({"kind": "garbage"})).await;
    let garbage = mock
        .open()
        .try_post(VIDEO, video())
        .await
        .unwrap()
        .expect(200);
    assert_eq!(garbage.header("content-type"), Some("application/json"));
    assert!(!garbage.is_json(), "{garbage:?}");
    assert_eq!(mock.jobs().await.len(), 2, "garbage hides a submitted job");
    let journal = mock.journal(0).await;
    let rows: Vec<_> = journal
        .iter()
        .map(|entry| json!([entry["status"], entry["fault"]]))
        .collect();
    let expected = json!([
        [null, "drop_before"],
        [null, "drop_after"],
        [502, "status_502_html"],
        [200, "garbage"]
    ]);
    assert_eq!(Value::Array(rows), expected);
}

async fn faults_of_the_media_host(mock: Mock) {
    let media = mock.client(Host::Media);
    mock.add_fault(json!({"kind": "status_503", "surface": "media"}))
        .await;
    mock.open().get("/v1/jobs").await.expect(200);
    let file = media.get("/artifacts/x.png").await;
    file.expect_error(503, "database_busy");
    mock.add_fault(json!({"kind": "status_503", "operation": "checkout"}))
        .await;
    let file = media.get("/artifacts/x.png").await;
    file.expect_error(404, "not_found");
    media.get("/checkout/x").await.expect(503);
    let left = mock.control().get("/faults").await.expect(200);
    assert!(!left.text().contains("status_503"), "{left:?}");
}

async fn a_redelivery_belongs_to_the_jobs_workspace(mock: Mock) {
    let hook = "https://hooks.example.com/";
    let body = with(image(), json!({"mode": "webhook", "webhook_url": hook}));
    let id = submit(&mock.open(), IMAGE, body).await;
    mock.advance(2).await;
    let path = format!("/v1/jobs/{id}/webhook/redeliver");
    let other = mock.client(Host::Developer).bearer("svc_dev_other");
    other
        .post_empty(&path)
        .await
        .expect_error(404, "job_not_found");
    let response = mock.developer().post(&path, json!({"url": hook})).await;
    response.expect_error(400, "invalid_request");
    mock.open()
        .post_empty(&path)
        .await
        .expect_error(404, "not_found");
}
