//! Calls while the computer sleeps, and connections that are dead.

use std::sync::Arc;
use std::time::Duration;

use super::{limited, video};
use crate::call::clock;
use crate::transport::scripted::{JOB, RECEIPT, Script, Step, json, open_client};

const HOUR: Duration = Duration::from_secs(3_600);

/// Lets the computer sleep for an hour, `delay` from now.
fn sleep_in(delay: Duration) {
    tokio::spawn(async move {
        clock::sleep(delay).await;
        clock::sleep_computer(HOUR);
    });
}

/// Returns how many times the transport had reconnected at each request.
fn reconnects(script: &Script) -> Vec<usize> {
    let requests = script.requests();
    requests.iter().map(|request| request.reconnects).collect()
}

#[tokio::test(start_paused = true)]
async fn the_first_call_after_sleep_uses_a_new_connection() {
    let script = Script::new([json(200, JOB)]);
    let job = open_client(&script).jobs().handle("job_1");
    job.get().await.unwrap();
    job.get().await.unwrap();
    clock::sleep_computer(HOUR);
    job.get().await.unwrap();
    job.get().await.unwrap();
    assert_eq!(reconnects(&script), [0, 0, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_corrected_wall_clock_does_not_count_as_sleep() {
    let script = Script::new([json(200, JOB)]);
    let job = open_client(&script).jobs().handle("job_1");
    clock::sleep_computer(Duration::from_secs(20));
    job.get().await.unwrap();
    assert_eq!(script.reconnects(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_sleep_interrupted_is_sent_again() {
    let script = Script::new([Step::NoResponse, json(202, RECEIPT)]);
    sleep_in(Duration::from_secs(2));
    let client = open_client(&script);
    client.videos().generate(video()).await.unwrap();
    assert_eq!(reconnects(&script), [0, 1]);
    let requests = script.requests();
    // Long before the time limit of an attempt.
    assert!(requests[1].at < Duration::from_secs(10), "{requests:?}");
    let keys = requests.iter().map(|request| request.header("idempotency-key"));
    assert!(keys.clone().all(|key| key.is_some() && key == requests[0].header("idempotency-key")));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_the_service_forgot_during_sleep_is_not_sent_again() {
    let script = Script::new([Step::NoResponse, json(202, RECEIPT)]);
    tokio::spawn(async {
        clock::sleep(Duration::from_secs(2)).await;
        clock::sleep_computer(24 * HOUR);
    });
    let error = open_client(&script).videos().generate(video()).await.unwrap_err();
    assert!(error.is_ambiguous(), "{error}");
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_response_that_comes_soon_after_sleep_is_used() {
    let latency = Duration::from_millis(5_500);
    let script = Script::with_latency([json(200, JOB)], latency);
    sleep_in(Duration::from_secs(2));
    open_client(&script).jobs().handle("job_1").get().await.unwrap();
    assert_eq!(reconnects(&script), [0]);
}

#[tokio::test(start_paused = true)]
async fn the_windows_of_the_rate_limit_end_during_sleep() {
    let script = Script::new([limited(json(200, JOB), 60, 0), json(200, JOB)]);
    let job = open_client(&script).jobs().handle("job_1");
    job.get().await.unwrap();
    clock::sleep_computer(HOUR);
    job.get().await.unwrap();
    assert_eq!(script.request_times(), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn requests_that_time_out_replace_their_connections_once() {
    let script =
        Script::new([Step::NoResponse, Step::NoResponse, Step::NoResponse, json(200, JOB)]);
    let job = Arc::new(open_client(&script).jobs().handle("job_1"));
    let calls = (0..3).map(|_| {
        let job = Arc::clone(&job);
        tokio::spawn(async move { job.get().await })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    assert_eq!(reconnects(&script), [0, 0, 0, 1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_times_out_replaces_its_connection() {
    let script = Script::new([Step::NoResponse, json(200, JOB)]);
    let job = open_client(&script).jobs().handle("job_1");
    let second = Duration::from_secs(1);
    assert!(job.get().timeout(second).await.unwrap_err().is_timeout());
    job.get().timeout(second).await.unwrap();
    assert_eq!(reconnects(&script), [0, 1]);
}
