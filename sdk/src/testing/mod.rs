//! Scripted answers, for tests of applications without a server.
//!
//! [`ScriptedService`] answers each operation as a test says, and records the requests. A test that
//! needs the behavior of the service itself (prices, statuses over time, webhooks) uses the mock server
//! of the crate `svc-mock-server`.
//!
//! ```
//! use svc_sdk::contract::Operation;
//! use svc_sdk::testing::{Answer, ScriptedService};
//! use svc_sdk::{open, types::VideoGenerate};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> svc_sdk::Result<()> {
//! let job = serde_json::json!({"id": "job_1", "status": "queued"});
//! let service = ScriptedService::new()
//!     .answer(Operation::VideoGenerate, Answer::error(503, "database_busy"))
//!     .answer(Operation::VideoGenerate, serde_json::json!({"job": job}));
//!
//! let client: open::Client = service.client()?;
//! let body = VideoGenerate::new("auto").prompt("a red fox in snow");
//! let job = client.videos().generate(body).await?;
//! assert_eq!(job.id().as_str(), "job_1");
//!
//! let sent = service.requests();
//! assert_eq!(sent.len(), 2, "the first answer is retried");
//! assert_eq!(sent[0].operation, Some(Operation::VideoGenerate));
//! assert_eq!(sent[1].json()?["prompt"], "a red fox in snow");
//! assert_eq!(sent[0].header("idempotency-key"), sent[1].header("idempotency-key"));
//! # Ok(())
//! # }
//! ```
//!
//! What a call returns can be made of JSON as well, for functions that take it: each body of
//! [`types`](crate::types) implements `Deserialize`, and [`error`] makes errors.
//!
//! ```
//! use svc_sdk::testing;
//! use svc_sdk::types::JobResult;
//!
//! # fn run() -> serde_json::Result<()> {
//! let result: JobResult = serde_json::from_value(serde_json::json!({
//!     "status": "completed",
//!     "artifacts": [{"id": "art_1", "url": "https://media.example/fox.mp4"}],
//! }))?;
//! assert_eq!(result.artifacts().len(), 1);
//! assert!(testing::error(402, "insufficient_funds").is_insufficient_funds());
//! # Ok(())
//! # }
//! # run().unwrap();
//! ```

mod recorder;
mod step;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::call::api_key::ApiKey;
use crate::client::{Client, ClientBuilder};
use crate::contract::{Operation, Surface};
use crate::error::{Error, Kind, Result};
use crate::lock::lock;
use crate::surface::ClientSurface;
use crate::transport::{ResponseFuture, Transport, TransportError};
use crate::types::ErrorBody;

pub use self::recorder::RecordedRequest;
pub(crate) use self::recorder::Recorder;
pub(crate) use self::step::{Step, json_response};

const OPEN_HOST: &str = "open.svc.test";
const DEVELOPER_HOST: &str = "developer.svc.test";

/// A service that answers as a test says, and records the requests.
///
/// Clones share the answers and the requests.
#[derive(Clone, Debug)]
pub struct ScriptedService {
    answers: Arc<Mutex<Answers>>,
    recorder: Arc<Recorder>,
}

#[derive(Debug, Default)]
struct Answers {
    by_operation: BTreeMap<Operation, VecDeque<Step>>,
    by_url: BTreeMap<String, VecDeque<Step>>,
}

impl Default for ScriptedService {
    fn default() -> Self {
        Self { answers: Arc::default(), recorder: Arc::new(Recorder::new()) }
    }
}

impl ScriptedService {
    /// Creates a service without answers. A request that has none fails with
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an answer to an operation. Several are given in order, the last one repeatedly.
    #[must_use]
    pub fn answer(self, operation: Operation, answer: impl Into<Answer>) -> Self {
        let mut answers = lock(&self.answers);
        let steps = answers.by_operation.entry(operation).or_default();
        steps.push_back(answer.into().0);
        drop(answers);
        self
    }

