//! What is left of a key's write quota, as the responses report it.

use std::time::Duration;

/// What a response says of the key's write quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::batch) struct WriteLimit {
    /// The requests allowed in a window.
    pub(in crate::batch) limit: u32,
    /// The requests left in this window.
    pub(in crate::batch) remaining: u32,
    /// The time until the next window.
    pub(in crate::batch) reset_after: Duration,
}

/// The write quota of a key.
///
/// The SDK's client keeps requests within the budget as well. The scheduler starts none that would
/// wait there: its intent would be in the journal long before it is sent.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteQuota {
    window: Option<(WriteLimit, Duration)>,
    in_flight: u32,
    /// Whether a request has ended, so that the window is known if the service reports it.
    is_probed: bool,
}

impl WriteQuota {
    /// Starts with what an earlier process learned.
    pub(super) fn resume(&mut self, known: WriteLimit) {
        self.window = Some((known, known.reset_after));
    }

    /// Takes a place, or returns when to try again. `None` is after the next response.
    ///
    /// The first request is sent alone: another process may have used the budget up.
    pub(super) fn acquire(&mut self, now: Duration) -> Result<(), Option<Duration>> {
        if !self.is_probed && self.in_flight > 0 {
            return Err(None);
        }
        if let Some((window, ends)) = self.window {
            let remaining = match now < ends {
                true => window.remaining,
                false => window.limit.max(1),
            };
            if remaining == 0 {
                return Err(Some(ends));
            }
            if self.in_flight >= remaining {
                return Err(None);
            }
        }
        self.in_flight += 1;
        Ok(())
    }

    /// Gives back the place of a request that was not sent.
    pub(super) fn cancel(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Gives a place back, and learns from the response if there was one.
    pub(super) fn release(&mut self, now: Duration, reported: Option<WriteLimit>) {
        self.is_probed = true;
        self.in_flight = self.in_flight.saturating_sub(1);
        let Some(reported) = reported else {
            // It may have been counted.
            if let Some((window, _)) = &mut self.window {
                window.remaining = window.remaining.saturating_sub(1);
            }
            return;
        };
        let ends = now + reported.reset_after;
        let remaining = match self.window {
            // Responses may arrive in another order than their requests.
            Some((known, known_ends)) if now < known_ends && ends <= known_ends + ROUNDING => {
                known.remaining.min(reported.remaining)
            }
            _ => reported.remaining,
        };
        let window = WriteLimit {
            remaining,
            ..reported
        };
        self.window = Some((window, ends));
    }
}

/// How far the ends of one window may differ, as they are reported in whole seconds.
const ROUNDING: Duration = Duration::from_millis(1_500);

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(remaining: u32) -> Option<WriteLimit> {
        Some(WriteLimit {
            limit: 3,
            remaining,
            reset_after: Duration::from_secs(10),
        })
    }

    #[test]
    fn a_window_that_an_earlier_process_used_up_is_waited_for() {
        let mut quota = WriteQuota::default();
        quota.resume(reported(0).unwrap());
        let ends = Duration::from_secs(10);
        assert_eq!(quota.acquire(Duration::ZERO), Err(Some(ends)));
        assert_eq!(quota.acquire(ends), Ok(()));
        assert_eq!(quota.acquire(ends), Err(None), "sent alone");
    }

    #[test]
    fn a_window_is_used_up_and_not_overdrawn() {
        let (mut quota, now) = (WriteQuota::default(), Duration::from_secs(100));
        assert_eq!(quota.acquire(now), Ok(()));
        assert_eq!(quota.acquire(now), Err(None), "nothing is known yet");
        quota.release(now, reported(2));
        assert_eq!(quota.acquire(now), Ok(()));
        assert_eq!(quota.acquire(now), Ok(()));
        assert_eq!(quota.acquire(now), Err(None), "two are under way");
        quota.release(now, reported(0));
        quota.release(now, reported(1));
        let ends = now + Duration::from_secs(10);
        assert_eq!(quota.acquire(now), Err(Some(ends)), "a late response");
        for expected in [Ok(()), Ok(()), Ok(()), Err(None)] {
            assert_eq!(quota.acquire(ends), expected, "the next window");
        }
    }
}
