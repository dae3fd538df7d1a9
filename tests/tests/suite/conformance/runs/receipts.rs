//! The receipts of runs: every field, from the start to each way a run can end.

use super::*;

on_every_frontend! {
    a_new_run_has_every_field,
    a_run_passes_through_its_phases,
    a_result_in_progress_says_when_to_poll,
    spend_is_booked_in_three_parts,
    a_run_is_billed_up_to_its_cap,
    a_canceled_run_is_billed_for_its_finished_parts,
    skipped_and_degraded_runs,
    a_directive_is_found_in_nested_input,
    unreadable_spend_is_null,
    a_late_output_sets_the_primary_output,
    an_output_follows_its_schema,
    a_schema_that_cannot_be_satisfied_fails_the_run,
    each_failure_code_has_its_details_and_charge,
    an_unsatisfied_schema_lists_its_violations,
    pending_jobs_are_named_and_not_billed,
    funds_that_run_out_fail_the_run: balance_usd("1.0000"),
    an_outage_of_reads_is_temporary,
    a_canceled_item_makes_room_in_its_queue,
    fail_directive_without_a_code_is_format_run_failed,
    an_unavailable_output_is_available_on_the_next_read,
    actions_and_completions_can_fail,
}

const MEDIA: &str = "/v1/formats/fmt_media/runs";

/// Runs a body on the developer surface to its end and returns the receipt.
async fn completed(mock: &Mock, path: &str, body: Value) -> Value {
    let id = start(&mock.developer(), path, body).await;
    mock.advance(10).await;
    receipt(mock, Kind::Format, &id).await
}

fn billed(receipt: &Value) -> i64 {
    let amount = &receipt["usage"]["billable_amount_usd_micros"];
    amount
        .as_i64()
        .unwrap_or_else(|| panic!("no amount in {receipt}"))
}

async fn cancel(mock: &Mock, id: &str) -> Value {
    let path = format!("/v1/format-runs/{id}/cancel");
    mock.developer()
        .post(&path, json!({}))
        .await
        .expect(200)
        .data()
}

async fn a_new_run_has_every_field(mock: Mock) {
    let body = json!({"instruction": "A boot.", "generation_spend_cap_usd": 12.5});
    let created = mock.developer().post(MEDIA, body).await.expect(202).data();
    let id = text(&created["run_id"]);
    let base = mock.base_url(Host::Developer);
    let url = |end: &str| format!("{base}/v1/format-runs/{id}/{end}");
    let now = "2027-01-15T08:00:00Z";
    let expected = json!({
        "request_id": created["request_id"], "run_id": id, "kind": "format", "status": "queued",
        "created_at": now, "updated_at": now, "format_id": "fmt_media",
        "status_url": url("status"), "result_url": url("result"), "events_url": url("events"),
        "cancel_url": url("cancel"), "error": null, "output_error": null, "output": null,
        "artifacts": [], "primary_output_url": null, "primary_output_key": "image_url",
        "usage": {"billable_amount_usd_micros": 0, "generation_spend_cap_usd_micros": 12_500_000},
        "webhook_delivery": null, "next_poll_after_seconds": 5, "previous_run_id": null,
        "queue_id": null, "item_index": null,
    });
    assert_eq!(created, expected);
    assert_eq!(receipt(&mock, Kind::Format, &id).await, expected);
    let action = mock.developer().post(Kind::Action.start(), json!({})).await;
    assert_eq!(action.expect(202).data()["action_id"], "act_daily");
}

async fn a_run_passes_through_its_phases(mock: Mock) {
    let developer = mock.developer();
    let body = json!({"input": {"product": "boot"}});
    let id = start(&developer, MEDIA, body).await;
    let path = format!("/v1/format-runs/{id}");
    mock.advance(10).await;
    let expected = json!({
        "run_id": id, "kind": "format", "status": "completed", "terminal": true,
        "result_ready": true, "next_poll_after_seconds": 0
    });
    assert_eq!(
        developer.get_data(&format!("{path}/status")).await,
        expected
    );
    let result = developer.get_data(&format!("{path}/result")).await;
    assert_eq!(result, receipt(&mock, Kind::Format, &id).await);
    let url = &result["artifacts"][0]["url"];
    assert_eq!(&result["primary_output_url"], url);
    assert_eq!(&result["output"]["image_url"], url);
    let events = developer.get_data(&format!("{path}/events")).await;
    let events = events.as_array().unwrap();
    let phases: Vec<_> = events.iter().map(|event| text(&event["phase"])).collect();
    let expected = [
        "queued",
        "started",
        "planning",
        "generating",
        "assembling",
        "ended",
    ];
    assert_eq!(phases, expected);
    assert_eq!(events[5]["status"], "completed");
}

