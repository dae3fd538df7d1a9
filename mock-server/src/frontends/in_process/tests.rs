use serde_json::{Value, json};
use svc_sdk::contract::JobStatus;
use tokio::time::Duration;

use super::*;
use crate::engine::{Fault, FaultKind};

fn fault(mock: &InProcess, kind: FaultKind) {
    mock.add_fault(Fault::new(kind)).unwrap();
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
    let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
    mock.send(request.body(body).unwrap()).await
}

async fn get(mock: &InProcess, url: &str) -> http::Response<ResponseBody> {
    send(mock, Method::GET, url, None).await.unwrap()
}

async fn submit(
    mock: &InProcess,
    fields: Value,
) -> Result<http::Response<ResponseBody>, TransportError> {
    let mut body = json!({"model": "image-i", "prompt": "a fox"});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let url = format!("{}/v1/image-router/generate", mock.base_url());
    send(mock, Method::POST, &url, Some(body)).await
}

async fn submit_with_webhook(mock: &InProcess) {
    let hook = json!({"mode": "webhook", "webhook_url": "https://hooks.example.com/svc"});
    assert_eq!(submit(mock, hook).await.unwrap().status(), 202);
}

#[tokio::test]
async fn a_request_to_an_unknown_host_is_not_sent() {
    let mock = InProcess::default();
    let error = send(&mock, Method::GET, "https://example.com/", None).await.unwrap_err();
    assert!(!error.may_have_been_sent());
}

#[tokio::test]
async fn a_closed_connection_may_have_had_an_effect() {
    let mock = InProcess::default();
    for (kind, jobs) in [(FaultKind::DropBefore, 0), (FaultKind::DropAfter, 1)] {
        fault(&mock, kind);
        assert!(submit(&mock, json!({})).await.unwrap_err().may_have_been_sent());
        assert_eq!(mock.jobs().len(), jobs, "{kind:?}");
    }
}

#[tokio::test]
async fn a_truncated_body_fails_after_half_of_its_bytes() {
    let mock = InProcess::default();
    let url = format!("{}/v1/open/catalog", mock.base_url());
    let length: usize =
        get(&mock, &url).await.headers()[CONTENT_LENGTH].to_str().unwrap().parse().unwrap();
    fault(&mock, FaultKind::Truncate);
    let response = get(&mock, &url).await;
    assert_eq!(response.headers()[CONTENT_LENGTH], length.to_string().as_str());
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

#[tokio::test(start_paused = true)]
async fn service_time_follows_the_runtimes_clock() {
    let mock = InProcess::default();
    let started = mock.now();
    let response = submit(&mock, json!({"mode": "sync"})).await.unwrap();
    assert_eq!(response.status(), 200);
    let took = mock.now().since(started);
    assert!((2000..2010).contains(&took.as_millis()), "{took:?}");
    assert_eq!(mock.jobs()[0]["status"], JobStatus::Completed.as_str());
}

#[tokio::test(start_paused = true)]
async fn webhook_attempts_have_the_times_at_which_they_were_due() {
    let mut responses = [503, 302, 204].into_iter();
    let mock = InProcess::default().webhook_receiver(move |delivery| {
        assert_eq!(delivery.event, "job.completed");
        DeliveryOutcome::answered(responses.next().unwrap())
    });
    let start = mock.now();
    submit_with_webhook(&mock).await;
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
async fn a_retry_after_of_zero_retries_immediately() {
    let mock = InProcess::new(Setup::default().clock_manual()).webhook_receiver(|_| {
        DeliveryOutcome::Answered {
            status: 503,
            retry_after: Some("0".to_owned()),
            body: String::new(),
        }
    });
    submit_with_webhook(&mock).await;
    let clock = format!("{}/clock/advance", mock.control_url());
    let body = Some(json!({"seconds": 2}));
    send(&mock, Method::POST, &clock, body).await.unwrap();
    assert_eq!(mock.deliveries().len(), 10);
    assert_eq!(mock.jobs()[0]["webhook_delivery"]["status"], "exhausted");
}

#[tokio::test(start_paused = true)]
async fn attempts_fail_without_a_receiver() {
    let mock = InProcess::new(Setup::default().clock_manual());
    mock.route_webhooks("https://hooks.example.com=http://127.0.0.1:9".parse().unwrap());
    submit_with_webhook(&mock).await;
    mock.advance_and_deliver(Duration::from_secs(2)).await.unwrap();
    assert_eq!(mock.deliveries()[0]["error"], "no_route");
}
