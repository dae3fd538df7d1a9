//! Events of runs: one a run, with its whole receipt.

use serde_json::{Value, json};
use svc_tests::{Mock, Receiver, Reply, on_every_face, on_every_face_that_sends};

use super::super::runs::{Kind, RUNS, receipt, run_of, start};
use super::{ATTEMPTS, HOOK, attempts_until, secret_of, settled, text, with};

on_every_face! {
    a_run_without_a_webhook_has_nothing_to_redeliver,
    a_run_in_flight_has_nothing_to_redeliver,
}

on_every_face_that_sends! {
    the_end_of_each_kind_of_run_is_told_once_with_its_receipt,
    a_failed_run_is_told_with_its_error,
    a_degraded_run_is_told_as_one_that_ended_well,
    skipped_and_canceled_runs_are_told,
    a_receipt_over_1_mib_is_left_out,
    a_large_receipt_of_a_failed_run_is_told_as_failed,
    each_run_of_a_queue_is_told,
    a_run_is_told_ten_times_at_most_and_stays_what_it_is,
    the_event_of_a_run_is_sent_again_on_demand,
}

async fn told_run(mock: &Mock, kind: Kind, words: &str) -> String {
    let body = with(kind.body(words), json!({"webhook_url": HOOK}));
    start(&mock.developer(), kind.start(), body).await
}

async fn last(mock: &Mock, receiver: &Receiver, count: usize) -> Value {
    let delivery = receiver.expect(count).await.pop().unwrap();
    let secret = secret_of(&mock.developer()).await;
    delivery.is_signed_with(&[&secret]);
    assert_eq!(delivery.path(), "/svc?tenant=7");
    settled(mock, count).await;
    delivery.json()
}

async fn the_end_of_each_kind_of_run_is_told_once_with_its_receipt(mock: Mock, receiver: Receiver) {
    for (before, kind) in Kind::ALL.into_iter().enumerate() {
        let id = told_run(&mock, kind, "x").await;
        mock.advance(9).await;
        assert_eq!(mock.deliveries().await.len(), before, "told before its end");
        mock.advance(1).await;
        let event = last(&mock, &receiver, before + 1).await;
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
        mock.advance(100_000).await;
        receiver.expect(before + 1).await;
    }
}

async fn a_failed_run_is_told_with_its_error(mock: Mock, receiver: Receiver) {
    for (before, code) in ["deliverable_missing", "provider_unavailable", "of_tomorrow"]
        .into_iter()
        .enumerate()
    {
        told_run(&mock, Kind::Format, &format!("[mock:fail={code}]")).await;
        mock.advance(10).await;
        let event = last(&mock, &receiver, before + 1).await;
        assert_eq!(event["event"], "format.run.terminal");
        assert_eq!(event["status"], "ERROR");
        assert_eq!(event["outcome"], "error");
        assert_eq!(event["error"]["code"], code);
        assert_eq!(event["payload"]["error"]["code"], code);
    }
}

async fn a_degraded_run_is_told_as_one_that_ended_well(mock: Mock, receiver: Receiver) {
    told_run(&mock, Kind::Format, "[mock:degraded]").await;
    mock.advance(10).await;
    let event = last(&mock, &receiver, 1).await;
    assert_eq!(event["status"], "OK");
    assert_eq!(event["outcome"], "degraded");
    assert!(event["payload"]["output"].is_null(), "{event}");
    assert!(
        !event["payload"]["artifacts"].as_array().unwrap().is_empty(),
        "{event}"
    );
}

async fn skipped_and_canceled_runs_are_told(mock: Mock, receiver: Receiver) {
    told_run(&mock, Kind::Format, "[mock:skip]").await;
    mock.advance(10).await;
    let event = last(&mock, &receiver, 1).await;
    assert_eq!(event["payload"]["status"], "skipped");
    let id = told_run(&mock, Kind::Agent, "x").await;
    let cancel = format!("{}/cancel", Kind::Agent.run(&id));
    mock.developer().post_nothing(&cancel).await.expect(200);
    mock.advance(0).await;
    let event = last(&mock, &receiver, 2).await;
    assert_eq!(event["event"], "agent.run.terminal");
    assert_eq!(event["payload"]["status"], "canceled");
    mock.advance(100).await;
    receiver.expect(2).await;
}

