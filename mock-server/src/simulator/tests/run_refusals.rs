//! The specification's tables "Format run create errors" and "Read errors", row by row.

use serde_json::{Value, json};

use super::{Answer, DEMO, Mock};
use crate::engine::{Host, Settings};

fn post(mock: &mut Mock, body: Value) -> Answer {
    mock.developer().post(DEMO, body)
}

/// A sound body with one more field.
fn with(name: &str, value: Value) -> Value {
    json!({"instruction": "x", name: value})
}

#[test]
fn bad_fields_are_refused_by_name() {
    let mut mock = Mock::new();
    let keys: serde_json::Map<_, _> = (0..65).map(|n| (format!("k{n}"), json!(n))).collect();
    let schema = json!({"type": "object"});
    let rows = [
        (json!({}), "instruction"),
        (json!({"attachments": []}), "instruction"),
        (json!({"model": "video-f"}), "instruction"),
        (json!({"instruction": " "}), "instruction"),
        (json!({"instruction": 7}), "instruction"),
        (json!({"input": "x"}), "input"),
        (json!({"input": keys}), "input"),
        (
            json!({"input": {"big": "x".repeat(2 * 1024 * 1024)}}),
            "input",
        ),
        (
            json!({"instruction": "x", "output_schema": schema, "response_format": {"type": "text"}}),
            "response_format",
        ),
        (with("response_format", json!({})), "response_format.type"),
        (
            with("response_format", json!({"type": "json_schema"})),
            "response_format.json_schema",
        ),
        (with("model", json!("video-x")), "model"),
        (with("on_active_run", json!("queue")), "on_active_run"),
        (
            with("webhook_url", json!("http://hooks.example/")),
            "webhook_url",
        ),
        (
            with("webhook_url", json!("https://10.0.0.1/")),
            "webhook_url",
        ),
        (
            json!({"instruction": "x", "webhook_url": "https://a.example/", "communication": {"webhook_url": "https://b.example/"}}),
            "communication.webhook_url",
        ),
        (with("previous_run_id", json!(7)), "previous_run_id"),
    ];
    for (body, field) in rows {
        let error = post(&mut mock, body.clone()).refused(400, "invalid_request");
        let told = body.to_string().chars().take(200).collect::<String>();
        assert_eq!(error["details"]["field"], field, "{told}");
    }
    for cap in [
        json!(0),
        json!(-1),
        json!(500.01),
        json!(500.000_000_1),
        json!("5"),
        json!(1e-9),
        json!(true),
    ] {
        let error =
            post(&mut mock, with("generation_spend_cap_usd", cap)).refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], "generation_spend_cap_usd");
    }
    assert_eq!(mock.read("/v1/usage"), json!([]));
    assert_eq!(mock.read(DEMO), json!([]));
}

#[test]
fn a_cap_of_nothing_is_the_most_and_one_above_the_formats_holds() {
    let mut mock = Mock::new();
    let mut cap = |path: &str, body: Value| {
        mock.order(path, body)["usage"]["generation_spend_cap_usd_micros"].take()
    };
    let capped = "/v1/formats/fmt_capped/runs";
    assert_eq!(cap(capped, json!({"input": {}})), 2_000_000);
    assert_eq!(
        cap(capped, with("generation_spend_cap_usd", json!(null))),
        500_000_000
    );
    assert_eq!(
        cap(capped, with("generation_spend_cap_usd", json!(500))),
        500_000_000
    );
    assert_eq!(
        cap(capped, with("generation_spend_cap_usd", json!(0.000_001))),
        1
    );
    assert_eq!(cap(DEMO, json!({"input": {}})), 400_000_000);
}

#[test]
fn unknown_fields_are_all_named_with_what_may_be_meant() {
    let mut mock = Mock::new();
    let body = json!({"instruction": "x", "thread_id": "t", "outputSchema": {}, "workspace_id": "w", "colour": 1});
    let error = post(&mut mock, body).refused(400, "unknown_parameter");
    let told: Vec<_> = error["details"]["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| (error["field"].clone(), error["suggestion"].clone()))
        .collect();
    let expected = [
        (json!("colour"), json!(null)),
        (json!("outputSchema"), json!("output_schema")),
        (json!("thread_id"), json!("previous_run_id")),
        (json!("workspace_id"), json!(null)),
    ];
    assert_eq!(told, expected);
    for (path, body) in [
        (
            "/v1/agent/completions",
            json!({"instructions": "x", "generation_spend_cap_usd": 1}),
        ),
        ("/v1/actions/act_daily/runs", json!({"instructions": "x"})),
    ] {
        let error = mock
            .developer()
            .post(path, body)
            .refused(400, "unknown_parameter");
        assert_eq!(error["details"]["errors"][0]["suggestion"], "instruction");
    }
}

#[test]
fn a_schema_outside_of_the_subset_is_refused_with_every_violation() {
    let mut mock = Mock::new();
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}, "b": {"type": "date"}}});
    let expected = json!([
        {"path": "/properties/a/pattern", "rule": "unsupported_keyword", "message": "`pattern` is not supported"},
        {"path": "/properties/b/type", "rule": "unsupported_type",
         "message": "`type` must be one of object, array, string, number, integer, boolean, null"},
    ]);
    let format = json!({"type": "json_schema", "json_schema": {"schema": schema}});
    for body in [
        with("output_schema", schema.clone()),
        with("response_format", format),
    ] {
        let error = post(&mut mock, body).refused(400, "output_schema_invalid");
        assert_eq!(error["details"]["violations"], expected);
    }
    let error =
        post(&mut mock, with("output_schema", json!("x"))).refused(400, "output_schema_invalid");
    assert_eq!(
        error["details"]["violations"][0]["rule"],
        "schema_not_object"
    );
}

