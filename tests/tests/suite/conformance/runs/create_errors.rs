//! The errors of the specification's table "Format run create errors".

use bytes::Bytes;
use serde_json::{Value, json};
use svc_tests::{Mock, Response, on_every_frontend};

use super::{
    BULK, COMPLETIONS, DEMO, DEMO_BY_SLUG, Kind, MEDIA_RUNS, RUNS, RUNS_BY_SLUG, STORYBOARD_RUNS,
    assert_no_runs, instruction, run_to_end, start, start_demo, start_run, with,
};

on_every_frontend! {
    unknown_parameters_are_rejected_with_a_suggestion,
    a_previous_run_of_another_format_is_rejected,
    a_skipped_run_cannot_be_continued,
    an_unknown_previous_run_is_rejected,
    an_active_run_cannot_be_continued,
    a_run_without_funds_is_rejected: balance_usd("0"),
    formats_that_cannot_be_run_are_rejected,
    reusing_a_key_for_a_different_body_is_a_conflict,
    a_key_in_use_can_be_retried_after_a_second,
    a_body_over_4_mib_is_too_large,
    a_body_of_another_type_is_rejected,
    starts_are_rate_limited,
    refuse_directive_returns_errors_of_the_service,
    rejected_actions_and_completions_store_nothing,
}

async fn post(mock: &Mock, path: &str, body: Value) -> Response {
    mock.developer().post(path, body).await
}

async fn unknown_parameters_are_rejected_with_a_suggestion(mock: Mock) {
    for format in [DEMO, DEMO_BY_SLUG] {
        for (field, suggestion) in [
            ("instructions", json!("instruction")),
            ("attachment", json!("attachments")),
            ("output_shema", json!("output_schema")),
            ("previous_run", json!("previous_run_id")),
            ("zzzzzzzzzzzz", json!(null)),
        ] {
            let body = with(instruction("x"), json!({field: "x"}));
            let error = post(&mock, &format!("{format}/runs"), body)
                .await
                .expect_error(400, "unknown_parameter");
            let errors = error["details"]["errors"].as_array().unwrap();
            assert_eq!(errors.len(), 1, "{error}");
            assert_eq!(errors[0]["suggestion"], suggestion, "{field}");
        }
    }
    for field in ["thread_id", "workspace_id", "owner_user_id", "user_id"] {
        let body = with(instruction("x"), json!({field: "x"}));
        post(&mock, RUNS, body)
            .await
            .expect_error(400, "unknown_parameter");
    }
    let items = json!([instruction("x")]);
    for field in ["thread_id", "concurency", "instruction"] {
        let body = json!({"items": items, field: 1});
        post(&mock, BULK, body)
            .await
            .expect_error(400, "unknown_parameter");
    }
    assert_no_runs(&mock).await;
}

async fn a_previous_run_of_another_format_is_rejected(mock: Mock) {
    let id = run_to_end(&mock, "x").await;
    let body = json!({"previous_run_id": id});
    post(&mock, MEDIA_RUNS, body)
        .await
        .expect_error(400, "previous_run_format_mismatch");
}

async fn a_skipped_run_cannot_be_continued(mock: Mock) {
    let id = run_to_end(&mock, "[mock:skip]").await;
    let details = post(&mock, RUNS, json!({"previous_run_id": id}))
        .await
        .expect_error(400, "previous_run_not_resumable")["details"]
        .clone();
    assert_eq!(details["previous_run_status"], "skipped");
    assert!(details["has_thread"].is_boolean(), "{details}");
    assert_eq!(details["artifact_count"], 0);
}

async fn an_unknown_previous_run_is_rejected(mock: Mock) {
    let other = mock.developer_as("svc_dev_other");
    let other_run = start(&other, STORYBOARD_RUNS, instruction("x")).await;
    mock.advance(10).await;
    for (path, id) in [(RUNS, "run_none"), (STORYBOARD_RUNS, &other_run)] {
        post(&mock, path, json!({"previous_run_id": id}))
            .await
            .expect_error(404, "previous_run_not_found");
    }
}

async fn an_active_run_cannot_be_continued(mock: Mock) {
    let id = start_run(&mock, Kind::Format, "x").await;
    for second in [0, 1, 8] {
        mock.advance(second).await;
        post(&mock, RUNS, json!({"previous_run_id": id}))
            .await
            .expect_error(409, "previous_run_not_terminal");
    }
    mock.advance(1).await;
    start_demo(&mock, json!({"previous_run_id": id})).await;
}

async fn a_run_without_funds_is_rejected(mock: Mock) {
    for path in [RUNS, RUNS_BY_SLUG] {
        let error = post(&mock, path, instruction("x"))
            .await
            .expect_error(402, "insufficient_credits");
        assert_eq!(error["next_action"], "add_funds");
    }
    assert_no_runs(&mock).await;
}

async fn formats_that_cannot_be_run_are_rejected(mock: Mock) {
    for (format, status, code) in [
        ("fmt_none", 404, "format_not_found"),
        ("fmt_archived", 404, "format_not_found"),
        ("demo/none", 404, "format_not_found"),
        ("unknown/teaser", 404, "format_not_found"),
        ("studio/none", 404, "format_not_found"),
        ("fmt_inactive", 409, "format_inactive"),
        ("fmt_no_trigger", 409, "format_api_trigger_disabled"),
        ("fmt_builtin", 409, "format_not_forkable"),
        ("fmt_team", 403, "workspace_key_required"),
    ] {
        let runs = format!("/v1/formats/{format}/runs");
        post(&mock, &runs, instruction("x"))
            .await
            .expect_error(status, code);
        let bulk = format!("/v1/formats/{format}/bulk-runs");
        let body = json!({"items": [instruction("x")]});
        post(&mock, &bulk, body).await.expect_error(status, code);
    }
    assert_no_runs(&mock).await;
}

