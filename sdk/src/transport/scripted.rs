//! A transport for the tests of this crate, which answers from a script and records the requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;

use super::{ResponseFuture, Transport};
use crate::call::api_key::ApiKey;
use crate::call::clock;
use crate::client::{Client, ClientBuilder};
use crate::surface::{ClientSurface, Developer, Open};
use crate::testing::{RecordedRequest, Recorder};
pub(crate) use crate::testing::{Step, json_response as json};

/// A sequence of steps, of which the last is repeated, and the requests that they answered.
#[derive(Debug)]
pub(crate) struct Script {
    steps: Mutex<VecDeque<Step>>,
    recorder: Recorder,
    latency: Duration,
    in_flight: Mutex<InFlight>,
}

#[derive(Debug, Default)]
struct InFlight {
    current: usize,
    max: usize,
}

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Arc<Self> {
        Self::with_latency(steps, Duration::ZERO)
    }

    pub(crate) fn with_latency(
        steps: impl IntoIterator<Item = Step>,
        latency: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            steps: Mutex::new(steps.into_iter().collect()),
            recorder: Recorder::new(),
            latency,
            in_flight: Mutex::default(),
        })
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.recorder.requests()
    }

    /// Returns the maximum number of requests that were in flight at the same time.
    pub(crate) fn max_in_flight(&self) -> usize {
        self.in_flight.lock().unwrap().max
    }

    /// Returns how many times the transport was told to reconnect.
    pub(crate) fn reconnects(&self) -> usize {
        self.recorder.reconnects()
    }

    fn next_step(&self) -> Step {
        let mut steps = self.steps.lock().unwrap();
        if steps.len() > 1 { steps.pop_front().unwrap() } else { steps.front().unwrap().clone() }
    }

    async fn wait_for_latency(&self) {
        {
            let mut in_flight = self.in_flight.lock().unwrap();
            in_flight.current += 1;
            in_flight.max = in_flight.max.max(in_flight.current);
        }
        clock::sleep(self.latency).await;
        self.in_flight.lock().unwrap().current -= 1;
    }
}

#[derive(Clone)]
pub(crate) struct ScriptedTransport(pub(crate) Arc<Script>);

impl Transport for ScriptedTransport {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let script = Arc::clone(&self.0);
        Box::pin(async move {
            script.recorder.record(None, request);
            let step = script.next_step();
            script.wait_for_latency().await;
            step.into_result().await
        })
    }

    fn reconnect(&self) {
        self.0.recorder.count_reconnect();
    }
}

pub(crate) fn builder<S: ClientSurface>(transport: impl Transport) -> ClientBuilder<S> {
    Client::builder()
        .base_url("https://api.example/base")
        .api_key(ApiKey::new("canary-key").unwrap())
        .transport(Arc::new(transport))
        .seed(7)
}

pub(crate) fn open_client(script: &Arc<Script>) -> Client<Open> {
    builder(ScriptedTransport(Arc::clone(script))).build().unwrap()
}

pub(crate) fn developer_client(script: &Arc<Script>) -> Client<Developer> {
    let builder = builder(ScriptedTransport(Arc::clone(script)));
    builder.base_url("https://developer.example").build().unwrap()
}

pub(crate) const JOB: &str = r#"{"data": {"id": "job_1", "status": "queued"}}"#;

pub(crate) const RECEIPT: &str =
    r#"{"data": {"job": {"id": "job_1", "status": "queued"}, "next_poll_after_seconds": 2}}"#;

/// Returns a response with the data in the service's envelope.
pub(crate) fn data(status: u16, data: &serde_json::Value) -> Step {
    json(status, &serde_json::json!({ "data": data }).to_string())
}

/// Returns the error of a service that is overloaded, and asks to wait for some seconds.
pub(crate) fn busy(seconds: u64) -> Step {
    let body = r#"{"error": {"code": "database_busy", "message": "busy"}}"#;
    json(503, body).header("retry-after", seconds)
}
