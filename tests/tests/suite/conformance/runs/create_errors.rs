//! The table "Format run create errors", code by code, at both addresses of a Format.

use bytes::Bytes;
use serde_json::{Value, json};
use svc_tests::{Answer, Host, Mock, on_every_face};

use super::{
    BULK, DEMO, DEMO_BY_SLUG, Kind, RUNS, ended, nothing_happened, run_of, start, started, with,
};

on_every_face! {
    an_unknown_parameter_is_named_and_the_likely_one_suggested,
    a_run_to_continue_has_to_be_of_the_same_format,
    a_skipped_run_has_nothing_to_continue,
    a_run_to_continue_has_to_be_there,
    a_run_to_continue_has_to_be_over,
    a_run_that_the_wallet_cannot_fund_is_refused: balance_usd("0"),
    formats_that_cannot_be_run_say_why,
    a_run_in_progress_can_be_a_reason_to_refuse,
    a_key_used_with_a_different_body_is_a_conflict,
    a_key_that_is_in_use_is_free_in_a_second,
    a_body_over_4_mib_is_too_large,
    a_body_of_another_type_is_refused,
    the_write_budget_is_the_keys,
    what_only_the_service_knows_is_refused_with_its_own_code,
    a_refused_start_of_an_action_or_a_completion_stores_nothing,
}

async fn post(mock: &Mock, path: &str, body: Value) -> Answer {
    mock.developer().post(path, body).await
}

async fn an_unknown_parameter_is_named_and_the_likely_one_suggested(mock: Mock) {
    for format in [DEMO, DEMO_BY_SLUG] {
        for (field, suggestion) in [
            ("instructions", json!("instruction")),
            ("attachment", json!("attachments")),
            ("output_shema", json!("output_schema")),
            ("previous_run", json!("previous_run_id")),
            ("zzzzzzzzzzzz", json!(null)),
        ] {
            let body = with(run_of("x"), json!({field: "x"}));
            let answer = post(&mock, &format!("{format}/runs"), body).await;
            let error = answer.refused(400, "unknown_parameter");
            let errors = error["details"]["errors"].as_array().unwrap();
            assert_eq!(errors.len(), 1, "{error}");
            assert_eq!(errors[0]["suggestion"], suggestion, "{field}");
        }
    }
    for field in ["thread_id", "workspace_id", "owner_user_id", "user_id"] {
        let body = with(run_of("x"), json!({field: "x"}));
        post(&mock, RUNS, body)
            .await
            .refused(400, "unknown_parameter");
    }
    let items = json!([run_of("x")]);
    for field in ["thread_id", "concurency", "instruction"] {
        let body = json!({"items": items, field: 1});
        post(&mock, BULK, body)
            .await
            .refused(400, "unknown_parameter");
    }
    nothing_happened(&mock).await;
}

async fn a_run_to_continue_has_to_be_of_the_same_format(mock: Mock) {
    let id = ended(&mock, "x").await;
    let body = json!({"previous_run_id": id});
    let answer = post(&mock, "/v1/formats/fmt_media/runs", body).await;
    answer.refused(400, "previous_run_format_mismatch");
}

async fn a_skipped_run_has_nothing_to_continue(mock: Mock) {
    let id = ended(&mock, "[mock:skip]").await;
    let answer = post(&mock, RUNS, json!({"previous_run_id": id})).await;
    let details = answer.refused(400, "previous_run_not_resumable")["details"].clone();
    assert_eq!(details["previous_run_status"], "skipped");
    assert!(details["has_thread"].is_boolean(), "{details}");
    assert_eq!(details["artifact_count"], 0);
}

async fn a_run_to_continue_has_to_be_there(mock: Mock) {
    let stranger = mock.caller(Host::Developer).bearer("svc_dev_other");
    let foreign = start(&stranger, "/v1/formats/studio/storyboard/runs", run_of("x")).await;
    mock.advance(10).await;
    for (path, id) in [
        (RUNS, "run_none"),
        ("/v1/formats/studio/storyboard/runs", &foreign),
    ] {
        let answer = post(&mock, path, json!({"previous_run_id": id})).await;
        answer.refused(404, "previous_run_not_found");
    }
}

