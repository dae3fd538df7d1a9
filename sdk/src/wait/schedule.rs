//! When to poll next.

use std::time::Duration;

/// A hint is not believed beyond this.
const LONGEST: Duration = Duration::from_secs(60);
/// Nobody is asked more often than this, whatever the hint.
const SHORTEST: Duration = Duration::from_millis(250);
/// How much later than hinted a poll may come, so that waiters do not march in step.
const JITTER: f64 = 0.1;

/// The pause before the next poll: the service's hint, clamped, and a little later.
///
/// The floor grows with the time that was waited already, up to a second: a service that always
/// hints zero is not asked for ever at the pace that suits a job of two seconds. Without a hint the
/// pause grows from one second to ten.
pub(crate) fn pause(hint: Option<f64>, waited: Duration, draw: f64) -> Duration {
    let wanted = hint
        .filter(|seconds| !seconds.is_nan())
        .map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, LONGEST.as_secs_f64())))
        .unwrap_or_else(|| {
            waited
                .mul_f64(0.15)
                .clamp(Duration::from_secs(1), Duration::from_secs(10))
        });
    let floor = (waited / 50).clamp(SHORTEST, Duration::from_secs(1));
    wanted
        .max(floor)
        .mul_f64(1.0 + JITTER * draw.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_is_clamped_and_a_little_exceeded() {
        let rows = [
            (Some(4.0), 0, 0.0, 4.0),
            (Some(4.0), 0, 1.0, 4.4),
            (Some(0.0), 0, 0.0, 0.25),
            (Some(-3.0), 0, 0.0, 0.25),
            (Some(0.0), 105, 0.0, 1.0),
            (Some(1e300), 0, 0.0, 60.0),
            (Some(f64::INFINITY), 0, 0.0, 60.0),
            (Some(f64::NAN), 0, 0.0, 1.0),
            (None, 0, 0.0, 1.0),
            (None, 20, 0.0, 3.0),
            (None, 500, 0.0, 10.0),
        ];
        for (hint, waited, draw, expected) in rows {
            let pause = pause(hint, Duration::from_secs(waited), draw);
            assert!(
                (pause.as_secs_f64() - expected).abs() < 1e-6,
                "{hint:?} after {waited} s: {pause:?}"
            );
        }
    }
}
