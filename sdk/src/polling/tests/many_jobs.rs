//! Waits for many jobs at once, against a service with a rate limit, in virtual time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::{BodyExt, Full};
use tokio::task::JoinSet;

use crate::call::clock::{self, Instant};
use crate::transport::scripted::builder;
use crate::transport::{ResponseFuture, Transport};
use crate::{Open, Result};

/// The reads that the service allows in a window of a minute.
const READS: usize = 240;
const JOB: Duration = Duration::from_secs(20);
const LATENCY: Duration = Duration::from_millis(30);

/// How the service differs from one that lists all jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Lists {
    #[default]
    Complete,
    /// Jobs with an odd number are missing.
    Halved,
    /// The status of a job has a name that this build does not know.
    UnknownStatus,
    /// Results are not shown.
    WithoutResults,
    /// Every request fails.
    Refused,
    /// The first request fails.
    FailsOnce,
}

/// A service whose jobs all end at the same time.
#[derive(Debug)]
struct JobService {
    began: Instant,
    lists: Lists,
    /// When each request was answered, with its path.
    requests: Mutex<Vec<(Instant, String)>>,
}

impl JobService {
    fn respond(&self, path: &str) -> (u16, String) {
        let now = clock::now();
        let mut requests = self.requests.lock().unwrap();
        requests.push((now, path.to_owned()));
        let lists = requests.iter().filter(|(_, path)| path == "/v1/jobs").count();
        drop(requests);
        let is_over = now >= self.began + JOB;
        let status = if is_over { "completed" } else { "processing" };
        let artifacts = r#"{"artifacts": [{"url": "https://m/a.mp4"}]}"#;
        let Some(rest) = path.strip_prefix("/v1/jobs/") else {
            let error = match (self.lists, lists) {
                (Lists::Refused, _) => Some((404, "not_found")),
                (Lists::FailsOnce, 1) => Some((503, "database_busy")),
                _ => None,
            };
            if let Some((status, code)) = error {
                return (status, format!(r#"{{"error": {{"code": "{code}", "message": ""}}}}"#));
            }
            let status = if self.lists == Lists::UnknownStatus { "resting" } else { status };
            let result = match is_over && self.lists != Lists::WithoutResults {
                true => format!(r#", "result": {artifacts}"#),
                false => String::new(),
            };
            let numbers = (0..400).filter(|number| self.lists != Lists::Halved || number % 2 == 0);
            let jobs: Vec<_> = numbers
                .map(|number| format!(r#"{{"id": "job_{number}", "status": "{status}"{result}}}"#))
                .collect();
            return (200, format!(r#"{{"data": [{}]}}"#, jobs.join(",")));
        };
        let body = match rest.split_once('/') {
            Some((id, "status")) => format!(
                r#"{{"job_id": "{id}", "status": "{status}", "terminal": {is_over}, "next_poll_after_seconds": 4}}"#
            ),
            _ => format!(r#"{{"status": "{status}", "result": {artifacts}}}"#),
        };
        (200, format!(r#"{{"data": {body}}}"#))
    }

    /// The number of requests of each minute.
    fn windows(&self) -> Vec<usize> {
        let mut windows: Vec<(Instant, usize)> = Vec::new();
        for (at, _) in self.requests.lock().unwrap().iter() {
            match windows.last_mut() {
                Some((began, count)) if *at < *began + Duration::from_secs(60) => *count += 1,
                _ => windows.push((*at, 1)),
            }
        }
        windows.into_iter().map(|(_, count)| count).collect()
    }

    fn count(&self, suffix: &str) -> usize {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|(_, path)| path.ends_with(suffix)).count()
    }
}

#[derive(Clone)]
struct JobTransport(Arc<JobService>);

impl Transport for JobTransport {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let service = Arc::clone(&self.0);
        Box::pin(async move {
            clock::sleep(LATENCY / 2).await;
            let (status, body) = service.respond(request.uri().path().trim_start_matches("/base"));
            let used = *service.windows().last().unwrap();
            let first = service.requests.lock().unwrap().len() - used;
            let began = service.requests.lock().unwrap()[first].0;
            let reset = (began + Duration::from_secs(60) - clock::now()).as_secs_f64().ceil();
            clock::sleep(LATENCY / 2).await;
            let response = http::Response::builder()
                .status(status)
                .header("ratelimit-limit", READS)
                .header("ratelimit-remaining", READS.saturating_sub(used))
                .header("ratelimit-reset", reset as u64);
            let body = Full::new(Bytes::from(body)).map_err(|never| match never {});
            Ok(response.body(body.boxed_unsync()).unwrap())
        })
    }
}

struct Waits {
    service: Arc<JobService>,
    client: crate::Client<Open>,
    running: JoinSet<(Result<crate::types::JobResult>, Duration)>,
}

/// Starts waits for jobs with these numbers.
fn start(lists: Lists, numbers: impl Iterator<Item = usize>) -> Waits {
    let service = Arc::new(JobService { began: clock::now(), lists, requests: Mutex::default() });
    let client = builder(JobTransport(Arc::clone(&service))).build().unwrap();
    let mut running = JoinSet::new();
    let end = clock::now() + JOB;
    for number in numbers {
        let wait = client.jobs().handle(format!("job_{number}")).wait();
        running.spawn(async move {
            let result = wait.await;
            (result, clock::now().saturating_duration_since(end))
        });
    }
    Waits { service, client, running }
}

impl Waits {
    /// Waits for all, and returns how late the last of them ended.
    async fn end(&mut self) -> Duration {
        let mut latest = Duration::ZERO;
        while let Some(done) = self.running.join_next().await {
            let (result, late) = done.unwrap();
            assert_eq!(result.unwrap().artifacts().len(), 1);
            latest = latest.max(late);
        }
        let windows = self.service.windows();
        assert!(windows.iter().all(|count| *count <= READS), "{windows:?}");
        latest
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_answers_for_all_jobs_on_it() {
    let mut waits = start(Lists::Complete, 0..400);
    let latest = waits.end().await;
    assert!(latest < Duration::from_secs(2), "{latest:?}");
    // Only the first polls were sent before it was known how many requests are allowed.
    let alone = waits.service.count("/status");
    assert!(alone <= 128, "{alone} polls");
    // The jobs that were polled alone at their end have their results read.
    assert!(waits.service.count("/result") <= 128);
}

#[tokio::test(start_paused = true)]
async fn few_jobs_are_polled_alone() {
    let mut waits = start(Lists::Complete, 0..2);
    waits.end().await;
    assert_eq!(waits.service.count("/v1/jobs"), 0);
    assert_eq!(waits.service.count("/result"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_the_list_does_not_tell_of_is_polled_alone() {
    for lists in [Lists::Halved, Lists::UnknownStatus, Lists::Refused] {
        let mut waits = start(lists, 0..200);
        waits.end().await;
        assert!(waits.service.count("/v1/jobs") > 0, "{lists:?}");
        assert!(waits.service.count("/status") >= 100, "{lists:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_the_list_does_not_show_is_read() {
    let mut waits = start(Lists::WithoutResults, 0..100);
    waits.end().await;
    assert_eq!(waits.service.count("/result"), 100);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_is_requested_again() {
    let mut waits = start(Lists::FailsOnce, 0..400);
    let latest = waits.end().await;
    assert!(latest < Duration::from_secs(2), "{latest:?}");
}

#[tokio::test(start_paused = true)]
async fn others_go_on_if_the_wait_that_reads_the_pages_is_dropped() {
    let mut waits = start(Lists::Complete, 0..0);
    for number in 0..300 {
        let wait = waits.client.jobs().handle(format!("job_{number}")).wait();
        waits.running.spawn(async move {
            // Each gives up at another moment of the reading, but for the last hundred.
            let limit = Duration::from_millis(200 + number);
            let limit = if number < 200 { limit } else { JOB * 10 };
            match tokio::time::timeout(limit, wait).await {
                Ok(result) => (result, Duration::ZERO),
                Err(_) => (Ok(completed()), Duration::ZERO),
            }
        });
    }
    waits.end().await;
}

#[tokio::test(start_paused = true)]
async fn updates_that_are_held_read_the_pages_for_others() {
    let mut waits = start(Lists::Complete, 0..0);
    let handles = (0..300).map(|number| waits.client.jobs().handle(format!("job_{number}")));
    let mut held: Vec<_> = handles.map(|job| job.updates()).collect();
    for updates in &mut held {
        assert!(updates.next().now_or_never().is_none());
    }
    for number in 0..400 {
        let wait = waits.client.jobs().handle(format!("job_{number}")).wait();
        waits.running.spawn(async move { (wait.await, Duration::ZERO) });
    }
    waits.end().await;
    let late = clock::now() - waits.service.began - JOB;
    assert!(late < Duration::from_secs(2), "{late:?}");
    drop(held);
}

fn completed() -> crate::types::JobResult {
    serde_json::from_str(r#"{"artifacts": [{"url": "https://m/a.mp4"}]}"#).unwrap()
}

#[tokio::test(start_paused = true)]
async fn waits_for_the_same_job_share_a_poll() {
    let mut waits = start(Lists::Complete, std::iter::repeat_n(7, 50));
    clock::sleep(Duration::from_secs(1)).await;
    assert_eq!(waits.service.count("/status"), 1);
    waits.end().await;
}

/// The number of jobs that never end, and of those on a page.
const ENDLESS_JOBS: u64 = 20_000;
const PAGE: u64 = 1_000;

/// A service whose jobs never end, without a limit.
#[derive(Clone, Copy)]
struct EndlessJobs;

impl Transport for EndlessJobs {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let body = match request.uri().path().ends_with("/status") {
            true => r#"{"data": {"status": "processing", "terminal": false}}"#.to_owned(),
            false => {
                let query = request.uri().query().unwrap_or_default();
                let cursor = query.split('&').find_map(|it| it.strip_prefix("cursor="));
                let first = cursor.map_or(0, |cursor| cursor.parse().unwrap());
                let job = |number| format!(r#"{{"id": "job_{number}", "status": "processing"}}"#);
                let jobs: Vec<_> = (first..first + PAGE).map(job).collect();
                let next = first + PAGE;
                format!(r#"{{"data": [{}], "next_cursor": "{next}"}}"#, jobs.join(","))
            }
        };
        let body = Full::new(Bytes::from(body)).map_err(|never| match never {});
        let response = http::Response::builder()
            .header("ratelimit-limit", 1_000_000_000)
            .header("ratelimit-remaining", 1_000_000_000)
            .header("ratelimit-reset", 60);
        let response = response.body(body.boxed_unsync()).unwrap();
        Box::pin(async move {
            clock::sleep(LATENCY).await;
            Ok(response)
        })
    }
}

#[test]
fn a_wait_keeps_little_while_it_sleeps_and_while_it_waits_for_its_turn() {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_time().start_paused(true).build().unwrap();
    let client = builder::<Open>(EndlessJobs).build().unwrap();
    runtime.block_on(async { client.jobs().handle("job").status().await }).unwrap();
    let mut waits = JoinSet::new();
    let memory = allocation_counter::measure(|| {
        runtime.block_on(async {
            for number in 0..ENDLESS_JOBS {
                let wait = client.jobs().handle(format!("job_{number}")).wait();
                waits.spawn(async move { wait.await.is_ok() });
            }
            clock::sleep(Duration::from_secs(10)).await;
        });
    });
    let kept = memory.bytes_current.unsigned_abs() / ENDLESS_JOBS;
    let most = memory.bytes_max / ENDLESS_JOBS;
    assert!(kept <= 1_000 && most <= 2_000, "{kept} B, at most {most} B");
}
