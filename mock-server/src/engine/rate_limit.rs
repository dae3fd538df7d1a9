//! Rate limits with fixed windows, separate for the reads and the writes of each client.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::{Plan, RateLimitBucket};

use super::plans::UNAUTHENTICATED_READS_PER_WRITE;
use super::{PlanLimits, Time, serde_pairs};

/// The duration of a window in service time. A window starts with its first request.
const WINDOW: Duration = Duration::from_secs(60);

/// The client that a request is counted for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RateLimitKey {
    /// An API key, by id.
    Key(Arc<str>),
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
    pub(crate) allowed: bool,
}

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
        let fresh = Window { ends: now.after(WINDOW), used: 0 };
        let window =
            self.windows.entry((limit_key, bucket == RateLimitBucket::Read)).or_insert(fresh);
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
                let bucket = if *is_read { RateLimitBucket::Read } else { RateLimitBucket::Write };
                (limit_key, bucket, window.used, window.ends)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_micros(seconds * 1_000_000)
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
