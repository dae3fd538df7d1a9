//! Rate limits with fixed windows, separate for the reads and the writes of each client.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::{Plan, RateLimitBucket};

use super::plans::UNAUTHENTICATED_READS_PER_WRITE;
use super::shared::SharedText;
use super::{PlanLimits, Time, serde_pairs};

/// The duration of a window in service time. A window starts with its first request.
const WINDOW: Duration = Duration::from_secs(60);

/// The client that a request is counted for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RateLimitKey {
    /// An API key, by id.
    Key(SharedText),
    /// The address of a client without a valid key.
    Address(IpAddr),
}

/// The rate limit status after a request, as reported in the `ratelimit-*` headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateLimitStatus {
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    /// The service time until the window ends.
    pub(crate) reset: Duration,
    /// Whether the request was within the limit.
    pub(crate) allowed: bool,
}

/// The open windows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateLimits {
    #[serde(with = "serde_pairs")]
    windows: BTreeMap<(RateLimitKey, bool), Window>,
    /// The number of windows at which expired ones are removed.
    sweep_at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Window {
    ends: Time,
    used: u32,
}

/// Returns the requests per minute of a key on a plan.
pub(crate) fn key_limit(
    plan_limits: &PlanLimits,
    plan: &Plan,
    bucket: RateLimitBucket,
    read_multiple: u32,
) -> u32 {
    let writes = plan_limits.writes_per_minute(plan);
    match bucket {
        RateLimitBucket::Read => writes.saturating_mul(read_multiple),
        _ => writes,
    }
}

/// Returns the requests per minute of an address.
pub(crate) fn address_limit(plan_limits: &PlanLimits, bucket: RateLimitBucket) -> u32 {
    let multiple = UNAUTHENTICATED_READS_PER_WRITE;
    key_limit(plan_limits, &Plan::Free, bucket, multiple)
}

impl RateLimits {
    /// Counts a request against the limit of a client, if any are left in the window.
    pub(crate) fn acquire(
        &mut self,
        limit_key: RateLimitKey,
        bucket: RateLimitBucket,
        limit: u32,
        now: Time,
    ) -> RateLimitStatus {
        if self.windows.len() >= self.sweep_at.max(256) {
            self.windows.retain(|_, window| window.ends > now);
            self.sweep_at = self.windows.len() * 2;
        }
        let fresh = Window {
            ends: now.after(WINDOW),
            used: 0,
        };
        let window = self
            .windows
            .entry((limit_key, bucket == RateLimitBucket::Read))
            .or_insert(fresh);
        if window.ends <= now {
            *window = fresh;
        }
        let allowed = window.used < limit;
        if allowed {
            window.used += 1;
        }
        RateLimitStatus {
            limit,
            remaining: limit.saturating_sub(window.used),
            reset: window.ends.since(now),
            allowed,
        }
    }

    /// Returns the open windows: the client, the bucket, the requests used, and the end.
    pub(crate) fn open_windows(
        &self,
        now: Time,
    ) -> impl Iterator<Item = (&RateLimitKey, RateLimitBucket, u32, Time)> {
        let windows = self.windows.iter();
        windows.filter(move |(_, window)| window.ends > now).map(
            |((limit_key, is_read), window)| {
                let bucket = match is_read {
                    true => RateLimitBucket::Read,
                    false => RateLimitBucket::Write,
                };
                (limit_key, bucket, window.used, window.ends)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plans::READS_PER_WRITE;

    fn key() -> RateLimitKey {
        RateLimitKey::Key("key_a".into())
    }

    fn at(seconds: u64) -> Time {
        Time::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn the_limit_applies_to_each_window() {
        let mut limits = RateLimits::default();
        let first = limits.acquire(key(), RateLimitBucket::Write, 2, at(10));
        assert_eq!(
            first,
            RateLimitStatus {
                limit: 2,
                remaining: 1,
                reset: Duration::from_secs(60),
                allowed: true
            }
        );
        assert!(
            limits
                .acquire(key(), RateLimitBucket::Write, 2, at(20))
                .allowed
        );
        let over = limits.acquire(key(), RateLimitBucket::Write, 2, at(30));
        assert_eq!(
            over,
            RateLimitStatus {
                limit: 2,
                remaining: 0,
                reset: Duration::from_secs(40),
                allowed: false
            }
        );
        assert!(
            limits
                .acquire(key(), RateLimitBucket::Write, 2, at(70))
                .allowed
        );
    }

    #[test]
    fn reads_writes_and_clients_are_counted_separately() {
        let mut limits = RateLimits::default();
        assert!(
            limits
                .acquire(key(), RateLimitBucket::Write, 1, at(0))
                .allowed
        );
        assert!(
            limits
                .acquire(key(), RateLimitBucket::Read, 1, at(0))
                .allowed
        );
        assert!(
            limits
                .acquire(
                    RateLimitKey::Address([127, 0, 0, 1].into()),
                    RateLimitBucket::Write,
                    1,
                    at(0)
                )
                .allowed
        );
        assert!(
            !limits
                .acquire(key(), RateLimitBucket::Write, 1, at(0))
                .allowed
        );
    }

    #[test]
    fn limits_match_the_specification() {
        let limits = PlanLimits::default();
        for (plan, writes, reads) in [
            (Plan::Free, 120, 4800),
            (Plan::Pro, 300, 12_000),
            (Plan::Startup, 600, 24_000),
            (Plan::Scale, 1200, 48_000),
            (Plan::Enterprise, 1200, 48_000),
        ] {
            let limit = |bucket| key_limit(&limits, &plan, bucket, READS_PER_WRITE);
            assert_eq!(limit(RateLimitBucket::Write), writes, "{plan}");
            assert_eq!(limit(RateLimitBucket::Read), reads, "{plan}");
        }
        let reads = key_limit(&limits, &Plan::Scale, RateLimitBucket::Read, 10);
        assert_eq!(reads, 12_000);
        assert_eq!(address_limit(&limits, RateLimitBucket::Write), 120);
        assert_eq!(address_limit(&limits, RateLimitBucket::Read), 480);
    }

    #[test]
    fn expired_windows_are_removed() {
        let mut limits = RateLimits::default();
        for n in 0..100_000_u32 {
            limits.acquire(
                RateLimitKey::Address(IpAddr::from(n.to_be_bytes())),
                RateLimitBucket::Read,
                1,
                at(u64::from(n)),
            );
        }
        assert!(limits.windows.len() < 600, "{}", limits.windows.len());
    }
}