    /// Adds an answer to requests for a URL outside the API, such as that of an artifact.
    #[must_use]
    pub fn answer_url(self, url: impl Into<String>, answer: impl Into<Answer>) -> Self {
        let mut answers = lock(&self.answers);
        let steps = answers.by_url.entry(url.into()).or_default();
        steps.push_back(answer.into().0);
        drop(answers);
        self
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.recorder.requests()
    }

    /// Returns a client of the service, of either surface, with default settings.
    ///
    /// # Errors
    ///
    /// Never, unless the operating system provides no random numbers.
    pub fn client<S: ClientSurface>(&self) -> Result<Client<S>> {
        self.builder()?.build()
    }

    /// Returns a builder of a client, with a base URL, an API key and this service as its transport.
    ///
    /// # Errors
    ///
    /// As [`client`](Self::client).
    pub fn builder<S: ClientSurface>(&self) -> Result<ClientBuilder<S>> {
        let host = match S::SURFACE {
            Surface::Open => OPEN_HOST,
            _ => DEVELOPER_HOST,
        };
        let builder = Client::<S>::builder()
            .base_url(format!("https://{host}"))
            .api_key(ApiKey::new("scripted-key")?)
            .transport(Arc::new(self.clone()));
        Ok(builder)
    }

    fn next_step(&self, operation: Option<Operation>, url: &str) -> Option<Step> {
        let mut answers = lock(&self.answers);
        let steps = match operation {
            Some(operation) => answers.by_operation.get_mut(&operation),
            None => answers.by_url.get_mut(url),
        }?;
        match steps.len() {
            0 | 1 => steps.front().cloned(),
            _ => steps.pop_front(),
        }
    }
}

/// Returns the operation of a request to one of the hosts, or to the base URL of another client.
fn operation_of<B>(request: &http::Request<B>) -> Option<Operation> {
    let surfaces: &[Surface] = match request.uri().host()? {
        OPEN_HOST => &[Surface::Open],
        DEVELOPER_HOST => &[Surface::Developer],
        _ => &[Surface::Open, Surface::Developer],
    };
    let (method, path) = (request.method().as_str(), request.uri().path());
    let route = |surface: &Surface| Operation::route(*surface, method, path);
    surfaces.iter().find_map(route).map(|(operation, _)| operation)
}

impl Transport for ScriptedService {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let operation = operation_of(&request);
        let url = request.uri().to_string();
        self.recorder.record(operation, request);
        let step = self.next_step(operation, &url);
        Box::pin(async move {
            match step {
                Some(step) => step.into_result().await,
                None => Err(TransportError::setup(match operation {
                    Some(operation) => format!("no answer to {operation} is scripted"),
                    None => format!("no answer to {url} is scripted"),
                })),
            }
        })
    }

    fn reconnect(&self) {
        self.recorder.count_reconnect();
    }
}

/// An answer of a [`ScriptedService`].
///
/// JSON becomes a response with status 200, in the service's envelope `data` unless it has one; bytes
/// become the content of a file.
#[derive(Clone, Debug)]
pub struct Answer(Step);

impl Answer {
    /// Creates a response with a status and a JSON body, which is sent as it is.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self(json_response(status, &body.to_string()))
    }

    /// Creates an error of the service.
    #[must_use]
    pub fn error(status: u16, code: &str) -> Self {
        Self::json(status, &json!({"error": error_json(code)}))
    }

    /// Creates the failure of a connection that is refused, so that the request is not sent.
    #[must_use]
    pub fn connection_refused() -> Self {
        Self(Step::ConnectionRefused)
    }

    /// Creates the failure of a connection that is reset after the request was sent, so that its
    /// effect is unknown.
    #[must_use]
    pub fn connection_reset() -> Self {
        Self(Step::ConnectionReset)
    }

    /// Creates the lack of any response, until the client's time limit passes.
    #[must_use]
    pub fn no_response() -> Self {
        Self(Step::NoResponse)
    }

    /// Adds a header to a response.
    #[must_use]
    pub fn header(self, name: &'static str, value: impl ToString) -> Self {
        Self(self.0.header(name, value))
    }

    /// Resets the connection of a response after this number of bytes of its body.
    #[must_use]
    pub fn truncated_after(self, bytes: usize) -> Self {
        Self(self.0.truncated_after(bytes))
    }

    /// Stops a response after this number of bytes of its body, without an end.
    #[must_use]
    pub fn stalled_after(self, bytes: usize) -> Self {
        Self(self.0.stalled_after(bytes))
    }
}

