//! Windows that adapt to what the service accepts.

use std::time::Duration;

/// The size that a window starts with.
const INITIAL_SIZE: f64 = 8.0;
/// The shortest time between two decreases, so that the failures of requests that were sent together
/// count as one.
const MIN_DECREASE_INTERVAL: Duration = Duration::from_secs(1);

/// A limit that grows additively while requests are accepted, and shrinks multiplicatively when the
/// service pushes back.
///
/// Until the first push-back it grows by one for each accepted request, which doubles it in each
/// round.
#[derive(Clone, Debug)]
pub(super) struct AdaptiveWindow {
    size: f64,
    max: f64,
    is_starting: bool,
    last_decrease: Option<Duration>,
}

impl AdaptiveWindow {
    pub(super) fn new(max: usize) -> Self {
        let max = u32::try_from(max.max(1)).map_or(f64::from(u32::MAX), f64::from);
        Self {
            size: INITIAL_SIZE.min(max),
            max,
            is_starting: true,
            last_decrease: None,
        }
    }

    /// Returns the number of requests or jobs that may be under way.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the size is between 1 and a u32"
    )]
    pub(super) fn size(&self) -> usize {
        self.size as usize
    }

    /// Grows, if the window was the limit: `used` were under way.
    pub(super) fn accepted(&mut self, used: usize) {
        if used < self.size() {
            return;
        }
        self.size += match self.is_starting {
            true => 1.0,
            false => 1.0 / self.size,
        };
        self.size = self.size.min(self.max);
    }

    /// Grows to what the service has accepted: `used` are under way.
    pub(super) fn grow_to(&mut self, used: usize) {
        let used = u32::try_from(used).map_or(self.max, f64::from);
        self.size = self.size.max(used).min(self.max);
    }

    /// Halves the window.
    pub(super) fn halve(&mut self, now: Duration) {
        self.is_starting = false;
        let is_recent = self
            .last_decrease
            .is_some_and(|last| now.saturating_sub(last) < MIN_DECREASE_INTERVAL);
        if !is_recent {
            self.size = (self.size / 2.0).max(1.0);
            self.last_decrease = Some(now);
        }
    }

    /// Shrinks to what the service has accepted: `used` are under way.
    pub(super) fn shrink_to(&mut self, used: usize) {
        self.is_starting = false;
        let used = u32::try_from(used).map_or(self.max, f64::from);
        self.size = self.size.min(used).max(1.0);
    }
}

/// A pause of all submits, which doubles while the service keeps pushing back.
#[derive(Clone, Debug, Default)]
pub(super) struct Pause {
    until: Duration,
    /// The number of failures since the last success.
    failures: u32,
}

/// The first delay, which doubles with each failure.
const INITIAL_DELAY: Duration = Duration::from_millis(500);
/// The longest delay, unless the service asks for more.
const MAX_DELAY: Duration = Duration::from_secs(20);
/// The number of failures in a row from which on all submits pause.
const TOLERATED_FAILURES: u32 = 2;

impl Pause {
    /// Returns when submits may go on.
    pub(super) fn until(&self) -> Duration {
        self.until
    }

    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Takes note of a failure. Single ones concern only their request.
    pub(super) fn failed(&mut self, now: Duration, retry_after: Option<Duration>, jitter: f64) {
        if now >= self.until {
            self.failures = self.failures.saturating_add(1);
        }
        if self.failures > TOLERATED_FAILURES {
            let delay = backoff(self.failures - TOLERATED_FAILURES, jitter);
            self.extend(now + delay.max(retry_after.unwrap_or_default()));
        }
    }

    /// Pauses at least until then.
    pub(super) fn extend(&mut self, until: Duration) {
        self.until = self.until.max(until);
    }
}

/// Returns the delay before attempt `number` + 1: half of a limit that doubles, and a random part of
/// the other half.
pub(super) fn backoff(number: u32, jitter: f64) -> Duration {
    let factor = 1_u32
        .checked_shl(number.saturating_sub(1))
        .unwrap_or(u32::MAX);
    let limit = INITIAL_DELAY.saturating_mul(factor).min(MAX_DELAY);
    limit.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_window_doubles_first_and_then_grows_by_one_a_round() {
        let mut window = AdaptiveWindow::new(100);
        assert_eq!(window.size(), 8);
        for _ in 0..8 {
            window.accepted(8);
        }
        assert_eq!(window.size(), 9, "eight are not the limit any more");
        let mut window = AdaptiveWindow::new(20);
        for _ in 0..100 {
            window.accepted(window.size());
        }
        assert_eq!(window.size(), 20);
        window.halve(seconds(1));
        window.halve(seconds(1));
        assert_eq!(window.size(), 10, "one decrease for a burst");
        for _ in 0..10 {
            window.accepted(window.size());
        }
        assert_eq!(window.size(), 10);
        window.accepted(window.size());
        assert_eq!(window.size(), 11);
        for second in 2..20 {
            window.halve(seconds(second));
        }
        assert_eq!(window.size(), 1);
    }

    #[test]
    fn a_window_shrinks_to_what_was_accepted() {
        let mut window = AdaptiveWindow::new(16);
        window.shrink_to(5);
        assert_eq!(window.size(), 5);
        window.shrink_to(0);
        assert_eq!(window.size(), 1);
    }

    #[test]
    fn a_pause_begins_after_some_failures_in_a_row() {
        let mut pause = Pause::default();
        pause.failed(seconds(1), Some(seconds(5)), 1.0);
        pause.succeeded();
        pause.failed(seconds(1), None, 1.0);
        pause.failed(seconds(1), None, 1.0);
        assert_eq!(pause.until(), Duration::ZERO);
        pause.failed(seconds(1), None, 1.0);
        assert_eq!(pause.until(), Duration::from_millis(1500));
        pause.failed(seconds(1), Some(seconds(5)), 1.0);
        assert_eq!(pause.until(), seconds(6));
    }

    #[test]
    fn delays_double_up_to_a_limit() {
        let delays: Vec<_> = [1, 2, 3, 7, 40].map(|n| backoff(n, 1.0).as_millis()).into();
        assert_eq!(delays, [500, 1000, 2000, 20_000, 20_000]);
        assert_eq!(backoff(2, 0.0).as_millis(), 500);
    }
}
