use super::bucket::RECHECK_DELAY;
use super::*;
use crate::call::clock;

const BUCKET: RateLimitBucket = RateLimitBucket::Write;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn headers(limit: u32, remaining: u32, reset: u32) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("ratelimit-limit", limit.into());
    headers.insert("ratelimit-remaining", remaining.into());
    headers.insert("ratelimit-reset", reset.into());
    headers
}

fn answer(
    limiter: &RateLimiter,
    bucket: RateLimitBucket,
    (sent_at, now): (Instant, Instant),
    headers: &HeaderMap,
) {
    let attempt = Attempt::Answered { sent_at, headers, retry_after: None };
    limiter.release(bucket, now, attempt);
}

fn refuse(limiter: &RateLimiter, now: Instant, headers: &HeaderMap, retry_after: Duration) {
    let attempt = Attempt::Answered { sent_at: now, headers, retry_after: Some(retry_after) };
    limiter.release(BUCKET, now, attempt);
}

fn round_trip(limiter: &RateLimiter, now: Instant, headers: &HeaderMap) {
    limiter.acquire(BUCKET, now).unwrap();
    answer(limiter, BUCKET, (now, now), headers);
}

/// Returns how many requests may be under way at once.
fn places(limiter: &RateLimiter, now: Instant) -> usize {
    (0..).take_while(|_| limiter.acquire(BUCKET, now).is_ok()).count()
}

#[test]
fn a_window_that_an_earlier_process_used_up_is_waited_for() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    limiter.resume_writes(RateLimit::new(120, 0, seconds(30)), now);
    let next = limiter.acquire(BUCKET, now).unwrap_err();
    assert!(next > now + seconds(29), "{:?}", next - now);
    assert_eq!(limiter.acquire(BUCKET, next), Ok(()));
    let (limiter, now) = (RateLimiter::default(), clock::now());
    limiter.resume_writes(RateLimit::new(120, 3, seconds(30)), now);
    round_trip(&limiter, now, &headers(120, 2, 30));
    assert_eq!(places(&limiter, now), 2, "no other process is counted");
}

#[test]
fn a_window_is_not_overdrawn_and_the_next_one_is_open() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    round_trip(&limiter, now, &headers(120, 2, 30));
    assert_eq!(limiter.acquire(BUCKET, now), Ok(()));
    assert_eq!(limiter.acquire(BUCKET, now), Ok(()));
    assert_eq!(
        limiter.acquire(BUCKET, now),
        Err(now + RECHECK_DELAY),
        "two requests are under way"
    );
    answer(&limiter, BUCKET, (now, now), &headers(120, 0, 30));
    // The header may have been rounded down.
    let ends = now + seconds(31);
    assert_eq!(limiter.acquire(BUCKET, now), Err(ends));
    assert_eq!(limiter.acquire(RateLimitBucket::Read, now), Ok(()), "the buckets are separate");
    assert_eq!(limiter.acquire(BUCKET, ends), Ok(()));
}

#[test]
fn late_responses_do_not_raise_what_remains() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    assert!((0..5).all(|_| limiter.acquire(BUCKET, now).is_ok()));
    for remaining in [1, 5, 4, 3, 2] {
        answer(&limiter, BUCKET, (now, now), &headers(120, remaining, 30));
    }
    assert_eq!(places(&limiter, now), 1);
}

#[test]
fn a_request_without_a_response_counts_if_it_may_have_been_sent() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    let ends = now + seconds(31);
    round_trip(&limiter, now, &headers(120, 1, 30));
    for (attempt, next) in [(Attempt::NotCounted, Ok(())), (Attempt::Unanswered, Err(ends))] {
        limiter.acquire(BUCKET, now).unwrap();
        limiter.release(BUCKET, now, attempt);
        let acquired = limiter.acquire(BUCKET, now);
        assert_eq!(acquired, next);
        if acquired.is_ok() {
            limiter.release(BUCKET, now, Attempt::NotCounted);
        }
    }
}

