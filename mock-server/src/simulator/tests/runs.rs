//! Runs from their beginning to their end: receipts, phases, money, cancel.

use serde_json::{Value, json};

use super::{DEMO, Mock};
use crate::engine::{Host, Settings};

const MEDIA: &str = "/v1/formats/fmt_media/runs";

impl Mock {
    /// Starts a run and gives its id.
    #[track_caller]
    pub(super) fn start(&mut self, path: &str, body: Value) -> String {
        let receipt = self.order(path, body);
        receipt["run_id"].as_str().unwrap().to_owned()
    }

    /// A Format run's receipt.
    #[track_caller]
    pub(super) fn receipt(&mut self, id: &str) -> Value {
        self.read(&format!("/v1/format-runs/{id}"))
    }

    /// Runs an instruction to its end and gives the receipt.
    #[track_caller]
    pub(super) fn ended(&mut self, path: &str, instruction: &str) -> Value {
        let id = self.start(path, json!({"instruction": instruction}));
        self.pass(10_000);
        self.receipt(&id)
    }
}

fn billed(receipt: &Value) -> i64 {
    receipt["usage"]["billable_amount_usd_micros"]
        .as_i64()
        .unwrap()
}

#[test]
fn a_receipt_has_every_field_from_the_start() {
    let mut mock = Mock::new();
    let receipt = mock.order(
        MEDIA,
        json!({"instruction": "A boot.", "generation_spend_cap_usd": 12.5}),
    );
    let id = receipt["run_id"].as_str().unwrap().to_owned();
    let url = |end: &str| format!("http://127.0.0.1:4011/v1/format-runs/{id}/{end}");
    let now = mock.now.to_string();
    let expected = json!({
        "request_id": receipt["request_id"], "run_id": id, "kind": "format", "status": "queued",
        "created_at": now, "updated_at": now, "format_id": "fmt_media",
        "status_url": url("status"), "result_url": url("result"), "events_url": url("events"),
        "cancel_url": url("cancel"), "error": null, "output_error": null, "output": null,
        "artifacts": [], "primary_output_url": null, "primary_output_key": "image_url",
        "usage": {"billable_amount_usd_micros": 0, "generation_spend_cap_usd_micros": 12_500_000},
        "webhook_delivery": null, "next_poll_after_seconds": 5, "previous_run_id": null,
        "queue_id": null, "item_index": null,
    });
    assert_eq!(receipt, expected);
    assert_eq!(mock.receipt(&id), expected);
}

#[test]
fn a_run_goes_through_its_phases_and_delivers() {
    let mut mock = Mock::new();
    let id = mock.start(MEDIA, json!({"input": {"product": "boot"}}));
    let path = format!("/v1/format-runs/{id}");
    let mut seen = Vec::new();
    for _ in 0..10 {
        seen.push(mock.read(&format!("{path}/status"))["status"].clone());
        mock.developer()
            .get(&format!("{path}/result"))
            .refused(409, "run_not_completed");
        mock.pass(1_000);
    }
    assert_eq!(seen[0], "queued");
    assert!(seen[1..].iter().all(|status| status == "running"));
    let status = mock.read(&format!("{path}/status"));
    let expected = json!({
        "run_id": id, "kind": "format", "status": "completed", "terminal": true,
        "result_ready": true, "next_poll_after_seconds": 0
    });
    assert_eq!(status, expected);
    let result = mock.read(&format!("{path}/result"));
    assert_eq!(result, mock.receipt(&id));
    let url = &result["artifacts"][0]["url"];
    assert_eq!(&result["primary_output_url"], url);
    assert_eq!(&result["output"]["image_url"], url);
    assert_eq!(mock.file(url).header("content-type"), "image/png");
    let events = mock.read(&format!("{path}/events"));
    let phases: Vec<_> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["phase"].as_str().unwrap())
        .collect();
    assert_eq!(
        phases,
        [
            "queued",
            "started",
            "planning",
            "generating",
            "assembling",
            "ended"
        ]
    );
    assert_eq!(events[5]["status"], "completed");
}

#[test]
fn a_result_in_flight_says_how_the_run_stands_and_when_to_come_back() {
    let mut mock = Mock::new();
    let id = mock.start(DEMO, json!({"instruction": "x"}));
    mock.pass(4_000);
    let error = mock
        .developer()
        .get(&format!("/v1/format-runs/{id}/result"))
        .refused(409, "run_not_completed");
    assert_eq!(
        (&error["details"]["status"], &error["retry_after_seconds"]),
        (&json!("running"), &json!(3))
    );
    assert_eq!(error["next_action"], "poll_status");
}

