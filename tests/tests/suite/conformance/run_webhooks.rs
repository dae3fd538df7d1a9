//! The webhooks of runs: the event, status and outcome of each way to end, and redeliveries.

use serde_json::{Value, json};
use svc_tests::{Mock, Receiver, on_every_frontend, on_every_socket_frontend};

use super::runs::{Kind, RUNS, instruction, receipt, start};
use super::{text, with};

on_every_frontend! {
    a_failed_attempt_is_in_the_run_and_its_timeline,
    a_queue_item_may_have_its_own_webhook,
}

on_every_socket_frontend! {
    each_end_of_a_run_has_its_event_and_outcome,
    an_event_has_the_output_and_error_of_the_receipt,
}

const HOOK: &str = "https://hooks.example.com/svc";

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
    }
}
