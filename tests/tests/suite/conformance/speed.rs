//! A clock that runs faster than real time: responses state waits in the client's seconds.

use std::time::Duration;

use super::*;

on_every_frontend! {
    poll_hints_are_in_client_seconds: speed(20.0),
    a_pending_result_tells_client_seconds: speed(20.0),
    the_wait_timeout_is_in_client_seconds: speed(20.0),
    a_slow_clock_lengthens_waits: speed(0.5),
}

on_every_socket_frontend! {
    the_retry_after_of_a_receiver_is_in_its_own_seconds: speed(20.0),
}

/// Asserts that a number of seconds is at most `max`, in whole milliseconds.
#[track_caller]
fn assert_seconds(value: &Value, max: f64) {
    let seconds = value.as_f64().unwrap_or_else(|| panic!("{value}"));
    assert!(seconds > 0.0 && seconds <= max, "{value} > {max}");
    let millis = seconds * 1_000.0;
    assert!((millis - millis.round()).abs() < 1e-6, "{value}");
}

/// Sends invalid writes until the limit is exhausted, and returns the response.
async fn exhaust_writes(mock: &Mock) -> Response {
    let developer = mock.developer();
    for _ in 0..10_000 {
        let response = developer.post("/v1/image-1.0/generate", json!({})).await;
        if response.status() == 429 {
            return response;
        }
    }
    panic!("the rate limit was not exceeded");
}

/// Starts a mock on the clock of the runtime, which is paused: waits take no real time.
async fn start_on_paused_clock(speed: f64) -> Mock {
    Mock::start(FrontendKind::InProcess, Setup::default().speed(speed)).await
}

#[tokio::test(start_paused = true)]
async fn a_request_succeeds_after_the_wait_of_a_rate_limit() {
    let mock = start_on_paused_clock(30.0).await;
    let limited = exhaust_writes(&mock).await;
    let wait = limited.error()["retry_after_seconds"].take();
    assert_seconds(&wait, 2.0);
    assert!(limited.int_header("retry-after") <= 2, "{limited:?}");
    assert_eq!(limited.int_header("retry-after"), limited.int_header("ratelimit-reset"));
    tokio::time::sleep(Duration::from_secs_f64(wait.as_f64().unwrap())).await;
    let developer = mock.developer();
    let response = developer.post("/v1/image-1.0/generate", json!({})).await;
    response.expect(400);
}

async fn poll_hints_are_in_client_seconds(mock: Mock) {
    let body = video_with_prompt("[mock:seconds=100]");
    let receipt = mock.open().post_data(VIDEO, body, 202).await;
    assert_seconds(&receipt["next_poll_after_seconds"], 5.0);
    let image = mock.open().post_data(IMAGE, image(), 202).await;
    assert_seconds(&image["next_poll_after_seconds"], 0.1);
    let run = json!({"instruction": "x"});
    let run = mock.developer().post_data(RUNS, run, 202).await;
    assert_seconds(&run["next_poll_after_seconds"], 0.5);
}

#[tokio::test(start_paused = true)]
async fn a_job_ends_after_the_hint_for_its_receipt() {
    let mock = start_on_paused_clock(20.0).await;
    let id = submit(&mock.open(), IMAGE, image()).await;
    assert_eq!(job(&mock.open(), &id).await["status"], "queued");
    tokio::time::sleep(Duration::from_millis(101)).await;
    assert_eq!(job(&mock.open(), &id).await["status"], "completed");
}

async fn a_pending_result_tells_client_seconds(mock: Mock) {
    let id = submit(
        &mock.developer(),
        "/v1/video-1.0/generate",
        json!({"prompt": "[mock:seconds=200]"}),
    )
    .await;
    let path = format!("/v1/jobs/{id}/result");
    let error = mock.developer().get_error(&path, 409, "job_not_completed").await;
    assert_seconds(&error["retry_after_seconds"], 10.0);
}

async fn the_wait_timeout_is_in_client_seconds(mock: Mock) {
    let body = |prompt, wait| {
        let wait = json!({"mode": "sync", "wait_timeout_seconds": wait});
        with(video_with_prompt(prompt), wait)
    };
    let brief = body("[mock:seconds=30]", 10);
    let receipt = mock.open().post_data(VIDEO, brief, 200).await;
    assert_eq!(receipt["job"]["status"], "completed");
    let long = body("[mock:seconds=100]", 1);
    let receipt = mock.open().post_data(VIDEO, long, 202).await;
    // The wait ends after a fifth of the job's time.
    let id = text(&receipt["job"]["id"]);
    assert_eq!(job(&mock.open(), &id).await["status"], "processing");
}

async fn a_slow_clock_lengthens_waits(mock: Mock) {
    let open = mock.open();
    let response = open.try_get("/v1/jobs").await.unwrap();
    assert_eq!(response.int_header("ratelimit-reset"), 120);
    let receipt = open.try_post(VIDEO, video()).await.unwrap().data();
    let hint = receipt["next_poll_after_seconds"].as_f64().unwrap();
    assert!(hint > 4.0 && hint <= 8.0, "{hint}");
}

async fn the_retry_after_of_a_receiver_is_in_its_own_seconds(mock: Mock, receiver: Receiver) {
    receiver.set_replies([
        Reply::StatusWithHeader(429, "retry-after".to_owned(), "2".to_owned()),
        Reply::Status(204),
    ]);
    let hook = json!({"mode": "webhook", "webhook_url": "https://hooks.example.com/svc"});
    submit(&mock.open(), IMAGE, with(image(), hook)).await;
    let deliveries = receiver.wait_for(2).await;
    // Two seconds of real time are forty of the service, whose clock the timestamps show.
    let wait = deliveries[1].timestamp() - deliveries[0].timestamp();
    assert!((40..200).contains(&wait), "{wait}");
}

#[tokio::test]
async fn the_timestamps_of_webhooks_show_the_wall_clock_if_asked_to() {
    let receiver = Receiver::start().await;
    let setup = Setup::default().wall_timestamps().webhook_port(receiver.port());
    let mock = Mock::start(FrontendKind::Serve, setup).await;
    let hook = json!({"mode": "webhook", "webhook_url": "https://hooks.example.com/svc"});
    submit(&mock.open(), IMAGE, with(image(), hook)).await;
    mock.advance(2).await;
    let deliveries = receiver.wait_for(1).await;
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!(now.abs_diff(deliveries[0].timestamp()) < 60, "{}", deliveries[0].timestamp());
    let secret = mock.developer().get_data("/v1/webhooks/signing-secret").await;
    deliveries[0].assert_signed_with(&[secret["secret"].as_str().unwrap()]);
}