async fn reusing_a_key_for_a_different_body_is_a_conflict(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    keyed.post(RUNS, instruction("x")).await.expect(202);
    for body in [
        instruction("y"),
        with(instruction("x"), json!({"model": "video-f"})),
    ] {
        keyed
            .post_error(RUNS, body, 409, "idempotency_conflict")
            .await;
    }
    let items = |prompt: &str| json!({"items": [instruction(prompt)]});
    let queue = keyed.post_data(BULK, items("x"), 202).await;
    let error = keyed
        .post_error(BULK, items("y"), 409, "idempotency_conflict")
        .await;
    assert_eq!(error["details"]["queue_id"], queue["queue_id"]);
}

async fn a_key_in_use_can_be_retried_after_a_second(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    let body = instruction("[mock:refuse=idempotency_key_in_use]");
    let error = keyed
        .post_error(RUNS, body, 409, "idempotency_key_in_use")
        .await;
    assert_eq!(error["retryable"], true);
    let wait = error["retry_after_seconds"].as_f64().unwrap();
    assert!((0.5..=2.0).contains(&wait), "{wait}");
    keyed.post(RUNS, instruction("x")).await.expect(202);
}

async fn a_body_over_4_mib_is_too_large(mock: Mock) {
    let limit = 4 * 1024 * 1024;
    let empty = instruction("").to_string().len();
    for path in [RUNS, RUNS_BY_SLUG, BULK] {
        let body = instruction(&"x".repeat(limit + 1 - empty)).to_string();
        let body = Bytes::from(body);
        assert_eq!(body.len(), limit + 1);
        let error = mock
            .developer()
            .post_bytes(path, body)
            .await
            .expect_error(413, "payload_too_large");
        assert_eq!(error["details"]["limit_bytes"], limit);
    }
    assert_no_runs(&mock).await;
    let most = instruction(&"x".repeat(limit - empty));
    assert_ne!(post(&mock, RUNS, most).await.status(), 413);
}

async fn a_body_of_another_type_is_rejected(mock: Mock) {
    for (path, body) in [
        (RUNS, instruction("x")),
        (BULK, json!({"items": [instruction("x")]})),
    ] {
        for given in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
        ] {
            let body = Bytes::from(body.to_string());
            let error = mock
                .developer()
                .send("POST", path, Some(given), body)
                .await
                .expect_error(415, "unsupported_media_type");
            assert_eq!(error["details"]["received_content_type"], given);
        }
    }
    assert_no_runs(&mock).await;
}

async fn starts_are_rate_limited(mock: Mock) {
    for _ in 0..120 {
        post(&mock, RUNS, json!({}))
            .await
            .expect_error(400, "invalid_request");
    }
    for (path, body) in [
        (RUNS, instruction("x")),
        (BULK, json!({"items": [instruction("x")]})),
    ] {
        let response = post(&mock, path, body).await;
        response.int_header("retry-after");
        let error = response.expect_error(429, "rate_limited");
        assert_eq!(error["details"]["scope"], "write");
    }
    assert_no_runs(&mock).await;
}

async fn refuse_directive_returns_errors_of_the_service(mock: Mock) {
    for (code, statuses, next_action) in [
        ("organization_wallet_not_provisioned", 402..=402, None),
        ("attachment_too_large", 413..=413, None),
        ("attachment_fetch_failed", 502..=502, Some("fix_input")),
        ("studio_agent_upstream_unavailable", 503..=503, None),
        ("format_run_failed_to_start", 400..=599, None),
    ] {
        let keyed = mock.developer().idempotency_key(code);
        let body = instruction(&format!("[mock:refuse={code}]"));
        let response = keyed.post(RUNS, body.clone()).await;
        let status = response.status();
        assert!(statuses.contains(&status), "{response:?}");
        let error = response.expect_error(status, code);
        if let Some(expected) = next_action {
            assert_eq!(error["next_action"], expected, "{code}");
            assert!(error["details"]["index"].is_number(), "{code}: {error}");
        }
        if status == 503 {
            assert_eq!(error["retryable"], true, "{code}");
        }
        let error = mock
            .developer()
            .post_error(
                BULK,
                json!({"items": [instruction("x"), body]}),
                status,
                code,
            )
            .await;
        assert_eq!(error["details"]["index"], 1, "{code}");
        keyed.post(RUNS, instruction("x")).await.expect(202);
        mock.advance(60).await;
    }
}

async fn rejected_actions_and_completions_store_nothing(mock: Mock) {
    let developer = mock.developer();
    developer
        .post_error(
            "/v1/actions/act_none/runs",
            json!({}),
            404,
            "action_not_found",
        )
        .await;
    developer
        .post_error(
            "/v1/actions/act_no_trigger/runs",
            json!({}),
            409,
            "action_api_trigger_disabled",
        )
        .await;
    for body in [
        json!({}),
        json!({"instruction": "x"}),
        json!({"generation_spend_cap_usd": 5}),
        json!({"instruction": "x", "generation_spend_cap_usd": null}),
        json!({"instruction": "x", "generation_spend_cap_usd": 0}),
        json!({"instruction": "x", "generation_spend_cap_usd": -1}),
        json!({"instruction": "x", "generation_spend_cap_usd": 500.01}),
        json!({"instruction": "x", "generation_spend_cap_usd": "5"}),
        json!({"instruction": 7, "generation_spend_cap_usd": 5}),
    ] {
        developer.post(COMPLETIONS, body.clone()).await.expect(400);
    }
    assert_no_runs(&mock).await;
}