impl From<Value> for Answer {
    fn from(body: Value) -> Self {
        match body.get("data") {
            Some(_) => Self::json(200, &body),
            None => Self::json(200, &json!({"data": body})),
        }
    }
}

impl From<Bytes> for Answer {
    fn from(content: Bytes) -> Self {
        Self(Step::Response(200, Vec::new(), content))
    }
}

/// Creates an error as if the service had answered with this status and code.
#[must_use]
pub fn error(status: u16, code: &str) -> Error {
    let body = serde_json::from_value::<ErrorBody>(error_json(code));
    match body {
        Ok(body) => Error::new(Kind::Api { status, body: Box::new(body), retry_after: None }),
        Err(error) => Error::configuration(error.to_string()),
    }
}

fn error_json(code: &str) -> Value {
    json!({"code": code, "message": format!("scripted error {code}")})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Artifact, VideoGenerate};
    use crate::{ErrorKind, developer, open};

    #[tokio::test(start_paused = true)]
    async fn answers_are_given_in_order_and_by_surface() {
        let job = |status: &str| json!({"id": "job_1", "status": status});
        let service = ScriptedService::new()
            .answer(Operation::JobsGet, job("queued"))
            .answer(Operation::JobsGet, json!({"data": job("completed")}));
        let open: open::Client = service.client().unwrap();
        let developer: developer::Client = service.client().unwrap();
        let mut statuses = Vec::new();
        for _ in 0..2 {
            statuses.push(open.jobs().handle("job_1").get().await.unwrap().status);
        }
        statuses.push(developer.jobs().handle("job_1").get().await.unwrap().status);
        let statuses: Vec<_> = statuses.iter().map(ToString::to_string).collect();
        assert_eq!(statuses, ["queued", "completed", "completed"]);
        let urls: Vec<_> = service.requests().into_iter().map(|it| it.url).collect();
        assert_eq!(urls[2], "https://developer.svc.test/v1/jobs/job_1");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_and_missing_answers_are_errors_of_their_kind() {
        let service = ScriptedService::new()
            .answer(Operation::VideoGenerate, Answer::connection_reset())
            .answer(Operation::Me, Answer::error(401, "unauthorized"));
        let client: open::Client = service.client().unwrap();
        let submit = client.videos().generate(VideoGenerate::new("auto"));
        assert!(submit.max_retries(0).await.unwrap_err().is_ambiguous());
        let missing = client.models().list_images().await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::Configuration);
        let developer: developer::Client = service.client().unwrap();
        assert!(developer.account().me().await.unwrap_err().is_unauthorized());
        assert_eq!(error(503, "database_busy").status(), Some(503));
        assert!(error(503, "database_busy").is_retryable());
    }

    #[tokio::test(start_paused = true)]
    async fn an_artifact_is_downloaded_from_its_url() {
        let url = "https://media.example/fox.mp4";
        let file = Answer::from(Bytes::from_static(b"a red fox")).header("etag", "\"1\"");
        let service = ScriptedService::new()
            .answer_url(url, file.clone().truncated_after(2))
            .answer_url(url, file);
        let client: open::Client = service.client().unwrap();
        let artifact: Artifact = serde_json::from_value(json!({"url": url})).unwrap();
        let job = client.jobs().handle("job_1");
        let mut content = Vec::new();
        job.download_artifact(&artifact).to_writer(&mut content).await.unwrap();
        assert_eq!(content, b"a red fox");
        assert_eq!(service.requests()[0].operation, None);
    }
}
