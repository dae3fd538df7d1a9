//! What is dropped with a job after the retention period, and that a restored mock drops the same.

use std::time::Duration;

use serde_json::json;

use super::{DEMO, IMAGE, Mock, VIDEO, image, video};
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
