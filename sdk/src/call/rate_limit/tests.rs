use std::cell::RefCell;

use super::bucket::RECHECK_DELAY;
use super::*;
use crate::call::clock;

/// What a response reports: the limit, what remains of it, and the seconds to the reset.
type Reported = (u32, u32, u64);

/// The bucket of a key, at times in seconds since it began.
struct Key {
    bucket: RefCell<Bucket>,
    began: Instant,
}

impl Key {
    /// Creates the bucket after round trips at the beginning, each with what its response reported.
    fn after(reported: impl IntoIterator<Item = Reported>) -> Self {
        let key = Self { bucket: RefCell::default(), began: clock::now() };
        for reported in reported {
            key.round_trip(0.0, reported);
        }
        key
    }

    fn new() -> Self {
        Self::after([])
    }

    fn at(&self, seconds: f64) -> Instant {
        self.began + Duration::from_secs_f64(seconds)
    }

    /// Takes a place, or returns when to try again.
    fn acquire(&self, seconds: f64) -> Result<(), f64> {
        let acquired = self.bucket.borrow_mut().acquire(self.at(seconds));
        acquired.map_err(|next| (next - self.began).as_secs_f64())
    }

    /// Takes the place of a request that is sent.
    fn send(&self, seconds: f64) {
        self.acquire(seconds).unwrap();
    }

    /// Returns how many requests may be under way at once.
    fn places(&self, seconds: f64) -> usize {
        (0..).take_while(|_| self.acquire(seconds).is_ok()).count()
    }

    fn answer(&self, sent_at: f64, seconds: f64, reported: Reported) {
        let (sent_at, now) = (self.at(sent_at), self.at(seconds));
        self.bucket.borrow_mut().release_answered(sent_at, now, Some(limit(reported)), None);
    }

    /// Ends a request without a response.
    fn lose(&self, seconds: f64) {
        self.bucket.borrow_mut().release_unreported(self.at(seconds));
    }

    /// Sends a request that is refused by a 429, with a report or without.
    fn refuse(&self, reported: Option<Reported>, retry_after: u64) {
        self.send(0.0);
        let retry_after = Some(Duration::from_secs(retry_after));
        let limit = reported.map(limit);
        self.bucket.borrow_mut().release_answered(self.began, self.began, limit, retry_after);
    }

    fn round_trip(&self, seconds: f64, reported: Reported) {
        self.send(seconds);
        self.answer(seconds, seconds, reported);
    }

    /// Reserves the time of the next poll at the beginning.
    fn reserve_poll(&self) -> f64 {
        (self.bucket.borrow_mut().reserve_poll(self.began) - self.began).as_secs_f64()
    }
}

fn limit((limit, remaining, reset): Reported) -> RateLimit {
    RateLimit::new(limit, remaining, Duration::from_secs(reset))
}

#[test]
fn a_window_that_an_earlier_process_used_up_is_waited_for() {
    let key = Key::new();
    key.bucket.borrow_mut().resume(limit((120, 0, 30)), key.began);
    let next = key.acquire(0.0).unwrap_err();
    assert!(next > 29.0, "{next} s");
    key.send(next);
    let key = Key::new();
    key.bucket.borrow_mut().resume(limit((120, 3, 30)), key.began);
    key.round_trip(0.0, (120, 2, 30));
    assert_eq!(key.places(0.0), 2, "no other process is counted");
}

#[test]
fn a_window_is_not_overdrawn_and_the_next_one_is_open() {
    let key = Key::after([(120, 2, 30)]);
    assert_eq!(key.places(0.0), 2);
    assert_eq!(key.acquire(0.0), Err(RECHECK_DELAY.as_secs_f64()), "two requests are under way");
    key.answer(0.0, 0.0, (120, 0, 30));
    // The header may have been rounded down.
    assert_eq!(key.acquire(0.0), Err(31.0));
    assert_eq!(key.acquire(31.0), Ok(()));
}

#[test]
fn the_buckets_are_separate() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    limiter.bucket(RateLimitBucket::Write).resume(limit((120, 0, 30)), now);
    assert!(limiter.bucket(RateLimitBucket::Write).acquire(now).is_err());
    assert_eq!(limiter.bucket(RateLimitBucket::Read).acquire(now), Ok(()));
}