async fn a_result_in_progress_says_when_to_poll(mock: Mock) {
    let id = start(&mock.developer(), RUNS, instruction("x")).await;
    mock.advance(4).await;
    let response = mock
        .developer()
        .get(&format!("/v1/format-runs/{id}/result"))
        .await;
    let error = response.expect_error(409, "run_not_completed");
    assert_eq!(error["retry_after_seconds"], 3);
    assert_eq!(error["next_action"], "poll_status");
}

async fn spend_is_booked_in_three_parts(mock: Mock) {
    let developer = mock.developer();
    let id = start(&developer, RUNS, instruction("[mock:cost=3]")).await;
    let mut dollars = Vec::new();
    for _ in 0..11 {
        dollars.push(billed(&receipt(&mock, Kind::Format, &id).await) / 1_000_000);
        mock.advance(1).await;
    }
    assert_eq!(dollars, [0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 3]);
    let entries = developer.get("/v1/usage").await.expect(200).items();
    for (kind, count) in [("reservation", 3), ("capture", 3), ("refund", 0)] {
        let of_run = |entry: &&Value| entry["kind"] == kind && entry["run_id"] == id.as_str();
        assert_eq!(entries.iter().filter(of_run).count(), count, "{kind}");
    }
    let balance = developer.get_data("/v1/balance").await;
    assert_eq!(balance["available_usd"], "97.0000");
    assert_eq!(balance["reserved_usd"], "0.0000");
}

async fn a_run_is_billed_up_to_its_cap(mock: Mock) {
    let capped = "/v1/formats/fmt_capped/runs";
    let run = completed(&mock, capped, instruction("[mock:cost=5]")).await;
    assert_eq!(run["status"], "failed");
    assert_eq!(run["error"]["code"], "format_run_failed");
    assert_eq!(billed(&run), 2_000_000);
    let own_cap = json!({"generation_spend_cap_usd": 5});
    let body = with(instruction("[mock:cost=5]"), own_cap);
    let run = completed(&mock, capped, body).await;
    assert_eq!(run["status"], "completed");
    assert_eq!(billed(&run), 5_000_000);
    let own_cap = json!({"generation_spend_cap_usd": 0.5});
    let body = with(instruction("[mock:cost=5]"), own_cap);
    let id = start(&mock.developer(), Kind::Agent.start(), body).await;
    mock.advance(10).await;
    let run = receipt(&mock, Kind::Agent, &id).await;
    assert_eq!(run["status"], "failed");
    assert_eq!(billed(&run), 500_000);
    assert_eq!(run["primary_output_url"], Value::Null);
}

async fn a_canceled_run_is_billed_for_its_finished_parts(mock: Mock) {
    let developer = mock.developer();
    let id = start(&developer, MEDIA, instruction("[mock:cost=3]")).await;
    mock.advance(6).await;
    let canceled = cancel(&mock, &id).await;
    assert_eq!(canceled["status"], "canceled");
    assert_eq!(billed(&canceled), 1_000_000);
    assert_eq!(canceled["artifacts"].as_array().map(Vec::len), Some(1));
    let entries = developer.get_data("/v1/usage").await;
    assert_eq!(entries[0]["kind"], "refund");
    assert_eq!(entries[0]["amount_usd"], "1.0000");
    let balance = developer.get_data("/v1/balance").await;
    assert_eq!(balance["available_usd"], "99.0000");
    let path = format!("/v1/format-runs/{id}/cancel");
    let response = developer.post(&path, json!({"x": 1})).await;
    response.expect_error(400, "invalid_request");
}

