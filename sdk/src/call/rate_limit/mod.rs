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
use self::window::Report;
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

/// The outcome of a request that had a place in a bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attempt<'a> {
    /// The request was not counted: it was not sent, or the service did not accept the key.
    NotCounted,
    /// The request may have been sent, and there was no response.
    Unanswered,
    /// There was a response.
    Answered {
        /// When the request was sent. The service counted it between then and now.
        sent_at: Instant,
        headers: &'a HeaderMap,
        /// How long the service asked to wait, if the response was a 429.
        retry_after: Option<Duration>,
    },
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
    /// Begins with what an earlier process knew of the bucket of writes.
    pub(crate) fn resume_writes(&self, limit: RateLimit, now: Instant) {
        if let Some(report) = Report::new(limit, now, now) {
            self.bucket(RateLimitBucket::Write).resume(&report, now);
        }
    }

    /// Takes a place for a request, or returns when to try again.
    pub(crate) fn acquire(&self, bucket: RateLimitBucket, now: Instant) -> Result<(), Instant> {
        self.bucket(bucket).acquire(now)
    }

    /// Gives the place back, and learns from the response's headers if one came.
    ///
    /// A request whose response does not report the window, such as a gateway's, may have been
    /// counted if it may have been sent.
    pub(crate) fn release(&self, bucket: RateLimitBucket, now: Instant, attempt: Attempt<'_>) {
        let mut bucket = self.bucket(bucket);
        match attempt {
            Attempt::NotCounted => bucket.release(),
            Attempt::Unanswered => bucket.release_unreported(now),
            Attempt::Answered { sent_at, headers, retry_after } => {
                let limit = RateLimit::from_headers(headers);
                let report = limit.and_then(|limit| Report::new(limit, sent_at, now));
                match report {
                    Some(report) => bucket.release_reported(now, &report, retry_after),
                    None => bucket.release_unreported(now),
                }
                if let Some(retry_after) = retry_after {
                    bucket.close_until(now + retry_after);
                }
            }
        }
    }

    /// Reserves the time of the next poll.
    ///
    /// The polls of all waiters follow each other at the rate at which what remains of the read
    /// bucket lasts to the end of the window, and after it at the rate that the next windows allow.
    pub(crate) fn reserve_poll(&self, now: Instant) -> Instant {
        self.bucket(RateLimitBucket::Read).reserve_poll(now)
    }

    /// Reserves the time of the next poll, if it is at most `delay` away.
    pub(crate) fn reserve_poll_within(&self, now: Instant, delay: Duration) -> Option<Instant> {
        let mut bucket = self.bucket(RateLimitBucket::Read);
        (bucket.next_poll(now) <= now + delay).then(|| bucket.reserve_poll(now))
    }

    /// Returns whether a response has reported the window of reads.
    pub(crate) fn has_read_window(&self) -> bool {
        self.bucket(RateLimitBucket::Read).has_window()
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

    fn bucket(&self, bucket: RateLimitBucket) -> MutexGuard<'_, Bucket> {
        lock(match bucket {
            RateLimitBucket::Write => &self.write,
            _ => &self.read,
        })
    }
}

#[cfg(test)]
mod tests;
