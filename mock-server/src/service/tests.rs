use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::join;
use tokio::task::yield_now;

use super::*;
use crate::clock::{ClockMode, Speed, TimeSource};
use crate::engine::{Fault, FaultKind, Time};
use crate::setup::Setup;

const SECOND: Duration = Duration::from_secs(1);

fn service(clock_mode: ClockMode) -> Service {
    let hosts = ["open", "developer", "media", "control"];
    let addresses = Addresses::new(hosts.map(|host| format!("https://{host}.svc.invalid")));
    Setup::default().clock_mode(clock_mode).service(TimeSource::runtime(), addresses)
}

fn fast(factor: f64) -> Service {
    service(ClockMode::Real(Speed::new(factor).unwrap()))
}

fn open(method: &str, path: &str, body: Option<Value>) -> HostRequest {
    let mut request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", "Bearer svc_open_demo");
    if body.is_some() {
        request = request.header("content-type", "application/json");
    }
    let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
    let request = request.body(body).unwrap();
    HostRequest { host: Host::Open, peer: [127, 0, 0, 1].into(), request }
}

/// Submits an image, which takes two seconds of service time.
fn image(mode: &str) -> HostRequest {
    let body = json!({"model": "image-i", "prompt": "a fox", "mode": mode});
    open("POST", "/v1/image-router/generate", Some(body))
}

fn fault(kind: FaultKind) -> Fault {
    serde_json::from_value(json!({"kind": kind, "delay_ms": 3000})).unwrap()
}

fn status(response: &http::Response<Bytes>) -> u16 {
    response.status().as_u16()
}

async fn yield_to_other_tasks() {
    for _ in 0..20 {
        yield_now().await;
    }
}

/// Returns the result of a future and the real time that it took, which is exact on a paused clock.
async fn timed<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let stopwatch =
        crate::clock::Clock::start(ClockMode::default(), TimeSource::runtime(), Time::default());
    let result = future.await;
    (result, stopwatch.now().since(Time::default()))
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_in_real_time_and_does_not_block_other_requests() {
    let service = service(ClockMode::Manual);
    service.add_fault(fault(FaultKind::Delay)).unwrap();
    let late = timed(service.call(open("GET", "/v1/jobs", None)));
    let other = async {
        yield_to_other_tasks().await;
        timed(service.call(open("GET", "/v1/jobs", None))).await
    };
    let ((_, late), (_, other)) = join!(late, other);
    assert_eq!(late, 3 * SECOND);
    assert_eq!(other, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn predict_returns_the_final_reply_and_its_delay() {
    let service = fast(20.0);
    service.add_fault(fault(FaultKind::Delay)).unwrap();
    let reply = service.predict(&image("sync"));
    assert_eq!(status(&reply.response), 200);
    assert_eq!(reply.delay, 3 * SECOND + SECOND / 10);
    assert_eq!(service.jobs()[0]["status"], "queued");
}

#[tokio::test(start_paused = true)]
async fn a_panic_does_not_affect_later_requests() {
    let service = service(ClockMode::Manual);
    let panic = || service.change(|_| panic!("expected panic"));
    assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
    let answer = service.call(open("GET", "/v1/jobs", None)).await;
    assert_eq!(status(&answer.response), 200);
}
