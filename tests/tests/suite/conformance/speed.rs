//! A clock that runs faster than real time: waits that are over as soon as responses say, and timestamps.

use std::time::Duration;

use super::*;

/// Starts a mock on the clock of the runtime, which is paused: waits take no real time.
async fn start_on_paused_clock(options: &str) -> Mock {
    Mock::start(FrontendKind::InProcess, options).await
}

#[tokio::test(start_paused = true)]
async fn a_request_succeeds_after_the_wait_of_a_rate_limit() {
    const INVALID: &str = "developer POST /v1/image-1.0/generate {}";
    let mock = start_on_paused_clock("speed=30").await;
    let mut limited = request(&mock, INVALID).await;
    for _ in 0..10_000 {
        if limited.status() == 429 {
            break;
        }
        limited = request(&mock, INVALID).await;
    }
    limited.expect_error(429, "rate_limited");
    let wait = limited.error()["retry_after_seconds"].as_f64().unwrap();
    assert!(wait > 0.0 && wait <= 2.0, "{limited:?}");
    assert!(limited.int_header("retry-after") <= 2, "{limited:?}");
    assert_eq!(limited.int_header("retry-after"), limited.int_header("ratelimit-reset"));
    tokio::time::sleep(Duration::from_secs_f64(wait)).await;
    request(&mock, INVALID).await.expect(400);
}

#[tokio::test(start_paused = true)]
async fn a_job_ends_after_the_hint_for_its_receipt() {
    let mock = start_on_paused_clock("speed=20").await;
    let receipt = request(&mock, "open image").await.expect(202).data();
    let job = format!("open /v1/jobs/{}", text(&receipt["job"]["id"]));
    assert_eq!(request(&mock, &job).await.data()["status"], "queued");
    tokio::time::sleep(Duration::from_millis(101)).await;
    assert_eq!(request(&mock, &job).await.data()["status"], "completed");
}

#[tokio::test]
async fn the_timestamps_of_webhooks_show_the_wall_clock_if_asked_to() {
    let receiver = Receiver::start().await;
    let options = format!("webhook-timestamps=wall webhook-port={}", receiver.port());
    let mock = Mock::start(FrontendKind::Serve, &options).await;
    let script = "open hooked-image => 202\n\
        advance 2\n\
        received 1\n\
        developer /v1/webhooks/signing-secret => 200 secret=<secret>\n\
        signed 1 <secret>";
    run_script(&mock, Some(&receiver), script).await;
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let timestamp = receiver.deliveries()[0].timestamp();
    assert!(now.abs_diff(timestamp) < 60, "{timestamp}");
}