async fn a_run_to_continue_has_to_be_over(mock: Mock) {
    let id = started(&mock, Kind::Format, "x").await;
    for second in [0, 1, 8] {
        mock.advance(second).await;
        let answer = post(&mock, RUNS, json!({"previous_run_id": id})).await;
        answer.refused(409, "previous_run_not_terminal");
    }
    mock.advance(1).await;
    start(&mock.developer(), RUNS, json!({"previous_run_id": id})).await;
}

async fn a_run_that_the_wallet_cannot_fund_is_refused(mock: Mock) {
    for path in [RUNS, "/v1/formats/demo/teaser/runs"] {
        let error = post(&mock, path, run_of("x"))
            .await
            .refused(402, "insufficient_credits");
        assert_eq!(error["next_action"], "add_funds");
    }
    nothing_happened(&mock).await;
}

async fn formats_that_cannot_be_run_say_why(mock: Mock) {
    for (format, status, code) in [
        ("fmt_none", 404, "format_not_found"),
        ("fmt_archived", 404, "format_not_found"),
        ("demo/none", 404, "format_not_found"),
        ("nobody/teaser", 404, "format_not_found"),
        ("studio/none", 404, "format_not_found"),
        ("fmt_inactive", 409, "format_inactive"),
        ("fmt_no_trigger", 409, "format_api_trigger_disabled"),
        ("fmt_builtin", 409, "format_not_forkable"),
        ("fmt_team", 403, "workspace_key_required"),
    ] {
        let runs = format!("/v1/formats/{format}/runs");
        post(&mock, &runs, run_of("x")).await.refused(status, code);
        let bulk = format!("/v1/formats/{format}/bulk-runs");
        let body = json!({"items": [run_of("x")]});
        post(&mock, &bulk, body).await.refused(status, code);
    }
    nothing_happened(&mock).await;
}

async fn a_run_in_progress_can_be_a_reason_to_refuse(mock: Mock) {
    let body = with(run_of("x"), json!({"on_active_run": "reject"}));
    let id = start(&mock.developer(), RUNS, body.clone()).await;
    for path in [RUNS, "/v1/formats/demo/teaser/runs"] {
        let answer = post(&mock, path, body.clone()).await;
        answer.refused(409, "format_run_in_progress");
    }
    start(&mock.developer(), RUNS, run_of("side by side is fine")).await;
    start(
        &mock.developer(),
        "/v1/formats/fmt_media/runs",
        body.clone(),
    )
    .await;
    mock.advance(10).await;
    assert_ne!(start(&mock.developer(), RUNS, body).await, id);
}

async fn a_key_used_with_a_different_body_is_a_conflict(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    keyed.post(RUNS, run_of("x")).await.expect(202);
    for body in [run_of("y"), with(run_of("x"), json!({"model": "video-f"}))] {
        keyed
            .post(RUNS, body)
            .await
            .refused(409, "idempotency_conflict");
    }
    let items = |words: &str| json!({"items": [run_of(words)]});
    let queue = keyed.post(BULK, items("x")).await.expect(202).data();
    let error = keyed
        .post(BULK, items("y"))
        .await
        .refused(409, "idempotency_conflict");
    assert_eq!(error["details"]["queue_id"], queue["queue_id"]);
}

async fn a_key_that_is_in_use_is_free_in_a_second(mock: Mock) {
    let keyed = mock.developer().idempotency_key("order-1");
    let body = run_of("[mock:refuse=idempotency_key_in_use]");
    let error = keyed
        .post(RUNS, body)
        .await
        .refused(409, "idempotency_key_in_use");
    assert_eq!(error["retryable"], true);
    let wait = error["retry_after_seconds"].as_f64().unwrap();
    assert!((0.5..=2.0).contains(&wait), "about a second: {wait}");
    keyed.post(RUNS, run_of("x")).await.expect(202);
}