async fn skipped_and_degraded_runs(mock: Mock) {
    let skipped = completed(&mock, MEDIA, instruction("[mock:skip][mock:cost=3]")).await;
    assert_eq!(skipped["artifacts"], json!([]));
    assert_eq!(skipped["output"], Value::Null);
    assert_eq!(mock.developer().get_data("/v1/usage").await, json!([]));
    let degraded = completed(&mock, RUNS, instruction("[mock:degraded]")).await;
    let error = &degraded["output_error"];
    assert_eq!(error["code"], "output_schema_unsatisfied");
    assert_eq!(error["details"]["harvested"], json!({"image": 1}));
    let path = mock.path_of(Host::Media, &degraded["artifacts"][0]["url"]);
    mock.client(Host::Media).get(&path).await.expect(200);
}

async fn a_directive_is_found_in_nested_input(mock: Mock) {
    let body = json!({"input": {"deep": {"text": "[mock:seconds=100]"}}});
    let id = start(&mock.developer(), RUNS, body).await;
    let stuck = start(&mock.developer(), RUNS, instruction("[mock:stuck]")).await;
    mock.advance(99).await;
    assert_eq!(receipt(&mock, Kind::Format, &id).await["status"], "running");
    mock.advance(1).await;
    assert_eq!(
        receipt(&mock, Kind::Format, &id).await["status"],
        "completed"
    );
    assert_eq!(cancel(&mock, &stuck).await["status"], "canceled");
}

async fn unreadable_spend_is_null(mock: Mock) {
    let run = completed(&mock, RUNS, instruction("[mock:usage-unreadable]")).await;
    assert_eq!(run["status"], "completed");
    assert_eq!(run["usage"], Value::Null);
    let balance = mock.developer().get_data("/v1/balance").await;
    assert_eq!(balance["available_usd"], "99.9500");
}

async fn a_late_output_sets_the_primary_output(mock: Mock) {
    let first = completed(&mock, MEDIA, instruction("[mock:harvest-unavailable]")).await;
    assert_eq!(first["primary_output_url"], Value::Null);
    let path = format!("/v1/format-runs/{}/result", text(&first["run_id"]));
    let next = mock.developer().get_data(&path).await;
    let url = &next["artifacts"][0]["url"];
    assert_eq!(&next["output"]["image_url"], url);
    assert_eq!(&next["primary_output_url"], url);
}

async fn an_output_follows_its_schema(mock: Mock) {
    let schema = json!({
        "type": "object", "required": ["hero", "shots"], "additionalProperties": false,
        "properties": {
            "hero": {"type": "string", "format": "uri"},
            "shots": {"type": "array", "minItems": 2, "items": {"type": "integer", "minimum": 3}},
            "kind": {"enum": ["teaser"]}
        }
    });
    let format = json!({"type": "json_schema", "json_schema": {"schema": schema}});
    for fields in [
        json!({"output_schema": schema}),
        json!({"response_format": format}),
    ] {
        let run = completed(&mock, RUNS, with(instruction("x"), fields)).await;
        let url = &run["artifacts"][0]["url"];
        let expected = json!({"hero": url, "shots": [3, 3], "kind": "teaser"});
        assert_eq!(run["output"], expected);
        assert_eq!(run["primary_output_key"], "hero");
        assert_eq!(&run["primary_output_url"], url);
    }
    let object = json!({"response_format": {"type": "json_object"}});
    let run = completed(&mock, RUNS, with(instruction("x"), object)).await;
    assert!(run["output"]["summary"].is_string(), "{run}");
    assert_eq!(run["artifacts"], json!([]));
    assert_eq!(run["primary_output_url"], Value::Null);
}

async fn a_schema_that_cannot_be_satisfied_fails_the_run(mock: Mock) {
    let schema = json!({"type": "object", "required": ["a"], "additionalProperties": false});
    let body = with(instruction("x"), json!({"output_schema": schema}));
    let run = completed(&mock, RUNS, body).await;
    assert_eq!(run["error"]["code"], "output_schema_unsatisfied");
    assert_eq!(run["error"]["details"]["violations"][0]["rule"], "required");
}

