//! A running mock server and its control API.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Client;
use crate::frontend::{Frontend, FrontendKind, Host, Setup, TransportError};
use crate::response::Response;

/// A running mock server with a manual clock. It stops when it is dropped.
#[derive(Clone)]
pub struct Mock {
    kind: FrontendKind,
    frontend: Arc<dyn Frontend>,
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mock").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Mock {
    pub async fn start(kind: FrontendKind, setup: Setup) -> Self {
        let frontend = crate::frontend::start(kind, setup).await;
        Self { kind, frontend }
    }

    /// Starts a second mock behind the same kind of frontend.
    pub async fn start_another(&self, setup: Setup) -> Self {
        Self::start(self.kind, setup).await
    }

    pub fn kind(&self) -> FrontendKind {
        self.kind
    }

    pub(crate) fn frontend(&self) -> &dyn Frontend {
        &*self.frontend
    }

    pub fn base_url(&self, host: Host) -> &str {
        self.frontend.base_url(host)
    }

    /// Returns a client without a credential.
    pub fn client(&self, host: Host) -> Client {
        Client::new(self.clone(), host)
    }

    /// Returns a client of the open surface with the key `svc_open_demo`.
    pub fn open(&self) -> Client {
        self.open_as("svc_open_demo")
    }

    /// Returns a client of the open surface with a bearer key.
    pub fn open_as(&self, key: &str) -> Client {
        self.client(Host::Open).bearer(key)
    }

    /// Returns a client of the developer surface with the key `svc_dev_demo`.
    pub fn developer(&self) -> Client {
        self.developer_as("svc_dev_demo")
    }

    /// Returns a client of the developer surface with a bearer key.
    pub fn developer_as(&self, key: &str) -> Client {
        self.client(Host::Developer).bearer(key)
    }

    pub fn control(&self) -> Client {
        self.client(Host::Control)
    }

    pub async fn advance(&self, seconds: impl Into<Value>) {
        let step = json!({"seconds": seconds.into()});
        let response = self.control().post("/clock/advance", step).await;
        response.expect_success();
    }

    /// Injects a fault into the next matching requests.
    pub async fn add_fault(&self, body: Value) {
        self.control().post("/faults", body).await.expect_success();
    }

    pub async fn ledger(&self) -> Vec<Value> {
        self.control_list("/ledger").await
    }

    pub async fn jobs(&self) -> Vec<Value> {
        self.control_list("/jobs").await
    }

    pub async fn deliveries(&self) -> Vec<Value> {
        self.control_list("/deliveries").await
    }

    /// Waits until `count` attempts have an outcome in the list of deliveries, and returns the attempts.
    ///
    /// The mock schedules the next attempt only after it has received the response to the last one.
    pub async fn wait_for_outcomes(&self, count: usize) -> Vec<Value> {
        let has_outcome = |it: &&Value| !it["status"].is_null() || !it["error"].is_null();
        let mut attempts = Vec::new();
        for _ in 0..1_000 {
            attempts = self.deliveries().await;
            if attempts.iter().filter(has_outcome).count() >= count {
                return attempts;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("expected {count} attempts: {attempts:?}");
    }

    /// Returns the entries of the request journal after a sequence number.
    pub async fn journal(&self, since: u64) -> Vec<Value> {
        self.control_list(&format!("/requests?since={since}")).await
    }

    async fn control_list(&self, path: &str) -> Vec<Value> {
        only_array(self.control().get_json(path).await)
    }

    pub async fn state(&self) -> Value {
        self.control().get_json("/state").await
    }

    /// Sends a document to `PUT /state`.
    pub async fn put_state(&self, document: impl ToString) -> Response {
        let body = document.to_string().into();
        self.control().send("PUT", "/state", Some("application/json"), body).await
    }

    /// Sends raw bytes over a new connection, or returns `None` if the frontend has no sockets.
    pub async fn send_raw(
        &self,
        host: Host,
        bytes: Vec<u8>,
    ) -> Option<Result<Vec<u8>, TransportError>> {
        Some(self.frontend.send_raw(host, bytes)?.await)
    }
}

/// Returns `data` of a control response, or the body if it has no envelope.
fn unwrap_data(body: Value) -> Value {
    match body {
        Value::Object(mut fields) if fields.len() == 1 && fields.contains_key("data") => {
            fields.remove("data").unwrap()
        }
        other => other,
    }
}

/// Returns the array in a control response: the body itself or its only array field.
fn only_array(body: Value) -> Vec<Value> {
    match unwrap_data(body) {
        Value::Array(items) => items,
        Value::Object(fields) => {
            let mut arrays = fields.into_iter().filter(|(_, value)| value.is_array());
            match (arrays.next(), arrays.next()) {
                (Some((_, Value::Array(items))), None) => items,
                _ => panic!("the response does not have exactly one array"),
            }
        }
        other => panic!("not a list: {other}"),
    }
}
