//! Wall-clock time and randomness: nothing else asks the operating system for either.

use std::time::Duration;

use jiff::Timestamp;
use svc_sdk::types::IdempotencyKey;

use crate::error::{Failure, Result};

#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub(crate) fn monotonic() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

pub(crate) fn unix_seconds() -> u64 {
    u64::try_from(now().as_second()).unwrap_or_default()
}

/// Returns the time since `then`, or zero if `then` is in the future.
pub(crate) fn elapsed(now: Timestamp, then: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(then)).unwrap_or_default()
}

/// Formats a duration for people: `8 s`, `3 min 5 s`, `2 h 10 min`, `3 days`.
pub(crate) fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 if seconds % 3600 < 60 => format!("{} h", seconds / 3600),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        86_400..172_800 => "1 day".to_owned(),
        _ => format!("{} days", seconds / 86_400),
    }
}

pub(crate) fn random_hex(bytes: usize) -> Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::other(format!("cannot get random bytes: {error}")))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

pub(crate) fn idempotency_key() -> Result<IdempotencyKey> {
    random_hex(16)?
        .parse()
        .map_err(|error: svc_sdk::types::InvalidField| Failure::other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_formatted_with_at_most_two_units() {
        let rows = [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (185, "3 min 5 s"),
            (3600, "1 h"),
            (7800, "2 h 10 min"),
            (90_000, "1 day"),
            (300_000, "3 days"),
        ];
        for (seconds, expected) in rows {
            assert_eq!(format_duration(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn the_time_since_a_future_instant_is_zero() {
        let then = Timestamp::from_second(100).unwrap();
        let now = Timestamp::from_second(40).unwrap();
        assert_eq!(elapsed(now, then), Duration::ZERO);
        assert_eq!(elapsed(then, now), Duration::from_secs(60));
    }
}
