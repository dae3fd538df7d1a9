//! The key's request budgets per minute, as the `ratelimit-*` headers report them.
//!
//! A client alone on its key sends as fast as its callers ask until the window is spent, and then
//! waits for the next one. If the headers show that others spend from the same key, it leaves them
//! their share, so that processes that know nothing of each other settle without a `429`.

mod bucket;
mod window;

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use http::{HeaderMap, HeaderName};

use self::bucket::Bucket;
use super::clock::Instant;
use crate::contract::RateLimitBucket;
use crate::lock::lock;

// Constants, because a lookup by `&str` would parse the name each time.
const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// The longest window that is believed.
const MAX_WINDOW_SECONDS: u32 = 3_600;

/// What a response says of the bucket that its request was counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimit {
    /// The number of requests allowed in the current window.
    pub limit: u32,
    /// The number of requests left in it.
    pub remaining: u32,
    /// The time until the next window begins.
    pub reset_after: Duration,
}

impl RateLimit {
    /// Creates what another process has found out, for
    /// [`ClientBuilder::known_write_limit`](crate::ClientBuilder::known_write_limit).
    #[must_use]
    pub fn new(limit: u32, remaining: u32, reset_after: Duration) -> Self {
        Self { limit, remaining, reset_after }
    }

    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let number =
            |name: HeaderName| headers.get(name)?.to_str().ok()?.trim_ascii().parse::<u32>().ok();
        let reset = number(RESET)?.min(MAX_WINDOW_SECONDS);
        Some(Self {
            limit: number(LIMIT)?,
            remaining: number(REMAINING)?,
            reset_after: Duration::from_secs(reset.into()),
        })
    }
}

/// The read and the write bucket of a key, shared by the clones of a client.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    read: Mutex<Bucket>,
    write: Mutex<Bucket>,
    /// The part of the computer's sleep that the windows were brought forward by.
    skipped: Mutex<Duration>,
}

impl RateLimiter {
    /// Locks a bucket. What it returns must be dropped before anything is awaited.
    pub(crate) fn bucket(&self, bucket: RateLimitBucket) -> MutexGuard<'_, Bucket> {
        lock(match bucket {
            RateLimitBucket::Write => &self.write,
            RateLimitBucket::Read => &self.read,
        })
    }

    /// Reserves the time of the next poll.
    pub(crate) fn reserve_poll(&self, now: Instant) -> Instant {
        self.bucket(RateLimitBucket::Read).reserve_poll(now)
    }

    /// Brings all windows forward by the time that the computer slept, which the clock did not count,
    /// given all of its sleep since the client was created.
    pub(crate) fn skip_sleep(&self, total: Duration) {
        let mut skipped = lock(&self.skipped);
        let span = total.saturating_sub(*skipped);
        if span.is_zero() {
            return;
        }
        *skipped = total;
        for bucket in [RateLimitBucket::Read, RateLimitBucket::Write] {
            self.bucket(bucket).shift_back(span);
        }
    }
}

#[cfg(test)]
mod tests;
