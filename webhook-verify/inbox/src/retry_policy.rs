//! The retry policy of failed events.

use std::time::Duration;

/// How often, and after which delays, an event is handled again after a failure.
///
/// The delay doubles with each attempt, from `initial_delay` to `max_delay`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRetryPolicy {
    /// The maximum number of attempts, after which an event is given up. The default is 20.
    pub max_attempts: u32,
    /// The delay after the first attempt. The default is 1 second.
    pub initial_delay: Duration,
    /// The maximum delay. The default is 15 minutes.
    pub max_delay: Duration,
}

impl Default for EventRetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 20,
            initial_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(15 * 60),
        }
    }
}

impl EventRetryPolicy {
    /// Returns the delay after an attempt, counted from 1, or `None` if it was the last.
    #[must_use]
    pub fn delay_after(&self, attempt: u32) -> Option<Duration> {
        if attempt >= self.max_attempts {
            return None;
        }
        let factor = 2_u32.saturating_pow(attempt.saturating_sub(1));
        Some(self.initial_delay.saturating_mul(factor).min(self.max_delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum() {
        let policy = EventRetryPolicy {
            max_attempts: 5,
            initial_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(3),
        };
        let seconds = |attempt| policy.delay_after(attempt).map(|delay| delay.as_secs());
        assert_eq!([1, 2, 3, 4, 5].map(seconds), [Some(1), Some(2), Some(3), Some(3), None]);
        assert_eq!(EventRetryPolicy::default().delay_after(19), Some(Duration::from_secs(900)));
    }
}