#[test]
fn each_kind_of_run_is_found_at_its_own_place_only() {
    let mut mock = Mock::new();
    let agent = json!({"instruction": "x", "generation_spend_cap_usd": 5});
    let agent = mock.start("/v1/agent/completions", agent);
    let action = mock.order("/v1/actions/act_daily/runs", json!({}));
    assert_eq!(
        (&action["kind"], &action["action_id"], &action["events_url"]),
        (&json!("action"), &json!("act_daily"), &Value::Null)
    );
    let action = action["run_id"].as_str().unwrap().to_owned();
    mock.read(&format!("/v1/agent-runs/{agent}"));
    let by_action = mock.read(&format!("/v1/actions/act_daily/runs/{action}"));
    assert_eq!(by_action, mock.read(&format!("/v1/action-runs/{action}")));
    for (path, code) in [
        (format!("/v1/format-runs/{agent}"), "format_run_not_found"),
        (format!("/v1/action-runs/{agent}"), "action_run_not_found"),
        (
            format!("/v1/agent-runs/{action}/status"),
            "agent_run_not_found",
        ),
        (
            format!("/v1/actions/act_no_trigger/runs/{action}"),
            "action_run_not_found",
        ),
        (
            format!("/v1/actions/act_daily/runs/{agent}"),
            "action_run_not_found",
        ),
        (
            "/v1/format-runs/run_none/result".to_owned(),
            "format_run_not_found",
        ),
        (
            "/v1/format-run-queues/frq_none".to_owned(),
            "format_run_queue_not_found",
        ),
    ] {
        mock.developer().get(&path).refused(404, code);
    }
    let other = mock
        .ask(Host::Developer)
        .key("svc_dev_other")
        .get(&format!("/v1/agent-runs/{agent}"));
    other.refused(404, "agent_run_not_found");
    mock.pass(10_000);
    for path in [
        format!("/v1/agent-runs/{agent}/result"),
        format!("/v1/action-runs/{action}/result"),
    ] {
        assert_eq!(mock.read(&path)["status"], "completed");
    }
    assert!(mock.simulator.jobs().is_empty(), "runs are no jobs");
}

