//! Webhooks, as a receiver sees them.

mod attempts;
mod events;
mod redelivery;
mod run_events;
mod secrets;
mod test_deliveries;

use serde_json::{Value, json};
use svc_tests::{Caller, Mock, Receiver};

use super::{VIDEO, submit, text, video, video_of, with};

const HOOK: &str = "https://hooks.example.com/svc?tenant=7";
const SECRET: &str = "/v1/webhooks/signing-secret";
const ROTATE: &str = "/v1/webhooks/signing-secret/rotate";
const TEST: &str = "/v1/webhooks/test-deliveries";

/// The most attempts that there are.
const ATTEMPTS: usize = 10;

/// Submits a video of those words whose end is told, and gives the job's id.
async fn told_video(mock: &Mock, words: &str) -> String {
    let hook = json!({"mode": "webhook", "webhook_url": HOOK});
    submit(&mock.open(), VIDEO, with(video_of(words), hook)).await
}

/// The secret of the caller's workspace.
async fn secret_of(caller: &Caller) -> String {
    text(&caller.get(SECRET).await.expect(200).data()["secret"])
}

/// Waits until so many attempts have an outcome in the mock's own list.
///
/// A receiver has answered before the sender has heard it, and only then is the next one planned.
async fn settled(mock: &Mock, count: usize) -> Vec<Value> {
    let has_outcome =
        |attempt: &&Value| !attempt["status"].is_null() || !attempt["error"].is_null();
    let mut attempts = Vec::new();
    for _ in 0..1_000 {
        attempts = mock.deliveries().await;
        if attempts.iter().filter(has_outcome).count() >= count {
            return attempts;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    panic!("{count} attempts do not come: {attempts:?}");
}

/// Moves the clock by an hour at a time, the longest wait between two attempts, until so many have
/// arrived.
async fn attempts_until(mock: &Mock, receiver: &Receiver, count: usize) {
    for _ in 0..4 * count {
        let before = receiver.arrived().len();
        if before >= count {
            break;
        }
        mock.advance(3_600).await;
        settled(mock, before + 1).await;
    }
    assert_eq!(receiver.arrived().len(), count);
}
