//! A running mock server and the callers that talk to it.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::documented;
use crate::face::{Broken, Face, FaceKind, Host, Setup};

/// A running mock server on the manual clock. It ends when it is dropped.
#[derive(Clone)]
pub struct Mock {
    kind: FaceKind,
    face: Arc<dyn Face>,
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mock")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl Mock {
    /// Starts one behind that face.
    pub async fn start(kind: FaceKind, setup: Setup) -> Self {
        let face = crate::face::start(kind, setup).await;
        Self { kind, face }
    }

    /// Another one behind the same kind of face.
    pub async fn another(&self, setup: Setup) -> Self {
        Self::start(self.kind, setup).await
    }

    /// Which face this is.
    #[must_use]
    pub fn kind(&self) -> FaceKind {
        self.kind
    }

    /// The URL under which a host is reached.
    #[must_use]
    pub fn base_url(&self, host: Host) -> &str {
        self.face.base_url(host)
    }

    /// A caller without a credential.
    #[must_use]
    pub fn caller(&self, host: Host) -> Caller {
        Caller {
            mock: self.clone(),
            host,
            headers: Vec::new(),
        }
    }

    /// A caller of the open surface with the key `svc_open_demo`.
    #[must_use]
    pub fn open(&self) -> Caller {
        self.caller(Host::Open).bearer("svc_open_demo")
    }

    /// A caller of the developer surface with the key `svc_dev_demo`.
    #[must_use]
    pub fn developer(&self) -> Caller {
        self.caller(Host::Developer).bearer("svc_dev_demo")
    }

    /// A caller of the control API.
    #[must_use]
    pub fn control(&self) -> Caller {
        self.caller(Host::Control)
    }

    /// Moves the manual clock.
    pub async fn advance(&self, seconds: impl Into<Value>) {
        let step = json!({"seconds": seconds.into()});
        let answer = self.control().post("/clock/advance", step).await;
        assert!(answer.status() < 300, "the clock did not move:\n{answer:?}");
    }

    /// Makes a new key by the control API: kind, and whatever else its body may have.
    pub async fn new_key(&self, body: Value) -> String {
        let made = self.control().post("/keys", body).await;
        assert!(made.status() < 300, "no new key:\n{made:?}");
        let made = unwrapped(made.json());
        made["key"]
            .as_str()
            .expect("a new key has `key`")
            .to_owned()
    }

    /// Makes the next matching requests fail.
    pub async fn fault(&self, body: Value) {
        let answer = self.control().post("/faults", body).await;
        assert!(
            answer.status() < 300,
            "the fault was not taken:\n{answer:?}"
        );
    }

    /// Every entry of the ledger, by the control API, in the order that it gives them.
    pub async fn ledger(&self) -> Vec<Value> {
        listed(self.control().get("/ledger").await.expect(200).json())
    }

    /// Every job, by the control API.
    pub async fn jobs(&self) -> Vec<Value> {
        listed(self.control().get("/jobs").await.expect(200).json())
    }

    /// Each webhook attempt, by the control API.
    pub async fn deliveries(&self) -> Vec<Value> {
        listed(self.control().get("/deliveries").await.expect(200).json())
    }

    /// The request journal after a sequence number.
    pub async fn journal(&self, since: u64) -> Vec<Value> {
        listed(
            self.control()
                .get(&format!("/requests?since={since}"))
                .await
                .expect(200)
                .json(),
        )
    }

    /// The path and query of a URL that the mock gave out for one of its hosts.
    ///
    /// # Panics
    ///
    /// Where the URL leads to another origin.
    #[track_caller]
    pub fn path_of(&self, host: Host, url: &Value) -> String {
        let url = url.as_str().unwrap_or_else(|| panic!("no URL: {url}"));
        let base = self.base_url(host);
        match url.strip_prefix(base) {
            Some(path) if path.starts_with('/') => path.to_owned(),
            _ => panic!("{url} is not below {base}"),
        }
    }