#[test]
fn late_responses_do_not_raise_what_remains() {
    let key = Key::new();
    (0..5).for_each(|_| key.send(0.0));
    for remaining in [1, 5, 4, 3, 2] {
        key.answer(0.0, 0.0, (120, remaining, 30));
    }
    assert_eq!(key.places(0.0), 1);
}

#[test]
fn a_request_without_a_response_counts_if_it_may_have_been_sent() {
    let key = Key::after([(120, 1, 30)]);
    key.send(0.0);
    key.bucket.borrow_mut().release();
    key.send(0.0);
    key.lose(0.0);
    assert_eq!(key.acquire(0.0), Err(31.0));
}

#[test]
fn a_new_window_replaces_the_old_one() {
    let key = Key::after([(1, 0, 1)]);
    key.round_trip(2.0, (120, 119, 60));
    assert_eq!(key.places(2.0), 119);
}

#[test]
fn a_window_begins_when_its_first_request_arrives() {
    let key = Key::after([(2, 1, 60)]);
    key.send(90.0);
    key.answer(90.0, 90.5, (2, 0, 60));
    for seconds in [90.5, 150.0] {
        assert_eq!(key.acquire(seconds), Err(151.5));
    }
    assert_eq!(key.acquire(151.5), Ok(()));
}

#[test]
fn a_window_may_have_begun_with_a_request_that_was_not_answered() {
    let key = Key::after([(2, 1, 60)]);
    key.send(90.0);
    key.send(90.0);
    key.lose(100.0);
    key.lose(120.0);
    assert_eq!(key.acquire(150.0), Err(160.0));
    assert_eq!(key.acquire(160.0), Ok(()));
}

#[test]
fn a_reply_that_comes_late_does_not_open_the_window_again() {
    // Each reply was counted right after it was sent, a second after the window began.
    for seconds in [3.0, 6.0, 21.0, 46.0, 59.0] {
        let key = Key::new();
        key.send(1.0);
        key.round_trip(1.0, (120, 3, 59));
        key.answer(1.0, seconds, (120, 117, 59));
        assert!(key.places(seconds) <= 3, "after {seconds} s");
        assert_eq!(key.acquire(61.0), Ok(()), "after {seconds} s");
    }
}

#[test]
fn a_reply_from_the_window_before_does_not_close_the_new_one() {
    let key = Key::new();
    key.send(0.0);
    key.round_trip(0.0, (120, 119, 60));
    key.round_trip(62.0, (120, 119, 60));
    key.answer(0.0, 62.0, (120, 0, 60));
    // It may have been counted in either window.
    assert_eq!(key.places(62.0), 118);
}

#[test]
fn a_reply_from_the_end_of_the_window_before_does_not_close_the_new_one() {
    let key = Key::after([(120, 119, 60)]);
    key.send(60.0);
    key.answer(60.0, 62.0, (120, 0, 1));
    assert_eq!(key.places(62.0), 120);
}

#[test]
fn a_report_of_a_later_end_is_one_of_another_window() {
    // The known window ends at most 11 s after the first report.
    for (reset, ends) in [(11, 11.0), (12, 14.0)] {
        let key = Key::after([(120, 1, 10)]);
        key.round_trip(1.0, (120, 0, reset));
        assert_eq!(key.acquire(1.0), Err(ends), "{reset} s");
    }
}

#[test]
fn the_replies_of_a_window_narrow_down_its_end() {
    let key = Key::new();
    key.send(0.0);
    key.answer(0.0, 8.0, (120, 9, 60));
    key.round_trip(9.0, (120, 0, 51));
    assert_eq!(key.acquire(9.0), Err(61.0));
}

#[test]
fn requests_without_a_response_count_in_the_next_window_as_well() {
    let key = Key::after([(3, 0, 60)]);
    for _ in 0..3 {
        key.send(61.0);
        key.lose(61.0);
    }
    assert_eq!(key.acquire(61.0), Err(121.0));
}

