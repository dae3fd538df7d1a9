//! Webhooks: events, attempts, signatures and redelivery.

mod attempts;
mod job_events;
mod redelivery;
mod run_events;
mod secrets;

use super::*;

const HOOK: &str = "https://hooks.example.com/svc?tenant=7";
const SECRET: &str = "/v1/webhooks/signing-secret";
const ROTATE: &str = "/v1/webhooks/signing-secret/rotate";
const TEST: &str = "/v1/webhooks/test-deliveries";

/// The maximum number of automatic attempts.
const ATTEMPTS: usize = 10;

/// Submits a video with a webhook and returns the job's id.
async fn submit_video_with_webhook(mock: &Mock, prompt: &str) -> String {
    let hook = json!({"mode": "webhook", "webhook_url": HOOK});
    submit(&mock.open(), VIDEO, with(video_with_prompt(prompt), hook)).await
}

/// Submits a video with a webhook, advances the clock to the end of the job, waits for `outcomes`
/// outcomes of attempts, and returns the job's id.
async fn complete_video_with_webhook(mock: &Mock, outcomes: usize) -> String {
    let id = submit_video_with_webhook(mock, "a red fox").await;
    mock.advance(8).await;
    wait_for_outcomes(mock, outcomes).await;
    id
}

/// Returns the signing secret of the client's workspace.
async fn secret_of(client: &Client) -> String {
    text(&client.get_data(SECRET).await["secret"])
}

/// Waits until `count` attempts have an outcome in the mock's list of deliveries.
///
/// The mock schedules the next attempt only after it has received the response to the last one.
pub(super) async fn wait_for_outcomes(mock: &Mock, count: usize) -> Vec<Value> {
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
    panic!("expected {count} attempts: {attempts:?}");
}

/// Advances the clock by an hour at a time, the longest delay between two attempts, until the
/// receiver has `count` deliveries.
async fn advance_until_attempts(mock: &Mock, receiver: &Receiver, count: usize) {
    for _ in 0..4 * count {
        let before = receiver.deliveries().len();
        if before >= count {
            break;
        }
        mock.advance(3_600).await;
        wait_for_outcomes(mock, before + 1).await;
    }
    assert_eq!(receiver.deliveries().len(), count);
    wait_for_outcomes(mock, count).await;
}

/// Asserts that the receiver gets no delivery after the first `count`.
async fn assert_no_more_attempts(mock: &Mock, receiver: &Receiver, count: usize) {
    mock.advance(1_000_000).await;
    receiver.wait_for(count).await;
}
