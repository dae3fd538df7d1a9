//! A service with any number of jobs that run at the same time, and a rate limit.
//!
//! The mock limits the jobs of a workspace as the service does, so that many waits need another service.
//! Its hints are those of the mock: half of the remaining time, from one second to ten, and all of the
//! last second.

use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use svc_sdk::transport::{ResponseFuture, Transport};
use tokio::time::Instant;

const WINDOW: Duration = Duration::from_secs(60);
const PAGE: usize = 1_000;

/// The requests that the service answered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calls {
    pub(crate) total: u64,
    pub(crate) refused: u64,
}

#[derive(Clone)]
pub(crate) struct Fleet {
    shared: Arc<Shared>,
}

struct Shared {
    /// When each job ends, from the start.
    ends: Vec<Duration>,
    reads_per_window: u32,
    latency: Duration,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: Calls,
    window: Option<Instant>,
    used: u32,
}

impl Fleet {
    #[expect(clippy::disallowed_methods, reason = "the runtime's paused clock")]
    pub(crate) fn new(ends: Vec<Duration>, reads_per_window: u32, latency: Duration) -> Self {
        let shared = Shared {
            ends,
            reads_per_window,
            latency,
            began: Instant::now(),
            state: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    pub(crate) fn id(number: usize) -> String {
        format!("job_{number:06}")
    }

    pub(crate) fn calls(&self) -> Calls {
        self.shared.lock().calls
    }

    /// Returns when a job ends.
    pub(crate) fn end(&self, number: usize) -> Instant {
        self.shared.began + self.shared.ends.get(number).copied().unwrap_or_default()
    }
}

impl Transport for Fleet {
    fn send(&self, request: Request<Bytes>) -> ResponseFuture {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            tokio::time::sleep(shared.latency / 2).await;
            let response = shared.respond(&request);
            tokio::time::sleep(shared.latency / 2).await;
            Ok(response.map(|body| Full::new(body).map_err(|never| match never {}).boxed_unsync()))
        })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[expect(clippy::disallowed_methods, reason = "the runtime's paused clock")]
    fn respond(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let now = Instant::now();
        let mut state = self.lock();
        let began = *state.window.get_or_insert(now);
        if now >= began + WINDOW {
            (state.window, state.used) = (Some(now), 0);
        }
        let reset = (state.window.unwrap_or(now) + WINDOW - now).as_secs_f64().ceil();
        state.calls.total += 1;
        let is_refused = state.used >= self.reads_per_window;
        let (status, body) = if is_refused {
            state.calls.refused += 1;
            (429, r#"{"error":{"code":"rate_limited","message":"slow down"}}"#.to_owned())
        } else {
            state.used += 1;
            self.body(request.uri(), now)
        };
        let response = Response::builder()
            .status(status)
            .header("content-type", "application/json")
            .header("ratelimit-limit", self.reads_per_window)
            .header("ratelimit-remaining", self.reads_per_window.saturating_sub(state.used))
            .header("ratelimit-reset", reset as u64);
        let response =
            if is_refused { response.header("retry-after", reset as u64) } else { response };
        response.body(body.into()).unwrap_or_default()
    }

    fn body(&self, uri: &http::Uri, now: Instant) -> (u16, String) {
        let mut segments =
            uri.path().trim_start_matches("/v1/jobs").trim_start_matches('/').split('/');
        let (id, part) = (segments.next().unwrap_or_default(), segments.next());
        if id.is_empty() {
            return (200, self.list(uri.query().unwrap_or_default(), now));
        }
        let Some(number) = number(id).filter(|number| *number < self.ends.len()) else {
            return (404, r#"{"error":{"code":"job_not_found","message":"not found"}}"#.to_owned());
        };
        let left = self.left(number, now);
        let body = match (part, left.is_zero()) {
            (Some("status"), true) => format!(
                r#"{{"data":{{"job_id":"{id}","status":"completed","terminal":true,"result_ready":true,"next_poll_after_seconds":0}}}}"#
            ),
            (Some("status"), false) => format!(
                r#"{{"data":{{"job_id":"{id}","status":"processing","terminal":false,"result_ready":false,"next_poll_after_seconds":{}}}}}"#,
                hint(left).as_secs_f64()
            ),
            (Some("result"), true) => {
                format!(
                    r#"{{"data":{{"job_id":"{id}","status":"completed","artifacts":[{}]}}}}"#,
                    artifact(id)
                )
            }
            (Some(_), false) => {
                return (
                    409,
                    r#"{"error":{"code":"job_not_completed","message":"wait"}}"#.to_owned(),
                );
            }
            _ => format!(r#"{{"data":{}}}"#, self.job(number, now)),
        };
        (200, body)
    }

    /// Returns a page of the jobs, newest first.
    fn list(&self, query: &str, now: Instant) -> String {
        let parameter = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find_map(|(known, value)| (known == name).then_some(value))
        };
        let limit = parameter("limit").and_then(|text| text.parse().ok()).unwrap_or(PAGE);
        let last = parameter("cursor").and_then(number).unwrap_or(self.ends.len());
        let first = last.saturating_sub(limit.min(PAGE));
        let mut body = r#"{"data":["#.to_owned();
        for number in (first..last).rev() {
            body.push_str(&self.job(number, now));
            if number > first {
                body.push(',');
            }
        }
        body.push(']');
        if first > 0 {
            let _ = write!(body, r#","next_cursor":"{}""#, Fleet::id(first));
        }
        body.push('}');
        body
    }

    fn job(&self, number: usize, now: Instant) -> String {
        let id = Fleet::id(number);
        let times = r#""created_at":"2026-08-14T09:26:53Z","updated_at":"2026-08-14T09:26:53Z""#;
        let (status, result) = match self.left(number, now).is_zero() {
            true => ("completed", format!(r#","result":{{"artifacts":[{}]}}"#, artifact(&id))),
            false => ("processing", String::new()),
        };
        format!(
            r#"{{"id":"{id}","status":"{status}","type":"video_generation","model":"video-h","metadata":{{}},{times}{result}}}"#
        )
    }

    fn left(&self, number: usize, now: Instant) -> Duration {
        let end = self.ends.get(number).copied().unwrap_or_default();
        end.saturating_sub(now - self.began)
    }
}

fn number(id: &str) -> Option<usize> {
    id.strip_prefix("job_")?.parse().ok()
}

fn artifact(id: &str) -> String {
    format!(
        r#"{{"id":"art_{id}","url":"https://media.svc.invalid/artifacts/{id}.mp4","media_type":"video","content_type":"video/mp4"}}"#
    )
}

fn hint(left: Duration) -> Duration {
    let second = Duration::from_secs(1);
    if left < second { left } else { (left / 2).clamp(second, second * 10) }
}
