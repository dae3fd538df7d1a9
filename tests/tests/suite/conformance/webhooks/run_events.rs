//! Webhook events of runs: the event, status and outcome of each way to end, and redeliveries.

use super::super::runs::{Kind, RUNS, instruction, receipt, start, start_demo};
use super::*;

on_every_frontend! {
    a_failed_attempt_is_in_the_run_and_its_timeline,
    a_queue_item_may_have_its_own_webhook,
}

on_every_socket_frontend! {
    each_end_of_a_run_has_its_event_and_outcome,
    an_event_has_the_output_and_error_of_the_receipt,
    each_kind_of_run_sends_one_event_with_its_receipt,
    a_receipt_above_1_mib_is_omitted,
    each_run_of_a_queue_sends_an_event,
    a_failed_delivery_does_not_change_the_run,
    the_event_of_a_run_can_be_redelivered,
}

fn with_hook(body: Value) -> Value {
    with(body, json!({"webhook_url": HOOK}))
}

async fn a_failed_attempt_is_in_the_run_and_its_timeline(mock: Mock) {
    let developer = mock.developer();
    let id = start(&developer, RUNS, with_hook(instruction("x"))).await;
    mock.advance(10).await;
    // Without a route to the receiver the first attempt fails.
    let path = format!("/v1/format-runs/{id}");
    let mut delivery = Value::Null;
    for _ in 0..1_000 {
        delivery = receipt(&mock, Kind::Format, &id).await["webhook_delivery"].take();
        if delivery["status"] == "retrying" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    assert_eq!(delivery["status"], "retrying", "{delivery}");
    let events = developer
        .get(&format!("{path}/events"))
        .await
        .expect(200)
        .items();
    let last = events.last().unwrap();
    assert_eq!(last["phase"], "webhook_delivery");
    assert_eq!(last["status"], "retrying");
    let response = developer
        .post_empty(&format!("{path}/webhook/redeliver"))
        .await;
    let redelivery = response.expect(202).data();
    assert_eq!(redelivery["run_id"], id.as_str());
    assert_eq!(redelivery["event"], "format.run.terminal");
}

async fn a_queue_item_may_have_its_own_webhook(mock: Mock) {
    let own = with(
        instruction("x"),
        json!({"webhook_url": "https://own.example/"}),
    );
    let body = json!({"items": [instruction("x"), own], "webhook_url": "https://all.example/"});
    let bulk = "/v1/formats/fmt_demo/bulk-runs";
    mock.developer().post(bulk, body).await.expect(202);
    mock.advance(10).await;
    let deliveries = mock.deliveries().await;
    let urls: Vec<_> = deliveries
        .iter()
        .map(|delivery| text(&delivery["url"]))
        .collect();
    assert_eq!(urls, ["https://all.example/", "https://own.example/"]);
}

async fn each_end_of_a_run_has_its_event_and_outcome(mock: Mock, receiver: Receiver) {
    let developer = mock.developer();
    for (kind, words) in [
        (Kind::Agent, "[mock:degraded]"),
        (Kind::Action, "[mock:skip]"),
        (Kind::Format, "x"),
    ] {
        start(&developer, kind.start(), with_hook(kind.body(words))).await;
    }
    let body = json!({"input": {}, "communication": {"webhook_url": HOOK}});
    let id = start(&developer, RUNS, body).await;
    let cancel = format!("/v1/format-runs/{id}/cancel");
    developer.post(&cancel, json!({})).await.expect(200);
    mock.advance(10).await;
    let arrived = receiver.wait_for(4).await;
    let mut found: Vec<_> = arrived
        .iter()
        .map(|delivery| {
            let event = delivery.json();
            assert_eq!(event["error"], Value::Null);
            assert_eq!(event["run_id"], event["payload"]["run_id"]);
            ["event", "status", "outcome"].map(|name| text(&event[name]))
        })
        .collect();
    found.sort();
    let expected = [
        ["action.run.terminal", "OK", "skipped"],
        ["agent.run.terminal", "OK", "degraded"],
        ["format.run.terminal", "ERROR", "canceled"],
        ["format.run.terminal", "OK", "success"],
    ];
    assert_eq!(found, expected);
}

async fn an_event_has_the_output_and_error_of_the_receipt(mock: Mock, receiver: Receiver) {
    let hero = json!({"type": "string", "format": "uri"});
    let metadata = json!({"type": "object", "properties": {"hero": hero}});
    let schema = json!({
        "type": "object", "properties": {"metadata": metadata}, "required": ["metadata"]
    });
    for (count, words) in [
        (1, "x"),
        (2, "[mock:fail=output_schema_unsatisfied]"),
        (3, "[mock:fail=agent_reported_failure]"),
    ] {
        let body = with_hook(with(instruction(words), json!({"output_schema": schema})));
        let id = start(&mock.developer(), RUNS, body).await;
        mock.advance(10).await;
        let event = receiver.wait_for(count).await[count - 1].json();
        let run = receipt(&mock, Kind::Format, &id).await;
        for field in [
            "run_id",
            "artifacts",
            "output",
            "error",
            "output_error",
            "usage",
        ] {
            assert_eq!(event["payload"][field], run[field], "{field}");
        }
        assert_eq!(event["error"], run["error"]);
        let (status, outcome) = if count == 1 {
            ("OK", "success")
        } else {
            ("ERROR", "error")
        };
        assert_eq!(
            (&event["status"], &event["outcome"]),
            (&json!(status), &json!(outcome))
        );
    }
}

async fn start_run_with_webhook(mock: &Mock, kind: Kind, prompt: &str) -> String {
    let body = with(kind.body(prompt), json!({"webhook_url": HOOK}));
    start(&mock.developer(), kind.start(), body).await
}

async fn last_event(mock: &Mock, receiver: &Receiver, count: usize) -> Value {
    let delivery = receiver.wait_for(count).await.pop().unwrap();
    let secret = secret_of(&mock.developer()).await;
    delivery.assert_signed_with(&[&secret]);
    assert_eq!(delivery.path(), "/svc?tenant=7");
    wait_for_outcomes(mock, count).await;
    delivery.json()
}

async fn each_kind_of_run_sends_one_event_with_its_receipt(mock: Mock, receiver: Receiver) {
    for (before, kind) in Kind::ALL.into_iter().enumerate() {
        let id = start_run_with_webhook(&mock, kind, "x").await;
        mock.advance(9).await;
        assert_eq!(mock.deliveries().await.len(), before, "sent before the end");
        mock.advance(1).await;
        let event = last_event(&mock, &receiver, before + 1).await;
        assert_eq!(event["event"], format!("{}.run.terminal", kind.name()));
        assert_eq!(event["status"], "OK");
        assert_eq!(event["outcome"], "success");
        assert!(event["error"].is_null(), "{event}");
        let read = receipt(&mock, kind, &id).await;
        for field in [
            "run_id",
            "status",
            "output",
            "artifacts",
            "usage",
            "result_url",
            "events_url",
        ] {
            assert_eq!(event["payload"][field], read[field], "{field} of {event}");
        }
        assert_no_more_attempts(&mock, &receiver, before + 1).await;
    }
}

/// Starts a run whose receipt exceeds the size limit of webhook payloads.
async fn start_large_run(mock: &Mock, prompt: &str) -> String {
    let schema = json!({
        "type": "object",
        "properties": {
            "hero": {"type": "string", "format": "uri"},
            "text": {"const": "x".repeat(1024 * 1024)},
        },
        "required": ["text"],
    });
    let body = json!({"instruction": prompt, "output_schema": schema, "webhook_url": HOOK});
    start_demo(mock, body).await
}

async fn a_receipt_above_1_mib_is_omitted(mock: Mock, receiver: Receiver) {
    for (count, prompt, status) in [
        (1, "x", "OK"),
        (2, "[mock:fail=primary_output_missing]", "ERROR"),
    ] {
        let id = start_large_run(&mock, prompt).await;
        mock.advance(10).await;
        let event = last_event(&mock, &receiver, count).await;
        assert_eq!(event["status"], status, "the status of the run");
        assert!(event["payload"].is_null());
        assert_eq!(event["error"]["code"], "payload_too_large");
        let read = receipt(&mock, Kind::Format, &id).await;
        assert_eq!(event["error"]["result_url"], read["result_url"]);
        assert!(read.to_string().len() > 1024 * 1024);
    }
}

async fn each_run_of_a_queue_sends_an_event(mock: Mock, receiver: Receiver) {
    let items = vec![instruction("x"); 5];
    let body = json!({"items": items, "concurrency": 2, "webhook_url": HOOK});
    let path = "/v1/formats/fmt_demo/bulk-runs";
    mock.developer().post(path, body).await.expect(202);
    mock.advance(30).await;
    let deliveries = receiver.wait_for(5).await;
    let mut ids: Vec<_> = deliveries
        .iter()
        .map(|one| text(&one.json()["payload"]["run_id"]))
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5, "one event per run");
}

