//! Replies of a listener that do not come from the service: to requests that cannot be read, and to its
//! health check.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};
use svc_sdk::contract::ErrorCode;

use super::HOSTS;
use crate::api::unreadable;
use crate::engine::Host;
use crate::rng::Rng;

#[derive(Clone, Debug)]
pub(super) struct OwnReplies {
    host: Host,
    count: Arc<AtomicU64>,
}

impl OwnReplies {
    pub(super) fn new(host: Host) -> Self {
        Self { host, count: Arc::default() }
    }

    /// Returns the reply to a request that cannot be read.
    pub(super) fn unreadable(
        &self,
        status: StatusCode,
        code: ErrorCode,
        message: &str,
    ) -> Response<Bytes> {
        unreadable(self.host, &self.next_id(), status, code, message)
    }

    /// Returns the header with the identifier of the request.
    pub(super) fn request_id(&self) -> Option<HeaderValue> {
        self.next_id().parse().ok()
    }

    /// Returns an identifier from a sequence of its own, so that those of the service do not depend on health
    /// checks.
    fn next_id(&self) -> String {
        let listener = HOSTS.iter().position(|host| *host == self.host).unwrap_or_default();
        let number = self.count.fetch_add(1, Ordering::Relaxed) * HOSTS.len() as u64;
        Rng::new(!(number + listener as u64)).id("req")
    }
}