#[test]
fn a_new_window_replaces_the_old_one() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    round_trip(&limiter, now, &headers(1, 0, 1));
    let later = now + seconds(2);
    round_trip(&limiter, later, &headers(120, 119, 60));
    assert_eq!(places(&limiter, later), 119);
}

#[test]
fn a_window_begins_when_its_first_request_arrives() {
    let (limiter, began) = (RateLimiter::default(), clock::now());
    round_trip(&limiter, began, &headers(2, 1, 60));
    let sent_at = began + seconds(90);
    limiter.acquire(BUCKET, sent_at).unwrap();
    let received_at = sent_at + Duration::from_millis(600);
    answer(&limiter, BUCKET, (sent_at, received_at), &headers(2, 0, 60));
    let ends = received_at + seconds(61);
    for now in [received_at, sent_at + seconds(60)] {
        assert_eq!(limiter.acquire(BUCKET, now), Err(ends));
    }
    assert_eq!(limiter.acquire(BUCKET, ends), Ok(()));
}

#[test]
fn a_window_may_have_begun_with_a_request_that_was_not_answered() {
    let (limiter, began) = (RateLimiter::default(), clock::now());
    round_trip(&limiter, began, &headers(2, 1, 60));
    let sent_at = began + seconds(90);
    for _ in 0..2 {
        limiter.acquire(BUCKET, sent_at).unwrap();
    }
    let failed_at = sent_at + seconds(10);
    limiter.release(BUCKET, failed_at, Attempt::Unanswered);
    limiter.release(BUCKET, sent_at + seconds(30), Attempt::Unanswered);
    let ends = failed_at + seconds(60);
    let now = sent_at + seconds(60);
    assert_eq!(limiter.acquire(BUCKET, now), Err(ends));
    assert_eq!(limiter.acquire(BUCKET, ends), Ok(()));
}

#[test]
fn a_reply_that_comes_late_does_not_open_the_window_again() {
    // Each reply was counted right after it was sent, a second after the window began.
    for delay in [2, 5, 20, 45, 58] {
        let (limiter, began) = (RateLimiter::default(), clock::now());
        let sent_at = began + seconds(1);
        limiter.acquire(BUCKET, sent_at).unwrap();
        round_trip(&limiter, sent_at, &headers(120, 3, 59));
        let now = sent_at + seconds(delay);
        answer(&limiter, BUCKET, (sent_at, now), &headers(120, 117, 59));
        assert!(places(&limiter, now) <= 3, "after {delay} s");
        let ends = began + seconds(61);
        assert_eq!(limiter.acquire(BUCKET, ends), Ok(()), "after {delay} s");
    }
}

#[test]
fn a_reply_from_the_window_before_does_not_close_the_new_one() {
    let (limiter, began) = (RateLimiter::default(), clock::now());
    limiter.acquire(BUCKET, began).unwrap();
    round_trip(&limiter, began, &headers(120, 119, 60));
    let now = began + seconds(62);
    round_trip(&limiter, now, &headers(120, 119, 60));
    answer(&limiter, BUCKET, (began, now), &headers(120, 0, 60));
    // It may have been counted in either window.
    assert_eq!(places(&limiter, now), 118);
}

#[test]
fn a_reply_from_the_end_of_the_window_before_does_not_close_the_new_one() {
    let (limiter, began) = (RateLimiter::default(), clock::now());
    round_trip(&limiter, began, &headers(120, 119, 60));
    let sent_at = began + seconds(60);
    limiter.acquire(BUCKET, sent_at).unwrap();
    let now = began + seconds(62);
    answer(&limiter, BUCKET, (sent_at, now), &headers(120, 0, 1));
    assert_eq!(places(&limiter, now), 120);
}