#[test]
fn attachments_are_assets_or_public_urls_and_not_too_large() {
    let mut mock = Mock::new();
    let image = json!({"url": "https://cdn.example.com/a.png"});
    let rows = [
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
        (
            json!([{"url": "https://localhost/a.png"}]),
            400,
            "invalid_attachment",
            0,
        ),
        (json!([{"url": 7}]), 400, "invalid_attachment", 0),
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
    ];
    for (attachments, status, code, index) in rows {
        let error = post(&mut mock, json!({"attachments": attachments})).refused(status, code);
        assert_eq!(error["details"]["index"], index, "{attachments}");
        if status != 413 && status != 400 {
            assert_eq!(error["next_action"], "fix_input");
        }
    }
    post(&mut mock, json!({"attachments": "x"})).refused(400, "invalid_attachment");
    post(&mut mock, json!({"attachments": vec![image.clone(); 51]}))
        .refused(400, "invalid_attachment");
    let reels = json!([{"asset_id": "asset_reel"}, {"asset_id": "asset_reel"}]);
    let error = post(&mut mock, json!({"attachments": reels})).refused(413, "attachment_too_large");
    assert_eq!(error["details"]["limit_bytes"], 500_000_000);
    post(
        &mut mock,
        json!({"attachments": [image, {"asset_id": "asset_photo"}]}),
    )
    .data(202);
}

#[test]
fn the_run_to_continue_has_to_be_a_finished_one_of_this_format() {
    let mut mock = Mock::new();
    let next = |id: &str| json!({"previous_run_id": id});
    let running = mock.start(DEMO, json!({"instruction": "x"}));
    let error = post(&mut mock, next(&running)).refused(409, "previous_run_not_terminal");
    assert_eq!(error["details"]["previous_run_status"], "queued");
    post(&mut mock, next("run_none")).refused(404, "previous_run_not_found");
    let agent = json!({"instruction": "x", "generation_spend_cap_usd": 1});
    let agent = mock.start("/v1/agent/completions", agent);
    post(&mut mock, next(&agent)).refused(404, "previous_run_not_found");
    let media = mock.start("/v1/formats/fmt_media/runs", json!({"instruction": "x"}));
    post(&mut mock, next(&media)).refused(400, "previous_run_format_mismatch");
    let skipped = mock.start(DEMO, json!({"instruction": "[mock:skip]"}));
    let toolless = mock.start(DEMO, json!({"instruction": "[mock:fail=mcp_unavailable]"}));
    mock.pass(10_000);
    for (id, status) in [(&skipped, "skipped"), (&toolless, "failed")] {
        let error = post(&mut mock, next(id)).refused(400, "previous_run_not_resumable");
        let expected =
            json!({"previous_run_status": status, "has_thread": false, "artifact_count": 0});
        assert_eq!(error["details"], expected);
    }
    let receipt = post(&mut mock, next(&running)).data(202);
    assert_eq!(receipt["previous_run_id"], running.as_str());
    let other = mock.ask(Host::Developer).key("svc_dev_other");
    other
        .post("/v1/formats/fmt_storyboard/runs", next(&running))
        .refused(404, "previous_run_not_found");
}

