//! A service whose jobs take a minute.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use crate::call::clock::{self, Instant};
use crate::transport::{ResponseFuture, Transport};

/// A service whose jobs take a minute.
#[derive(Debug)]
pub(super) struct BatchService {
    capacity: usize,
    state: Mutex<BatchServiceState>,
}

#[derive(Debug, Default)]
pub(super) struct BatchServiceState {
    /// The jobs by their prompts: when each was accepted, most recent last.
    pub(super) jobs: Vec<(String, Instant)>,
    /// The keys of all accepted submits, with their jobs.
    keys: HashMap<String, usize>,
    pub(super) most_running: usize,
    /// The answers to submits that are not accepted, by status.
    pub(super) refused: HashMap<u16, usize>,
    pub(super) polls: usize,
    pub(super) estimates: usize,
    /// Submits from that one on are answered with this error.
    pub(super) fails_after: Option<(usize, u16, &'static str)>,
}

const JOB: Duration = Duration::from_secs(60);

impl BatchService {
    pub(super) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self { capacity, state: Mutex::default() })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, BatchServiceState> {
        self.state.lock().unwrap()
    }

    fn submit(&self, key: &str, body: &Value) -> (u16, Value) {
        let now = clock::now();
        let mut state = self.state();
        let error = |code: &str| json!({"error": {"code": code, "message": "refused"}});
        if let Some(job) = state.keys.get(key) {
            return (200, json!({"data": {"job": job_json(*job, body)}}));
        }
        let running = state.jobs.iter().filter(|(_, at)| now < *at + JOB).count();
        let is_limited = state.fails_after.is_some_and(|(count, ..)| state.jobs.len() >= count);
        let refusal = match state.fails_after {
            Some((_, status, code)) if is_limited => Some((status, code)),
            _ if running >= self.capacity => Some((429, "concurrency_limit_reached")),
            _ if body["prompt"] == "invalid" => Some((400, "invalid_request")),
            _ => None,
        };
        if let Some((status, code)) = refusal {
            *state.refused.entry(status).or_default() += 1;
            return (status, error(code));
        }
        let job = state.jobs.len();
        state.most_running = state.most_running.max(running + 1);
        let prompt = body["prompt"].as_str().unwrap_or_default().to_owned();
        state.jobs.push((prompt, now));
        state.keys.insert(key.to_owned(), job);
        (202, json!({"data": {"job": job_json(job, body), "next_poll_after_seconds": 5}}))
    }

    fn estimate(&self, body: &Value) -> (u16, Value) {
        self.state().estimates += 1;
        let price = price_of(body["input"]["duration"] == 4);
        (200, json!({"data": {"model": "auto", "price_usd": price}}))
    }

    fn poll(&self, path: &str) -> (u16, Value) {
        let mut state = self.state();
        state.polls += 1;
        let (id, what) = path.split_once('/').unwrap_or((path, ""));
        let number: usize = id.trim_start_matches("job_").parse().unwrap();
        let (prompt, at) = &state.jobs[number];
        let status = match (clock::now() < *at + JOB, prompt.as_str()) {
            (true, _) => "processing",
            (false, "fails") => "failed",
            (false, _) => "completed",
        };
        let data = match what {
            "status" => json!({
                "status": status,
                "terminal": status != "processing",
                "next_poll_after_seconds": 5
            }),
            _ => json!({"id": id, "status": status}),
        };
        (200, json!({"data": data}))
    }
}

fn job_json(number: usize, body: &Value) -> Value {
    let price = price_of(body["duration"] == 4);
    json!({"id": format!("job_{number}"), "status": "queued", "price_usd": price})
}

fn price_of(is_short: bool) -> &'static str {
    if is_short { "0.0500" } else { "0.2000" }
}

#[derive(Clone)]
pub(super) struct ServiceTransport(pub(super) Arc<BatchService>);

impl Transport for ServiceTransport {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let service = Arc::clone(&self.0);
        Box::pin(async move {
            clock::sleep(Duration::from_millis(50)).await;
            let body = serde_json::from_slice(request.body()).unwrap_or_default();
            let key = request.headers().get("idempotency-key");
            let key = key.map(|key| key.to_str().unwrap().to_owned());
            let path = request.uri().path();
            let (status, body) = match (path.strip_prefix("/v1/jobs/"), key) {
                (Some(rest), _) => service.poll(rest),
                (None, Some(key)) => service.submit(&key, &body),
                _ if path.ends_with("/jobs") => (404, json!({"error": {"code": "not_found"}})),
                _ => service.estimate(&body),
            };
            let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {});
            let response = http::Response::builder().status(status);
            Ok(response.body(body.boxed_unsync()).unwrap())
        })
    }
}
