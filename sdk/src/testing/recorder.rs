//! Requests that a scripted transport received.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

use crate::call::clock::{self, Instant};
use crate::contract::Operation;
use crate::lock::lock;

/// A request that a [`ScriptedService`](super::ScriptedService) received.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The time since the service was created.
    pub at: Duration,
    /// The operation, or `None` for a URL outside the API.
    pub operation: Option<Operation>,
    /// The HTTP method.
    pub method: Method,
    /// The URL with its query.
    pub url: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// How many times the transport was told to reconnect before.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the tests of this crate read it"))]
    pub(crate) reconnects: usize,
}

impl RecordedRequest {
    /// Returns the value of a header, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the body as JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not JSON.
    pub fn json(&self) -> crate::Result<Value> {
        serde_json::from_slice(&self.body)
            .map_err(|error| crate::Error::configuration(format!("the body is not JSON: {error}")))
    }
}

/// The requests of a scripted transport.
#[derive(Debug)]
pub(crate) struct Recorder {
    created_at: Instant,
    requests: Mutex<Vec<RecordedRequest>>,
    reconnects: AtomicUsize,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            created_at: clock::now(),
            requests: Mutex::default(),
            reconnects: AtomicUsize::new(0),
        }
    }

    pub(crate) fn record(&self, operation: Option<Operation>, request: http::Request<Bytes>) {
        let (head, body) = request.into_parts();
        lock(&self.requests).push(RecordedRequest {
            at: clock::now() - self.created_at,
            operation,
            method: head.method,
            url: head.uri.to_string(),
            headers: head.headers,
            body,
            reconnects: self.reconnects(),
        });
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.requests).clone()
    }

    pub(crate) fn count_reconnect(&self) {
        self.reconnects.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns how many times the transport was told to reconnect.
    pub(crate) fn reconnects(&self) -> usize {
        self.reconnects.load(Ordering::SeqCst)
    }
}
