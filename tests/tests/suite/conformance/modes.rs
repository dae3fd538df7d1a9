//! `mode`, `webhook_url` and `wait_timeout_seconds`.

use super::*;

on_every_frontend! {
    a_job_that_completes_within_the_wait_is_returned,
    the_default_wait_is_10_seconds,
    a_wait_does_not_end_early,
    a_job_that_fails_within_the_wait_is_returned,
    a_wait_is_at_most_30_seconds,
    other_requests_are_served_during_a_wait,
}

/// Submits a job with a wait, advances the clock once the job exists, and returns the receipt.
///
/// Returns `None` on wiremock, which cannot wait for the manual clock and responds immediately as
/// if the wait had timed out.
async fn submit_and_wait(mock: &Mock, body: Value, seconds: u64, status: u16) -> Option<Value> {
    if mock.kind() == FrontendKind::Wiremock {
        mock.open().post_data(VIDEO, body, 202).await;
        mock.advance(seconds).await;
        return None;
    }
    let known = mock.jobs().await.len();
    let client = mock.open();
    let waiting = tokio::spawn(async move { client.post(VIDEO, body).await });
    wait_for_jobs(mock, known + 1).await;
    mock.advance(seconds).await;
    Some(waiting.await.unwrap().expect(status).data())
}

/// Polls until the mock has `count` jobs.
async fn wait_for_jobs(mock: &Mock, count: usize) {
    for _ in 0..100_000 {
        if mock.jobs().await.len() == count {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the job was not created");
}

async fn a_job_that_completes_within_the_wait_is_returned(mock: Mock) {
    for mode in ["sync", "subscribe"] {
        let body = with(video(), json!({"mode": mode, "wait_timeout_seconds": 30}));
        let Some(receipt) = submit_and_wait(&mock, body, 8, 200).await else { continue };
        assert!(receipt["request_id"].is_string(), "{receipt}");
        assert!(receipt["status_url"].is_string(), "{receipt}");
        let job = &receipt["job"];
        assert_eq!(job["status"], "completed");
        assert_eq!(job["price_usd"], "0.1250");
        let artifacts = job["result"]["artifacts"].as_array();
        assert_eq!(artifacts.map(Vec::len), Some(1), "{job}");
    }
}

async fn the_default_wait_is_10_seconds(mock: Mock) {
    let body = |prompt| with(video_with_prompt(prompt), json!({"mode": "sync"}));
    submit_and_wait(&mock, body("[mock:seconds=20]"), 10, 202).await;
    submit_and_wait(&mock, body("[mock:seconds=10]"), 10, 200).await;
}

async fn a_wait_does_not_end_early(mock: Mock) {
    if mock.kind() == FrontendKind::Wiremock {
        return;
    }
    for (fields, seconds) in [
        (json!({"mode": "sync"}), 10),
        (json!({"mode": "sync", "wait_timeout_seconds": 5}), 5),
        (json!({"mode": "subscribe", "wait_timeout_seconds": 30}), 30),
    ] {
        let known = mock.jobs().await.len();
        let client = mock.open();
        let body = with(video_with_prompt("[mock:seconds=100]"), fields);
        let waiting = tokio::spawn(async move { client.post(VIDEO, body).await });
        wait_for_jobs(&mock, known + 1).await;
        mock.advance(seconds - 1).await;
        // A response that is due would arrive before these.
        for _ in 0..10 {
            mock.open().get("/v1/jobs").await.expect(200);
        }
        assert!(!waiting.is_finished(), "the wait ended early");
        mock.advance(1).await;
        waiting.await.unwrap().expect(202);
    }
}

async fn a_job_that_fails_within_the_wait_is_returned(mock: Mock) {
    let body =
        with(video_with_prompt("[mock:fail]"), json!({"mode": "sync", "wait_timeout_seconds": 30}));
    if let Some(receipt) = submit_and_wait(&mock, body, 8, 200).await {
        assert_eq!(receipt["job"]["status"], "failed");
        assert!(receipt["job"]["error"]["code"].is_string(), "{receipt}");
    }
}

async fn a_wait_is_at_most_30_seconds(mock: Mock) {
    let body = with(video(), json!({"mode": "sync", "wait_timeout_seconds": 30}));
    submit_and_wait(&mock, body, 30, 200).await;
}

async fn other_requests_are_served_during_a_wait(mock: Mock) {
    let client = mock.open();
    let body = with(video(), json!({"mode": "sync", "wait_timeout_seconds": 30}));
    let waiting = tokio::spawn(async move { client.post(VIDEO, body).await });
    wait_for_jobs(&mock, 1).await;
    let id = submit(&mock.open(), VIDEO, video()).await;
    assert_eq!(status_of(&mock.open(), &id).await, "queued");
    mock.advance(8).await;
    let response = waiting.await.unwrap();
    if mock.kind() != FrontendKind::Wiremock {
        response.expect(200);
    }
}
