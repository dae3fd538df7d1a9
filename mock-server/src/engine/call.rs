//! Requests that enter the simulator and the replies that it returns.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{FaultKind, Time};
use crate::named_enum::named_enum;

/// A host of the mock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    /// The open surface.
    Open,
    /// The developer surface, which includes MCP at the path `/mcp`.
    Developer,
    /// Artifacts and checkout pages.
    Media,
    /// The control API.
    Control,
}

named_enum! {
    /// A surface that has a URL of its own. MCP is a path of the developer host.
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum PublicSurface {
        Open = "open",
        Developer = "developer",
        Mcp = "mcp",
        Media = "media",
        Control = "control",
    }
}

impl PublicSurface {
    pub(crate) const fn host(self) -> Host {
        match self {
            Self::Open => Host::Open,
            Self::Developer | Self::Mcp => Host::Developer,
            Self::Media => Host::Media,
            Self::Control => Host::Control,
        }
    }
}

/// A complete request to one of the hosts.
#[derive(Clone, Debug)]
pub struct HostRequest {
    /// The host that received the request.
    pub host: Host,
    /// The client's address. Requests without a valid key are rate limited by address.
    pub peer: IpAddr,
    /// The request. Only the path and query of its URI are used.
    pub request: http::Request<Bytes>,
}

/// The reply to a request, and how to send it.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The response.
    pub response: http::Response<Bytes>,
    /// How the response is transmitted.
    pub transmission: Transmission,
    /// The real time to wait before sending the response (the fault `delay`), or the second half
    /// of its body (the fault `stall`).
    pub delay: Duration,
    /// The reply to wait for, in the modes `sync` and `subscribe`.
    ///
    /// If it is set, `response` is only what would be sent now, and
    /// `Simulator::resume` returns the response to send later.
    /// `transmission` and `delay` apply to that later response.
    pub pending: Option<PendingReply>,
}

impl Reply {
    /// Creates a reply that is sent completely and without delay.
    #[must_use]
    pub fn immediate(response: http::Response<Bytes>) -> Self {
        Self {
            response,
            transmission: Transmission::Complete,
            delay: Duration::ZERO,
            pending: None,
        }
    }

    /// Returns whether the response can be sent at once.
    pub(crate) fn is_final(&self) -> bool {
        self.pending.is_none() && self.delay.is_zero()
    }
}

/// How a response is transmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmission {
    /// The complete response is sent.
    Complete,
    /// Nothing is sent: the connection is closed.
    Close,
    /// Only the head and half of the announced body are sent, and the connection is closed.
    Truncate,
    /// The head and half of the body are sent, and the other half after [`Reply::delay`].
    Stall,
}

/// The reply to a `sync` or `subscribe` submit that waits for its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingReply {
    /// The id of the job.
    pub job_id: String,
    /// When the response is due: the expected end of the job, or the end of the wait.
    pub until: Time,
    pub(crate) host: Host,
    pub(crate) request_id: String,
    pub(crate) receipt: Value,
    /// The response headers that were determined at the submit.
    pub(crate) headers: HeaderMap,
    /// The fault that is applied to the response.
    pub(crate) fault: Option<FaultKind>,
    /// The request's sequence number in the request log.
    pub(crate) request_seq: u64,
}
