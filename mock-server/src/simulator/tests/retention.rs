//! What is dropped after the retention period, and what is kept.

use std::time::Duration;

use serde_json::{Value, json};

use super::{DEMO, IMAGE, Mock, TOP_UPS, VIDEO, image, video};
use crate::engine::{DeliveryOutcome, Settings};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns a mock that keeps what ended less than two days ago.
fn mock() -> Mock {
    Mock::with(Settings { retain: Some(2 * DAY), ..Settings::default() })
}

impl Mock {
    fn advance_days(&mut self, days: u32) {
        self.now = self.now.after(DAY * days);
        self.simulator.advance(self.now);
        self.assert_ledger_is_balanced();
    }

    fn kinds(&self) -> Vec<(String, Value)> {
        let entries = self.simulator.ledger().into_iter();
        entries
            .map(|entry| {
                let kind = entry["kind"].as_str().unwrap_or_default();
                (kind.to_owned(), entry["amount_usd"].clone())
            })
            .collect()
    }

    fn balance(&mut self) -> Value {
        self.read("/v1/balance")
    }
}

fn kinds(expected: &[(&str, &str)]) -> Vec<(String, Value)> {
    let expected = expected.iter();
    expected.map(|(kind, amount)| ((*kind).to_owned(), json!(amount))).collect()
}

#[test]
fn what_ended_before_the_retention_period_is_dropped() {
    let mut mock = mock();
    let completed = mock.submit(VIDEO, video("x"));
    let failed = mock.submit(IMAGE, image("[mock:fail]"));
    let stuck = mock.submit(IMAGE, image("[mock:stuck]"));
    mock.advance_days(1);
    let newer = mock.submit(VIDEO, video("x"));
    let balance = mock.balance();
    assert_eq!(mock.simulator.ledger().len(), 6);
    mock.now = mock.now.after(DAY);
    assert_eq!(mock.status(&completed), "completed");
    mock.advance_millis(8_000);
    for dropped in [&completed, &failed] {
        let path = format!("/v1/jobs/{dropped}");
        mock.open().get(&path).error(404, "job_not_found");
    }
    assert_eq!(mock.status(&stuck), "processing");
    assert_eq!(mock.status(&newer), "completed");
    for (query, count) in [("", 2), ("?status=completed", 1), ("?type=image_generation", 1)] {
        let listed = mock.read(&format!("/v1/jobs{query}"));
        assert_eq!(listed.as_array().map(Vec::len), Some(count), "{query}");
    }
    mock.assert_ledger_is_balanced();
    let expected = [
        ("carried_forward", "-0.1250"),
        ("reservation", "0.0050"),
        ("reservation", "0.1250"),
        ("capture", "0.1250"),
    ];
    assert_eq!(mock.kinds(), kinds(&expected));
    mock.advance_days(3);
    let expected = [("carried_forward", "-0.2500"), ("reservation", "0.0050")];
    assert_eq!(mock.kinds(), kinds(&expected));
    let closing = &mock.simulator.ledger()[0];
    assert_eq!(closing["workspace"], "ws_demo");
    assert_eq!(closing["entries"], 6);
    assert_eq!(mock.simulator.jobs().len(), 1);
    let after = mock.balance();
    assert_eq!(after["reserved_usd"], "0.0050");
    assert_eq!(after["available_usd"], "99.7450");
    assert_ne!(balance, after);
    // The entries of the service itself have no closing entry.
    let usage = mock.read("/v1/usage");
    assert_eq!(usage.as_array().unwrap().len(), 1);
}

#[test]
fn without_a_retention_period_everything_is_kept() {
    let mut mock = Mock::new();
    let id = mock.submit(IMAGE, image("x"));
    mock.advance_days(1_000);
    assert_eq!(mock.status(&id), "completed");
    assert_eq!(mock.simulator.ledger().len(), 2);
}

