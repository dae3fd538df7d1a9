use serde_json::{Value, json};
use svc_sdk::contract::{JobStatus, TopUpStatus};
use tokio::time::Duration;

use super::*;
use crate::clock::Speed;
use crate::engine::{Fault, FaultKind};

fn fault(mock: &InProcess, kind: FaultKind) {
    let fault: Fault = serde_json::from_value(json!({"kind": kind})).unwrap();
    mock.add_fault(fault).unwrap();
}

async fn send(
    mock: &InProcess,
    method: Method,
    url: &str,
    body: Option<Value>,
) -> Result<http::Response<ResponseBody>, TransportError> {
    let mut request = http::Request::builder()
        .method(method)
        .uri(url)
        .header("authorization", "Bearer svc_open_demo");
    if body.is_some() {
        request = request.header("content-type", "application/json");
    }
    let body = body
        .map(|body| Bytes::from(body.to_string()))
        .unwrap_or_default();
    mock.send(request.body(body).unwrap()).await
}

async fn get(mock: &InProcess, url: &str) -> http::Response<ResponseBody> {
    send(mock, Method::GET, url, None).await.unwrap()
}

async fn json_of(response: http::Response<ResponseBody>) -> Value {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}

fn image(mode: &str) -> Option<Value> {
    Some(json!({"model": "image-i", "prompt": "a fox", "mode": mode}))
}

async fn submit(
    mock: &InProcess,
    mode: &str,
) -> Result<http::Response<ResponseBody>, TransportError> {
    let url = format!("{}/v1/image-router/generate", mock.base_url());
    send(mock, Method::POST, &url, image(mode)).await
}

#[tokio::test]
async fn hosts_are_told_apart_by_their_names() {
    let mock = InProcess::default();
    let jobs = get(&mock, "https://open.svc.invalid/v1/jobs").await;
    assert_eq!(jobs.status(), 200);
    assert!(jobs.headers().contains_key(CONTENT_LENGTH));
    let foreign = get(&mock, "https://developer.svc.invalid/v1/jobs").await;
    assert_eq!(foreign.status(), 401);
    assert_eq!(
        get(&mock, &format!("{}/none", mock.media_url()))
            .await
            .status(),
        404
    );
    let clock = get(&mock, &format!("{}/clock", mock.control_url())).await;
    assert_eq!(json_of(clock).await["mode"], "real");
    assert_eq!(mock.mcp_url(), "https://developer.svc.invalid/mcp");
}

#[tokio::test]
async fn an_unknown_host_is_not_reached() {
    let mock = InProcess::default();
    let error = send(&mock, Method::GET, "https://example.com/", None)
        .await
        .unwrap_err();
    assert!(!error.may_have_been_sent());
}

#[tokio::test]
async fn a_closed_connection_may_have_done_it() {
    let mock = InProcess::default();
    for (kind, jobs) in [(FaultKind::DropBefore, 0), (FaultKind::DropAfter, 1)] {
        fault(&mock, kind);
        assert!(
            submit(&mock, "async")
                .await
                .unwrap_err()
                .may_have_been_sent()
        );
        assert_eq!(mock.jobs().len(), jobs, "{kind:?}");
    }
}

#[tokio::test]
async fn a_truncated_body_fails_after_its_half() {
    let mock = InProcess::default();
    let url = format!("{}/v1/open/catalog", mock.base_url());
    let length: usize = get(&mock, &url).await.headers()[CONTENT_LENGTH]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    fault(&mock, FaultKind::Truncate);
    let response = get(&mock, &url).await;
    assert_eq!(
        response.headers()[CONTENT_LENGTH],
        length.to_string().as_str()
    );
    let mut body = response.into_body();
    let mut read = 0;
    let error = loop {
        match body.frame().await.unwrap() {
            Ok(frame) => read += frame.into_data().unwrap().len(),
            Err(error) => break error,
        }
    };
    assert_eq!(read, length / 2);
    assert!(error.may_have_been_sent());
}

#[tokio::test]
async fn head_has_no_body() {
    let mock = InProcess::default();
    let url = format!("{}/v1/jobs", mock.base_url());
    let response = send(&mock, Method::HEAD, &url, None).await.unwrap();
    assert!(response.into_body().is_end_stream());
}

#[tokio::test(start_paused = true)]
async fn service_time_is_the_runtimes() {
    let mock = InProcess::default();
    let started = mock.now();
    let answer = submit(&mock, "sync").await.unwrap();
    assert_eq!(answer.status(), 200);
    let took = mock.now().since(started);
    assert!((2000..2010).contains(&took.as_millis()), "{took:?}");
    assert_eq!(mock.jobs()[0]["status"], JobStatus::Completed.as_str());
}

