//! What requests carry, and what their responses are decoded to.

use super::video;
use crate::contract::{Method, Operation};
use crate::error::ErrorKind;
use crate::handle::JobResource;
use crate::surface::Open;
use crate::transport::scripted::{JOB, RECEIPT, Script, Step, builder, json, open_client};
use crate::types::{TopUpCreate, Usd};

#[tokio::test(start_paused = true)]
async fn every_call_has_a_key_of_its_own() {
    let script = Script::new([json(202, RECEIPT)]);
    let client = open_client(&script);
    client.videos().generate(video()).await.unwrap();
    client.clone().videos().generate(video()).await.unwrap();
    let seen = script.requests();
    assert_ne!(seen[0].header("idempotency-key"), seen[1].header("idempotency-key"));
}

#[tokio::test(start_paused = true)]
async fn a_receipt_that_cannot_be_decoded_still_names_the_job() {
    for body in [
        r#"{"data": {"job": {"id": "job_1", "state": "queued"}}}"#,
        r#"{"data": {"job_id": "job_1"}}"#,
        r#"{"id": "job_1", "status": "queued"}"#,
    ] {
        let result = r#"{"data": {"job_id": "job_1", "status": "completed", "artifacts": []}}"#;
        let status = r#"{"data": {"status": "completed", "terminal": true}}"#;
        let script = Script::new([json(202, body), json(200, status), json(200, result)]);
        let job = open_client(&script).videos().generate(video()).await.unwrap();
        assert!(job.idempotency_key().is_some() && !job.is_replay());
        assert_eq!(job.id().as_str(), "job_1", "{body}");
        assert!(job.wait().await.is_ok(), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_error_carries_the_api_key() {
    let key = "canary-key";
    let page = format!("{}Bearer {key}", "x".repeat(505));
    let short = format!("{}Bearer {key}", "x".repeat(70));
    let reason = format!(r#"{{"data": {{"id": ["{key}"]}}}}"#);
    let envelope = format!(r#"{{"error": {{"code": "odd", "message": "no {key}"}}}}"#);
    for (status, body) in
        [(200, &page), (200, &short), (200, &reason), (400, &page), (400, &short), (400, &envelope)]
    {
        let script = Script::new([json(status, body)]);
        let job = open_client(&script).jobs().handle("job_1");
        let error = job.get().max_retries(0).await.unwrap_err();
        let snippet = error.snippet().unwrap_or_default();
        let body = &error.response().unwrap().body;
        let body = String::from_utf8_lossy(body);
        for text in [&*error.to_string(), &format!("{error:?}"), snippet, &*body] {
            assert!(!text.contains("canary"), "{text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_quoted_body_is_shown_without_the_queries_of_urls() {
    let body = "denied /m/a.mp4?X-Amz-Signature=canary";
    let script = Script::new([json(400, body)]);
    let job = open_client(&script).jobs().handle("job_1");
    let error = job.get().await.unwrap_err().to_string();
    assert!(error.contains("denied /m/a.mp4?…"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_not_followed_with_the_key() {
    let script = Script::new([Step::Response(
        302,
        vec![("location", "https://evil.example/".into())],
        "".into(),
    )]);
    let error = open_client(&script).jobs().handle("job_1").get().await.unwrap_err();
    assert_eq!(script.requests().len(), 1);
    assert_eq!(error.status(), Some(302));
}

#[tokio::test(start_paused = true)]
async fn no_identifier_changes_the_path() {
    let script = Script::new([json(200, JOB)]);
    for id in
        ["../../evil", "https://evil.example", "a/b", "a?b#c", "%2e%2e", "\\evil", "@evil.example"]
    {
        let _ = open_client(&script).jobs().handle(id).get().await;
    }
    for seen in script.requests() {
        let rest = seen.url.strip_prefix("https://api.example/base/v1/jobs/").unwrap();
        assert!(!rest.contains(['/', '?', '#']), "{rest}");
    }
    for id in ["", ".", ".."] {
        let error = open_client(&script).jobs().handle(id).get().await.unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidRequest && !error.may_have_been_sent());
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_request_is_not_sent() {
    let script = Script::new([json(202, RECEIPT)]);
    let client = open_client(&script);
    let error =
        client.videos().generate(video().image_url("http://a.example/x.png")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
    assert!(error.to_string().contains("image_url"), "{error}");
    let error = client
        .top_ups()
        .create(TopUpCreate::new(Usd::from_micros(20_000_000)).success_url("x"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    let error = client
        .submit_json::<JobResource<Open>>(Operation::Music1Generate, &[], &serde_json::json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(script.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_raw_request_returns_the_response_of_an_error() {
    let script = Script::new([json(404, r#"{"error": {"code": "not_found", "message": "no"}}"#)]);
    let error = open_client(&script)
        .raw_request(Method::Get, "/v1/nothing")
        .query("a", "b c")
        .await
        .unwrap_err();
    assert!(error.is_not_found());
    let response = error.response().unwrap();
    assert_eq!(response.status, 404);
    assert!(response.body.starts_with(b"{\"error\""));
    assert_eq!(script.requests()[0].url, "https://api.example/base/v1/nothing?a=b+c");
}

#[test]
fn building_a_request_needs_no_runtime() {
    let client = builder::<Open>(Unreachable).build().unwrap();
    let submit = client.videos().generate(video());
    let request = submit.request().unwrap();
    assert_eq!(request.target(), "/v1/video-router/generate");
    assert!(request.idempotency_key.is_some());
}

struct Unreachable;

impl crate::transport::Transport for Unreachable {
    fn send(&self, _: http::Request<bytes::Bytes>) -> crate::transport::ResponseFuture {
        panic!("a request was sent")
    }
}
