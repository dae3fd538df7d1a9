//! Webhooks: the exact moments, bytes and signatures of deliveries, and the queue behind them.

use std::time::Duration;

use serde_json::{Value, json};

use super::{IMAGE, Mock};
use crate::engine::{Delivery, DeliveryOutcome, Settings};

const HOOK: &str = "https://hooks.example.com/svc?a=b";

fn image_with_webhook(prompt: &str) -> Value {
    json!({"model": "image-i", "prompt": prompt, "mode": "webhook", "webhook_url": HOOK})
}

fn body(delivery: &Delivery) -> Value {
    serde_json::from_slice(&delivery.body).unwrap()
}

fn header<'d>(delivery: &'d Delivery, name: &str) -> &'d str {
    let header = delivery.headers.iter().find(|(known, _)| known == name);
    header.map_or("", |(_, value)| value)
}

impl Mock {
    /// Returns what is sent within `seconds`; each attempt gets `outcome` at its own moment.
    fn deliver(&mut self, seconds: u64, outcome: &DeliveryOutcome) -> Vec<Delivery> {
        let end = self.now.after(Duration::from_secs(seconds));
        let mut sent = Vec::new();
        self.simulator.advance(self.now);
        loop {
            for delivery in self.simulator.take_deliveries(usize::MAX, None, |_, _| true) {
                self.simulator.record_outcome(self.now, delivery.id, outcome);
                sent.push(delivery);
            }
            if self.now == end && self.simulator.next_due().is_none_or(|due| due > end) {
                return sent;
            }
            self.now = self.simulator.advance_to_next_delivery(end);
        }
    }

    fn webhook(&mut self, id: &str) -> Value {
        let job = self.read(&format!("/v1/jobs/{id}"));
        job["webhook_delivery"].clone()
    }

    fn secret(&mut self) -> Value {
        self.read("/v1/webhooks/signing-secret")
    }

    fn rotate(&mut self) -> Value {
        let rotate = self.developer();
        let rotated = rotate.send("POST", "/v1/webhooks/signing-secret/rotate", "");
        rotated.data(200)
    }

    fn redeliver(&mut self, id: &str) -> super::TestReply {
        let path = format!("/v1/jobs/{id}/webhook/redeliver");
        self.developer().send("POST", &path, "")
    }
}

fn seconds(sent: &[Delivery]) -> Vec<u64> {
    let start = Settings::default().epoch;
    sent.iter().map(|delivery| delivery.at.since(start).as_secs()).collect()
}

#[test]
fn ten_attempts_follow_the_backoff_schedule() {
    let mut mock = Mock::new();
    let id = mock.submit(IMAGE, image_with_webhook("x"));
    let refused = DeliveryOutcome::answered(500);
    let sent = mock.deliver(1_000_000, &refused);
    let expected = [2, 32, 92, 212, 452, 932, 1892, 3812, 7412, 11012];
    assert_eq!(seconds(&sent), expected);
    let exhausted = mock.webhook(&id);
    assert_eq!(exhausted["status"], "exhausted");
    assert_eq!(exhausted["attempts"], 10);
    assert_eq!(exhausted["last_status_code"], 500);
    assert_eq!(exhausted["last_error"], "http_error");
    assert_eq!(exhausted["next_attempt_at"], Value::Null);
    assert_eq!(mock.status(&id), "completed");
    mock.assert_ledger_is_balanced();
}

#[test]
fn a_late_failure_does_not_restart_the_retries() {
    let mut mock = Mock::new();
    let id = mock.submit(IMAGE, image_with_webhook("x"));
    mock.advance_millis(2_000);
    mock.simulator.advance(mock.now);
    let slow = mock.simulator.take_deliveries(usize::MAX, None, |_, _| true).remove(0);
    mock.redeliver(&id).data(202);
    mock.deliver(1, &DeliveryOutcome::answered(200));
    mock.assert_ledger_is_balanced();
    let timeout = DeliveryOutcome::failed("timeout");
    mock.simulator.record_outcome(mock.now, slow.id, &timeout);
    assert_eq!(mock.webhook(&id)["status"], "delivered");
    assert_eq!(mock.simulator.deliveries().len(), 2);
    assert!(mock.deliver(100_000, &timeout).is_empty());
    mock.simulator.record_outcome(mock.now, slow.id, &timeout);
    assert_eq!(mock.simulator.deliveries().len(), 2, "recorded once");
}

#[test]
fn a_restored_state_sends_its_unfinished_deliveries() {
    let mut mock = Mock::new();
    let id = mock.submit(IMAGE, image_with_webhook("x"));
    let retried = mock.submit(IMAGE, image_with_webhook("y"));
    mock.advance_millis(2_000);
    mock.simulator.advance(mock.now);
    let taken = mock.simulator.take_deliveries(usize::MAX, None, |_, _| true);
    mock.simulator.record_outcome(mock.now, taken[1].id, &DeliveryOutcome::answered(500));
    mock.rotate();
    let document = mock.simulator.snapshot(mock.now);
    let mut other = Mock::new();
    other.now = other.simulator.restore(document).unwrap();
    assert_eq!(other.secret(), mock.secret());
    assert_eq!(other.simulator.deliveries(), mock.simulator.deliveries());
    let sent = other.deliver(30, &DeliveryOutcome::answered(200));
    assert_eq!(seconds(&sent), [2, 32]);
    assert_eq!(
        (&body(&sent[0])["job_id"], &body(&sent[1])["job_id"]),
        (&json!(id), &json!(retried))
    );
    assert_eq!(header(&sent[0], "x-svc-webhook-signature").split(',').count(), 2);
    let document = mock.simulator.snapshot(mock.now);
    mock.simulator.restore(document).unwrap();
    let late = DeliveryOutcome::answered(200);
    mock.simulator.record_outcome(mock.now, taken[0].id, &late);
    assert_eq!(mock.webhook(&id)["status"], "pending", "the delivery belongs to another state");
    other.assert_ledger_is_balanced();
}

#[test]
fn a_document_with_an_inconsistent_webhook_queue_is_rejected() {
    let mut mock = Mock::new();
    let id = mock.submit(IMAGE, image_with_webhook("x"));
    mock.deliver(10, &DeliveryOutcome::answered(500));
    let good = mock.simulator.snapshot(mock.now);
    let entry = format!("/state/outbox/entries/{id}");
    for (path, value) in [
        ("/state/outbox/errands".to_owned(), json!({})),
        ("/state/outbox/due".to_owned(), json!([99])),
        ("/state/timers".to_owned(), json!([])),
        (format!("{entry}/announcement/workspace"), json!("ws_none")),
        (format!("{entry}/announcement/subject_id"), json!("job_none")),
        (format!("{entry}/standing/status"), json!("exhausted")),
        (format!("{entry}/next"), json!(null)),
    ] {
        let mut document = good.clone();
        *document.pointer_mut(&path).unwrap_or_else(|| panic!("{path}")) = value;
        assert!(mock.simulator.restore(document).is_err(), "{path}");
    }
    assert_eq!(mock.simulator.snapshot(mock.now), good);
}