#[test]
fn a_format_that_cannot_be_run_says_why() {
    let mut mock = Mock::new();
    for (format, status, code) in [
        ("fmt_none", 404, "format_not_found"),
        ("fmt_archived", 404, "format_not_found"),
        ("demo/archived", 404, "format_not_found"),
        ("fmt_inactive", 409, "format_inactive"),
        ("demo/no-trigger", 409, "format_api_trigger_disabled"),
        ("fmt_builtin", 409, "format_not_forkable"),
        ("fmt_team", 403, "workspace_key_required"),
        ("team/brand-film", 403, "workspace_key_required"),
    ] {
        let run = format!("/v1/formats/{format}/runs");
        mock.developer()
            .post(&run, json!({"instruction": "x"}))
            .refused(status, code);
        let bulk = format!("/v1/formats/{format}/bulk-runs");
        mock.developer()
            .post(&bulk, json!({"items": [{"instruction": "x"}]}))
            .refused(status, code);
    }
    let team = mock.ask(Host::Developer).key("svc_team_demo");
    team.post("/v1/formats/fmt_team/runs", json!({"instruction": "x"}))
        .data(202);
    let team = mock.ask(Host::Developer).key("svc_team_demo");
    team.post(DEMO, json!({"instruction": "x"}))
        .refused(404, "format_not_found");
    let action = mock
        .developer()
        .post("/v1/actions/act_no_trigger/runs", json!({}));
    action.refused(409, "action_api_trigger_disabled");
}

#[test]
fn on_active_run_rejects_while_another_run_of_the_format_goes_on() {
    let mut mock = Mock::new();
    mock.start("/v1/formats/fmt_media/runs", json!({"instruction": "x"}));
    let only = with("on_active_run", json!("reject"));
    post(&mut mock, only.clone()).data(202);
    let error = post(&mut mock, only.clone()).refused(409, "format_run_in_progress");
    assert_eq!(error["retryable"], false);
    mock.pass(10_000);
    post(&mut mock, only).data(202);
}

#[test]
fn service_accounts_start_no_agents() {
    let mut mock = Mock::new();
    let agent = json!({"instruction": "x", "generation_spend_cap_usd": 1});
    for (path, body) in [
        (DEMO, json!({"instruction": "x"})),
        ("/v1/formats/demo/teaser/runs", json!({})),
        ("/v1/formats/fmt_none/bulk-runs", json!({})),
        ("/v1/agent/completions", agent),
    ] {
        let answer = mock
            .ask(Host::Developer)
            .key("svc_sa_demo")
            .post(path, body);
        let error = answer.refused(403, "insufficient_scope");
        assert_eq!(
            error["details"]["reason"],
            "service_account_format_runs_unsupported"
        );
    }
    let action = mock.ask(Host::Developer).key("svc_sa_demo");
    action
        .post("/v1/actions/act_daily/runs", json!({}))
        .data(202);
    mock.ask(Host::Developer)
        .key("svc_sa_demo")
        .get("/v1/formats")
        .data(200);
}

#[test]
fn a_wallet_has_to_cover_what_the_run_may_spend() {
    let mut mock = Mock::with(Settings {
        balance: "1.0000".parse().unwrap(),
        ..Settings::default()
    });
    let dear = json!({"instruction": "[mock:cost=1.01]"});
    let error = post(&mut mock, dear).refused(402, "insufficient_credits");
    assert_eq!(error["next_action"], "add_funds");
    assert_eq!(
        error["details"],
        json!({"required_usd": "1.0100", "available_usd": "1.0000"})
    );
    let capped = json!({"instruction": "[mock:cost=1.01]", "generation_spend_cap_usd": 1});
    post(&mut mock, capped).data(202);
    let items = json!({"items": vec![json!({"instruction": "[mock:cost=0.6]"}); 2]});
    let bulk = mock
        .developer()
        .post("/v1/formats/fmt_demo/bulk-runs", items);
    bulk.refused(402, "insufficient_credits");
    post(
        &mut mock,
        json!({"instruction": "[mock:skip][mock:cost=9]"}),
    )
    .data(202);
}

#[test]
fn what_nothing_else_provokes_a_magic_word_does() {
    let mut mock = Mock::new();
    for (code, status, retryable) in [
        ("organization_wallet_not_provisioned", 402, false),
        ("attachment_too_large", 413, false),
        ("attachment_fetch_failed", 502, false),
        ("idempotency_key_in_use", 409, true),
        ("studio_agent_upstream_unavailable", 503, true),
        ("format_run_failed_to_start", 500, false),
    ] {
        let body = json!({"instruction": format!("[mock:refuse={code}]")});
        let error = mock
            .developer()
            .once("order-1")
            .post(DEMO, body)
            .refused(status, code);
        assert_eq!(error["retryable"], retryable, "{code}");
        let after = if retryable { json!(1) } else { json!(null) };
        assert_eq!(error["retry_after_seconds"], after, "{code}");
    }
    // What was refused has released its key.
    mock.developer()
        .once("order-1")
        .post(DEMO, json!({"instruction": "x"}))
        .data(202);
}

