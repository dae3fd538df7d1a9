//! Properties of delays, whatever a server sends and a caller configures.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use http::header::{HeaderValue, RETRY_AFTER};
use proptest::prelude::*;

use super::{MAX_RETRY_AFTER, RetryPolicy, retry_after, retry_delay};
use crate::contract::RetryClass;
use crate::error::{Error, Kind};

/// The last second that an HTTP date can name.
const LAST_DATE: u64 = 253_402_300_799;

fn headers(value: &[u8]) -> HeaderMap {
    let value = HeaderValue::from_bytes(value);
    value.into_iter().map(|value| (RETRY_AFTER, value)).collect()
}

/// Generates times from 1970 to 9999, and times that HTTP dates cannot name.
fn now() -> impl Strategy<Value = SystemTime> {
    let seconds = prop_oneof![0..=LAST_DATE, 0..=4_000_000_000_u64, 0..1_000_000_000_000_u64];
    (seconds, 0..1_000_000_000_u32)
        .prop_map(|(seconds, nanos)| UNIX_EPOCH + Duration::new(seconds, nanos))
}

/// Generates arbitrary and nearly valid header values.
fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..60),
        "[ \t]?[-+]?[0-9]{0,30}(\\.[0-9]{0,30})?([eE][-+]?[0-9]{0,5})?[ \t]?"
            .prop_map(String::into_bytes),
        "(Mon|Sun|monday|Xyz),? [0-9]{1,3}[ -](Jan|Feb|Foo)[ -][0-9]{2,5} [0-9]{2}:[0-9]{2}:[0-9]{2}( GMT| UTC)?"
            .prop_map(String::into_bytes),
        "(inf|infinity|-inf|nan|NaN|0x1|1_000|٣)".prop_map(String::into_bytes),
    ]
}

fn span() -> impl Strategy<Value = Duration> {
    prop_oneof![
        any::<Duration>(),
        (0..600_000_u64).prop_map(Duration::from_millis),
        Just(Duration::ZERO),
        Just(Duration::MAX),
    ]
}

fn rate_limited(retry_after: Option<Duration>) -> Error {
    Error::new(Kind::NoEnvelope { status: 429, snippet: String::new(), retry_after })
}

proptest! {
    #[test]
    fn any_header_is_a_delay_or_ignored(value in value(), now in now()) {
        let headers = headers(&value);
        let delay = retry_after(&headers, now);
        let text = std::str::from_utf8(&value).unwrap_or_default().trim();
        if text.starts_with('-') && text.parse::<f64>().is_ok_and(|seconds| seconds < 0.0) {
            prop_assert_eq!(delay, None);
        }
    }

    #[test]
    fn seconds_of_any_length_are_read(digits in "[0-9]{1,40}", now in now()) {
        let expected = digits.parse::<u64>().unwrap_or(u64::MAX);
        let delay = retry_after(&headers(digits.as_bytes()), now);
        prop_assert_eq!(delay, Some(Duration::from_secs(expected)));
    }

    #[test]
    fn a_date_is_waited_for_and_a_past_one_is_now(at in 0..=LAST_DATE, now in now()) {
        let at = UNIX_EPOCH + Duration::from_secs(at);
        let delay = retry_after(&headers(httpdate::fmt_http_date(at).as_bytes()), now);
        prop_assert_eq!(delay, Some(at.duration_since(now).unwrap_or_default()));
    }

    #[test]
    fn a_delay_is_within_its_limits(
        initial_backoff in span(),
        max_backoff in span(),
        max_retries in 0..100_u32,
        attempt in 0..100_u32,
        jitter in 0.0..1.0_f64,
        hint in proptest::option::of(span()),
        remaining in span(),
    ) {
        let policy = RetryPolicy::default()
            .max_retries(max_retries)
            .initial_backoff(initial_backoff)
            .max_backoff(max_backoff);
        let error = rate_limited(hint);
        let hint = hint.unwrap_or_default();
        match retry_delay(&policy, RetryClass::Never, &error, attempt, jitter, remaining) {
            Some(delay) => {
                prop_assert!(attempt < max_retries);
                prop_assert!(delay >= hint && delay < remaining);
                prop_assert!(hint <= MAX_RETRY_AFTER);
                prop_assert!(delay <= hint.max(max_backoff), "{:?}", delay);
            }
            None => prop_assert!(
                attempt >= max_retries
                    || hint > MAX_RETRY_AFTER
                    || remaining <= hint.max(max_backoff)
            ),
        }
    }

    #[test]
    fn limits_of_delays_do_not_fall(
        initial_backoff in span(),
        max_backoff in span(),
        attempt in 0..100_u32,
    ) {
        let policy = RetryPolicy::default().initial_backoff(initial_backoff).max_backoff(max_backoff);
        let (limit, next) = (policy.backoff_limit(attempt), policy.backoff_limit(attempt + 1));
        prop_assert!(limit <= next && next <= max_backoff);
    }
}
