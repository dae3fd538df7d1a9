//! What is sent again, and when.

use std::time::Duration;

use super::{JOB, RECEIPT, busy, page, video};
use crate::error::ErrorKind;
use crate::transport::scripted::{Script, Step, developer_client, json, open_client};

#[tokio::test(start_paused = true)]
async fn a_submit_carries_one_key_through_all_its_retries() {
    let script = Script::new([
        Step::ConnectionReset,
        busy(1),
        page(502),
        Step::ConnectionRefused,
        json(202, RECEIPT),
    ]);
    let submit = open_client(&script).videos().generate(video());
    let key = submit.request().unwrap().idempotency_key.clone().unwrap();
    let job = submit.await.unwrap();
    assert_eq!(job.idempotency_key(), Some(&key));
    let seen = script.requests();
    assert_eq!(seen.len(), 5);
    for request in &seen {
        assert_eq!(request.header("idempotency-key"), Some(key.as_str()));
        assert_eq!(request.header("authorization"), Some("Bearer canary-key"));
        assert_eq!(request.url, "https://api.example/base/v1/video-router/generate");
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(&request.body[..], br#"{"model":"auto","prompt":"a red fox in snow"}"#);
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_for_to_the_millisecond() {
    let script = Script::new([busy(3), busy(7), json(200, JOB)]);
    open_client(&script).jobs().handle("job_1").get().await.unwrap();
    assert_eq!(script.request_times(), [0, 3_000, 10_000]);
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_beyond_two_minutes_is_returned_at_once() {
    let script = Script::new([busy(9_999_999_999)]);
    let error = open_client(&script).jobs().handle("job_1").get().await.unwrap_err();
    assert_eq!(script.request_times(), [0]);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(9_999_999_999)));
}

#[tokio::test(start_paused = true)]
async fn the_last_error_of_a_read_is_returned() {
    let script = Script::new([Step::ConnectionReset, busy(9_999)]);
    let error = open_client(&script).jobs().handle("job_1").get().await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(9_999)));
    assert!(!error.is_ambiguous());
}

#[tokio::test(start_paused = true)]
async fn a_truncated_body_is_retried_and_one_of_another_shape_is_not() {
    let script =
        Script::new([json(200, JOB).truncated_after(9), json(200, "{\"data\": {"), json(200, JOB)]);
    open_client(&script).jobs().handle("job_1").get().await.unwrap();
    assert_eq!(script.requests().len(), 3);

    let script = Script::new([json(200, r#"{"data": {"id": 7}}"#)]);
    let error = open_client(&script).jobs().handle("job_1").get().await.unwrap_err();
    assert_eq!(script.requests().len(), 1);
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_rejected_because_another_is_active_is_not_retried() {
    let rejected = r#"{"error": {"code": "format_run_in_progress", "retryable": true}}"#;
    let script = Script::new([json(409, rejected)]);
    let error = developer_client(&script)
        .formats()
        .run("demo/teaser", crate::types::FormatRunCreate::new("x"))
        .await
        .unwrap_err();
    assert_eq!(script.requests().len(), 1);
    assert!(!error.is_ambiguous() && error.status() == Some(409));
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_not_answered_with_a_multiple_of_the_load() {
    let script = Script::new([Step::ConnectionRefused]);
    let client = open_client(&script);
    for _ in 0..100 {
        let _ = client.jobs().handle("job_1").get().await;
    }
    assert_eq!(script.requests().len(), 150, "100 calls and a budget of 50 repetitions");
}
