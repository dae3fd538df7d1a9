//! What is sent again, and when; and what a failure says of whether a request was carried out.

use std::time::Duration;

use super::{page, submit_music, video};
use crate::contract::Method;
use crate::error::ErrorKind;
use crate::transport::scripted::{JOB, RECEIPT, Script, Step, busy, json, open_client};

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
    let script = Script::new([busy(3), busy(120), json(200, JOB)]);
    open_client(&script).jobs().handle("job_1").get().await.unwrap();
    assert_eq!(script.request_times(), [0, 3_000, 123_000]);
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_beyond_two_minutes_is_returned_at_once() {
    for seconds in [121, 9_999_999_999] {
        let script = Script::new([busy(seconds)]);
        let error = open_client(&script).jobs().handle("job_1").get().await.unwrap_err();
        assert_eq!(script.request_times(), [0]);
        assert_eq!(error.retry_after(), Some(Duration::from_secs(seconds)));
    }
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
async fn an_outage_is_not_answered_with_a_multiple_of_the_load() {
    let script = Script::new([Step::ConnectionRefused]);
    let client = open_client(&script);
    for _ in 0..100 {
        let _ = client.jobs().handle("job_1").get().await;
    }
    assert_eq!(script.requests().len(), 150, "100 calls and a budget of 50 repetitions");
}

#[tokio::test(start_paused = true)]
async fn a_submit_of_undocumented_idempotency_is_not_retried_once_it_may_have_arrived() {
    for ambiguous in
        [Step::ConnectionReset, page(502), page(500), json(202, "{\"data\": {\"jo"), json(202, "")]
    {
        let script = Script::new([ambiguous.clone(), json(202, RECEIPT)]);
        let error = submit_music(&script).await.unwrap_err();
        assert_eq!(script.requests().len(), 1, "{ambiguous:?}");
        assert!(error.is_ambiguous(), "{ambiguous:?}");
        assert_eq!(
            error.idempotency_key().unwrap().as_str(),
            script.requests()[0].header("idempotency-key").unwrap()
        );
    }
    for harmless in [Step::ConnectionRefused, busy(0), json(429, "{}")] {
        let script = Script::new([harmless.clone(), json(202, RECEIPT)]);
        submit_music(&script).await.unwrap();
        assert_eq!(script.requests().len(), 2, "{harmless:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_connection_does_not_hide_an_earlier_reset() {
    let script = Script::new([Step::ConnectionReset, Step::ConnectionRefused]);
    let error = open_client(&script).videos().generate(video()).await.unwrap_err();
    assert_eq!(script.requests().len(), 6);
    assert!(error.is_ambiguous() && error.may_have_been_sent());
    assert!(error.idempotency_key().is_some());

    let script = Script::new([Step::ConnectionRefused]);
    let error = open_client(&script).videos().generate(video()).await.unwrap_err();
    assert!(!error.may_have_been_sent() && error.is_unreachable());
}

#[tokio::test(start_paused = true)]
async fn only_a_conclusive_response_decides_after_an_earlier_reset() {
    let envelope =
        |status: u16, code: &str| json(status, &format!(r#"{{"error": {{"code": "{code}"}}}}"#));
    for rejection in [
        envelope(402, "insufficient_funds"),
        // With the same body, the key belongs to another request.
        envelope(409, "idempotency_conflict"),
        page(403),
        busy(9_999),
    ] {
        let script = Script::new([Step::ConnectionReset, rejection.clone()]);
        let error = open_client(&script).videos().generate(video()).await.unwrap_err();
        assert_eq!(script.requests().len(), 2, "{rejection:?}");
        assert!(error.is_ambiguous(), "{rejection:?} gave {error}");
    }
    let conclusive = envelope(400, "invalid_request");
    let script = Script::new([Step::ConnectionReset, conclusive]);
    let error = open_client(&script).videos().generate(video()).await.unwrap_err();
    assert!(!error.is_ambiguous() && error.code().is_some(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_receipt_that_cannot_be_decoded_decides_an_earlier_attempt() {
    let body = r#"{"data": {"job_id": "job_1", "state": "queued"}}"#;
    let script = Script::new([Step::ConnectionReset, json(202, body)]);
    let job = open_client(&script).videos().generate(video()).await.unwrap();
    assert_eq!(script.requests().len(), 2);
    assert_eq!(job.id().as_str(), "job_1");
}

#[tokio::test(start_paused = true)]
async fn a_raw_request_does_not_hide_an_earlier_ambiguous_attempt() {
    let body = r#"{"error": {"code": "stripe_error", "message": "later"}}"#;
    let script = Script::new([page(502), json(502, body)]);
    let error = open_client(&script)
        .raw_request(Method::Post, "/v1/open/top-ups")
        .body(&serde_json::json!({"amount_usd_cents": 2_000}))
        .await
        .unwrap_err();
    assert!(error.is_ambiguous() && error.idempotency_key().is_some());
}
