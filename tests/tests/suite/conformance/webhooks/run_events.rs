//! Webhook events of runs.

use serde_json::{Value, json};
use svc_tests::{Mock, Receiver, Reply, on_every_socket_frontend};

use super::super::runs::{Kind, cancel_run, instruction, receipt, start, start_demo};
use super::{
    ATTEMPTS, HOOK, advance_until_attempts, assert_no_more_attempts, secret_of, text,
    wait_for_outcomes, with,
};

on_every_socket_frontend! {
    each_kind_of_run_sends_one_event_with_its_receipt,
    a_failed_run_sends_its_error,
    a_degraded_run_sends_a_success_status,
    skipped_and_canceled_runs_send_events,
    a_receipt_above_1_mib_is_omitted,
    each_run_of_a_queue_sends_an_event,
    a_failed_delivery_does_not_change_the_run,
    the_event_of_a_run_can_be_redelivered,
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

async fn a_failed_run_sends_its_error(mock: Mock, receiver: Receiver) {
    for (before, code) in ["deliverable_missing", "provider_unavailable", "of_tomorrow"]
        .into_iter()
        .enumerate()
    {
        start_run_with_webhook(&mock, Kind::Format, &format!("[mock:fail={code}]")).await;
        mock.advance(10).await;
        let event = last_event(&mock, &receiver, before + 1).await;
        assert_eq!(event["event"], "format.run.terminal");
        assert_eq!(event["status"], "ERROR");
        assert_eq!(event["outcome"], "error");
        assert_eq!(event["error"]["code"], code);
        assert_eq!(event["payload"]["error"]["code"], code);
    }
}

async fn a_degraded_run_sends_a_success_status(mock: Mock, receiver: Receiver) {
    start_run_with_webhook(&mock, Kind::Format, "[mock:degraded]").await;
    mock.advance(10).await;
    let event = last_event(&mock, &receiver, 1).await;
    assert_eq!(event["status"], "OK");
    assert_eq!(event["outcome"], "degraded");
    assert!(event["payload"]["output"].is_null(), "{event}");
    assert!(
        !event["payload"]["artifacts"].as_array().unwrap().is_empty(),
        "{event}"
    );
}

async fn skipped_and_canceled_runs_send_events(mock: Mock, receiver: Receiver) {
    start_run_with_webhook(&mock, Kind::Format, "[mock:skip]").await;
    mock.advance(10).await;
    let event = last_event(&mock, &receiver, 1).await;
    assert_eq!(event["payload"]["status"], "skipped");
    let id = start_run_with_webhook(&mock, Kind::Agent, "x").await;
    cancel_run(&mock.developer(), Kind::Agent, &id)
        .await
        .expect(200);
    mock.advance(0).await;
    let event = last_event(&mock, &receiver, 2).await;
    assert_eq!(event["event"], "agent.run.terminal");
    assert_eq!(event["payload"]["status"], "canceled");
    mock.advance(100).await;
    receiver.wait_for(2).await;
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
