//! Webhooks: what is sent when, and what a receiver's answer leads to.

use std::time::Duration;

use serde_json::{Value, json};

use super::{IMAGE, Mock, VIDEO};
use crate::engine::{Delivery, DeliveryOutcome};

const HOOK: &str = "https://hooks.example.com/svc?a=b";

fn hooked(prompt: &str) -> Value {
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
    /// What is sent in that time, each attempt answered so at its own moment.
    fn deliver(&mut self, seconds: u64, outcome: &DeliveryOutcome) -> Vec<Delivery> {
        let end = self.now.after(Duration::from_secs(seconds));
        let mut sent = Vec::new();
        loop {
            self.now = self.engine.advance_to_a_delivery(end);
            for delivery in self.engine.take_deliveries(|_| true) {
                self.engine.delivered(self.now, delivery.id, outcome);
                sent.push(delivery);
            }
            if self.now == end && self.engine.next_due().is_none_or(|due| due > end) {
                return sent;
            }
        }
    }

    fn webhook(&mut self, id: &str) -> Value {
        let job = self.read(&format!("/v1/jobs/{id}"));
        job["webhook_delivery"].clone()
    }

    fn redeliver(&mut self, id: &str) -> super::Answer {
        let path = format!("/v1/jobs/{id}/webhook/redeliver");
        self.developer().send("POST", &path, "")
    }
}

fn seconds(sent: &[Delivery]) -> Vec<u64> {
    let start = crate::engine::Settings::default().epoch;
    sent.iter()
        .map(|delivery| delivery.at.since(start).as_secs())
        .collect()
}

#[test]
fn a_completed_job_is_told_once() {
    let mut mock = Mock::new();
    let id = mock.submit(IMAGE, hooked("a fox"));
    assert_eq!(mock.webhook(&id), Value::Null);
    mock.pass(2_000);
    let pending = mock.webhook(&id);
    assert_eq!(pending["status"], "pending");
    let sent = mock.deliver(100_000, &DeliveryOutcome::answered(204));
    assert_eq!(sent.len(), 1);
    assert_eq!(
        (sent[0].event.as_str(), sent[0].url.as_str()),
        ("job.completed", HOOK)
    );
    let job = mock.read(&format!("/v1/jobs/{id}"));
    let artifact = &job["result"]["artifacts"][0];
    let expected = json!({
        "event": "job.completed", "request_id": body(&sent[0])["request_id"], "job_id": id,
        "status": "OK", "payload": {"artifacts": [{
            "id": artifact["id"], "url": artifact["url"], "type": "image", "content_type": "image/png"
        }]}
    });
    assert_eq!(body(&sent[0]), expected);
    assert!(
        artifact["url"]
            .as_str()
            .unwrap()
            .starts_with("http://127.0.0.1:4012/")
    );
    assert_eq!(
        mock.webhook(&id),
        json!({
            "status": "delivered", "next_attempt_at": null, "last_status_code": 204,
            "last_error": null, "attempts": 1,
            "signing_secret_fingerprint": header(&sent[0], "x-svc-webhook-secret-fingerprint"),
        })
    );
}

#[test]
fn what_failed_or_was_canceled_is_told_with_its_error() {
    let mut mock = Mock::new();
    mock.submit(IMAGE, hooked("[mock:fail=provider_unavailable]"));
    let id = mock.submit(VIDEO, {
        let mut body = hooked("x");
        body["model"] = json!("video-l");
        body
    });
    mock.open()
        .send("POST", &format!("/v1/jobs/{id}/cancel"), "")
        .data(200);
    let sent = mock.deliver(60, &DeliveryOutcome::answered(200));
    let told: Vec<_> = sent.iter().map(body).collect();
    assert_eq!(told[0]["event"], "job.canceled");
    assert_eq!(told[0]["error"]["code"], "job_canceled");
    assert_eq!(told[1]["event"], "job.failed");
    assert_eq!(told[1]["error"]["code"], "provider_unavailable");
    for told in told {
        assert_eq!(told["status"], "ERROR");
        assert_eq!(told["payload"], json!({"artifacts": []}));
    }
}

#[test]
fn a_job_without_a_webhook_is_told_to_nobody() {
    let mut mock = Mock::new();
    let id = mock.submit(IMAGE, super::image("x"));
    assert!(mock.deliver(60, &DeliveryOutcome::answered(200)).is_empty());
    mock.redeliver(&id).refused(409, "webhook_not_configured");
}

#[test]
fn after_ten_attempts_nothing_is_sent_by_itself() {
    let mut mock = Mock::new();
    let id = mock.submit(IMAGE, hooked("x"));
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
    mock.books_are_balanced();
}