/// A run whose output has to hold more than a receipt in a webhook may.
async fn told_large_run(mock: &Mock, words: &str) -> String {
    let schema = json!({
        "type": "object",
        "properties": {
            "hero": {"type": "string", "format": "uri"},
            "text": {"const": "x".repeat(1024 * 1024)},
        },
        "required": ["text"],
    });
    let body = json!({"instruction": words, "output_schema": schema, "webhook_url": HOOK});
    start(&mock.developer(), RUNS, body).await
}

async fn a_receipt_over_1_mib_is_left_out(mock: Mock, receiver: Receiver) {
    let id = told_large_run(&mock, "x").await;
    mock.advance(10).await;
    let event = last(&mock, &receiver, 1).await;
    left_out(&mock, &id, &event).await;
    assert_eq!(event["status"], "OK");
}

async fn a_large_receipt_of_a_failed_run_is_told_as_failed(mock: Mock, receiver: Receiver) {
    let id = told_large_run(&mock, "[mock:fail=primary_output_missing]").await;
    mock.advance(10).await;
    let event = last(&mock, &receiver, 1).await;
    left_out(&mock, &id, &event).await;
    assert_eq!(
        event["status"], "ERROR",
        "how the run ended, not how the payload fared"
    );
}

async fn left_out(mock: &Mock, id: &str, event: &Value) {
    assert!(event["payload"].is_null());
    assert_eq!(event["error"]["code"], "payload_too_large");
    let read = receipt(mock, Kind::Format, id).await;
    assert_eq!(event["error"]["result_url"], read["result_url"]);
    assert!(read.to_string().len() > 1024 * 1024);
}

async fn each_run_of_a_queue_is_told(mock: Mock, receiver: Receiver) {
    let items = vec![run_of("x"); 5];
    let body = json!({"items": items, "concurrency": 2, "webhook_url": HOOK});
    let path = "/v1/formats/fmt_demo/bulk-runs";
    mock.developer().post(path, body).await.expect(202);
    mock.advance(30).await;
    let arrived = receiver.expect(5).await;
    let mut ids: Vec<_> = arrived
        .iter()
        .map(|one| text(&one.json()["payload"]["run_id"]))
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5, "one event a run");
}

async fn a_run_is_told_ten_times_at_most_and_stays_what_it_is(mock: Mock, receiver: Receiver) {
    receiver.answers([Reply::Status(500)]);
    let id = told_run(&mock, Kind::Format, "x").await;
    mock.advance(10).await;
    settled(&mock, 1).await;
    attempts_until(&mock, &receiver, ATTEMPTS).await;
    settled(&mock, ATTEMPTS).await;
    mock.advance(1_000_000).await;
    receiver.expect(ATTEMPTS).await;
    let read = receipt(&mock, Kind::Format, &id).await;
    assert_eq!(read["status"], "completed");
    let delivery = &read["webhook_delivery"];
    let ended = ["failed", "exhausted"].contains(&delivery["status"].as_str().unwrap());
    assert!(ended, "{delivery}");
    assert_eq!(delivery["last_status_code"], 500);
}

async fn redeliver(mock: &Mock, id: &str) -> svc_tests::Answer {
    let path = format!("/v1/format-runs/{id}/webhook/redeliver");
    mock.developer().post_nothing(&path).await
}

async fn a_run_without_a_webhook_has_nothing_to_redeliver(mock: Mock) {
    let id = start(&mock.developer(), RUNS, run_of("x")).await;
    mock.advance(10).await;
    redeliver(&mock, &id)
        .await
        .refused(409, "webhook_not_configured");
    redeliver(&mock, "run_none")
        .await
        .refused(404, "format_run_not_found");
}

async fn a_run_in_flight_has_nothing_to_redeliver(mock: Mock) {
    let id = told_run(&mock, Kind::Format, "x").await;
    redeliver(&mock, &id).await.refused(409, "run_not_terminal");
    mock.advance(9).await;
    redeliver(&mock, &id).await.refused(409, "run_not_terminal");
}

async fn the_event_of_a_run_is_sent_again_on_demand(mock: Mock, receiver: Receiver) {
    let id = told_run(&mock, Kind::Format, "x").await;
    mock.advance(10).await;
    let first = last(&mock, &receiver, 1).await;
    mock.advance(500).await;
    redeliver(&mock, &id).await.expect(202);
    mock.advance(0).await;
    let second = last(&mock, &receiver, 2).await;
    assert_eq!(second["event"], first["event"]);
    assert_eq!(second["payload"]["run_id"], first["payload"]["run_id"]);
    let arrived = receiver.arrived();
    assert_eq!(arrived[1].timestamp(), arrived[0].timestamp() + 500);
}