#[test]
fn runs_are_listed_newest_first_and_by_what_they_are_runs_of() {
    let mut mock = Mock::new();
    let ids: Vec<_> = (0..3)
        .map(|_| mock.start(DEMO, json!({"instruction": "x"})))
        .collect();
    mock.start(MEDIA, json!({"instruction": "x"}));
    let page = mock
        .developer()
        .get("/v1/formats/demo/teaser/runs?limit=2")
        .json();
    let listed = |page: &Value| -> Vec<String> {
        let runs = page["data"].as_array().unwrap().iter();
        runs.map(|run| run["run_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(listed(&page), [ids[2].clone(), ids[1].clone()]);
    let next = format!(
        "{DEMO}?limit=2&cursor={}",
        page["next_cursor"].as_str().unwrap()
    );
    let page = mock.developer().get(&next).json();
    assert_eq!(
        (listed(&page), &page["next_cursor"]),
        (vec![ids[0].clone()], &Value::Null)
    );
    mock.developer()
        .get(&format!("{MEDIA}?cursor={}", ids[0]))
        .refused(400, "invalid_request");
    assert_eq!(mock.read("/v1/agent-runs"), json!([]));
    assert_eq!(mock.read("/v1/actions/act_daily/runs"), json!([]));
}

#[test]
fn usage_rises_and_settles_and_the_ledger_says_the_same() {
    let mut mock = Mock::new();
    let id = mock.start(DEMO, json!({"instruction": "[mock:cost=3]"}));
    let mut amounts = Vec::new();
    for _ in 0..11 {
        amounts.push(billed(&mock.receipt(&id)) / 1_000_000);
        mock.books_are_balanced();
        mock.pass(1_000);
    }
    assert_eq!(amounts, [0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 3]);
    let usage = mock.read("/v1/usage");
    let of = |kind: &str| {
        usage
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry["kind"] == kind && entry["run_id"] == id.as_str())
            .count()
    };
    assert_eq!((of("reservation"), of("capture"), of("refund")), (3, 3, 0));
    let balance = mock.read("/v1/balance");
    assert_eq!(
        (&balance["available_usd"], &balance["reserved_usd"]),
        (&json!("97.0000"), &json!("0.0000"))
    );
}

#[test]
fn past_its_cap_a_run_fails_and_what_it_did_before_is_billed() {
    let mut mock = Mock::new();
    let receipt = mock.ended("/v1/formats/fmt_capped/runs", "[mock:cost=5]");
    assert_eq!(
        (&receipt["status"], &receipt["error"]["code"]),
        (&json!("failed"), &json!("format_run_failed"))
    );
    assert_eq!(billed(&receipt), 2_000_000);
    assert_eq!(
        receipt["usage"]["generation_spend_cap_usd_micros"],
        2_000_000
    );
    mock.books_are_balanced();
    // A cap of the run's own counts instead, above the Format's or below.
    let above = json!({"instruction": "[mock:cost=5]", "generation_spend_cap_usd": 5});
    let above = mock.start("/v1/formats/fmt_capped/runs", above);
    let agent = json!({"instruction": "[mock:cost=5]", "generation_spend_cap_usd": 0.5});
    let agent = mock.start("/v1/agent/completions", agent);
    mock.pass(10_000);
    let above = mock.receipt(&above);
    assert_eq!(
        (&above["status"], billed(&above)),
        (&json!("completed"), 5_000_000)
    );
    let agent = mock.read(&format!("/v1/agent-runs/{agent}"));
    assert_eq!(
        (&agent["status"], billed(&agent)),
        (&json!("failed"), 500_000)
    );
    assert_eq!(agent["primary_output_url"], Value::Null);
}

#[test]
fn a_canceled_run_is_billed_for_what_it_finished() {
    let mut mock = Mock::new();
    let id = mock.start(MEDIA, json!({"instruction": "[mock:cost=3]"}));
    mock.pass(6_000);
    let cancel = format!("/v1/format-runs/{id}/cancel");
    let receipt = mock.developer().post(&cancel, json!({})).data(200);
    assert_eq!(
        (&receipt["status"], billed(&receipt)),
        (&json!("canceled"), 1_000_000)
    );
    assert_eq!(receipt["artifacts"].as_array().unwrap().len(), 1);
    mock.books_are_balanced();
    mock.pass(60_000);
    assert_eq!(mock.developer().post(&cancel, json!({})).data(200), receipt);
    assert_eq!(mock.receipt(&id), receipt);
    let usage = mock.read("/v1/usage");
    assert_eq!(
        (&usage[0]["kind"], &usage[0]["amount_usd"]),
        (&json!("refund"), &json!("1.0000"))
    );
    assert_eq!(mock.read("/v1/balance")["available_usd"], "99.0000");
    mock.developer()
        .post(&cancel, json!({"x": 1}))
        .refused(400, "invalid_request");
}

#[test]
fn cancel_of_a_completed_run_changes_nothing() {
    let mut mock = Mock::new();
    let receipt = mock.ended(DEMO, "x");
    let cancel = format!(
        "/v1/format-runs/{}/cancel",
        receipt["run_id"].as_str().unwrap()
    );
    assert_eq!(
        mock.developer().send("POST", &cancel, "").data(200),
        receipt
    );
}

#[test]
fn a_skipped_run_costs_nothing() {
    let mut mock = Mock::new();
    let receipt = mock.ended(MEDIA, "[mock:skip][mock:cost=3]");
    assert_eq!(
        (&receipt["status"], billed(&receipt)),
        (&json!("skipped"), 0)
    );
    assert_eq!(
        (&receipt["artifacts"], &receipt["error"], &receipt["output"]),
        (&json!([]), &Value::Null, &Value::Null)
    );
    assert_eq!(mock.read("/v1/usage"), json!([]));
}

#[test]
fn a_degraded_run_completes_with_media_and_without_output() {
    let mut mock = Mock::new();
    let receipt = mock.ended(DEMO, "[mock:degraded]");
    assert_eq!(
        (&receipt["status"], &receipt["output"], &receipt["error"]),
        (&json!("completed"), &Value::Null, &Value::Null)
    );
    assert_eq!(receipt["output_error"]["code"], "output_schema_unsatisfied");
    assert_eq!(
        receipt["output_error"]["details"]["harvested"],
        json!({"image": 1})
    );
    mock.file(&receipt["artifacts"][0]["url"]);
}

#[test]
fn spend_that_cannot_be_read_is_null_and_not_zero() {
    let mut mock = Mock::new();
    let receipt = mock.ended(DEMO, "[mock:usage-unreadable]");
    assert_eq!(
        (&receipt["status"], &receipt["usage"]),
        (&json!("completed"), &Value::Null)
    );
    assert_eq!(mock.read("/v1/balance")["available_usd"], "99.9500");
}

#[test]
fn an_output_that_cannot_be_read_is_there_at_the_next_read() {
    let mut mock = Mock::new();
    let receipt = mock.ended(MEDIA, "[mock:harvest-unavailable]");
    assert_eq!(
        (&receipt["status"], &receipt["output"], &receipt["error"]),
        (&json!("completed"), &Value::Null, &Value::Null)
    );
    assert_eq!(receipt["output_error"]["code"], "output_extraction_failed");
    assert_eq!(
        receipt["output_error"]["details"],
        json!({"reason": "harvest_unavailable"})
    );
    assert_eq!(receipt["primary_output_url"], Value::Null);
    let id = receipt["run_id"].as_str().unwrap();
    let next = mock.read(&format!("/v1/format-runs/{id}/result"));
    assert_eq!(next["output_error"], Value::Null);
    assert_eq!(next["output"]["image_url"], next["artifacts"][0]["url"]);
    assert_eq!(next["primary_output_url"], next["artifacts"][0]["url"]);
}

#[test]
fn a_run_that_is_stuck_never_ends_and_one_may_take_its_time() {
    let mut mock = Mock::new();
    let stuck = mock.start(DEMO, json!({"instruction": "[mock:stuck]"}));
    let slow = mock.start(
        DEMO,
        json!({"input": {"deep": {"text": "[mock:seconds=100]"}}}),
    );
    mock.pass(99_000);
    assert_eq!(mock.receipt(&slow)["status"], "running");
    mock.pass(1_000_000);
    assert_eq!(mock.receipt(&slow)["status"], "completed");
    assert_eq!(mock.receipt(&stuck)["status"], "running");
    mock.developer()
        .post(&format!("/v1/format-runs/{stuck}/cancel"), json!({}))
        .data(200);
    assert_eq!(mock.receipt(&stuck)["status"], "canceled");
    mock.books_are_balanced();
}

#[test]
fn an_output_fits_the_schema_that_was_asked_for() {
    let mut mock = Mock::new();
    let schema = json!({
        "type": "object", "required": ["hero", "shots"], "additionalProperties": false,
        "properties": {
            "hero": {"type": "string", "format": "uri"},
            "shots": {"type": "array", "minItems": 2, "items": {"type": "integer", "minimum": 3}},
            "kind": {"enum": ["teaser"]}
        }
    });
    for body in [
        json!({"instruction": "x", "output_schema": schema}),
        json!({"instruction": "x", "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}),
    ] {
        let id = mock.start(DEMO, body);
        mock.pass(10_000);
        let receipt = mock.receipt(&id);
        let url = &receipt["artifacts"][0]["url"];
        assert_eq!(
            receipt["output"],
            json!({"hero": url, "shots": [3, 3], "kind": "teaser"})
        );
        assert_eq!(
            (
                &receipt["primary_output_key"],
                &receipt["primary_output_url"]
            ),
            (&json!("hero"), url)
        );
    }
    let id = mock.start(
        DEMO,
        json!({"instruction": "x", "response_format": {"type": "json_object"}}),
    );
    mock.pass(10_000);
    let receipt = mock.receipt(&id);
    assert!(receipt["output"]["summary"].is_string());
    assert_eq!(
        (&receipt["artifacts"], &receipt["primary_output_url"]),
        (&json!([]), &Value::Null)
    );
}

#[test]
fn a_schema_that_nothing_fits_fails_the_run() {
    let mut mock = Mock::new();
    let schema = json!({"type": "object", "required": ["a"], "additionalProperties": false});
    let id = mock.start(DEMO, json!({"instruction": "x", "output_schema": schema}));
    mock.pass(10_000);
    let error = mock.receipt(&id)["error"].take();
    assert_eq!(error["code"], "output_schema_unsatisfied");
    assert_eq!(error["details"]["violations"][0]["rule"], "required");
}

#[test]
fn a_wallet_that_runs_dry_on_the_way_fails_the_run() {
    let mut mock = Mock::with(Settings {
        balance: "1.0000".parse().unwrap(),
        ..Settings::default()
    });
    let first = mock.start(DEMO, json!({"instruction": "[mock:cost=0.9]"}));
    let second = mock.start(DEMO, json!({"instruction": "[mock:cost=0.9]"}));
    mock.pass(10_000);
    let ends = [mock.receipt(&first), mock.receipt(&second)];
    assert!(
        ends.iter()
            .any(|run| run["error"]["code"] == "format_run_failed")
    );
    assert!(ends.iter().map(billed).sum::<i64>() <= 1_000_000);
    mock.books_are_balanced();
}

#[test]
fn the_end_of_a_run_is_announced_once() {
    let mut mock = Mock::new();
    let body = json!({"instruction": "[mock:fail=agent_reported_failure]", "webhook_url": "https://hooks.example/in"});
    let id = mock.start(MEDIA, body);
    let redeliver = format!("/v1/format-runs/{id}/webhook/redeliver");
    mock.developer()
        .send("POST", &redeliver, "")
        .refused(409, "run_not_terminal");
    mock.pass(10_000);
    mock.simulator.advance(mock.now);
    let sent = mock.simulator.take_deliveries(|_| true);
    let [delivery] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    let event: Value = serde_json::from_slice(&delivery.body).unwrap();
    let receipt = mock.receipt(&id);
    assert_eq!(
        (&event["event"], &event["status"], &event["outcome"]),
        (
            &json!("format.run.terminal"),
            &json!("ERROR"),
            &json!("error")
        )
    );
    assert_eq!(event["error"], event["payload"]["error"]);
    for name in [
        "run_id",
        "artifacts",
        "output",
        "usage",
        "result_url",
        "error",
        "output_error",
    ] {
        assert_eq!(event["payload"][name], receipt[name], "{name}");
    }
    let failed = crate::engine::DeliveryOutcome::answered(503);
    mock.simulator
        .record_outcome(mock.now, delivery.id, &failed);
    assert_eq!(mock.receipt(&id)["webhook_delivery"]["status"], "retrying");
    let events = mock.read(&format!("/v1/format-runs/{id}/events"));
    let last = events.as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["phase"], &last["status"]),
        (&json!("webhook_delivery"), &json!("retrying"))
    );
    let again = mock.developer().send("POST", &redeliver, "").data(202);
    assert_eq!(
        (&again["run_id"], &again["event"]),
        (&json!(id), &json!("format.run.terminal"))
    );
    let without = mock.ended(DEMO, "x")["run_id"].as_str().unwrap().to_owned();
    let redeliver = format!("/v1/format-runs/{without}/webhook/redeliver");
    mock.developer()
        .send("POST", &redeliver, "")
        .refused(409, "webhook_not_configured");
}

#[test]
fn every_kind_of_run_and_every_end_has_its_event_and_outcome() {
    let mut mock = Mock::new();
    let hook = "https://hooks.example/in";
    let body = |word: &str| json!({"instruction": word, "webhook_url": hook});
    let mut agent = body("[mock:degraded]");
    agent["generation_spend_cap_usd"] = json!(1);
    mock.order("/v1/agent/completions", agent);
    mock.order("/v1/actions/act_daily/runs", body("[mock:skip]"));
    mock.order(DEMO, body("x"));
    let canceled = mock.start(
        DEMO,
        json!({"input": {}, "communication": {"webhook_url": hook}}),
    );
    let cancel = format!("/v1/format-runs/{canceled}/cancel");
    mock.developer().post(&cancel, json!({})).data(200);
    mock.pass(10_000);
    mock.simulator.advance(mock.now);
    let sent = mock.simulator.take_deliveries(|_| true);
    let mut told: Vec<_> = sent
        .iter()
        .map(|delivery| {
            let event: Value = serde_json::from_slice(&delivery.body).unwrap();
            assert_eq!(event["error"], Value::Null);
            assert_eq!(event["run_id"], event["payload"]["run_id"]);
            ["event", "status", "outcome"].map(|name| event[name].as_str().unwrap().to_owned())
        })
        .collect();
    told.sort();
    let expected = [
        ["action.run.terminal", "OK", "skipped"],
        ["agent.run.terminal", "OK", "degraded"],
        ["format.run.terminal", "ERROR", "canceled"],
        ["format.run.terminal", "OK", "success"],
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_webhook_tells_the_same_violations_as_the_receipt_wherever_the_url_stands() {
    let mut mock = Mock::new();
    let schema = json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"hero": {"type": "string", "format": "uri"}}}}, "required": ["metadata"]});
    for word in ["", "[mock:fail=output_schema_unsatisfied]"] {
        let body = json!({"instruction": format!("x{word}"), "output_schema": schema, "webhook_url": "https://hooks.example/in"});
        let id = mock.start(DEMO, body);
        mock.pass(10_000);
        mock.simulator.advance(mock.now);
        let sent = mock.simulator.take_deliveries(|_| true);
        let event: Value = serde_json::from_slice(&sent[0].body).unwrap();
        let receipt = mock.receipt(&id);
        assert_eq!(event["payload"]["output"], receipt["output"]);
        assert_eq!(event["payload"]["error"], receipt["error"]);
    }
}
