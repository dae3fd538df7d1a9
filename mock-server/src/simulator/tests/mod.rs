//! The simulator as its callers see it: whole requests at chosen moments, and their answers.

mod account;
mod avatars;
mod captions;
mod catalog;
mod credentials;
mod events;
mod faults;
mod formats;
mod generation;
mod jobs;
mod mcp;
mod media;
mod money;
mod order;
mod previews;
mod queues;
mod rate_limits;
mod run_failures;
mod run_refusals;
mod runs;
mod searches;
mod snapshots;
mod speaking;
mod submits;
mod top_ups;
mod waiting;
mod webhooks;

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::Simulator;
use crate::engine::{Call, Host, Reply, Settings, Time};

const VIDEO: &str = "/v1/video-router/generate";
const IMAGE: &str = "/v1/image-router/generate";
const ESTIMATE: &str = "/v1/open/estimate";
const TOP_UPS: &str = "/v1/open/top-ups";
/// The runs of a Format that makes no media.
const DEMO: &str = "/v1/formats/fmt_demo/runs";

/// An simulator and the moment that it is.
struct Mock {
    simulator: Simulator,
    now: Time,
}

/// A request in the making.
struct Ask<'m> {
    mock: &'m mut Mock,
    host: Host,
    headers: Vec<(String, String)>,
}

/// What came back.
struct Answer(Reply);

impl Mock {
    fn new() -> Self {
        Self::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        let now = settings.epoch;
        Self {
            simulator: Simulator::new(settings),
            now,
        }
    }

    fn ask(&mut self, host: Host) -> Ask<'_> {
        Ask {
            mock: self,
            host,
            headers: Vec::new(),
        }
    }

    fn open(&mut self) -> Ask<'_> {
        self.ask(Host::Open)
            .header("authorization", "Bearer svc_open_demo")
    }

    fn developer(&mut self) -> Ask<'_> {
        self.ask(Host::Developer)
            .header("x-api-key", "svc_dev_demo")
    }

    fn pass(&mut self, millis: u64) {
        self.now = self.now.after(Duration::from_millis(millis));
    }

    /// Submits on the developer surface and gives the receipt.
    #[track_caller]
    fn order(&mut self, path: &str, body: Value) -> Value {
        self.developer().post(path, body).data(202)
    }

    /// Reads on the developer surface.
    #[track_caller]
    fn read(&mut self, path: &str) -> Value {
        self.developer().get(path).data(200)
    }

    /// Reads a file of the media host.
    #[track_caller]
    fn file(&mut self, url: &Value) -> Answer {
        let path = url.as_str().unwrap();
        let path = path.strip_prefix("http://127.0.0.1:4012").unwrap();
        let file = self.ask(Host::Media).get(path);
        assert_eq!(file.status(), 200, "{path}");
        file
    }

    /// Submits on the open surface and gives the job's id.
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
    fn books_are_balanced(&self) {
        self.simulator.state.check().unwrap();
    }
}

impl Ask<'_> {
    fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn key(self, key: &str) -> Self {
        self.header("x-api-key", key)
    }

    fn once(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    fn get(self, path: &str) -> Answer {
        self.send("GET", path, Bytes::new())
    }

    fn post(self, path: &str, body: Value) -> Answer {
        self.header("content-type", "application/json")
            .send("POST", path, body.to_string())
    }

    fn send(self, method: &str, path: &str, body: impl Into<Bytes>) -> Answer {
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(body.into()).unwrap();
        let call = Call {
            host: self.host,
            peer: [127, 0, 0, 1].into(),
            request,
        };
        Answer(self.mock.simulator.handle(self.mock.now, &call))
    }
}

impl Answer {
    fn status(&self) -> u16 {
        self.0.response.status().as_u16()
    }

    fn header(&self, name: &str) -> &str {
        self.0
            .response
            .headers()
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
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
    fn refused(&self, status: u16, code: &str) -> Value {
        let mut body = self.json();
        assert_eq!(
            (self.status(), &body["error"]["code"]),
            (status, &json!(code)),
            "{body}"
        );
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
fn an_unknown_path_is_404_and_a_known_one_with_another_method_405() {
    let mut mock = Mock::new();
    mock.open().get("/v1/nothing").refused(404, "not_found");
    let other = mock.open().send("DELETE", "/v1/jobs", "");
    other.refused(405, "method_not_allowed");
    assert_eq!(other.header("allow"), "GET, HEAD");
    assert_eq!(mock.open().send("PUT", VIDEO, "").header("allow"), "POST");
    mock.open().get("/v1/me").refused(404, "not_found");
}

#[test]
fn head_is_get_without_a_body() {
    let mut mock = Mock::new();
    let answer = mock.open().send("HEAD", "/v1/jobs", "");
    assert_eq!(answer.status(), 200);
    assert!(answer.0.response.body().is_empty());
    assert_eq!(answer.header("content-length"), "30");
    assert_eq!(answer.header("ratelimit-limit"), "4800");
    mock.open().send("HEAD", VIDEO, "");
    assert_eq!(mock.open().send("HEAD", VIDEO, "").status(), 405);
}

#[test]
fn the_scope_is_judged_before_what_the_path_names() {
    let mut mock = Mock::new();
    let noscope = mock.ask(Host::Developer).key("svc_dev_noscope");
    let error = noscope.get("/v1/formats/no_such").json()["error"].take();
    assert_eq!(
        (&error["code"], &error["details"]),
        (
            &json!("insufficient_scope"),
            &json!({"required_scope": "formats:read"})
        )
    );
}

#[test]
fn the_document_names_the_hosts_and_needs_no_key() {
    let mut settings = Settings::default();
    settings.hosts.open = "https://gate.example/svc".to_owned();
    let mut mock = Mock::with(settings);
    let document = mock.ask(Host::Developer).get("/v1/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["servers"][0]["url"], "https://gate.example/svc");
    let reference = mock.ask(Host::Developer).get("/reference/json").json();
    assert_eq!(reference, document);
    let mut elsewhere = Mock::new();
    let other = elsewhere.ask(Host::Developer).get("/v1/openapi.json");
    assert_eq!(other.json()["servers"][0]["url"], "http://127.0.0.1:4010");
}

#[test]
fn a_base_url_with_a_path_is_part_of_every_path() {
    let mut settings = Settings::default();
    settings.hosts.open = "https://gate.example/svc".to_owned();
    let mut mock = Mock::with(settings);
    mock.open().get("/v1/jobs").refused(404, "not_found");
    let receipt = mock
        .open()
        .post("/svc/v1/image-router/generate", image("x"))
        .data(202);
    let id = receipt["job"]["id"].as_str().unwrap();
    assert_eq!(
        receipt["status_url"],
        format!("https://gate.example/svc/v1/jobs/{id}/status")
    );
    mock.open()
        .get(&format!("/svc/v1/jobs/{id}/status"))
        .data(200);
}

#[test]
fn time_does_not_go_back() {
    let mut mock = Mock::new();
    let id = mock.submit(IMAGE, image("x"));
    mock.pass(2_000);
    assert_eq!(mock.status(&id), "completed");
    mock.now = Time::from_micros(0);
    assert_eq!(mock.status(&id), "completed");
    let later = mock.submit(IMAGE, image("x"));
    assert_eq!(mock.status(&later), "queued");
}