#[test]
fn bodies_are_json_and_not_too_large() {
    let mut mock = Mock::new();
    let text = mock
        .developer()
        .header("content-type", "text/plain")
        .send("POST", DEMO, "{}");
    let error = text.refused(415, "unsupported_media_type");
    assert_eq!(error["details"]["received_content_type"], "text/plain");
    let huge = json!({"instruction": "x".repeat(4 * 1024 * 1024)});
    let error = post(&mut mock, huge).refused(413, "payload_too_large");
    assert_eq!(error["details"]["limit_bytes"], 4_194_304);
    let nothing = mock.developer().send("POST", DEMO, "");
    nothing.refused(400, "invalid_request");
    mock.developer()
        .post("/v1/agent/completions", json!({"instruction": "x"}))
        .refused(400, "invalid_request");
    let agent = json!({"instruction": "x", "generation_spend_cap_usd": null});
    mock.developer()
        .post("/v1/agent/completions", agent)
        .refused(400, "invalid_request");
    let agent = json!({"generation_spend_cap_usd": 1});
    mock.developer()
        .post("/v1/agent/completions", agent)
        .refused(400, "invalid_request");
}

#[test]
fn a_key_is_kept_for_a_format_however_that_is_addressed() {
    let mut mock = Mock::new();
    let body = json!({"instruction": "x"});
    let ask = |mock: &mut Mock, path: &str, body: &Value| {
        mock.developer().once("order-1").post(path, body.clone())
    };
    let first = ask(&mut mock, DEMO, &body).data(202);
    mock.pass(20_000);
    assert_eq!(
        ask(&mut mock, "/v1/formats/demo/teaser/runs", &body).data(200),
        first
    );
    let other = json!({"instruction": "y"});
    let error = ask(&mut mock, DEMO, &other).refused(409, "idempotency_conflict");
    assert_eq!(error["details"], json!({}));
    ask(&mut mock, "/v1/formats/fmt_media/runs", &other).data(202);
    let bulk = "/v1/formats/fmt_demo/bulk-runs";
    let queue = ask(&mut mock, bulk, &json!({"items": [body]})).data(202);
    assert_eq!(
        ask(
            &mut mock,
            "/v1/formats/demo/teaser/bulk-runs",
            &json!({"items": [body]})
        )
        .data(200),
        queue
    );
    let error =
        ask(&mut mock, bulk, &json!({"items": [other]})).refused(409, "idempotency_conflict");
    assert_eq!(error["details"]["queue_id"], queue["queue_id"]);
    let agent = json!({"instruction": "x", "generation_spend_cap_usd": 1});
    let first = ask(&mut mock, "/v1/agent/completions", &agent).data(202);
    assert_eq!(
        ask(&mut mock, "/v1/agent/completions", &agent).data(200),
        first
    );
    mock.developer()
        .once("")
        .post(DEMO, body)
        .refused(400, "invalid_request");
    assert_eq!(mock.read(DEMO).as_array().unwrap().len(), 2);
}

#[test]
fn a_read_that_meets_an_outage_can_be_repeated_and_the_run_goes_on() {
    let mut mock = Mock::new();
    let id = mock.start(DEMO, json!({"instruction": "[mock:outage=2]"}));
    mock.pass(10_000);
    for end in ["", "/status"] {
        let answer = mock.developer().get(&format!("/v1/format-runs/{id}{end}"));
        let error = answer.refused(503, "studio_agent_upstream_unavailable");
        assert_eq!(
            (&error["retryable"], answer.header("retry-after")),
            (&json!(true), "1")
        );
    }
    assert_eq!(
        mock.read(&format!("/v1/format-runs/{id}/result"))["status"],
        "completed"
    );
}

#[test]
fn reads_and_writes_take_their_own_scopes() {
    let mut mock = Mock::new();
    let noscope = |mock: &mut Mock, method: &str, path: &str| {
        let ask = mock.ask(Host::Developer).key("svc_dev_noscope");
        ask.send(method, path, "")
            .refused(403, "insufficient_scope")["details"]["required_scope"]
            .take()
    };
    for (method, path, scope) in [
        ("GET", "/v1/format-runs/run_none", "formats:read"),
        ("GET", "/v1/format-run-queues/frq_none", "formats:read"),
        ("POST", "/v1/format-runs/run_none/cancel", "formats:write"),
        (
            "POST",
            "/v1/format-runs/run_none/webhook/redeliver",
            "formats:write",
        ),
        ("GET", "/v1/action-runs/run_none", "actions:read"),
        (
            "POST",
            "/v1/agent-runs/run_none/cancel",
            "agent_completions:write",
        ),
    ] {
        assert_eq!(noscope(&mut mock, method, path), scope, "{path}");
    }
    mock.ask(Host::Developer)
        .get("/v1/formats")
        .refused(401, "unauthorized");
}