async fn each_failure_code_has_its_details_and_charge(mock: Mock) {
    for (code, details, retryable, artifacts, spent) in [
        ("unattended_blocked", json!(null), false, 1, 50_000),
        ("deliverable_missing", json!(null), false, 0, 50_000),
        ("primary_output_missing", json!(null), false, 1, 50_000),
        (
            "output_extraction_failed",
            json!({"reason": "harvest_threw"}),
            false,
            1,
            50_000,
        ),
        (
            "mcp_unavailable",
            json!({"retryable": true, "charged": false}),
            true,
            0,
            0,
        ),
        (
            "provider_unavailable",
            json!({"retryable": true}),
            true,
            1,
            50_000,
        ),
        ("format_run_failed", json!(null), false, 1, 50_000),
        ("unknown_code", json!(null), false, 1, 50_000),
    ] {
        let words = instruction(&format!("[mock:fail={code}]"));
        let run = completed(&mock, MEDIA, words).await;
        for error in [&run["error"], &run["output_error"]] {
            assert_eq!(error["code"], code);
            assert_eq!(error["details"], details, "{code}");
        }
        assert_eq!(run["error"]["retryable"], retryable, "{code}");
        assert_eq!(
            run["artifacts"].as_array().map(Vec::len),
            Some(artifacts),
            "{code}"
        );
        assert_eq!(billed(&run), spent, "{code}");
        assert_eq!(run["primary_output_url"], Value::Null, "{code}");
        if code == "primary_output_missing" {
            assert_eq!(run["primary_output_key"], "image_url");
            assert_eq!(run["output"].get("image_url"), Some(&Value::Null));
        }
    }
    let run = completed(
        &mock,
        RUNS,
        instruction("[mock:fail=agent_reported_failure]"),
    )
    .await;
    assert!(run["error"]["details"]["reason"].is_string(), "{run}");
}

async fn an_unsatisfied_schema_lists_its_violations(mock: Mock) {
    let uri = json!({"type": "string", "format": "uri"});
    let properties = json!({"hero": uri, "title": {"type": "string"}});
    let schema = json!({"type": "object", "properties": properties, "required": ["title"]});
    let words = "[mock:fail=output_schema_unsatisfied]";
    let body = with(instruction(words), json!({"output_schema": schema}));
    let run = completed(&mock, RUNS, body).await;
    let (details, url) = (&run["error"]["details"], &run["artifacts"][0]["url"]);
    let violations = json!([
        {"path": "", "rule": "required", "message": "`title` is required"}
    ]);
    assert_eq!(details["violations"], violations);
    assert_eq!(details["harvested"], json!({"image": 1}));
    assert_eq!(details["rejected_urls"], json!([url]));
    assert_eq!(run["output"], json!({"hero": url}));
    let bare = completed(&mock, RUNS, instruction(words)).await;
    let details = &bare["error"]["details"];
    assert_eq!(details["violations"][0]["rule"], "required");
    assert_eq!(details["harvested"], json!({}));
    assert_eq!(details.get("rejected_urls"), None);
}

async fn pending_jobs_are_named_and_not_billed(mock: Mock) {
    let words = "[mock:fail=incomplete_assembly][mock:cost=3]";
    let run = completed(&mock, MEDIA, instruction(words)).await;
    let details = &run["error"]["details"];
    assert_eq!(details["pending_job_count"], 1);
    let job = text(&details["pending_jobs"][0]["id"]);
    assert!(job.starts_with("job_"), "{job}");
    let jobs = mock.jobs().await;
    let listed = jobs.iter().find(|listed| listed["id"] == *job);
    let listed = listed.unwrap_or_else(|| panic!("{job} in {jobs:?}"));
    assert_eq!(listed["run_id"], run["run_id"]);
    for field in ["type", "status"] {
        assert_eq!(listed[field], details["pending_jobs"][0][field]);
    }
    // Runs and what they generate are not jobs of the workspace.
    assert!(mock.developer().get_items("/v1/jobs").await.is_empty());
    let events = format!("/v1/format-runs/{}/events", text(&run["run_id"]));
    let events = mock.developer().get_items(&events).await;
    assert!(
        events.iter().any(|event| event["job_id"] == *job),
        "{events:?}"
    );
    assert_eq!(billed(&run), 2_000_000);
    let entries = mock.developer().get_data("/v1/usage").await;
    assert_eq!(entries[0]["kind"], "refund");
}

