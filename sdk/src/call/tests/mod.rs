//! Calls against scripted responses, in virtual time: what the scripts of [`crate::scripts`] cannot say.

mod progress;

use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;

use crate::call::clock;
use crate::contract::Operation;
use crate::error::ErrorKind;
use crate::handle::JobResource;
use crate::surface::Open;
use crate::transport::scripted::{RECEIPT, Script, builder, developer_client, json, open_client};
use crate::transport::{MAX_IN_FLIGHT, ResponseFuture, Transport};
use crate::types::{Music1Generate, TopUpCreate, Usd, VideoGenerate};

fn video() -> VideoGenerate {
    VideoGenerate::new("auto").prompt("a red fox in snow")
}

#[tokio::test(start_paused = true)]
async fn a_client_learns_the_rate_limit_before_it_sends_more_than_can_be_under_way() {
    let accepted = json(202, RECEIPT)
        .header("ratelimit-limit", 64)
        .header("ratelimit-remaining", 0)
        .header("ratelimit-reset", 30);
    let script = Script::with_latency([accepted], Duration::from_secs(1));
    let client = developer_client(&script);
    let mut tasks = JoinSet::new();
    for _ in 0..2 * MAX_IN_FLIGHT {
        tasks.spawn(client.music().generate(Music1Generate::new("p")));
    }
    clock::sleep(Duration::from_secs(20)).await;
    assert_eq!(script.requests().len(), MAX_IN_FLIGHT);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_its_turn_was_not_sent() {
    let script = Script::with_latency([json(202, RECEIPT)], Duration::from_secs(50));
    let client = developer_client(&script);
    let submit = |deadline| {
        let body = Music1Generate::new("p");
        client.music().generate(body).timeout(Duration::from_secs(deadline))
    };
    let mut tasks = JoinSet::new();
    for _ in 0..MAX_IN_FLIGHT {
        tasks.spawn(submit(60));
    }
    clock::sleep(Duration::from_secs(1)).await;
    let error = submit(20).await.unwrap_err();
    assert!(error.is_timeout() && !error.may_have_been_sent(), "{error:?}");
    assert!(!error.is_ambiguous());
    // An attempt has 60 s, of which the wait for its turn takes none: it is answered 79 s later.
    submit(150).await.unwrap();
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

#[test]
fn building_a_request_needs_no_runtime() {
    let client = builder::<Open>(Unreachable).build().unwrap();
    let submit = client.videos().generate(video());
    let request = submit.request().unwrap();
    assert_eq!(request.target(), "/v1/video-router/generate");
    assert!(request.idempotency_key.is_some());
}

struct Unreachable;

impl Transport for Unreachable {
    fn send(&self, _: http::Request<Bytes>) -> ResponseFuture {
        panic!("a request was sent")
    }
}
