//! Settings of a mock and the base URLs of its hosts.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::Plan;
use svc_sdk::types::Usd;

use super::plans::READS_PER_WRITE;
use super::{Host, PlanLimits, Time};

/// The initial settings of a mock.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The seed of the random number generator. With the same seed, the same requests at the same
    /// times get identical responses.
    pub seed: u64,
    /// The plan of the workspaces.
    pub plan: Plan,
    /// The opening balance of each workspace.
    pub balance: Usd,
    /// The initial time of the service clock.
    pub epoch: Time,
    /// The base URLs of the hosts.
    pub hosts: Hosts,
    /// The number of reads that the rate limit of a key allows for each write.
    pub read_multiple: u32,
    /// The limits of each plan.
    pub plan_limits: PlanLimits,
    /// The treatment of idempotency keys of operations that do not document them.
    pub undocumented_keys: UndocumentedKeys,
    /// Whether Actions run by their schedules from the start.
    pub schedules: bool,
    /// The service time after their end for which jobs, runs and what belongs to them are kept, of
    /// at least a day; `None` for ever.
    pub retain: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            plan: Plan::Free,
            balance: Usd::from_micros(100_000_000),
            epoch: Time::from_micros(1_767_225_600_000_000),
            hosts: Hosts::default(),
            read_multiple: READS_PER_WRITE,
            plan_limits: PlanLimits::default(),
            undocumented_keys: UndocumentedKeys::default(),
            schedules: false,
            retain: None,
        }
    }
}

/// The treatment of idempotency keys by submits whose idempotency is not documented (the retry
/// class [`Unsent`](svc_sdk::contract::RetryClass::Unsent)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
pub enum UndocumentedKeys {
    /// The key is ignored: a repeated submit creates and charges a second job.
    #[default]
    Ignore,
    /// The key is honored: a repeated submit returns the receipt of the first.
    Honor,
}

impl UndocumentedKeys {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The base URLs of the hosts, without a trailing slash, and the speed of the service clock.
///
/// Both appear in responses. If a base URL has a path, requests to that host must be below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    /// The open surface.
    pub open: String,
    /// The developer surface.
    pub developer: String,
    /// The host of artifacts and checkout pages.
    pub media: String,
    /// The MCP endpoint, a path of the developer host.
    pub mcp: String,
    /// The seconds of service time that pass in one second of real time. Clients sleep in real
    /// time, so the waits in responses are converted with it.
    pub speed: f64,
}

impl Default for Hosts {
    /// Returns the URLs of the program's default ports.
    fn default() -> Self {
        Self {
            open: "http://127.0.0.1:4010".to_owned(),
            developer: "http://127.0.0.1:4011".to_owned(),
            media: "http://127.0.0.1:4012".to_owned(),
            mcp: "http://127.0.0.1:4011/mcp".to_owned(),
            speed: 1.0,
        }
    }
}

impl Hosts {
    /// Returns the base URL of a host; empty for the control API.
    #[must_use]
    pub fn base(&self, host: Host) -> &str {
        match host {
            Host::Open => &self.open,
            Host::Developer => &self.developer,
            Host::Media => &self.media,
            Host::Control => "",
        }
    }

    /// Converts a span of service time to the real time of clients, rounded up to milliseconds.
    pub(crate) fn client_time(&self, span: Duration) -> Duration {
        let seconds = span.as_secs_f64() / self.speed;
        let span = Duration::try_from_secs_f64(seconds).unwrap_or(span);
        let millis = span.as_nanos().div_ceil(1_000_000);
        Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    /// Converts a span of the real time of clients and webhook receivers to service time.
    pub(crate) fn service_time(&self, span: Duration) -> Duration {
        Duration::try_from_secs_f64(span.as_secs_f64() * self.speed).unwrap_or(Duration::MAX)
    }

    /// Returns the path relative to the host's base URL; `None` if it is not below the base URL.
    pub(crate) fn path_below<'p>(&self, host: Host, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix(path_of(self.base(host)))?;
        (rest.starts_with('/') || rest.is_empty()).then_some(rest)
    }

    /// Returns `true` if a path of the developer host is the MCP endpoint.
    pub(crate) fn is_mcp(&self, path: &str) -> bool {
        path == path_of(&self.mcp)
    }

    /// Returns the path of a host's base URL, without a trailing slash.
    pub(crate) fn prefix(&self, host: Host) -> &str {
        path_of(self.base(host))
    }
}

fn path_of(base: &str) -> &str {
    let after_scheme = base.split_once("://").map_or(base, |(_, rest)| rest);
    let path = after_scheme.find('/').and_then(|at| after_scheme.get(at..));
    path.unwrap_or_default().trim_end_matches('/')
}