#[test]
fn a_report_of_a_later_end_is_one_of_another_window() {
    // The known window ends at most 11 s after the first report.
    for (reset, ends) in [(11, 11), (12, 14)] {
        let (limiter, now) = (RateLimiter::default(), clock::now());
        round_trip(&limiter, now, &headers(120, 1, 10));
        let later = now + seconds(1);
        round_trip(&limiter, later, &headers(120, 0, reset));
        let ends = now + seconds(ends);
        assert_eq!(limiter.acquire(BUCKET, later), Err(ends), "{reset} s");
    }
}

#[test]
fn the_replies_of_a_window_narrow_down_its_end() {
    let (limiter, began) = (RateLimiter::default(), clock::now());
    limiter.acquire(BUCKET, began).unwrap();
    answer(&limiter, BUCKET, (began, began + seconds(8)), &headers(120, 9, 60));
    let now = began + seconds(9);
    round_trip(&limiter, now, &headers(120, 0, 51));
    assert_eq!(limiter.acquire(BUCKET, now), Err(began + seconds(61)));
}

#[test]
fn requests_without_a_response_count_in_the_next_window_as_well() {
    let (limiter, began) = (RateLimiter::default(), clock::now());
    round_trip(&limiter, began, &headers(3, 0, 60));
    let now = began + seconds(61);
    for _ in 0..3 {
        limiter.acquire(BUCKET, now).unwrap();
        limiter.release(BUCKET, now, Attempt::Unanswered);
    }
    assert_eq!(limiter.acquire(BUCKET, now), Err(began + seconds(121)));
}

#[test]
fn what_others_use_leaves_a_share_and_a_margin() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    // Before the first report, others may have ended long ago.
    round_trip(&limiter, now, &headers(120, 100, 60));
    // Two requests for each of this client's: it has a third of the key.
    for remaining in [97, 94, 91, 88, 85, 82] {
        round_trip(&limiter, now, &headers(120, remaining, 60));
    }
    let places_now = places(&limiter, now);
    assert!((8..=15).contains(&places_now), "{places_now} places");
    for _ in 0..places_now {
        limiter.release(BUCKET, now, Attempt::NotCounted);
    }
    // A minute later it first looks what the others leave.
    let later = now + seconds(61);
    assert_eq!(places(&limiter, later), 1);
    answer(&limiter, BUCKET, (later, later), &headers(120, 117, 60));
    let places_later = places(&limiter, later);
    assert!((5..=12).contains(&places_later), "{places_later} places");
}

#[test]
fn what_others_used_before_the_first_report_of_a_shared_window_counts() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    for remaining in [119, 117] {
        round_trip(&limiter, now, &headers(120, remaining, 60));
    }
    let later = now + seconds(61);
    round_trip(&limiter, later, &headers(120, 60, 60));
    assert_eq!(places(&limiter, later), 1);
}

#[test]
fn a_shared_window_is_not_used_up_to_its_last_request() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    for remaining in [119, 60, 5] {
        round_trip(&limiter, now, &headers(120, remaining, 60));
    }
    assert_eq!(limiter.acquire(BUCKET, now), Err(now + seconds(61)));
}

#[test]
fn a_probe_that_is_not_answered_does_not_block_a_shared_key() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    for remaining in [119, 110, 100] {
        round_trip(&limiter, now, &headers(120, remaining, 60));
    }
    let later = now + seconds(61);
    for second in 0..5 {
        let at = later + seconds(second);
        assert_eq!(places(&limiter, at), 1, "after {second} s");
    }
}

#[test]
fn a_client_that_is_alone_again_has_the_whole_limit() {
    let (limiter, mut now) = (RateLimiter::default(), clock::now());
    for remaining in [119, 100, 80] {
        round_trip(&limiter, now, &headers(120, remaining, 60));
    }
    for _ in 0..2 {
        now += seconds(61);
        for remaining in [119, 118, 117] {
            round_trip(&limiter, now, &headers(120, remaining, 60));
        }
    }
    assert_eq!(places(&limiter, now), 117);
}