#[tokio::test(start_paused = true)]
async fn it_runs_as_fast_as_it_is_told() {
    let mock = InProcess::new(Setup::default().speed(Speed::new(10.0).unwrap()));
    let started = mock.now();
    tokio::time::advance(Duration::from_secs(3)).await;
    assert_eq!(mock.now().since(started), Duration::from_secs(30));
}

#[tokio::test]
async fn a_sync_submit_waits_for_the_manual_clock() {
    let mock = InProcess::new(Setup::default().clock_manual());
    let advance = async {
        // The first poll of the submit is what submits.
        tokio::task::yield_now().await;
        assert_eq!(mock.jobs().len(), 1);
        mock.advance(Duration::from_secs(2)).unwrap();
    };
    let (answer, ()) = tokio::join!(submit(&mock, "sync"), advance);
    assert_eq!(answer.unwrap().status(), 200);
}

#[tokio::test]
async fn same_seed_same_requests_same_answers() {
    let epoch = crate::engine::Time::from_micros(1_767_225_600_000_000);
    let mut answers = Vec::new();
    for _ in 0..2 {
        let mock = InProcess::new(Setup::default().clock_manual().epoch(epoch).seed(7));
        answers.push(json_of(submit(&mock, "async").await.unwrap()).await);
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn a_top_up_is_paid() {
    let mock = InProcess::default();
    let url = format!("{}/v1/open/top-ups", mock.base_url());
    let body = Some(json!({"amount_usd_cents": 500}));
    let top_up = json_of(send(&mock, Method::POST, &url, body).await.unwrap()).await;
    let id = top_up["data"]["id"].as_str().unwrap();
    let paid = mock.pay_top_up(id).unwrap();
    assert_eq!(paid["status"], TopUpStatus::Paid.as_str());
}

fn hooked() -> Option<Value> {
    let url = "https://hooks.example.com/svc";
    Some(json!({"model": "image-i", "prompt": "a fox", "mode": "webhook", "webhook_url": url}))
}

async fn submit_hooked(mock: &InProcess) {
    let url = format!("{}/v1/image-router/generate", mock.base_url());
    let response = send(mock, Method::POST, &url, hooked()).await.unwrap();
    assert_eq!(response.status(), 202);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_made_at_their_own_moments_however_late_one_looks() {
    let mut answers = [503, 302, 204].into_iter();
    let mock = InProcess::default().webhook_receiver(move |delivery| {
        assert_eq!(delivery.event, "job.completed");
        DeliveryOutcome::answered(answers.next().unwrap())
    });
    let start = mock.now();
    submit_hooked(&mock).await;
    tokio::time::advance(Duration::from_secs(100_000)).await;
    let made = mock.deliveries().into_iter().map(|attempt| {
        let at = attempt["at"].clone();
        (at, attempt["status"].clone())
    });
    let at = |seconds| json!(start.after(Duration::from_secs(seconds)).to_string());
    let expected = [(at(2), 503), (at(32), 302), (at(92), 204)];
    let expected = expected.map(|(at, status)| (at, json!(status)));
    assert_eq!(made.collect::<Vec<_>>(), expected);
    assert_eq!(mock.jobs()[0]["webhook_delivery"]["status"], "delivered");
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_asks_for_no_wait_is_asked_again_at_once() {
    let mock = InProcess::new(Setup::default().clock_manual()).webhook_receiver(|_| {
        DeliveryOutcome::Answered {
            status: 503,
            retry_after: Some("0".to_owned()),
        }
    });
    submit_hooked(&mock).await;
    let clock = format!("{}/clock/advance", mock.control_url());
    let body = Some(json!({"seconds": 2}));
    send(&mock, Method::POST, &clock, body).await.unwrap();
    assert_eq!(mock.deliveries().len(), 10);
    assert_eq!(mock.jobs()[0]["webhook_delivery"]["status"], "exhausted");
}

#[tokio::test(start_paused = true)]
async fn without_a_receiver_there_is_no_route() {
    let mock = InProcess::new(Setup::default().clock_manual());
    mock.route_webhooks(
        "https://hooks.example.com=http://127.0.0.1:9"
            .parse()
            .unwrap(),
    );
    submit_hooked(&mock).await;
    mock.advance_and_deliver(Duration::from_secs(2))
        .await
        .unwrap();
    assert_eq!(mock.deliveries()[0]["error"], "no_route");
}
