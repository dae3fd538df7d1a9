//! Tests of what only the simulator's own API shows: exact moments, pending replies, deliveries and
//! snapshots. What clients see over HTTP is tested by the conformance suite.

mod faults;
mod money;
mod retention;
mod snapshots;
mod waiting;
mod webhooks;

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use svc_sdk::contract::Plan;

use super::Simulator;
use crate::engine::ledger::{ControlLedger, EntryQuery};
use crate::engine::snapshot;
use crate::engine::{Host, HostRequest, Reply, RestoreError, Settings, Time};

const VIDEO: &str = "/v1/video-router/generate";
const IMAGE: &str = "/v1/image-router/generate";
const TOP_UPS: &str = "/v1/open/top-ups";
/// The runs of a format that makes no media.
const DEMO: &str = "/v1/formats/fmt_demo/runs";

/// A simulator and the service time of the next call.
struct Mock {
    simulator: Simulator,
    now: Time,
}

struct RequestBuilder<'m> {
    mock: &'m mut Mock,
    host: Host,
    headers: Vec<(String, String)>,
}

struct TestReply(Reply);

impl Mock {
    fn new() -> Self {
        Self::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        let now = settings.epoch;
        Self { simulator: Simulator::new(settings), now }
    }

    fn request(&mut self, host: Host) -> RequestBuilder<'_> {
        RequestBuilder { mock: self, host, headers: Vec::new() }
    }

    fn open(&mut self) -> RequestBuilder<'_> {
        self.request(Host::Open).header("authorization", "Bearer svc_open_demo")
    }

    fn developer(&mut self) -> RequestBuilder<'_> {
        self.request(Host::Developer).header("x-api-key", "svc_dev_demo")
    }

    fn advance_millis(&mut self, millis: u64) {
        self.now = self.now.after(Duration::from_millis(millis));
    }

    /// Submits on the developer surface and returns the receipt.
    #[track_caller]
    fn submit_developer(&mut self, path: &str, body: Value) -> Value {
        self.developer().post(path, body).data(202)
    }

    /// Reads on the developer surface.
    #[track_caller]
    fn read(&mut self, path: &str) -> Value {
        self.developer().get(path).data(200)
    }

    /// Submits on the open surface and returns the job's id.
    #[track_caller]
    fn submit(&mut self, path: &str, body: Value) -> String {
        let receipt = self.open().post(path, body).data(202);
        receipt["job"]["id"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn status(&mut self, id: &str) -> String {
        let status = self.open().get(&format!("/v1/jobs/{id}/status")).data(200);
        status["status"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn assert_ledger_is_balanced(&self) {
        self.simulator.state.check().unwrap();
    }
}

impl Simulator {
    /// Returns the ledger entries as the control API shows them.
    fn ledger(&self) -> Vec<Value> {
        let query = EntryQuery::default();
        let view = json!(ControlLedger { ledger: &self.state.ledger, query: &query });
        view["data"].as_array().unwrap().clone()
    }

    /// Restores a state and returns its time. An invalid document changes nothing.
    fn restore(&mut self, document: Value) -> Result<Time, RestoreError> {
        let (state, _) = snapshot::from_value(document)?;
        self.replace_state(state);
        Ok(self.now())
    }

    /// Returns the webhook attempts as the control API shows them.
    fn deliveries(&self) -> Vec<Value> {
        self.state.delivery_log.all()
    }
}

impl RequestBuilder<'_> {
    fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn idempotency_key(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    fn get(self, path: &str) -> TestReply {
        self.send("GET", path, Bytes::new())
    }

    fn post(self, path: &str, body: Value) -> TestReply {
        self.header("content-type", "application/json").send("POST", path, body.to_string())
    }

    fn send(self, method: &str, path: &str, body: impl Into<Bytes>) -> TestReply {
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(body.into()).unwrap();
        let call = HostRequest { host: self.host, peer: [127, 0, 0, 1].into(), request };
        TestReply(self.mock.simulator.handle(self.mock.now, &call))
    }
}

impl TestReply {
    fn status(&self) -> u16 {
        self.0.response.status().as_u16()
    }

    fn header(&self, name: &str) -> &str {
        self.0.response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_slice(self.0.response.body()).unwrap()
    }

    #[track_caller]
    fn data(&self, status: u16) -> Value {
        assert_eq!(self.status(), status, "{:?}", self.0.response);
        self.json()["data"].take()
    }

    #[track_caller]
    fn error(&self, status: u16, code: &str) -> Value {
        let mut body = self.json();
        assert_eq!((self.status(), &body["error"]["code"]), (status, &json!(code)), "{body}");
        assert_eq!(body["error"]["request_id"], self.header("x-svc-request-id"));
        body["error"].take()
    }
}

/// 0.1250 USD and 8 service seconds.
fn video(prompt: &str) -> Value {
    json!({"model": "video-l", "prompt": prompt, "duration": 2})
}

/// 0.0050 USD and 2 service seconds.
fn image(prompt: &str) -> Value {
    json!({"model": "image-i", "prompt": prompt})
}

#[test]
fn the_path_of_a_base_url_prefixes_every_path() {
    let mut settings = Settings::default();
    settings.hosts.open = "https://gate.example/svc".to_owned();
    let mut mock = Mock::with(settings);
    mock.open().get("/v1/jobs").error(404, "not_found");
    let receipt = mock.open().post("/svc/v1/image-router/generate", image("x")).data(202);
    let id = receipt["job"]["id"].as_str().unwrap();
    assert_eq!(receipt["status_url"], format!("https://gate.example/svc/v1/jobs/{id}/status"));
    mock.open().get(&format!("/svc/v1/jobs/{id}/status")).data(200);
}

#[test]
fn service_time_never_goes_back() {
    let mut mock = Mock::new();
    let id = mock.submit(IMAGE, image("x"));
    mock.advance_millis(2_000);
    assert_eq!(mock.status(&id), "completed");
    mock.now = Time::from_micros(0);
    assert_eq!(mock.status(&id), "completed");
    let later = mock.submit(IMAGE, image("x"));
    assert_eq!(mock.status(&later), "queued");
}

#[test]
fn the_read_multiple_sets_the_read_limit() {
    let mut mock =
        Mock::with(Settings { plan: Plan::Scale, read_multiple: 10, ..Settings::default() });
    let read = mock.open().get("/v1/jobs");
    assert_eq!(read.header("ratelimit-limit"), "12000");
    let write = mock.open().post(VIDEO, json!({}));
    assert_eq!(write.header("ratelimit-limit"), "1200");
}

#[test]
fn metadata_is_returned_as_it_was_sent() {
    // A fraction that a fast parser reads as the one beside it.
    let metadata = r#"{"score":0.9073038322028689}"#;
    let body = format!(r#"{{"model":"image-i","prompt":"x","metadata":{metadata}}}"#);
    let mut mock = Mock::new();
    let submit = mock.open().header("content-type", "application/json");
    let receipt = submit.send("POST", IMAGE, body).data(202);
    let job = mock.open().get(&format!("/v1/jobs/{}", receipt["job"]["id"].as_str().unwrap()));
    let text = std::str::from_utf8(job.0.response.body()).unwrap();
    assert!(text.contains(metadata), "{text}");
}

#[test]
fn an_artifact_is_served_once_its_job_is_completed_and_under_one_name() {
    let mut mock = Mock::new();
    let id = mock.submit(VIDEO, video("x"));
    let job = mock.simulator.state.jobs.by_id(&id).unwrap();
    let token = job.artifacts[0].token.clone();
    let path = format!("/artifacts/{token}.mp4");
    let early = mock.request(Host::Media).get(&path);
    early.error(404, "not_found");
    mock.advance_millis(8_000);
    let result = mock.open().get(&format!("/v1/jobs/{id}/result")).data(200);
    let url = result["artifacts"][0]["url"].as_str().unwrap();
    assert!(url.ends_with(&path), "{url}");
    assert_eq!(mock.request(Host::Media).get(&path).status(), 200);
    for path in [
        format!("/artifacts/{token}.png"),
        format!("/artifacts/{token}"),
        "/artifacts/x.mp4".to_owned(),
    ] {
        mock.request(Host::Media).get(&path).error(404, "not_found");
    }
}
