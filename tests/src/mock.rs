//! A running mock server and its control API.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Client;
use crate::frontend::{Frontend, FrontendKind, Host};
use crate::response::Response;

/// A running mock server with a manual clock. It stops when it is dropped.
#[derive(Clone)]
pub struct Mock {
    kind: FrontendKind,
    frontend: Arc<Frontend>,
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mock").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Mock {
    /// Starts a mock with options as scripts write them, such as `plan=scale balance=1.0000`.
    pub async fn start(kind: FrontendKind, options: &str) -> Self {
        Self { kind, frontend: Arc::new(Frontend::start(kind, options).await) }
    }

    /// Starts a second mock behind the same kind of frontend.
    pub async fn start_another(&self, options: &str) -> Self {
        Self::start(self.kind, options).await
    }

    pub(crate) fn frontend(&self) -> &Frontend {
        &self.frontend
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
        self.client(Host::Open).bearer("svc_open_demo")
    }

    /// Returns a client of the developer surface with the key `svc_dev_demo`.
    pub fn developer(&self) -> Client {
        self.client(Host::Developer).bearer("svc_dev_demo")
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
        self.control().get_items("/ledger").await
    }

    /// Waits until `count` attempts have an outcome in the list of deliveries.
    ///
    /// The mock schedules the next attempt only after it has received the response to the last one.
    pub(crate) async fn wait_for_outcomes(&self, count: usize) {
        let has_outcome = |it: &&Value| !it["status"].is_null() || !it["error"].is_null();
        let mut attempts = Vec::new();
        for _ in 0..1_000 {
            attempts = self.control().get_items("/deliveries").await;
            if attempts.iter().filter(has_outcome).count() >= count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("expected {count} attempts: {attempts:?}");
    }

    /// Returns the entries of the request journal after a sequence number.
    pub async fn journal(&self, since: u64) -> Vec<Value> {
        self.control().get_items(&format!("/requests?since={since}")).await
    }

    pub async fn state(&self) -> Value {
        self.control().get_json("/state").await
    }

    /// Sends a document to `PUT /state`.
    pub async fn put_state(&self, document: impl ToString) -> Response {
        let body = document.to_string().into();
        self.control().send("PUT", "/state", Some("application/json"), body).await
    }
}