#[test]
fn what_others_use_leaves_a_share_and_a_margin() {
    // Before the first report, others may have ended long ago. Then there are two requests for each of
    // this client's: it has a third of the key.
    let key = Key::after([100, 97, 94, 91, 88, 85, 82].map(|remaining| (120, remaining, 60)));
    let places = key.places(0.0);
    assert!((8..=15).contains(&places), "{places} places");
    for _ in 0..places {
        key.bucket.borrow_mut().release();
    }
    // A minute later it first looks what the others leave.
    assert_eq!(key.places(61.0), 1);
    key.answer(61.0, 61.0, (120, 117, 60));
    let places = key.places(61.0);
    assert!((5..=12).contains(&places), "{places} places");
}

#[test]
fn what_others_used_before_the_first_report_of_a_shared_window_counts() {
    let key = Key::after([(120, 119, 60), (120, 117, 60)]);
    key.round_trip(61.0, (120, 60, 60));
    assert_eq!(key.places(61.0), 1);
}

#[test]
fn a_shared_window_is_not_used_up_to_its_last_request() {
    let key = Key::after([119, 60, 5].map(|remaining| (120, remaining, 60)));
    assert_eq!(key.acquire(0.0), Err(61.0));
}

#[test]
fn a_probe_that_is_not_answered_does_not_block_a_shared_key() {
    let key = Key::after([119, 110, 100].map(|remaining| (120, remaining, 60)));
    for seconds in [61.0, 62.0, 63.0, 64.0, 65.0] {
        assert_eq!(key.places(seconds), 1, "after {seconds} s");
    }
}

#[test]
fn a_client_that_is_alone_again_has_the_whole_limit() {
    let key = Key::after([119, 100, 80].map(|remaining| (120, remaining, 60)));
    for seconds in [61.0, 122.0] {
        for remaining in [119, 118, 117] {
            key.round_trip(seconds, (120, remaining, 60));
        }
    }
    assert_eq!(key.places(122.0), 117);
}

#[test]
fn polls_are_spread_over_what_remains_of_the_window() {
    // The limit, what remains of it, and the times of the first polls in a window of 50 seconds.
    for (limit, remaining, polls) in [
        (4800, 120, [0.0, 0.5, 1.0, 1.5]),
        // Half of a small limit is left to other reads, also in the next windows.
        (30, 3, [0.0, 50.0, 54.0, 58.0]),
    ] {
        let key = Key::after([(limit, remaining, 49)]);
        assert_eq!([0; 4].map(|_| key.reserve_poll()), polls, "{remaining} of {limit}");
    }
}

#[test]
fn polls_after_the_window_follow_at_the_rate_of_the_next() {
    let key = Key::after([(4800, 3, 49)]);
    assert_eq!([key.reserve_poll(), key.reserve_poll()], [0.0, 50.0]);
    let last = (0..1000).map(|_| key.reserve_poll()).last().unwrap();
    assert!(last < 65.0, "1,000 waiters on a limit of 4,800 wait {last} s");
}

#[test]
fn a_429_closes_the_bucket_until_its_retry_after() {
    for reported in [None, Some((120, 0, 9))] {
        let key = Key::new();
        key.refuse(reported, 9);
        assert_eq!(key.acquire(0.0), Err(9.0));
        // Without a window, no limit is known; else the client looks first what others leave.
        let places = if reported.is_some() { 1 } else { 50 };
        assert_eq!((0..50).filter(|_| key.acquire(9.0).is_ok()).count(), places);
    }
}

#[test]
fn a_429_of_a_gateway_does_not_open_a_window_that_is_spent() {
    let key = Key::after([(120, 1, 50)]);
    key.refuse(None, 3);
    assert_eq!(key.acquire(0.0), Err(3.0));
    assert_eq!(key.acquire(3.0), Err(51.0));
}

#[test]
fn a_service_that_begins_a_shorter_window_is_believed() {
    let key = Key::after([(120, 119, 60), (120, 7, 10)]);
    assert_eq!(key.places(0.0), 7);
    // A 429 with another window is an intermediary's.
    let key = Key::after([(120, 119, 60)]);
    key.refuse(Some((5, 0, 10)), 10);
    assert_eq!(key.places(10.0), 119);
}
