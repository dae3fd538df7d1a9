//! The errors of the specification's table "Format run create errors".

use super::*;

on_every_frontend! {
    a_previous_run_of_another_format_is_rejected,
    formats_that_cannot_be_run_are_rejected,
    refuse_directive_returns_errors_of_the_service,
    unknown_parameters_have_suggestions,
    an_unsupported_schema_lists_every_violation,
    attachment_errors_name_the_index,
    a_previous_run_must_be_a_finished_run_of_the_format,
    a_rejection_for_an_active_run_is_not_retryable,
    the_balance_must_cover_the_run: balance_usd("1.0000"),
}

async fn post(mock: &Mock, path: &str, body: Value) -> Response {
    mock.developer().post(path, body).await
}

async fn a_previous_run_of_another_format_is_rejected(mock: Mock) {
    let id = run_to_end(&mock, "x").await;
    let body = json!({"previous_run_id": id});
    post(&mock, MEDIA_RUNS, body)
        .await
        .expect_error(400, "previous_run_format_mismatch");
}

async fn formats_that_cannot_be_run_are_rejected(mock: Mock) {
    for (format, status, code) in [
        ("fmt_none", 404, "format_not_found"),
        ("fmt_archived", 404, "format_not_found"),
        ("demo/none", 404, "format_not_found"),
        ("unknown/teaser", 404, "format_not_found"),
        ("studio/none", 404, "format_not_found"),
        ("demo/archived", 404, "format_not_found"),
        ("demo/no-trigger", 409, "format_api_trigger_disabled"),
        ("team/brand-film", 403, "workspace_key_required"),
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

async fn refuse_directive_returns_errors_of_the_service(mock: Mock) {
    for (code, status, retryable) in [
        ("organization_wallet_not_provisioned", 402, false),
        ("attachment_too_large", 413, false),
        ("attachment_fetch_failed", 502, false),
        ("idempotency_key_in_use", 409, true),
        ("studio_agent_upstream_unavailable", 503, true),
        ("format_run_failed_to_start", 500, false),
    ] {
        let keyed = mock.developer().idempotency_key(code);
        let body = instruction(&format!("[mock:refuse={code}]"));
        let error = keyed.post_error(RUNS, body.clone(), status, code).await;
        assert_eq!(error["retryable"], retryable, "{code}");
        let after = if retryable { json!(1) } else { json!(null) };
        assert_eq!(error["retry_after_seconds"], after, "{code}");
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

async fn unknown_parameters_have_suggestions(mock: Mock) {
    let body = json!({
        "instruction": "x", "thread_id": "t", "outputSchema": {}, "workspace_id": "w", "colour": 1
    });
    let error = post(&mock, RUNS, body)
        .await
        .expect_error(400, "unknown_parameter");
    let errors = error["details"]["errors"].as_array().unwrap();
    let found: Vec<_> = errors
        .iter()
        .map(|error| json!([error["field"], error["suggestion"]]))
        .collect();
    let expected = json!([
        ["colour", null],
        ["outputSchema", "output_schema"],
        ["thread_id", "previous_run_id"],
        ["workspace_id", null]
    ]);
    assert_eq!(Value::Array(found), expected);
    for kind in [Kind::Agent, Kind::Action] {
        let body = json!({"instructions": "x"});
        let response = mock.developer().post(kind.start(), body).await;
        let error = response.expect_error(400, "unknown_parameter");
        assert_eq!(error["details"]["errors"][0]["suggestion"], "instruction");
    }
    for field in ["thread_id", "concurency", "instruction"] {
        let body = json!({"items": [instruction("x")], field: 1});
        let response = post(&mock, BULK, body).await;
        response.expect_error(400, "unknown_parameter");
    }
    assert_no_runs(&mock).await;
}

async fn an_unsupported_schema_lists_every_violation(mock: Mock) {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "x"}, "b": {"type": "date"}}
    });
    let expected = json!([
        ["/properties/a/pattern", "unsupported_keyword"],
        ["/properties/b/type", "unsupported_type"]
    ]);
    let format = json!({"type": "json_schema", "json_schema": {"schema": schema}});
    for fields in [
        json!({"output_schema": schema}),
        json!({"response_format": format}),
    ] {
        let response = post(&mock, RUNS, with(instruction("x"), fields)).await;
        let error = response.expect_error(400, "output_schema_invalid");
        let violations = error["details"]["violations"].as_array().unwrap();
        let found: Vec<_> = violations
            .iter()
            .map(|violation| json!([violation["path"], violation["rule"]]))
            .collect();
        assert_eq!(Value::Array(found), expected);
    }
    let response = post(
        &mock,
        RUNS,
        with(instruction("x"), json!({"output_schema": "x"})),
    )
    .await;
    let error = response.expect_error(400, "output_schema_invalid");
    assert_eq!(
        error["details"]["violations"][0]["rule"],
        "schema_not_object"
    );
}

