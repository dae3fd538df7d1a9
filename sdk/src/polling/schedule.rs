//! The poll schedule.

use std::time::Duration;

/// The longest pause between two polls, whatever the hint.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// The shortest pause between two polls, whatever the hint.
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// How long before the time limit of a wait the last poll is due at the latest.
const LAST_POLL_MARGIN: Duration = Duration::from_secs(1);
/// How much later than hinted a poll may come, so that waiters do not poll in step.
const JITTER: f64 = 0.1;

/// Returns the pause before the next poll: the service's hint within limits, and a little more.
///
/// Without a hint the pause grows from one second to ten. After a hint of zero it grows with the time
/// that was waited already, up to a second, so that a service that always hints zero is not polled
/// forever at the rate that suits a job of two seconds.
pub(crate) fn pause(hint: Option<Duration>, waited: Duration, jitter: f64) -> Duration {
    let pause = match hint {
        Some(Duration::ZERO) => {
            (waited / 50).clamp(Duration::from_millis(250), Duration::from_secs(1))
        }
        Some(hint) => hint.clamp(MIN_PAUSE, MAX_PAUSE),
        None => waited.mul_f64(0.15).clamp(Duration::from_secs(1), Duration::from_secs(10)),
    };
    pause.mul_f64(1.0 + JITTER * jitter.clamp(0.0, 1.0))
}

/// Returns the pause after a list, which has no hints and costs little for each job on it.
///
/// All polls that it answered come in step, so that the next list answers them again.
pub(crate) fn pause_after_list(waited: Duration) -> Duration {
    (waited / 100).clamp(Duration::from_secs(1), Duration::from_secs(10))
}

/// Returns the pause, shortened so that the last poll is shortly before the time limit of the wait.
///
/// `remaining` is the time until the limit.
pub(crate) fn in_time(pause: Duration, remaining: Duration) -> Duration {
    let last = remaining.saturating_sub(LAST_POLL_MARGIN);
    if pause < remaining || last < MIN_PAUSE { pause } else { last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_is_kept_within_limits_and_slightly_exceeded() {
        let rows = [
            (Some(4.0), 0, 0.0, 4.0),
            (Some(4.0), 0, 1.0, 4.4),
            (Some(0.0), 0, 0.0, 0.25),
            (Some(0.0), 105, 0.0, 1.0),
            (Some(0.4), 105, 0.0, 0.4),
            (Some(0.001), 105, 0.0, 0.1),
            (Some(1e15), 0, 0.0, 60.0),
            (None, 0, 0.0, 1.0),
            (None, 20, 0.0, 3.0),
            (None, 500, 0.0, 10.0),
        ];
        for (hint, waited, jitter, expected) in rows {
            let hint = hint.map(Duration::from_secs_f64);
            let pause = pause(hint, Duration::from_secs(waited), jitter);
            assert!(
                (pause.as_secs_f64() - expected).abs() < 1e-6,
                "{hint:?} after {waited} s: {pause:?}"
            );
        }
    }

    #[test]
    fn a_pause_beyond_the_time_limit_leaves_room_for_a_last_poll() {
        let rows = [
            (5.0, 20.0, 5.0),
            (19.9, 20.0, 19.9),
            (20.0, 20.0, 19.0),
            (66.0, 20.0, 19.0),
            (66.0, 1.25, 0.25),
            (66.0, 1.0, 66.0),
            (66.0, 0.0, 66.0),
        ];
        for (pause, remaining, expected) in rows {
            let [pause, remaining] = [pause, remaining].map(Duration::from_secs_f64);
            let shortened = in_time(pause, remaining).as_secs_f64();
            assert_eq!(shortened, expected, "{pause:?} of {remaining:?}");
        }
    }
}
