//! Staying within the key's per-minute budgets, as the `ratelimit-*` headers tell them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderMap;

use super::clock::Instant;
use crate::contract::RateLimitBucket;

/// Two answers of one window may disagree about its end by the second that the header rounds to.
const SAME_WINDOW: Duration = Duration::from_millis(1_500);
/// The pause before asking again while answers are on their way.
const RECOUNT: Duration = Duration::from_millis(50);
/// The part of the read budget that polls leave to other reads: half of it, where it is small.
const RESERVE: u32 = 20;

/// What is known of the read and the write budget of a key, shared by clones of a client.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    read: Mutex<Meter>,
    write: Mutex<Meter>,
}

#[derive(Debug, Default)]
struct Meter {
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

impl Pace {
    /// Counts a request in, or says when to ask again.
    pub(crate) fn admit(&self, budget: RateLimitBucket, now: Instant) -> Result<(), Instant> {
        let mut meter = self.meter(budget);
        if let Some(window) = meter.window {
            let left = if now < window.ends {
                window.remaining
            } else {
                window.limit.max(1)
            };
            if left == 0 {
                return Err(window.ends);
            }
            if meter.in_flight >= left {
                // What is under way may be counted in what remains, or not: its answers will tell.
                return Err(now + RECOUNT);
            }
        }
        meter.in_flight += 1;
        Ok(())
    }

    /// Counts a request out, and learns from its answer's headers, if one came.
    pub(crate) fn settle(
        &self,
        budget: RateLimitBucket,
        now: Instant,
        headers: Option<&HeaderMap>,
    ) {
        let mut meter = self.meter(budget);
        meter.in_flight = meter.in_flight.saturating_sub(1);
        if let Some(told) = headers.and_then(|headers| Window::read(headers, now)) {
            meter.window = Some(match meter.window {
                Some(known) if now < known.ends && known.is_same(&told) => Window {
                    remaining: known.remaining.min(told.remaining),
                    ends: known.ends.max(told.ends),
                    ..told
                },
                // An answer that overtook a newer window's.
                Some(known) if told.ends < known.ends && now < known.ends => known,
                _ => told,
            });
        }
    }

    /// Until `ends`, the service takes no request of that budget (a `429`).
    pub(crate) fn exhausted(&self, budget: RateLimitBucket, ends: Instant) {
        let mut meter = self.meter(budget);
        // Where no window was ever told, nothing is known of the next one.
        let limit = meter.window.map_or(u32::MAX, |window| window.limit);
        meter.window = Some(Window {
            limit,
            remaining: 0,
            ends,
        });
    }

    /// The moment of the next poll: polls of all waiters follow each other at the rate at which
    /// what remains of the read budget lasts to the window's end, and past it at the rate that the
    /// next windows allow.
    pub(crate) fn poll_slot(&self, now: Instant) -> Instant {
        let mut meter = self.meter(RateLimitBucket::Read);
        let slot = meter.next_poll.map_or(now, |next| next.max(now));
        let spacing = match meter.window {
            Some(window) if slot < window.ends => {
                let reserve = meter.in_flight.saturating_add(reserve(window.limit));
                let polls = window.remaining.saturating_sub(reserve).max(1);
                (window.ends - now) / polls
            }
            Some(window) => {
                let polls = window.limit - reserve(window.limit);
                Duration::from_secs(60) / polls.max(1)
            }
            None => Duration::ZERO,
        };
        meter.next_poll = Some(slot + spacing);
        slot
    }

    fn meter(&self, budget: RateLimitBucket) -> MutexGuard<'_, Meter> {
        let meter = match budget {
            RateLimitBucket::Read => &self.read,
            RateLimitBucket::Write => &self.write,
        };
        meter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn reserve(limit: u32) -> u32 {
    RESERVE.min(limit / 2)
}

impl Window {
    fn read(headers: &HeaderMap, now: Instant) -> Option<Self> {
        let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u32>().ok();
        let reset = Duration::from_secs(number("ratelimit-reset")?.min(3_600).into());
        Some(Self {
            limit: number("ratelimit-limit")?,
            remaining: number("ratelimit-remaining")?,
            ends: now + reset,
        })
    }