async fn a_body_over_4_mib_is_too_large(mock: Mock) {
    let limit = 4 * 1024 * 1024;
    let empty = run_of("").to_string().len();
    for path in [RUNS, "/v1/formats/demo/teaser/runs", BULK] {
        let body = run_of(&"x".repeat(limit + 1 - empty)).to_string();
        let body = Bytes::from(body);
        assert_eq!(body.len(), limit + 1);
        let answer = mock
            .developer()
            .send("POST", path, Some("application/json"), body)
            .await;
        let error = answer.refused(413, "payload_too_large");
        assert_eq!(error["details"]["limit_bytes"], limit);
    }
    nothing_happened(&mock).await;
    let most = run_of(&"x".repeat(limit - empty));
    assert_ne!(post(&mock, RUNS, most).await.status(), 413);
}

async fn a_body_of_another_type_is_refused(mock: Mock) {
    for (path, body) in [(RUNS, run_of("x")), (BULK, json!({"items": [run_of("x")]}))] {
        for given in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
        ] {
            let body = Bytes::from(body.to_string());
            let answer = mock.developer().send("POST", path, Some(given), body).await;
            let error = answer.refused(415, "unsupported_media_type");
            assert_eq!(error["details"]["received_content_type"], given);
        }
    }
    nothing_happened(&mock).await;
}

async fn the_write_budget_is_the_keys(mock: Mock) {
    for _ in 0..120 {
        post(&mock, RUNS, json!({}))
            .await
            .refused(400, "invalid_request");
    }
    for (path, body) in [(RUNS, run_of("x")), (BULK, json!({"items": [run_of("x")]}))] {
        let answer = post(&mock, path, body).await;
        answer.number("retry-after");
        let error = answer.refused(429, "rate_limited");
        assert_eq!(error["details"]["scope"], "write");
    }
    nothing_happened(&mock).await;
}

async fn what_only_the_service_knows_is_refused_with_its_own_code(mock: Mock) {
    for (code, statuses, next_action) in [
        ("organization_wallet_not_provisioned", 402..=402, None),
        ("attachment_too_large", 413..=413, None),
        ("attachment_fetch_failed", 502..=502, Some("fix_input")),
        ("studio_agent_upstream_unavailable", 503..=503, None),
        ("format_run_failed_to_start", 400..=599, None),
    ] {
        let keyed = mock.developer().idempotency_key(code);
        let body = run_of(&format!("[mock:refuse={code}]"));
        let answer = keyed.post(RUNS, body.clone()).await;
        let status = answer.status();
        assert!(statuses.contains(&status), "{answer:?}");
        let error = answer.refused(status, code);
        if let Some(expected) = next_action {
            assert_eq!(error["next_action"], expected, "{code}");
            assert!(error["details"]["index"].is_number(), "{code}: {error}");
        }
        if status == 503 {
            assert_eq!(error["retryable"], true, "{code}: retry with the same key");
        }
        let bulk = mock
            .developer()
            .post(BULK, json!({"items": [run_of("x"), body]}))
            .await;
        let error = bulk.refused(status, code);
        assert_eq!(error["details"]["index"], 1, "{code}: which item");
        keyed.post(RUNS, run_of("x")).await.expect(202);
        mock.advance(60).await;
    }
}

async fn a_refused_start_of_an_action_or_a_completion_stores_nothing(mock: Mock) {
    let developer = mock.developer();
    let unknown = developer.post("/v1/actions/act_none/runs", json!({})).await;
    unknown.refused(404, "action_not_found");
    let off = developer
        .post("/v1/actions/act_no_trigger/runs", json!({}))
        .await;
    off.refused(409, "action_api_trigger_disabled");
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
        let answer = developer.post(super::COMPLETIONS, body.clone()).await;
        assert_eq!(answer.status(), 400, "{body} got\n{answer:?}");
    }
    nothing_happened(&mock).await;
}
