//! Outcomes that webhook events tell.

use super::*;
use crate::WebhookNotifier;
use crate::types::{AgentCompletionCreate, WebhookEvent};

fn event(json: serde_json::Value) -> WebhookEvent {
    serde_json::from_value(json).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_webhook_event_records_the_outcome() {
    let usd = Usd::from_micros;
    for (name, status, charge) in [
        ("job.completed", "completed", usd(200_000)),
        ("job.failed", "failed", Usd::ZERO),
        ("job.canceled", "canceled", Usd::ZERO),
    ] {
        // Another process than the one that submitted receives the event.
        let (first, second) = two_processes();
        let script = Script::new([price("0.2000"), receipt("job_1"), receipt("job_2")]);
        let limit = SpendLimit::new("november", usd(1_000_000));
        let client = builder::<Open>(&script, &first).spend_limit(limit).build().unwrap();
        for id in ["order-1", "order-2"] {
            client.videos().generate(fox()).submission_id(id).await.unwrap();
        }
        let event = event(json!({"event": name, "job_id": "job_2"}));
        for _ in 0..2 {
            let entry = second.record_event(&event).await.unwrap().unwrap();
            assert_eq!(entry.submission_id.as_deref(), Some("order-2"));
            assert_eq!(entry.state, EntryState::Ended(status.to_owned()));
            assert_eq!(entry.price_usd(), Some(charge));
        }
        let found = first.find("", "order-2").await.unwrap().unwrap();
        assert_eq!(found.state, EntryState::Ended(status.to_owned()));
        let other = entry(&first).await;
        assert_eq!(other.state, EntryState::Accepted);
        let hold = first.budget("november").await.unwrap().hold;
        assert_eq!((hold.reserved, hold.captured), (usd(200_000), charge));
    }
}

#[tokio::test(start_paused = true)]
async fn a_webhook_event_of_a_run_records_its_status() {
    let receipt = |status: &str| json!({"run_id": "run_1", "status": status, "usage": {"billable_amount_usd_micros": 700}});
    for (fields, expected) in [
        (json!({"payload": receipt("completed")}), Some(("completed", Some(700)))),
        (json!({"payload": receipt("failed"), "outcome": "error"}), Some(("failed", Some(700)))),
        (json!({"payload": receipt("paused")}), Some(("paused", Some(700)))),
        (json!({"payload": null, "outcome": "degraded"}), Some(("completed", None))),
        (json!({"payload": null, "outcome": "error"}), Some(("failed", None))),
        (json!({"payload": null, "outcome": "paused"}), Some(("paused", None))),
        (json!({"payload": receipt("running")}), None),
        (json!({"payload": null}), None),
        (json!({"event": "format.run.terminal", "outcome": "success"}), None),
        (json!({"run_id": "run_2", "outcome": "success"}), None),
        (json!({"event": "job.completed", "job_id": "run_1"}), None),
        (json!({"event": "webhook.test", "outcome": "success"}), None),
    ] {
        let journal = Journal::in_memory();
        let script =
            Script::new([answer(202, r#"{"data": {"run_id": "run_1", "status": "queued"}}"#)]);
        let body = AgentCompletionCreate::new("posters", Usd::from_micros(2_000_000));
        let client = developer_client(&script, &journal);
        client.agents().run(body).submission_id("order-1").await.unwrap();
        let mut event = json!({"event": "agent.run.terminal", "run_id": "run_1"});
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let entry = journal.record_event(&self::event(event)).await.unwrap();
        let recorded = entry.map(|it| (it.state.clone(), it.price_usd()));
        let expected = expected.map(|(status, spent): (&str, Option<i64>)| {
            (EntryState::Ended(status.to_owned()), spent.map(Usd::from_micros))
        });
        assert_eq!(recorded, expected, "{fields}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_an_event_ends_records_the_outcome() {
    let journal = Journal::in_memory();
    let status = answer(200, r#"{"data": {"status": "completed", "terminal": true}}"#);
    let result = answer(200, r#"{"data": {"status": "completed", "artifacts": []}}"#);
    let script = Script::new([receipt("job_1"), status, result]);
    let client = open_client(&script, &journal);
    let job = client.videos().generate(fox()).submission_id("order-1").await.unwrap();
    let notifier = WebhookNotifier::new();
    notifier.notify(&event(json!({"event": "job.completed", "job_id": "job_1"})));
    job.wait().webhook_notifier(&notifier).await.unwrap();
    let entry = entry(&journal).await;
    assert_eq!(entry.state, EntryState::Ended("completed".to_owned()));
}