async fn a_failed_delivery_does_not_change_the_run(mock: Mock, receiver: Receiver) {
    receiver.set_replies([Reply::Status(500)]);
    let id = start_run_with_webhook(&mock, Kind::Format, "x").await;
    mock.advance(10).await;
    wait_for_outcomes(&mock, 1).await;
    advance_until_attempts(&mock, &receiver, ATTEMPTS).await;
    assert_no_more_attempts(&mock, &receiver, ATTEMPTS).await;
    let read = receipt(&mock, Kind::Format, &id).await;
    assert_eq!(read["status"], "completed");
    let delivery = &read["webhook_delivery"];
    let has_ended = ["failed", "exhausted"].contains(&delivery["status"].as_str().unwrap());
    assert!(has_ended, "{delivery}");
    assert_eq!(delivery["last_status_code"], 500);
}

async fn the_event_of_a_run_can_be_redelivered(mock: Mock, receiver: Receiver) {
    let id = start_run_with_webhook(&mock, Kind::Format, "x").await;
    mock.advance(10).await;
    let first = last_event(&mock, &receiver, 1).await;
    mock.advance(500).await;
    let redeliver = format!("{}/webhook/redeliver", Kind::Format.run(&id));
    mock.developer().post_empty(&redeliver).await.expect(202);
    mock.advance(0).await;
    let second = last_event(&mock, &receiver, 2).await;
    assert_eq!(second["event"], first["event"]);
    assert_eq!(second["payload"]["run_id"], first["payload"]["run_id"]);
    let deliveries = receiver.deliveries();
    assert_eq!(deliveries[1].timestamp(), deliveries[0].timestamp() + 500);
}
