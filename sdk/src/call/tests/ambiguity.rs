//! What a failure says of whether a request was carried out.

use super::{RECEIPT, busy, page, submit_music, video};
use crate::contract::Method;
use crate::transport::scripted::{Script, Step, developer_client, json, open_client};

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
async fn a_rotation_is_retried_only_if_it_was_not_sent_or_rate_limited() {
    let rotate = "/v1/webhooks/signing-secret/rotate";
    for (step, requests) in [
        (Step::ConnectionReset, 1),
        (page(502), 1),
        (busy(0), 1),
        (Step::ConnectionRefused, 2),
        (json(429, "{}"), 2),
    ] {
        let script = Script::new([step.clone(), json(200, "{}")]);
        let _ = developer_client(&script).raw_request(Method::Post, rotate).await;
        assert_eq!(script.requests().len(), requests, "{step:?}");
        assert_eq!(script.requests()[0].header("idempotency-key"), None);
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
    // Whatever is checked before the idempotency key knows nothing of the earlier attempt.
    for inconclusive in [
        envelope(401, "unauthorized"),
        envelope(402, "insufficient_funds"),
        envelope(403, "insufficient_scope"),
        envelope(404, "not_found"),
        envelope(409, "format_inactive"),
        envelope(409, "format_run_in_progress"),
        // With the same body, the key belongs to another request.
        envelope(409, "idempotency_conflict"),
        page(403),
        page(404),
        busy(9_999),
    ] {
        let script = Script::new([Step::ConnectionReset, inconclusive.clone()]);
        let error = open_client(&script).videos().generate(video()).await.unwrap_err();
        assert_eq!(script.requests().len(), 2, "{inconclusive:?}");
        assert!(error.is_ambiguous(), "{inconclusive:?} gave {error}");
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
async fn a_server_error_with_an_envelope_is_ambiguous() {
    for status in [500, 504] {
        let gateway = json(status, r#"{"error": {"code": "gateway_timeout"}}"#);
        let script = Script::new([gateway.clone(), json(202, RECEIPT)]);
        let error = submit_music(&script).await.unwrap_err();
        assert!(error.is_ambiguous() && !error.is_retryable(), "{status}");
        assert_eq!(script.requests().len(), 1, "{status}");

        let script = Script::new([gateway, json(202, RECEIPT)]);
        open_client(&script).videos().generate(video()).await.unwrap();
        let requests = script.requests();
        assert_eq!(requests[0].header("idempotency-key"), requests[1].header("idempotency-key"));
    }
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