#[test]
fn what_a_job_made_is_dropped_with_it() {
    let mut mock = mock();
    let mia = json!({"avatar_handle": "mia", "input": {"prompt": "x"}});
    let avatar = mock.submit_developer("/v1/avatar-1.0/generate", mia)["avatar"].clone();
    let hook = json!({"model": "image-i", "prompt": "x", "mode": "webhook",
        "webhook_url": "https://hooks.example.com/"});
    let hooked = mock.submit(IMAGE, hook);
    mock.advance_millis(10_000);
    let result = mock.open().get(&format!("/v1/jobs/{hooked}/result"));
    let url = result.data(200)["artifacts"][0]["url"].clone();
    let file = url.as_str().unwrap().rsplit_once('/').unwrap().1.to_owned();
    let file = format!("/artifacts/{file}");
    assert_eq!(mock.request(crate::engine::Host::Media).get(&file).status(), 200);
    for delivery in mock.simulator.take_deliveries(usize::MAX, None, |_, _| true) {
        let outcome = DeliveryOutcome::answered(500);
        mock.simulator.record_outcome(mock.now, delivery.id, &outcome);
    }
    assert_eq!(mock.simulator.deliveries().len(), 1);
    mock.advance_days(2);
    let media = mock.request(crate::engine::Host::Media).get(&file);
    media.error(404, "not_found");
    let id = avatar["id"].as_str().unwrap();
    let listed = mock.read("/v1/avatars");
    assert!(!listed.to_string().contains(id), "{listed}");
    assert!(mock.simulator.deliveries().is_empty());
    assert!(mock.simulator.state.webhook_queue.view(&hooked).is_none());
    assert_eq!(mock.simulator.next_due(), None);
    assert!(!mock.simulator.is_delivering());
    // Only the requests of this day are in the request log.
    let requests = mock.simulator.requests(0);
    assert_eq!(requests.len(), 2, "{requests:?}");
}

#[test]
fn the_runs_of_a_queue_are_dropped_with_the_queue() {
    let mut mock = mock();
    let run = mock.submit_developer(DEMO, json!({"instruction": "x"}));
    let items = json!([{"instruction": "x"}, {"instruction": "[mock:seconds=86400]"}]);
    let bulk = json!({"items": items, "concurrency": 1});
    let queue = mock.submit_developer("/v1/formats/fmt_media/bulk-runs", bulk);
    let path = format!("/v1/format-run-queues/{}", queue["queue_id"].as_str().unwrap());
    mock.advance_days(2);
    mock.advance_millis(60_000);
    let run_path = format!("/v1/format-runs/{}", run["run_id"].as_str().unwrap());
    mock.developer().get(&run_path).error(404, "format_run_not_found");
    let counts = mock.read(&path)["counts"].clone();
    assert_eq!((&counts["total"], &counts["completed"]), (&json!(2), &json!(2)));
    mock.advance_days(1);
    let gone = mock.developer().get(&path);
    gone.error(404, "format_run_queue_not_found");
    assert_eq!(mock.simulator.state.runs.all().count(), 0);
    assert_eq!(mock.kinds().len(), 1);
}

#[test]
fn the_key_of_a_top_up_is_dropped_with_it() {
    let mut mock = mock();
    let body = json!({"amount_usd_cents": 700});
    let top_up = |mock: &mut Mock, status| {
        let created = mock.open().idempotency_key("k").post(TOP_UPS, body.clone());
        created.data(status)["id"].as_str().unwrap().to_owned()
    };
    let first = top_up(&mut mock, 201);
    mock.advance_millis(1_000);
    let paid = svc_sdk::contract::TopUpStatus::Paid;
    mock.simulator.settle_top_up(&first, paid).unwrap();
    mock.advance_days(1);
    assert_eq!(top_up(&mut mock, 200), first);
    mock.advance_days(1);
    let second = top_up(&mut mock, 201);
    assert_ne!(second, first);
    assert_eq!(mock.kinds(), kinds(&[("carried_forward", "7.0000")]));
    assert_eq!(mock.balance()["available_usd"], "107.0000");
}

#[test]
fn a_restored_mock_drops_the_same() {
    let mut mock = mock();
    for prompt in ["x", "[mock:stuck]", "[mock:seconds=90000]"] {
        mock.open().idempotency_key(prompt).post(IMAGE, image(prompt));
    }
    mock.submit_developer(DEMO, json!({"instruction": "x"}));
    mock.advance_days(2);
    mock.submit(VIDEO, video("x"));
    mock.advance_millis(5_000);
    let document = mock.simulator.snapshot(mock.now);
    let mut other = super::retention::mock();
    other.now = other.simulator.restore(document.clone()).unwrap();
    assert_eq!(other.simulator.snapshot(other.now), document);
    for _ in 0..6 {
        for mock in [&mut mock, &mut other] {
            mock.now = mock.now.after(DAY / 2);
        }
        assert_eq!(other.read("/v1/jobs"), mock.read("/v1/jobs"));
        assert_eq!(other.read("/v1/usage"), mock.read("/v1/usage"));
        assert_eq!(other.simulator.ledger(), mock.simulator.ledger());
        assert_eq!(other.simulator.snapshot(other.now), mock.simulator.snapshot(mock.now));
        assert_eq!(other.simulator.next_due(), mock.simulator.next_due());
        other.assert_ledger_is_balanced();
    }
    assert_eq!(mock.simulator.jobs().len(), 1);
    // A mock without a retention period keeps what it restores.
    let mut complete = Mock::new();
    complete.now = complete.simulator.restore(document).unwrap();
    let jobs = complete.simulator.jobs().len();
    complete.advance_days(100);
    assert_eq!(complete.simulator.jobs().len(), jobs);
}
