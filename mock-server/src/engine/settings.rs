//! How a mock is set up: what it starts with, and where its hosts are reached.

use std::time::Duration;

use svc_sdk::contract::Plan;
use svc_sdk::types::Usd;

use super::plans::READS_PER_WRITE;
use super::{Host, Time};

/// What a mock starts with.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Same seed, same requests at the same moments: same bytes.
    pub seed: u64,
    /// The plan of the workspaces.
    pub plan: Plan,
    /// What each workspace has to spend.
    pub balance: Usd,
    /// The service clock's first moment.
    pub epoch: Time,
    /// Where the hosts are reached.
    pub hosts: Hosts,
    /// Reads that a key has for each write.
    pub read_multiple: u32,
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
        }
    }
}

/// The mock as clients see it: base URLs without a slash at the end, and how fast it goes; both
/// appear in answers.
///
/// Where a base URL has a path prefix, requests of that host have to come under it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    /// The open surface.
    pub open: String,
    /// The developer surface.
    pub developer: String,
    /// Artifacts and checkout pages.
    pub media: String,
    /// The MCP endpoint, a path of the developer host.
    pub mcp: String,
    /// Service seconds that pass in one second of the clients: they sleep on their own clock, so
    /// that is what poll hints are told in.
    pub speed: f64,
}

impl Default for Hosts {
    /// The program's own default ports.
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
    /// The base URL of a host; the control API has none that the engine knows.
    #[must_use]
    pub fn base(&self, host: Host) -> &str {
        match host {
            Host::Open => &self.open,
            Host::Developer => &self.developer,
            Host::Media => &self.media,
            Host::Control => "",
        }
    }

    /// A span of service time as a client's clock shows it, in whole milliseconds.
    pub(crate) fn client_time(&self, span: Duration) -> Duration {
        let seconds = span.as_secs_f64() / self.speed;
        let span = Duration::try_from_secs_f64(seconds).unwrap_or(span);
        Duration::from_millis(u64::try_from(span.as_micros().div_ceil(1000)).unwrap_or(u64::MAX))
    }

    /// The path of a request below the host's base URL; `None` where it is not below it.
    pub(crate) fn below<'p>(&self, host: Host, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix(path_of(self.base(host)))?;
        (rest.starts_with('/') || rest.is_empty()).then_some(rest)
    }

    /// Whether a path of the developer host is the MCP endpoint.
    pub(crate) fn is_mcp(&self, path: &str) -> bool {
        path == path_of(&self.mcp)
    }

    /// The path of a base URL, without a slash at the end.
    pub(crate) fn prefix(&self, host: Host) -> &str {
        path_of(self.base(host))
    }
}

fn path_of(base: &str) -> &str {
    let after_scheme = base.split_once("://").map_or(base, |(_, rest)| rest);
    let path = after_scheme.find('/').and_then(|at| after_scheme.get(at..));
    path.unwrap_or_default().trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_under_the_path_of_their_base_url() {
        let hosts = Hosts {
            open: "https://gate.example/svc".to_owned(),
            ..Hosts::default()
        };
        assert_eq!(hosts.below(Host::Open, "/svc/v1/jobs"), Some("/v1/jobs"));
        assert_eq!(hosts.below(Host::Open, "/svcv1/jobs"), None);
        assert_eq!(hosts.below(Host::Open, "/v1/jobs"), None);
        assert_eq!(hosts.below(Host::Developer, "/v1/jobs"), Some("/v1/jobs"));
        assert!(hosts.is_mcp("/mcp"));
        assert!(!hosts.is_mcp("/v1/mcp"));
    }

    #[test]
    fn a_client_of_a_mock_at_speed_twenty_sleeps_a_twentieth() {
        let hosts = Hosts {
            speed: 20.0,
            ..Hosts::default()
        };
        let second = Duration::from_secs(1);
        assert_eq!(hosts.client_time(4 * second), Duration::from_millis(200));
        assert_eq!(Hosts::default().client_time(4 * second), 4 * second);
    }
}