    fn is_same(&self, other: &Self) -> bool {
        let apart = if self.ends > other.ends {
            self.ends - other.ends
        } else {
            other.ends - self.ends
        };
        apart <= SAME_WINDOW
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

    fn exchange(pace: &Pace, now: Instant, headers: &HeaderMap) {
        pace.admit(RateLimitBucket::Write, now).unwrap();
        pace.settle(RateLimitBucket::Write, now, Some(headers));
    }

    #[test]
    fn what_remains_is_not_overdrawn_and_the_next_window_is_open() {
        let (pace, now) = (Pace::default(), clock::now());
        exchange(&pace, now, &headers(120, 2, 30));
        assert_eq!(pace.admit(RateLimitBucket::Write, now), Ok(()));
        assert_eq!(pace.admit(RateLimitBucket::Write, now), Ok(()));
        assert_eq!(
            pace.admit(RateLimitBucket::Write, now),
            Err(now + RECOUNT),
            "two are under way"
        );
        pace.settle(RateLimitBucket::Write, now, Some(&headers(120, 0, 30)));
        let ends = now + Duration::from_secs(30);
        assert_eq!(pace.admit(RateLimitBucket::Write, now), Err(ends));
        assert_eq!(
            pace.admit(RateLimitBucket::Read, now),
            Ok(()),
            "budgets are separate"
        );
        assert_eq!(pace.admit(RateLimitBucket::Write, ends), Ok(()));
    }

    #[test]
    fn answers_that_overtake_each_other_do_not_raise_what_remains() {
        let (pace, now) = (Pace::default(), clock::now());
        exchange(&pace, now, &headers(120, 1, 30));
        exchange(&pace, now, &headers(120, 5, 30));
        assert_eq!(pace.admit(RateLimitBucket::Write, now), Ok(()));
        assert!(pace.admit(RateLimitBucket::Write, now).is_err());
    }

    #[test]
    fn a_new_window_replaces_the_old_one() {
        let (pace, now) = (Pace::default(), clock::now());
        exchange(&pace, now, &headers(120, 1, 1));
        let later = now + Duration::from_secs(2);
        exchange(&pace, later, &headers(120, 119, 60));
        assert!((0..119).all(|_| pace.admit(RateLimitBucket::Write, later).is_ok()));
        assert!(pace.admit(RateLimitBucket::Write, later).is_err());
    }

    #[test]
    fn polls_are_spread_over_what_remains_of_the_window() {
        let (pace, now) = (Pace::default(), clock::now());
        pace.admit(RateLimitBucket::Read, now).unwrap();
        pace.settle(RateLimitBucket::Read, now, Some(&headers(4800, 120, 50)));
        assert_eq!(pace.poll_slot(now), now);
        assert_eq!(pace.poll_slot(now), now + Duration::from_millis(500));
        assert_eq!(pace.poll_slot(now), now + Duration::from_millis(1000));
    }

    #[test]
    fn polls_past_the_windows_end_follow_at_the_rate_of_the_next() {
        let (pace, now) = (Pace::default(), clock::now());
        pace.admit(RateLimitBucket::Read, now).unwrap();
        pace.settle(RateLimitBucket::Read, now, Some(&headers(4800, 3, 50)));
        assert_eq!(pace.poll_slot(now), now);
        let ends = now + Duration::from_secs(50);
        assert_eq!(pace.poll_slot(now), ends);
        let last = (0..1000).map(|_| pace.poll_slot(now)).last().unwrap();
        assert!(
            last < ends + Duration::from_secs(15),
            "a thousand waiters of a budget of 4800 wait {:?}",
            last - now
        );
    }

    #[test]
    fn a_429_that_tells_no_window_leaves_no_limit_behind() {
        let (pace, now) = (Pace::default(), clock::now());
        let ends = now + Duration::from_secs(1);
        pace.exhausted(RateLimitBucket::Read, ends);
        assert!((0..50).all(|_| pace.admit(RateLimitBucket::Read, ends).is_ok()));
        assert_eq!(pace.poll_slot(ends), ends);
        assert!(pace.poll_slot(ends) < ends + Duration::from_millis(1));
    }

    #[test]
    fn a_429_closes_the_budget_until_it_says_so() {
        let (pace, now) = (Pace::default(), clock::now());
        let ends = now + Duration::from_secs(9);
        pace.exhausted(RateLimitBucket::Read, ends);
        assert_eq!(pace.admit(RateLimitBucket::Read, now), Err(ends));
        assert_eq!(pace.admit(RateLimitBucket::Read, ends), Ok(()));
    }
}
