//! The retry schedule of webhook deliveries.

use std::time::Duration;

use super::{Delivery, DeliveryOutcome};
use crate::engine::{Hosts, Time};

/// The wait before the first retry. It doubles for each further retry.
const INITIAL_BACKOFF: Duration = Duration::from_secs(30);
/// The maximum wait. A wait that the receiver requests is limited in the receiver's own seconds.
const MAX_BACKOFF: Duration = Duration::from_secs(60 * 60);

/// Returns the wait after the given number of attempts, in service time: the scheduled wait, or
/// the one that the receiver requested with a status 429 or 503.
pub(crate) fn wait_before_retry(
    attempts: u32,
    outcome: &DeliveryOutcome,
    delivery: &Delivery,
    hosts: &Hosts,
) -> Duration {
    let requested = requested_wait(outcome, delivery.at, delivery.wall_time, hosts);
    requested.unwrap_or_else(|| scheduled_wait(attempts))
}

fn scheduled_wait(attempts: u32) -> Duration {
    let doublings = attempts.saturating_sub(1).min(16);
    INITIAL_BACKOFF.saturating_mul(1 << doublings).min(MAX_BACKOFF)
}

/// Parses the `Retry-After` header of a 429 or 503. A number of seconds is real time, because it
/// is a receiver's; an HTTP date is compared with the clock that the timestamp of the webhook shows.
fn requested_wait(
    outcome: &DeliveryOutcome,
    now: Time,
    wall_time: Option<Time>,
    hosts: &Hosts,
) -> Option<Duration> {
    let DeliveryOutcome::Answered { status: 429 | 503, retry_after: Some(text), .. } = outcome
    else {
        return None;
    };
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let wait = text.parse().map_or(MAX_BACKOFF, Duration::from_secs);
        return Some(hosts.service_time(wait.min(MAX_BACKOFF)));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text);
    let micros = u64::try_from(date.ok()?.as_microsecond()).ok()?;
    let date = Time::from_micros(micros);
    Some(match wall_time {
        Some(wall_time) => hosts.service_time(date.since(wall_time).min(MAX_BACKOFF)),
        None => date.since(now).min(MAX_BACKOFF),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, retry_after: &str) -> DeliveryOutcome {
        DeliveryOutcome::Answered {
            status,
            retry_after: Some(retry_after.to_owned()),
            body: String::new(),
        }
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
            let wait = requested_wait(&answered(status, text), now, None, &Hosts::default());
            let wait = wait.unwrap_or_else(|| scheduled_wait(1));
            assert_eq!(wait.as_secs(), seconds, "{status} {text:?}");
        }
    }

    #[test]
    fn the_seconds_of_a_receiver_are_real_time() {
        let hosts = Hosts { speed: 20.0, ..Hosts::default() };
        for (text, seconds) in [("5", 100), ("3600", 72_000), ("7200", 72_000)] {
            let wait = requested_wait(&answered(429, text), Time::default(), None, &hosts);
            assert_eq!(wait.unwrap().as_secs(), seconds, "{text}");
        }
        let date = answered(429, "Thu, 01 Jan 1970 00:00:05 GMT");
        let wait = requested_wait(&date, Time::default(), Some(Time::default()), &hosts);
        assert_eq!(wait.unwrap().as_secs(), 100);
    }
}
