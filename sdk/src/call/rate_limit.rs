//! The key's request budgets per minute, as the `ratelimit-*` headers report them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderMap;

use super::clock::Instant;
use crate::contract::RateLimitBucket;

/// How far two responses of one window may differ about its end, as the header is rounded.
const SAME_WINDOW_TOLERANCE: Duration = Duration::from_millis(1_500);
/// The pause before another attempt while responses are under way.
const RECHECK_DELAY: Duration = Duration::from_millis(50);
/// The requests of the read bucket that polls leave to other reads; half of a small bucket.
const RESERVED_READS: u32 = 20;
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
    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u32>().ok();
        let reset = number("ratelimit-reset")?.min(MAX_WINDOW_SECONDS);
        Some(Self {
            limit: number("ratelimit-limit")?,
            remaining: number("ratelimit-remaining")?,
            reset_after: Duration::from_secs(reset.into()),
        })
    }
}

/// The read and the write bucket of a key, shared by the clones of a client.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    read: Mutex<Bucket>,
    write: Mutex<Bucket>,
}

#[derive(Debug, Default)]
struct Bucket {
    window: Option<Window>,
    in_flight: u32,
    next_poll: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    limit: u32,
    remaining: u32,
    ends: Instant,
}

impl RateLimiter {
    /// Takes a place for a request, or returns when to try again.
    pub(crate) fn acquire(&self, bucket: RateLimitBucket, now: Instant) -> Result<(), Instant> {
        let mut bucket = self.bucket(bucket);
        if let Some(window) = bucket.window {
            let remaining = if now < window.ends {
                window.remaining
            } else {
                window.limit.max(1)
            };
            if remaining == 0 {
                return Err(window.ends);
            }
            if bucket.in_flight >= remaining {
                // Requests under way may or may not be counted in what remains; their responses
                // will tell.
                return Err(now + RECHECK_DELAY);
            }
        }
        bucket.in_flight += 1;
        Ok(())
    }

    /// Gives the place back, and learns from the response's headers if one came.
    ///
    /// A request whose response does not report the window, such as a gateway's, may have been
    /// counted if it may have been sent.
    pub(crate) fn release(
        &self,
        bucket: RateLimitBucket,
        now: Instant,
        headers: Option<&HeaderMap>,
        may_have_been_sent: bool,
    ) {
        let mut bucket = self.bucket(bucket);
        bucket.in_flight = bucket.in_flight.saturating_sub(1);
        let reported = headers.and_then(|headers| Window::from_headers(headers, now));
        if let Some(reported) = reported {
            bucket.window = Some(match bucket.window {
                Some(known) if now < known.ends && known.is_same(&reported) => Window {
                    remaining: known.remaining.min(reported.remaining),
                    ends: known.ends.max(reported.ends),
                    ..reported
                },
                // A late response of an older window.
                Some(known) if reported.ends < known.ends && now < known.ends => known,
                _ => reported,
            });
        } else if may_have_been_sent
            && let Some(window) = &mut bucket.window
            && now < window.ends
        {
            window.remaining = window.remaining.saturating_sub(1);
        }
    }

    /// Closes the bucket until `ends`, after a 429.
    pub(crate) fn close_until(&self, bucket: RateLimitBucket, ends: Instant) {
        let mut bucket = self.bucket(bucket);
        // Without an earlier window, the limit of the next one is unknown.
        let limit = bucket.window.map_or(u32::MAX, |window| window.limit);
        bucket.window = Some(Window {
            limit,
            remaining: 0,
            ends,
        });
    }

    /// Reserves the time of the next poll.
    ///
    /// The polls of all waiters follow each other at the rate at which what remains of the read
    /// bucket lasts to the end of the window, and after it at the rate that the next windows allow.
    pub(crate) fn reserve_poll(&self, now: Instant) -> Instant {
        let mut bucket = self.bucket(RateLimitBucket::Read);
        let slot = bucket.next_poll.map_or(now, |next| next.max(now));
        let spacing = match bucket.window {
            Some(window) if slot < window.ends => {
                let reserved = bucket
                    .in_flight
                    .saturating_add(reserved_reads(window.limit));
                let polls = window.remaining.saturating_sub(reserved).max(1);
                (window.ends - now) / polls
            }
            Some(window) => {
                let polls = window.limit - reserved_reads(window.limit);
                Duration::from_secs(60) / polls.max(1)
            }
            None => Duration::ZERO,
        };
        bucket.next_poll = Some(slot + spacing);
        slot
    }

    fn bucket(&self, bucket: RateLimitBucket) -> MutexGuard<'_, Bucket> {
        let bucket = match bucket {
            RateLimitBucket::Write => &self.write,
            _ => &self.read,
        };
        bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn reserved_reads(limit: u32) -> u32 {
    RESERVED_READS.min(limit / 2)
}

impl Window {
    fn from_headers(headers: &HeaderMap, now: Instant) -> Option<Self> {
        let reported = RateLimit::from_headers(headers)?;
        Some(Self {
            limit: reported.limit,
            remaining: reported.remaining,
            ends: now + reported.reset_after,
        })
    }

    fn is_same(&self, other: &Self) -> bool {
        let difference = if self.ends > other.ends {
            self.ends - other.ends
        } else {
            other.ends - self.ends
        };
        difference <= SAME_WINDOW_TOLERANCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::clock;

    fn headers(limit: u32, remaining: u32, reset: u32) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("ratelimit-limit", limit.into());
        headers.insert("ratelimit-remaining", remaining.into());
        headers.insert("ratelimit-reset", reset.into());
        headers
    }