async fn funds_that_run_out_fail_the_run(mock: Mock) {
    let developer = mock.developer();
    let first = start(&developer, RUNS, instruction("[mock:cost=0.9]")).await;
    let second = start(&developer, RUNS, instruction("[mock:cost=0.9]")).await;
    mock.advance(10).await;
    let runs = [
        receipt(&mock, Kind::Format, &first).await,
        receipt(&mock, Kind::Format, &second).await,
    ];
    assert!(
        runs.iter()
            .any(|run| run["error"]["code"] == "format_run_failed")
    );
    assert!(
        runs.iter().map(billed).sum::<i64>() <= 1_000_000,
        "{runs:?}"
    );
}

async fn an_outage_of_reads_is_temporary(mock: Mock) {
    let id = start(&mock.developer(), RUNS, instruction("[mock:outage=2]")).await;
    mock.advance(10).await;
    let read = async |end: &str| {
        let path = format!("/v1/format-runs/{id}{end}");
        mock.developer().get(&path).await
    };
    for end in ["", "/status"] {
        let response = read(end).await;
        let error = response.expect_error(503, "studio_agent_upstream_unavailable");
        assert_eq!(error["retryable"], true);
        assert_eq!(response.int_header("retry-after"), 1);
    }
    assert_eq!(read("/result").await.data()["status"], "completed");
}

async fn a_canceled_item_makes_room_in_its_queue(mock: Mock) {
    let developer = mock.developer();
    let items = vec![instruction("[mock:stuck]"); 3];
    let bulk = "/v1/formats/fmt_demo/bulk-runs";
    let body = json!({"items": items, "concurrency": 1});
    let queue = developer.post(bulk, body).await.expect(202).data();
    let path = format!("/v1/format-run-queues/{}", text(&queue["queue_id"]));
    for index in 0..3 {
        mock.advance(30).await;
        let queue = developer.get_data(&path).await;
        let started = queue["items"].as_array().unwrap().iter();
        let started = started.filter(|item| !item["run_id"].is_null());
        assert_eq!(started.count(), index + 1);
        cancel(&mock, &text(&queue["items"][index]["run_id"])).await;
    }
    let queue = developer.get_data(&path).await;
    assert_eq!(queue["status"], "completed");
    assert_eq!(queue["counts"]["canceled"], 3);
    assert_eq!(queue["next_poll_after_seconds"], 0);
    let body = json!({"items": [instruction("x")]});
    let queue = developer.post(bulk, body).await.expect(202).data();
    assert_eq!(queue["concurrency"], 4);
}

async fn fail_directive_without_a_code_is_format_run_failed(mock: Mock) {
    let id = run_to_end(&mock, "[mock:fail]").await;
    let receipt = receipt(&mock, Kind::Format, &id).await;
    assert_eq!(receipt["error"]["code"], "format_run_failed");
}

async fn an_unavailable_output_is_available_on_the_next_read(mock: Mock) {
    let id = run_to_end(&mock, "[mock:harvest-unavailable]").await;
    let first = receipt(&mock, Kind::Format, &id).await;
    assert_eq!(first["status"], "completed");
    assert!(
        first["error"].is_null() && first["output"].is_null(),
        "{first}"
    );
    assert_eq!(first["output_error"]["code"], "output_extraction_failed");
    assert_eq!(
        first["output_error"]["details"]["reason"],
        "harvest_unavailable"
    );
    let second = receipt(&mock, Kind::Format, &id).await;
    assert!(second["output"].is_object(), "{second}");
    assert!(second["output_error"].is_null(), "{second}");
    assert_eq!(receipt(&mock, Kind::Format, &id).await, second);
    let result = run_result(&mock, Kind::Format, &id).await;
    assert_eq!(result.data()["output"], second["output"]);
}

async fn actions_and_completions_can_fail(mock: Mock) {
    for kind in [Kind::Action, Kind::Agent] {
        let id = start_run(&mock, kind, "[mock:fail=provider_unavailable]").await;
        mock.advance(10).await;
        let receipt = receipt(&mock, kind, &id).await;
        assert_eq!(receipt["status"], "failed");
        assert_eq!(receipt["error"]["code"], "provider_unavailable");
    }
}
