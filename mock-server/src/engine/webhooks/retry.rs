//! The retry schedule of webhook deliveries.

use std::time::Duration;

use super::DeliveryOutcome;
use crate::engine::Time;

/// The wait before the first retry. It doubles for each further retry.
const INITIAL_BACKOFF: Duration = Duration::from_secs(30);
/// The maximum wait, including waits that the receiver requests.
const MAX_BACKOFF: Duration = Duration::from_secs(60 * 60);

/// Returns the wait after the given number of attempts: the scheduled wait, or the one that the
/// receiver requested with a status 429 or 503.
pub(crate) fn wait(attempts: u32, outcome: &DeliveryOutcome, now: Time) -> Duration {
    requested_wait(outcome, now)
        .unwrap_or_else(|| scheduled_wait(attempts))
        .min(MAX_BACKOFF)
}

fn scheduled_wait(attempts: u32) -> Duration {
    let doublings = attempts.saturating_sub(1).min(16);
    INITIAL_BACKOFF.saturating_mul(1 << doublings)
}

/// Parses the `Retry-After` header of a 429 or 503, which is a number of seconds or an HTTP date.
fn requested_wait(outcome: &DeliveryOutcome, now: Time) -> Option<Duration> {
    let DeliveryOutcome::Answered {
        status: 429 | 503,
        retry_after: Some(text),
    } = outcome
    else {
        return None;
    };
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().map_or(MAX_BACKOFF, Duration::from_secs));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text);
    let micros = u64::try_from(date.ok()?.as_microsecond()).ok()?;
    Some(Time::from_micros(micros).since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, retry_after: &str) -> DeliveryOutcome {
        DeliveryOutcome::Answered {
            status,
            retry_after: Some(retry_after.to_owned()),
        }
    }

    #[test]
    fn the_backoff_doubles_up_to_an_hour() {
        let failed = DeliveryOutcome::answered(500);
        let waits = (1..10).map(|attempts| wait(attempts, &failed, Time::default()).as_secs());
        let expected = [30, 60, 120, 240, 480, 960, 1920, 3600, 3600];
        assert_eq!(waits.collect::<Vec<_>>(), expected);
        assert_eq!(wait(u32::MAX, &failed, Time::default()), MAX_BACKOFF);
    }

    #[test]
    fn the_receiver_can_request_a_wait_of_up_to_an_hour() {
        // 1994-11-06T08:49:00Z.
        let now = Time::from_micros(784_111_740_000_000);
        for (status, text, seconds) in [
            (429, "5", 5),
            (503, " 120 ", 120),
            (503, "0", 0),
            (503, "3601", 3600),
            (429, "99999999999999999999999", 3600),
            (503, "Sun, 06 Nov 1994 08:49:37 GMT", 37),
            (503, "Sun, 06 Nov 1994 08:00:00 GMT", 0),
            (503, "Sun, 06 Nov 2044 08:49:37 GMT", 3600),
            (503, "", 30),
            (503, "soon", 30),
            (503, "-5", 30),
            (503, "1.5", 30),
            (500, "5", 30),
            (302, "5", 30),
        ] {
            let wait = wait(1, &answered(status, text), now);
            assert_eq!(wait.as_secs(), seconds, "{status} {text:?}");
        }
    }
}