async fn attachment_errors_name_the_index(mock: Mock) {
    let image = json!({"url": "https://cdn.example.com/a.png"});
    for (attachments, status, code, index) in [
        (
            json!([{"asset_id": "asset_logo"}, {}]),
            400,
            "invalid_attachment",
            1,
        ),
        (
            json!(["https://cdn.example.com/a.png"]),
            400,
            "invalid_attachment",
            0,
        ),
        (
            json!([{"asset_id": "asset_logo", "url": "https://cdn.example.com/"}]),
            400,
            "invalid_attachment",
            0,
        ),
        (
            json!([image, {"url": "http://cdn.example.com/a.png"}]),
            400,
            "invalid_attachment",
            1,
        ),
        (json!([{"link": "x"}]), 400, "invalid_attachment", 0),
        (
            json!([image, {"asset_id": "asset_none"}]),
            400,
            "attachment_not_found",
            1,
        ),
        (
            json!([{"asset_id": "asset_poster"}]),
            413,
            "attachment_too_large",
            0,
        ),
        (
            json!([image, {"url": "https://cdn.invalid/a.png"}]),
            502,
            "attachment_fetch_failed",
            1,
        ),
    ] {
        let response = post(&mock, RUNS, json!({"attachments": attachments})).await;
        let error = response.expect_error(status, code);
        assert_eq!(error["details"]["index"], index, "{attachments}");
        if status == 502 {
            assert_eq!(error["next_action"], "fix_input");
        }
    }
    for attachments in [json!("x"), json!(vec![image.clone(); 51])] {
        let response = post(&mock, RUNS, json!({"attachments": attachments})).await;
        response.expect_error(400, "invalid_attachment");
    }
    let reels = json!([{"asset_id": "asset_reel"}, {"asset_id": "asset_reel"}]);
    let response = post(&mock, RUNS, json!({"attachments": reels})).await;
    let error = response.expect_error(413, "attachment_too_large");
    assert_eq!(error["details"]["limit_bytes"], 500_000_000);
    let item = json!({"attachments": [{"url": "https://cdn.invalid/"}]});
    let body = json!({"items": [instruction("x"), item]});
    let response = mock.developer().post(BULK, body).await;
    let error = response.expect_error(502, "attachment_fetch_failed");
    assert_eq!(error["details"]["index"], 1);
    assert_eq!(error["details"]["attachment_index"], 0);
    let attachments = json!([image, {"asset_id": "asset_photo"}]);
    post(&mock, RUNS, json!({"attachments": attachments}))
        .await
        .expect(202);
}

async fn a_previous_run_must_be_a_finished_run_of_the_format(mock: Mock) {
    let developer = mock.developer();
    let next = |id: &str| json!({"previous_run_id": id});
    let running = start(&developer, RUNS, instruction("x")).await;
    let response = post(&mock, RUNS, next(&running)).await;
    let error = response.expect_error(409, "previous_run_not_terminal");
    assert_eq!(error["details"]["previous_run_status"], "queued");
    let agent = start(&developer, Kind::Agent.start(), Kind::Agent.body("x")).await;
    post(&mock, RUNS, next(&agent))
        .await
        .expect_error(404, "previous_run_not_found");
    for (words, status) in [
        ("[mock:skip]", "skipped"),
        ("[mock:fail=mcp_unavailable]", "failed"),
    ] {
        let id = start(&developer, RUNS, instruction(words)).await;
        mock.advance(10).await;
        let response = post(&mock, RUNS, next(&id)).await;
        let error = response.expect_error(400, "previous_run_not_resumable");
        let expected = json!({
            "previous_run_status": status, "has_thread": false, "artifact_count": 0
        });
        assert_eq!(error["details"], expected);
    }
    let other = mock.client(Host::Developer).bearer("svc_dev_other");
    let path = "/v1/formats/fmt_storyboard/runs";
    let response = other.post(path, next(&running)).await;
    response.expect_error(404, "previous_run_not_found");
}

async fn a_rejection_for_an_active_run_is_not_retryable(mock: Mock) {
    let body = with(instruction("x"), json!({"on_active_run": "reject"}));
    let keyed = mock.developer().idempotency_key("order-1");
    keyed.post(RUNS, body.clone()).await.expect(202);
    let error = post(&mock, RUNS, body)
        .await
        .expect_error(409, "format_run_in_progress");
    assert_eq!(error["retryable"], false);
    let conflict = keyed.post(RUNS, instruction("y")).await;
    let error = conflict.expect_error(409, "idempotency_conflict");
    assert_eq!(error["details"], json!({}));
}

async fn the_balance_must_cover_the_run(mock: Mock) {
    let response = post(&mock, RUNS, instruction("[mock:cost=1.01]")).await;
    let error = response.expect_error(402, "insufficient_credits");
    assert_eq!(error["next_action"], "add_funds");
    let details = json!({"required_usd": "1.0100", "available_usd": "1.0000"});
    assert_eq!(error["details"], details);
    let cap = json!({"generation_spend_cap_usd": 1});
    let capped = with(instruction("[mock:cost=1.01]"), cap);
    post(&mock, RUNS, capped).await.expect(202);
    let body = json!({"items": vec![instruction("[mock:cost=0.6]"); 2]});
    let response = mock.developer().post(BULK, body).await;
    response.expect_error(402, "insufficient_credits");
    let skipped = instruction("[mock:skip][mock:cost=9]");
    post(&mock, RUNS, skipped).await.expect(202);
}