    /// Sends bytes as they are; `None` where the face has no wire.
    pub async fn raw(&self, host: Host, bytes: Vec<u8>) -> Option<Result<Vec<u8>, Broken>> {
        Some(self.face.raw(host, bytes)?.await)
    }
}

/// What a control answer says, with or without `data` around it.
fn unwrapped(body: Value) -> Value {
    match body {
        Value::Object(mut fields) if fields.len() == 1 && fields.contains_key("data") => {
            fields.remove("data").unwrap()
        }
        other => other,
    }
}

/// The list in a control answer: the body, or the only array in it.
fn listed(body: Value) -> Vec<Value> {
    match unwrapped(body) {
        Value::Array(items) => items,
        Value::Object(fields) => {
            let mut arrays = fields.into_iter().filter(|(_, value)| value.is_array());
            match (arrays.next(), arrays.next()) {
                (Some((_, Value::Array(items))), None) => items,
                _ => panic!("no one list in the answer"),
            }
        }
        other => panic!("no list: {other}"),
    }
}

/// Someone who talks to one host, with the headers that go along each time.
#[derive(Clone, Debug)]
pub struct Caller {
    mock: Mock,
    host: Host,
    headers: Vec<(String, String)>,
}

impl Caller {
    /// With one more header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With `Authorization: Bearer …`.
    #[must_use]
    pub fn bearer(self, key: &str) -> Self {
        self.with("authorization", &format!("Bearer {key}"))
    }

    /// With `x-api-key: …`.
    #[must_use]
    pub fn api_key(self, key: &str) -> Self {
        self.with("x-api-key", key)
    }

    /// With `Idempotency-Key: …`.
    #[must_use]
    pub fn idempotency_key(self, key: &str) -> Self {
        self.with("idempotency-key", key)
    }

    /// A `GET`.
    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None, Bytes::new()).await
    }

    /// A `POST` of JSON.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(
            "POST",
            path,
            Some("application/json"),
            body.to_string().into(),
        )
        .await
    }

    /// A `POST` without a body or a content type.
    pub async fn post_nothing(&self, path: &str) -> Answer {
        self.send("POST", path, None, Bytes::new()).await
    }

    /// Any request that gets a whole answer.
    ///
    /// # Panics
    ///
    /// Where no whole answer comes, or where the answer breaks what holds for every answer of the
    /// two surfaces.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: Bytes,
    ) -> Answer {
        let sent = body.clone();
        let answer = self.try_send(method, path, content_type, body).await;
        let answer = answer.unwrap_or_else(|broken| panic!("{method} {path}: {broken}"));
        if matches!(self.host, Host::Open | Host::Developer) {
            answer.follows_the_conventions(self.host == Host::Developer, method == "HEAD");
            documented::check(self.host, method, path, &sent, &answer);
            if self.has_credential() && answer.status() != 401 && !is_public(path) {
                answer.tells_the_budget();
            }
        }
        answer
    }

    fn has_credential(&self) -> bool {
        self.headers
            .iter()
            .any(|(name, _)| matches!(name.as_str(), "authorization" | "x-api-key"))
    }

    /// Any request, whatever becomes of it.
    ///
    /// # Errors
    ///
    /// No whole answer came.
    pub async fn try_send(
        &self,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: Bytes,
    ) -> Result<Answer, Broken> {
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(name, value.as_bytes());
        }
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        let request = request
            .body(body)
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        self.mock
            .face
            .exchange(self.host, request)
            .await
            .map(Answer::new)
    }

    /// A `POST` of JSON, whatever becomes of it.
    ///
    /// # Errors
    ///
    /// No whole answer came.
    pub async fn try_post(&self, path: &str, body: Value) -> Result<Answer, Broken> {
        self.try_send(
            "POST",
            path,
            Some("application/json"),
            body.to_string().into(),
        )
        .await
    }
}

/// Whether a path is one of those that need no key.
fn is_public(path: &str) -> bool {
    ["/v1/health", "/v1/catalog", "/v1/openapi.json", "/v1/bgm/"]
        .iter()
        .any(|public| path.starts_with(public))
}
