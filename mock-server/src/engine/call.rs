//! What goes into the engine and what comes out: a request that has arrived, and what a face does
//! with the answer.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{FaultKind, Time};

/// Which of the mock's hosts a request arrived at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    /// The open surface.
    Open,
    /// The developer surface; MCP is its path `/mcp`.
    Developer,
    /// Artifacts and checkout pages.
    Media,
    /// The control API.
    Control,
}

/// A request that has arrived, whole.
#[derive(Clone, Debug)]
pub struct Call {
    /// The host that it arrived at.
    pub host: Host,
    /// Who sent it; requests without a valid key spend from the budget of their address.
    pub peer: IpAddr,
    /// The request. Only path and query of its URI count.
    pub request: http::Request<Bytes>,
}

/// What a face does with a request.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The answer.
    pub response: http::Response<Bytes>,
    /// How it goes onto the wire.
    pub transmission: Transmission,
    /// Real time to wait before it does (the fault `delay`).
    pub delay: Duration,
    /// Set where the answer has to wait on service time (`sync` and `subscribe`): `response` is
    /// then what would be answered now, and [`Simulator::resume`](crate::Simulator::resume) gives what
    /// is answered later. `transmission` and `delay` hold for that answer.
    pub pending: Option<PendingReply>,
}

impl Reply {
    /// That answer, at once and whole.
    #[must_use]
    pub fn immediate(response: http::Response<Bytes>) -> Self {
        Self {
            response,
            transmission: Transmission::Complete,
            delay: Duration::ZERO,
            pending: None,
        }
    }
}

/// How an answer goes onto the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmission {
    /// As it is.
    Complete,
    /// Not at all: the connection is closed.
    Close,
    /// Its head, and half of the body that the head announces.
    Truncate,
}

/// A `sync` or `subscribe` submit that waits for its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingReply {
    /// The job.
    pub job_id: String,
    /// When the answer is due: the job's end as far as it is known, or the end of the wait.
    pub until: Time,
    pub(crate) host: Host,
    pub(crate) request_id: String,
    pub(crate) receipt: Value,
    /// Headers of the answer that were known at the submit.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The fault that is applied to the answer.
    pub(crate) fault: Option<FaultKind>,
    /// The request's place in the journal.
    pub(crate) journal_seq: u64,
}