fn reads(limiter: &RateLimiter, now: Instant, headers: &HeaderMap) {
    limiter.acquire(RateLimitBucket::Read, now).unwrap();
    answer(limiter, RateLimitBucket::Read, (now, now), headers);
}

#[test]
fn polls_are_spread_over_what_remains_of_the_window() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    reads(&limiter, now, &headers(4800, 120, 49));
    assert_eq!(limiter.reserve_poll(now), now);
    assert_eq!(limiter.reserve_poll(now), now + Duration::from_millis(500));
    assert_eq!(limiter.reserve_poll(now), now + Duration::from_millis(1000));
}

#[test]
fn polls_after_the_window_follow_at_the_rate_of_the_next() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    reads(&limiter, now, &headers(4800, 3, 49));
    assert_eq!(limiter.reserve_poll(now), now);
    let ends = now + seconds(50);
    assert_eq!(limiter.reserve_poll(now), ends);
    let last = (0..1000).map(|_| limiter.reserve_poll(now)).last().unwrap();
    assert!(last < ends + seconds(15), "1,000 waiters on a limit of 4,800 wait {:?}", last - now);
}

#[test]
fn polls_leave_half_of_a_small_limit_to_other_reads() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    reads(&limiter, now, &headers(30, 3, 49));
    let ends = now + seconds(50);
    for next in [now, ends, ends + seconds(4), ends + seconds(8)] {
        assert_eq!(limiter.reserve_poll(now), next);
    }
}

#[test]
fn a_429_without_a_window_leaves_no_limit_behind() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    limiter.acquire(BUCKET, now).unwrap();
    refuse(&limiter, now, &HeaderMap::new(), seconds(1));
    let ends = now + seconds(1);
    assert_eq!(limiter.acquire(BUCKET, now), Err(ends));
    assert!((0..50).all(|_| limiter.acquire(BUCKET, ends).is_ok()));
}

#[test]
fn a_429_closes_the_bucket_until_its_retry_after() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    limiter.acquire(BUCKET, now).unwrap();
    refuse(&limiter, now, &headers(120, 0, 9), seconds(9));
    let ends = now + seconds(9);
    assert_eq!(limiter.acquire(BUCKET, now), Err(ends));
    assert_eq!(limiter.acquire(BUCKET, ends), Ok(()));
}

#[test]
fn a_429_of_a_gateway_does_not_open_a_window_that_is_spent() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    round_trip(&limiter, now, &headers(120, 1, 50));
    limiter.acquire(BUCKET, now).unwrap();
    refuse(&limiter, now, &HeaderMap::new(), seconds(3));
    assert_eq!(limiter.acquire(BUCKET, now), Err(now + seconds(3)));
    let later = now + seconds(3);
    assert_eq!(limiter.acquire(BUCKET, later), Err(now + seconds(51)));
}

#[test]
fn a_service_that_begins_a_shorter_window_is_believed() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    round_trip(&limiter, now, &headers(120, 119, 60));
    round_trip(&limiter, now, &headers(120, 7, 10));
    assert_eq!(places(&limiter, now), 7);
    let (limiter, now) = (RateLimiter::default(), clock::now());
    round_trip(&limiter, now, &headers(120, 119, 60));
    limiter.acquire(BUCKET, now).unwrap();
    // A 429 with another window is an intermediary's.
    refuse(&limiter, now, &headers(5, 0, 10), seconds(10));
    assert_eq!(places(&limiter, now + seconds(10)), 119);
}

#[test]
fn a_client_that_met_a_429_of_others_looks_first_what_they_leave() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    limiter.acquire(BUCKET, now).unwrap();
    refuse(&limiter, now, &headers(120, 0, 9), seconds(9));
    assert_eq!(places(&limiter, now + seconds(9)), 1);
}
