//! Calls against scripted responses, in virtual time.

use std::future::IntoFuture;
use std::time::Duration;

use crate::contract::{Method, Operation};
use crate::handle::JobResource;
use crate::surface::{Developer, Open};
use crate::transport::scripted::{Script, Step, developer_client, json, open_client};
use crate::types::{TopUpCreate, VideoGenerate};

const RECEIPT: &str =
    r#"{"data": {"job": {"id": "job_1", "status": "queued"}, "next_poll_after_seconds": 2}}"#;
const JOB: &str = r#"{"data": {"id": "job_1", "status": "queued"}}"#;

fn video() -> VideoGenerate {
    VideoGenerate::new("auto").prompt("a red fox in snow")
}

fn busy(after: u64) -> Step {
    json(
        503,
        r#"{"error": {"code": "database_busy", "message": "busy"}}"#,
    )
    .header("retry-after", after)
}

fn page(status: u16) -> Step {
    Step::Response(
        status,
        vec![("content-type", "text/html".into())],
        "<html>Bad gateway</html>".into(),
    )
}

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
        assert_eq!(
            request.url,
            "https://api.example/base/v1/video-router/generate"
        );
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(
            &request.body[..],
            br#"{"model":"auto","prompt":"a red fox in snow"}"#
        );
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_has_a_key_of_its_own() {
    let script = Script::new([json(202, RECEIPT)]);
    let client = open_client(&script);
    client.videos().generate(video()).await.unwrap();
    client.clone().videos().generate(video()).await.unwrap();
    let seen = script.requests();
    assert_ne!(
        seen[0].header("idempotency-key"),
        seen[1].header("idempotency-key")
    );
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_for_to_the_millisecond() {
    let script = Script::new([busy(3), busy(7), json(200, JOB)]);
    open_client(&script)
        .jobs()
        .handle("job_1")
        .get()
        .await
        .unwrap();
    assert_eq!(script.request_times(), [0, 3_000, 10_000]);
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_beyond_two_minutes_is_returned_at_once() {
    let script = Script::new([busy(9_999_999_999)]);
    let error = open_client(&script)
        .jobs()
        .handle("job_1")
        .get()
        .await
        .unwrap_err();
    assert_eq!(script.request_times(), [0]);
    assert_eq!(
        error.retry_after(),
        Some(Duration::from_secs(9_999_999_999))
    );
}

#[tokio::test(start_paused = true)]
async fn a_submit_of_undocumented_idempotency_is_not_retried_once_it_may_have_arrived() {
    let body = serde_json::json!({"prompt": "p"});
    for ambiguous in [
        Step::ConnectionReset,
        page(502),
        page(500),
        json(202, "{\"data\": {\"jo"),
        json(202, ""),
    ] {
        let script = Script::new([ambiguous.clone(), json(202, RECEIPT)]);
        let error = developer_client(&script)
            .submit_json::<JobResource<Developer>>(Operation::Music1Generate, &[], &body)
            .await
            .unwrap_err();
        assert_eq!(script.requests().len(), 1, "{ambiguous:?}");
        assert!(error.is_ambiguous(), "{ambiguous:?}");
        assert_eq!(
            error.idempotency_key().unwrap().as_str(),
            script.requests()[0].header("idempotency-key").unwrap()
        );
    }
    for harmless in [Step::ConnectionRefused, busy(0), json(429, "{}")] {
        let script = Script::new([harmless.clone(), json(202, RECEIPT)]);
        developer_client(&script)
            .submit_json::<JobResource<Developer>>(Operation::Music1Generate, &[], &body)
            .await
            .unwrap();
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
        let _ = developer_client(&script)
            .raw_request(Method::Post, rotate)
            .await;
        assert_eq!(script.requests().len(), requests, "{step:?}");
        assert_eq!(script.requests()[0].header("idempotency-key"), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_connection_does_not_hide_an_earlier_reset() {
    let script = Script::new([Step::ConnectionReset, Step::ConnectionRefused]);
    let error = open_client(&script)
        .videos()
        .generate(video())
        .await
        .unwrap_err();
    assert_eq!(script.requests().len(), 6);
    assert!(error.is_ambiguous() && error.may_have_been_sent());
    assert!(error.idempotency_key().is_some());

    let script = Script::new([Step::ConnectionRefused]);
    let error = open_client(&script)
        .videos()
        .generate(video())
        .await
        .unwrap_err();
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
        page(403),
        page(404),
        busy(9_999),
    ] {
        let script = Script::new([Step::ConnectionReset, inconclusive.clone()]);
        let error = open_client(&script)
            .videos()
            .generate(video())
            .await
            .unwrap_err();
        assert_eq!(script.requests().len(), 2, "{inconclusive:?}");
        assert!(error.is_ambiguous(), "{inconclusive:?} gave {error}");
    }
    for conclusive in [
        envelope(400, "invalid_request"),
        envelope(409, "idempotency_conflict"),
    ] {
        let script = Script::new([Step::ConnectionReset, conclusive]);
        let error = open_client(&script)
            .videos()
            .generate(video())
            .await
            .unwrap_err();
        assert!(!error.is_ambiguous() && error.code().is_some(), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_error_with_an_envelope_is_ambiguous() {
    let body = serde_json::json!({"prompt": "p"});
    for status in [500, 504] {
        let gateway = json(status, r#"{"error": {"code": "gateway_timeout"}}"#);
        let script = Script::new([gateway.clone(), json(202, RECEIPT)]);
        let error = developer_client(&script)
            .submit_json::<JobResource<Developer>>(Operation::Music1Generate, &[], &body)
            .await
            .unwrap_err();
        assert!(error.is_ambiguous() && !error.is_retryable(), "{status}");
        assert_eq!(script.requests().len(), 1, "{status}");

        let script = Script::new([gateway, json(202, RECEIPT)]);
        open_client(&script)
            .videos()
            .generate(video())
            .await
            .unwrap();
        let requests = script.requests();
        assert_eq!(
            requests[0].header("idempotency-key"),
            requests[1].header("idempotency-key")
        );
    }
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
async fn the_last_error_of_a_read_is_returned() {
    let script = Script::new([Step::ConnectionReset, busy(9_999)]);
    let error = open_client(&script)
        .jobs()
        .handle("job_1")
        .get()
        .await
        .unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(9_999)));
    assert!(!error.is_ambiguous());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_its_turn_was_not_sent() {
    let script = Script::with_latency([json(202, RECEIPT)], Duration::from_secs(50));
    let client = developer_client(&script);
    let body = serde_json::json!({"prompt": "p"});
    let submit = |deadline| {
        client
            .submit_json::<JobResource<Developer>>(Operation::Music1Generate, &[], &body)
            .timeout(Duration::from_secs(deadline))
    };
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..crate::transport::MAX_IN_FLIGHT {
        tasks.spawn(submit(60).into_future());
    }
    super::clock::sleep(Duration::from_secs(1)).await;
    let error = submit(20).await.unwrap_err();
    assert!(
        error.is_timeout() && !error.may_have_been_sent(),
        "{error:?}"
    );
    assert!(!error.is_ambiguous());
    // An attempt has 60 s, of which the wait for its turn takes none: it is answered 79 s later.
    submit(150).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_learns_the_rate_limit_before_it_sends_more_than_can_be_under_way() {
    let exhausted = [
        ("ratelimit-limit", "64"),
        ("ratelimit-remaining", "0"),
        ("ratelimit-reset", "100"),
    ];
    let accepted = exhausted
        .into_iter()
        .fold(json(202, RECEIPT), |step, (name, value)| {
            step.header(name, value)
        });
    let script = Script::with_latency([accepted], Duration::from_secs(1));
    let client = developer_client(&script);
    let body = serde_json::json!({"prompt": "p"});
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..2 * crate::transport::MAX_IN_FLIGHT {
        let submit =
            client.submit_json::<JobResource<Developer>>(Operation::Music1Generate, &[], &body);
        tasks.spawn(submit.into_future());
    }
    super::clock::sleep(Duration::from_secs(50)).await;
    assert_eq!(script.requests().len(), crate::transport::MAX_IN_FLIGHT);
}

#[tokio::test(start_paused = true)]
async fn the_longest_timeouts_are_accepted() {
    let script = Script::new([json(200, JOB)]);
    let client = crate::open::Client::builder()
        .base_url("https://api.example")
        .transport(std::sync::Arc::new(
            crate::transport::scripted::ScriptedTransport(script),
        ))
        .attempt_timeout(Duration::MAX)
        .build()
        .unwrap();
    client
        .jobs()
        .handle("job_1")
        .get()
        .timeout(Duration::MAX)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_silent_submit_times_out_and_is_ambiguous() {
    let script = Script::new([Step::NoResponse]);
    let submit = open_client(&script)
        .videos()
        .generate(video())
        .timeout(Duration::from_secs(20));
    let began = super::clock::now();
    let error = submit.await.unwrap_err();
    assert_eq!((super::clock::now() - began).as_secs(), 20);
    assert!(error.is_timeout() && error.is_ambiguous() && error.is_unreachable());
    assert!(error.idempotency_key().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_silent_attempt_is_retried_within_the_timeout() {
    let script = Script::new([Step::NoResponse, json(200, JOB)]);
    open_client(&script)
        .jobs()
        .handle("job_1")
        .get()
        .await
        .unwrap();
    let times = script.request_times();
    assert!((60_000..61_000).contains(&times[1]), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn a_truncated_body_is_retried_and_one_of_another_shape_is_not() {
    let script = Script::new([
        json(200, JOB).truncated_after(9),
        json(200, "{\"data\": {"),
        json(200, JOB),
    ]);
    open_client(&script)
        .jobs()
        .handle("job_1")
        .get()
        .await
        .unwrap();
    assert_eq!(script.requests().len(), 3);

    let script = Script::new([json(200, r#"{"data": {"id": 7}}"#)]);
    let error = open_client(&script)
        .jobs()
        .handle("job_1")
        .get()
        .await
        .unwrap_err();
    assert_eq!(script.requests().len(), 1);
    assert!(error.is_decode());
}

#[tokio::test(start_paused = true)]
async fn a_receipt_that_cannot_be_decoded_still_names_the_job() {
    for body in [
        r#"{"data": {"job": {"id": "job_1", "state": "queued"}}}"#,
        r#"{"data": {"job_id": "job_1"}}"#,
        r#"{"id": "job_1", "status": "queued"}"#,
    ] {
        let error = open_client(&Script::new([json(202, body)]))
            .videos()
            .generate(video())
            .await
            .unwrap_err();
        assert!(error.is_decode() && error.idempotency_key().is_some());
        assert_eq!(error.job_id().unwrap().as_str(), "job_1", "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_receipt_that_cannot_be_decoded_decides_an_earlier_attempt() {
    let body = r#"{"data": {"job": {"id": "job_1", "state": "queued"}}}"#;
    let script = Script::new([Step::ConnectionReset, json(202, body)]);
    let error = open_client(&script)
        .videos()
        .generate(video())
        .await
        .unwrap_err();
    assert_eq!(script.requests().len(), 2);
    assert!(error.is_decode(), "{error:?}");
    assert_eq!(error.job_id().unwrap().as_str(), "job_1");
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_not_followed_with_the_key() {
    let script = Script::new([Step::Response(
        302,
        vec![("location", "https://evil.example/".into())],
        "".into(),
    )]);
    let error = open_client(&script)
        .jobs()
        .handle("job_1")
        .get()
        .await
        .unwrap_err();
    assert_eq!(script.requests().len(), 1);
    assert_eq!(error.status(), Some(302));
}

#[tokio::test(start_paused = true)]
async fn no_identifier_changes_the_path() {
    let script = Script::new([json(200, JOB)]);
    for id in [
        "../../evil",
        "https://evil.example",
        "a/b",
        "a?b#c",
        "%2e%2e",
        "\\evil",
        "@evil.example",
    ] {
        let _ = open_client(&script).jobs().handle(id).get().await;
    }
    for seen in script.requests() {
        let rest = seen
            .url
            .strip_prefix("https://api.example/base/v1/jobs/")
            .unwrap();
        assert!(!rest.contains(['/', '?', '#']), "{rest}");
    }
    for id in ["", ".", ".."] {
        let error = open_client(&script)
            .jobs()
            .handle(id)
            .get()
            .await
            .unwrap_err();
        assert!(error.is_invalid() && !error.may_have_been_sent());
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_request_is_not_sent() {
    let script = Script::new([json(202, RECEIPT)]);
    let client = open_client(&script);
    let error = client
        .videos()
        .generate(video().image_url("http://a.example/x.png"))
        .await
        .unwrap_err();
    assert!(error.is_invalid(), "{error}");
    assert!(error.to_string().contains("image_url"), "{error}");
    let error = client
        .top_ups()
        .create(TopUpCreate::new(2_000).success_url("x"))
        .await
        .unwrap_err();
    assert!(error.is_invalid());
    let error = client
        .submit_json::<JobResource<Open>>(Operation::Music1Generate, &[], &serde_json::json!({}))
        .await
        .unwrap_err();
    assert!(error.is_invalid());
    assert!(script.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_rate_limit_is_waited_for() {
    let told = |remaining: u32| {
        json(200, JOB)
            .header("ratelimit-limit", 120)
            .header("ratelimit-remaining", remaining)
            .header("ratelimit-reset", 30)
    };
    let script = Script::new([told(1), told(0), told(119)]);
    let client = open_client(&script);
    for _ in 0..3 {
        client.jobs().handle("job_1").get().await.unwrap();
    }
    assert_eq!(script.request_times(), [0, 0, 31_000]);
}

#[tokio::test(start_paused = true)]
async fn a_401_says_nothing_of_the_rate_limit_of_the_key() {
    let refused = r#"{"error": {"code": "unauthorized", "message": "no"}}"#;
    let refused = json(401, refused)
        .header("ratelimit-limit", 120)
        .header("ratelimit-remaining", 0)
        .header("ratelimit-reset", 30);
    let script = Script::new([refused, json(200, JOB)]);
    let client = open_client(&script);
    client.jobs().handle("job_1").get().await.unwrap_err();
    client.jobs().handle("job_1").get().await.unwrap();
    assert_eq!(script.request_times(), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_that_resets_after_the_timeout_is_an_error_that_sent_nothing() {
    let told = json(200, JOB)
        .header("ratelimit-limit", 120)
        .header("ratelimit-remaining", 0)
        .header("ratelimit-reset", 30);
    let script = Script::new([told]);
    let client = open_client(&script);
    client.jobs().handle("job_1").get().await.unwrap();
    let late = client
        .jobs()
        .handle("job_1")
        .get()
        .timeout(Duration::from_secs(10));
    let error = late.await.unwrap_err();
    assert!(
        error.is_rate_limited() && !error.may_have_been_sent(),
        "{error:?}"
    );
    assert_eq!(error.retry_after().unwrap().as_secs(), 31);
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn requests_in_flight_are_bounded() {
    let script = Script::with_latency([json(200, JOB)], Duration::from_secs(1));
    let client = open_client(&script);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..300 {
        let client = client.clone();
        tasks.spawn(async move { client.jobs().handle("job_1").get().await.map(drop) });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap().unwrap();
    }
    assert_eq!(script.max_in_flight(), crate::transport::MAX_IN_FLIGHT);
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_not_answered_with_a_multiple_of_the_load() {
    let script = Script::new([Step::ConnectionRefused]);
    let client = open_client(&script);
    for _ in 0..100 {
        let _ = client.jobs().handle("job_1").get().await;
    }
    assert_eq!(
        script.requests().len(),
        150,
        "100 calls and a budget of 50 repetitions"
    );
}

#[tokio::test(start_paused = true)]
async fn a_raw_request_returns_the_response_of_an_error() {
    let script = Script::new([json(
        404,
        r#"{"error": {"code": "not_found", "message": "no"}}"#,
    )]);
    let error = open_client(&script)
        .raw_request(Method::Get, "/v1/nothing")
        .query("a", "b c")
        .await
        .unwrap_err();
    assert!(error.is_not_found());
    let response = error.response().unwrap();
    assert_eq!(response.status, 404);
    assert!(response.body.starts_with(b"{\"error\""));
    assert_eq!(
        script.requests()[0].url,
        "https://api.example/base/v1/nothing?a=b+c"
    );
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

#[test]
fn building_a_request_needs_no_runtime() {
    let client = crate::open::Client::builder()
        .base_url("https://api.example")
        .transport(std::sync::Arc::new(Unreachable))
        .seed(1)
        .build()
        .unwrap();
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

#[tokio::test(start_paused = true)]
async fn the_api_key_is_not_in_debug_output_or_errors() {
    let echo = json(
        401,
        r#"{"error": {"code": "unauthorized", "message": "no"}}"#,
    );
    let script = Script::new([echo]);
    let client = open_client(&script);
    let submit = client.videos().generate(video());
    let shown = format!("{client:?} {submit:?}");
    let error = submit.await.unwrap_err();
    let all = format!("{shown} {error} {error:?} {:?}", client.core);
    assert!(!all.contains("canary"), "{all}");
    assert!(error.is_unauthorized());
}
