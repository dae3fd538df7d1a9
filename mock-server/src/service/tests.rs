use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::join;
use tokio::task::yield_now;

use super::*;
use crate::clock::{ClockMode, Speed, TimeSource};
use crate::engine::{Fault, FaultKind};
use crate::setup::Setup;

const SECOND: Duration = Duration::from_secs(1);

fn service(clock_mode: ClockMode) -> Service {
    let hosts = ["open", "developer", "media", "control"];
    let addresses = Addresses::new(hosts.map(|host| format!("https://{host}.svc.invalid")));
    Setup::default()
        .clock_mode(clock_mode)
        .service(TimeSource::runtime(), addresses)
}

fn fast(factor: f64) -> Service {
    service(ClockMode::Real(Speed::new(factor).unwrap()))
}

fn open(method: &str, path: &str, body: Option<Value>) -> Call {
    let mut request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", "Bearer svc_open_demo");
    if body.is_some() {
        request = request.header("content-type", "application/json");
    }
    let body = body
        .map(|body| Bytes::from(body.to_string()))
        .unwrap_or_default();
    let request = request.body(body).unwrap();
    Call {
        host: Host::Open,
        peer: [127, 0, 0, 1].into(),
        request,
    }
}

/// An image takes two service seconds.
fn image(mode: &str) -> Call {
    let body = json!({"model": "image-i", "prompt": "a fox", "mode": mode});
    open("POST", "/v1/image-router/generate", Some(body))
}

fn fault(kind: FaultKind) -> Fault {
    serde_json::from_value(json!({"kind": kind, "delay_ms": 3000})).unwrap()
}

fn status(response: &http::Response<Bytes>) -> u16 {
    response.status().as_u16()
}

async fn settled() {
    for _ in 0..20 {
        yield_now().await;
    }
}

/// Real time that passed; under the paused clock, exact.
async fn timed<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let stopwatch =
        crate::clock::Clock::start(ClockMode::default(), TimeSource::runtime(), Time::default());
    let result = future.await;
    (result, stopwatch.now().since(Time::default()))
}

#[tokio::test(start_paused = true)]
async fn a_sync_submit_waits_for_its_job_in_service_time() {
    for (factor, expected) in [(1.0, 2 * SECOND), (20.0, SECOND / 10)] {
        let (answer, took) = timed(fast(factor).call(image("sync"))).await;
        assert_eq!(status(&answer.response), 200);
        assert!(
            took >= expected && took < expected + SECOND / 100,
            "{took:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_sync_submit_waits_until_a_manual_clock_is_advanced() {
    let service = service(ClockMode::Manual);
    let advance = async {
        settled().await;
        service.advance(SECOND).unwrap();
        settled().await;
        service.advance(SECOND).unwrap();
    };
    let (answer, ()) = join!(service.call(image("sync")), advance);
    assert_eq!(status(&answer.response), 200);
    assert_eq!(service.jobs()[0]["status"], "completed");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_over_gets_the_receipt() {
    let service = service(ClockMode::Manual);
    let body = json!({
        "model": "video-f", "prompt": "a fox [mock:seconds=100]",
        "mode": "subscribe", "wait_timeout_seconds": 5,
    });
    let call = open("POST", "/v1/video-router/generate", Some(body));
    let advance = async {
        settled().await;
        service.advance(5 * SECOND).unwrap();
    };
    let (answer, ()) = join!(service.call(call), advance);
    assert_eq!(status(&answer.response), 202);
}

#[tokio::test(start_paused = true)]
async fn what_ends_the_job_ends_the_wait() {
    let service = service(ClockMode::Manual);
    let cancel = async {
        settled().await;
        let id = service.jobs()[0]["id"].as_str().unwrap().to_owned();
        let call = open("POST", &format!("/v1/jobs/{id}/cancel"), None);
        service.call(call).await
    };
    let (answer, canceled) = join!(service.call(image("sync")), cancel);
    assert_eq!(status(&canceled.response), 200);
    assert_eq!(status(&answer.response), 200);
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_real_time_and_holds_up_nobody_else() {
    let service = service(ClockMode::Manual);
    service.add_fault(fault(FaultKind::Delay)).unwrap();
    let late = timed(service.call(open("GET", "/v1/jobs", None)));
    let other = async {
        settled().await;
        timed(service.call(open("GET", "/v1/jobs", None))).await
    };
    let ((_, late), (_, other)) = join!(late, other);
    assert_eq!(late, 3 * SECOND);
    assert_eq!(other, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_face_that_cannot_wait_is_told_how_long_and_what_then() {
    let service = fast(20.0);
    service.add_fault(fault(FaultKind::Delay)).unwrap();
    let reply = service.predict(&image("sync"));
    assert_eq!(status(&reply.response), 200);
    assert_eq!(reply.delay, 3 * SECOND + SECOND / 10);
    assert_eq!(service.jobs()[0]["status"], "queued");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_foreseen_of_a_manual_clock() {
    let reply = service(ClockMode::Manual).predict(&image("sync"));
    assert_eq!(status(&reply.response), 202);
    assert_eq!(reply.delay, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_one_request_does_not_end_the_others() {
    let service = service(ClockMode::Manual);
    let panic = || service.change(|_, _| panic!("of a test"));
    assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
    let answer = service.call(open("GET", "/v1/jobs", None)).await;
    assert_eq!(status(&answer.response), 200);
}

#[tokio::test(start_paused = true)]
async fn the_journal_does_not_grow_without_end() {
    let service = service(ClockMode::Manual);
    for _ in 0..10_050 {
        service.call(open("GET", "/v1/jobs", None)).await;
    }
    let kept = service.requests(0);
    assert_eq!(kept.len(), 10_000);
    assert_eq!(service.requests(10_049).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_state_goes_from_one_mock_to_another() {
    let one = service(ClockMode::Manual);
    one.call(image("async")).await;
    one.advance(SECOND).unwrap();
    let another = service(ClockMode::Manual);
    another.restore(one.snapshot()).unwrap();
    assert_eq!(another.now(), one.now());
    assert_eq!(another.jobs(), one.jobs());
    another.reset();
    assert!(another.jobs().is_empty());
}