    fn round_trip(limiter: &RateLimiter, now: Instant, headers: &HeaderMap) {
        limiter.acquire(RateLimitBucket::Write, now).unwrap();
        limiter.release(RateLimitBucket::Write, now, Some(headers), true);
    }

    #[test]
    fn a_window_is_not_overdrawn_and_the_next_one_is_open() {
        let (limiter, now) = (RateLimiter::default(), clock::now());
        round_trip(&limiter, now, &headers(120, 2, 30));
        assert_eq!(limiter.acquire(RateLimitBucket::Write, now), Ok(()));
        assert_eq!(limiter.acquire(RateLimitBucket::Write, now), Ok(()));
        assert_eq!(
            limiter.acquire(RateLimitBucket::Write, now),
            Err(now + RECHECK_DELAY),
            "two requests are under way"
        );
        limiter.release(
            RateLimitBucket::Write,
            now,
            Some(&headers(120, 0, 30)),
            true,
        );
        let ends = now + Duration::from_secs(30);
        assert_eq!(limiter.acquire(RateLimitBucket::Write, now), Err(ends));
        assert_eq!(
            limiter.acquire(RateLimitBucket::Read, now),
            Ok(()),
            "the buckets are separate"
        );
        assert_eq!(limiter.acquire(RateLimitBucket::Write, ends), Ok(()));
    }

    #[test]
    fn late_responses_do_not_raise_what_remains() {
        let (limiter, now) = (RateLimiter::default(), clock::now());
        round_trip(&limiter, now, &headers(120, 1, 30));
        round_trip(&limiter, now, &headers(120, 5, 30));
        assert_eq!(limiter.acquire(RateLimitBucket::Write, now), Ok(()));
        assert!(limiter.acquire(RateLimitBucket::Write, now).is_err());
    }

    #[test]
    fn a_request_without_a_response_counts_if_it_may_have_been_sent() {
        let (limiter, now) = (RateLimiter::default(), clock::now());
        let ends = now + Duration::from_secs(30);
        round_trip(&limiter, now, &headers(120, 1, 30));
        for (may_have_been_sent, next) in [(false, Ok(())), (true, Err(ends))] {
            limiter.acquire(RateLimitBucket::Write, now).unwrap();
            limiter.release(RateLimitBucket::Write, now, None, may_have_been_sent);
            let acquired = limiter.acquire(RateLimitBucket::Write, now);
            assert_eq!(acquired, next);
            if acquired.is_ok() {
                limiter.release(RateLimitBucket::Write, now, None, false);
            }
        }
    }

    #[test]
    fn a_new_window_replaces_the_old_one() {
        let (limiter, now) = (RateLimiter::default(), clock::now());
        round_trip(&limiter, now, &headers(120, 1, 1));
        let later = now + Duration::from_secs(2);
        round_trip(&limiter, later, &headers(120, 119, 60));
        assert!((0..119).all(|_| limiter.acquire(RateLimitBucket::Write, later).is_ok()));
        assert!(limiter.acquire(RateLimitBucket::Write, later).is_err());
    }

    #[test]
    fn polls_are_spread_over_what_remains_of_the_window() {
        let (limiter, now) = (RateLimiter::default(), clock::now());
        limiter.acquire(RateLimitBucket::Read, now).unwrap();
        limiter.release(
            RateLimitBucket::Read,
            now,
            Some(&headers(4800, 120, 50)),
            true,
        );
        assert_eq!(limiter.reserve_poll(now), now);
        assert_eq!(limiter.reserve_poll(now), now + Duration::from_millis(500));
        assert_eq!(limiter.reserve_poll(now), now + Duration::from_millis(1000));
    }

    #[test]
    fn polls_after_the_window_follow_at_the_rate_of_the_next() {
        let (limiter, now) = (RateLimiter::default(), clock::now());
        limiter.acquire(RateLimitBucket::Read, now).unwrap();
        limiter.release(
            RateLimitBucket::Read,
            now,
            Some(&headers(4800, 3, 50)),
            true,
        );
        assert_eq!(limiter.reserve_poll(now), now);
        let ends = now + Duration::from_secs(50);
        assert_eq!(limiter.reserve_poll(now), ends);
        let last = (0..1000).map(|_| limiter.reserve_poll(now)).last().unwrap();
        assert!(
            last < ends + Duration::from_secs(15),
            "1,000 waiters on a limit of 4,800 wait {:?}",
            last - now
        );
    }

    #[test]
    fn a_429_without_a_window_leaves_no_limit_behind() {
        let (limiter, now) = (RateLimiter::default(), clock::now());
        let ends = now + Duration::from_secs(1);
        limiter.close_until(RateLimitBucket::Read, ends);
        assert!((0..50).all(|_| limiter.acquire(RateLimitBucket::Read, ends).is_ok()));
        assert_eq!(limiter.reserve_poll(ends), ends);
        assert!(limiter.reserve_poll(ends) < ends + Duration::from_millis(1));
    }

    #[test]
    fn a_429_closes_the_bucket_until_its_retry_after() {
        let (limiter, now) = (RateLimiter::default(), clock::now());
        let ends = now + Duration::from_secs(9);
        limiter.close_until(RateLimitBucket::Read, ends);
        assert_eq!(limiter.acquire(RateLimitBucket::Read, now), Err(ends));
        assert_eq!(limiter.acquire(RateLimitBucket::Read, ends), Ok(()));
    }
}
