//! Service time as the faces keep it: the one module of this crate that reads a clock.
//!
//! The engine is only ever told what time it is. Waiting until a moment is the faces' business;
//! this says how long that is.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::engine::Time;

/// The mock's own clock, which everything timed follows.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    epoch: Time,
    time_source: TimeSource,
    clock_mode: ClockMode,
    /// The service time of `anchor_elapsed`; of a manual clock, the service time.
    anchor: Time,
    anchor_elapsed: Duration,
}

/// How service time passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClockMode {
    /// With real time, so many times as fast.
    Real(Speed),
    /// Only when it is advanced.
    Manual,
}

impl Default for ClockMode {
    fn default() -> Self {
        Self::Real(Speed::default())
    }
}

/// What real time is measured with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TimeSource {
    /// The operating system's monotonic clock.
    #[cfg(any(feature = "serve", feature = "wiremock"))]
    System(std::time::Instant),
    /// The runtime's, which `tokio::time::pause` stops and `tokio::time::advance` moves.
    #[cfg(any(feature = "in-process", test))]
    Runtime(tokio::time::Instant),
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the module that time comes in through"
)]
impl TimeSource {
    #[cfg(any(feature = "serve", feature = "wiremock"))]
    pub(crate) fn system() -> Self {
        Self::System(std::time::Instant::now())
    }

    #[cfg(any(feature = "in-process", test))]
    pub(crate) fn runtime() -> Self {
        Self::Runtime(tokio::time::Instant::now())
    }
}

impl TimeSource {
    fn elapsed(self) -> Duration {
        match self {
            #[cfg(any(feature = "serve", feature = "wiremock"))]
            Self::System(start) => start.elapsed(),
            #[cfg(any(feature = "in-process", test))]
            Self::Runtime(start) => start.elapsed(),
        }
    }
}

/// What the wall clock shows.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the module that time comes in through"
)]
pub(crate) fn wall_clock_now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Time::from_micros(0).after(since.unwrap_or_default())
}

impl Clock {
    pub(crate) fn start(clock_mode: ClockMode, time_source: TimeSource, epoch: Time) -> Self {
        Self {
            epoch,
            time_source,
            clock_mode,
            anchor: epoch,
            anchor_elapsed: time_source.elapsed(),
        }
    }

    /// Service time.
    #[must_use]
    pub(crate) fn now(&self) -> Time {
        match self.clock_mode {
            ClockMode::Manual => self.anchor,
            ClockMode::Real(speed) => {
                let real = self
                    .time_source
                    .elapsed()
                    .saturating_sub(self.anchor_elapsed);
                self.anchor.after(speed.to_service(real))
            }
        }
    }

    /// Where the clock started.
    #[must_use]
    pub(crate) const fn epoch(&self) -> Time {
        self.epoch
    }

    /// How it passes.
    #[must_use]
    pub(crate) const fn clock_mode(&self) -> ClockMode {
        self.clock_mode
    }

    /// The real time until `moment`; `None` where no waiting brings it about.
    pub(crate) fn real_time_until(&self, moment: Time) -> Option<Duration> {
        let service = moment.since(self.now());
        match self.clock_mode {
            _ if service.is_zero() => Some(Duration::ZERO),
            ClockMode::Manual => None,
            ClockMode::Real(speed) => Some(speed.to_real(service)),
        }
    }

    /// Where a manual clock would be after `span`.
    ///
    /// # Errors
    ///
    /// [`NotManual`] where the clock passes by itself.
    pub(crate) fn after(&self, span: Duration) -> Result<Time, NotManual> {
        match self.clock_mode {
            ClockMode::Manual => Ok(self.anchor.after(span)),
            ClockMode::Real(_) => Err(NotManual),
        }
    }

    /// Sets the clock, which goes on from there. It never starts after its own moment.
    pub(crate) fn set(&mut self, now: Time) {
        self.epoch = self.epoch.min(now);
        self.anchor = now;
        self.anchor_elapsed = self.time_source.elapsed();
    }
}

/// A clock that passes by itself cannot be advanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotManual;

impl fmt::Display for NotManual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "this clock passes with real time; to move it, start the mock with a manual clock \
             (--clock manual, or clock_manual() on the builder)",
        )
    }
}

impl std::error::Error for NotManual {}

/// How many times as fast as real time service time passes.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Speed(f64);

impl Speed {
    const LIMITS: std::ops::RangeInclusive<f64> = 0.001..=1_000_000.0;

    /// So many times as fast, from 0.001 to 1,000,000.
    ///
    /// # Errors
    ///
    /// [`InvalidSpeed`] outside of that, or where it is no number.
    pub fn new(factor: f64) -> Result<Self, InvalidSpeed> {
        if Self::LIMITS.contains(&factor) {
            Ok(Self(factor))
        } else {
            Err(InvalidSpeed)
        }
    }

    /// The factor.
    #[must_use]
    pub const fn factor(self) -> f64 {
        self.0
    }

    fn to_service(self, real: Duration) -> Duration {
        micros(real.as_micros() as f64 * self.0)
    }

    /// Rounded up, so that a wait never ends a moment too early.
    fn to_real(self, service: Duration) -> Duration {
        micros((service.as_micros() as f64 / self.0).ceil())
    }
}

/// A cast of a float saturates, so that nothing here overflows.
fn micros(count: f64) -> Duration {
    Duration::from_micros(count as u64)
}

impl Default for Speed {
    fn default() -> Self {
        Self(1.0)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Speed {
    type Err = InvalidSpeed;

    fn from_str(text: &str) -> Result<Self, InvalidSpeed> {
        Self::new(text.parse().map_err(|_| InvalidSpeed)?)
    }
}

/// No factor that a clock can run at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidSpeed;

impl fmt::Display for InvalidSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a speed is a number from 0.001 to 1000000")
    }
}

impl std::error::Error for InvalidSpeed {}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH: Time = Time::from_micros(1_700_000_000_000_000);

    fn seconds(count: u64) -> Time {
        EPOCH.after(Duration::from_secs(count))
    }

    fn clock(clock_mode: ClockMode) -> Clock {
        Clock::start(clock_mode, TimeSource::runtime(), EPOCH)
    }

    fn times(factor: f64) -> ClockMode {
        ClockMode::Real(Speed::new(factor).unwrap())
    }

    async fn pass(seconds: u64) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_real_clock_passes_with_real_time() {
        let clock = clock(ClockMode::default());
        assert_eq!(clock.now(), EPOCH);
        pass(7).await;
        assert_eq!(clock.now(), seconds(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_fast_clock_passes_so_many_times_as_fast() {
        let clock = clock(times(20.0));
        pass(3).await;
        assert_eq!(clock.now(), seconds(60));
        let until = clock.real_time_until(seconds(80));
        assert_eq!(until, Some(Duration::from_secs(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_manual_clock_stands_still_until_it_is_set() {
        let mut clock = clock(ClockMode::Manual);
        pass(7).await;
        assert_eq!(clock.now(), EPOCH);
        let later = clock.after(Duration::from_millis(1500)).unwrap();
        clock.set(later);
        assert_eq!(clock.now(), EPOCH.after(Duration::from_millis(1500)));
        assert_eq!(clock.epoch(), EPOCH);
        let long_ago = Time::from_micros(5);
        clock.set(long_ago);
        assert_eq!(
            clock.epoch(),
            long_ago,
            "it never starts after its own moment"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_manual_clock_is_in_vain() {
        let clock = clock(ClockMode::Manual);
        assert_eq!(clock.real_time_until(seconds(1)), None);
        assert_eq!(clock.real_time_until(EPOCH), Some(Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_real_clock_cannot_be_advanced_but_says_what_can() {
        let refused = clock(ClockMode::default()).after(Duration::from_secs(1));
        assert!(refused.unwrap_err().to_string().contains("--clock manual"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_was_set_goes_on_from_there() {
        let mut clock = clock(times(10.0));
        pass(5).await;
        clock.set(seconds(1000));
        pass(1).await;
        assert_eq!(clock.now(), seconds(1010));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_never_ends_too_early() {
        let clock = clock(times(3.0));
        let moment = EPOCH.after(Duration::from_micros(10));
        let wait = clock.real_time_until(moment).unwrap();
        tokio::time::advance(wait).await;
        assert!(clock.now() >= moment);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_time_is_no_panic() {
        let mut clock = clock(times(1_000_000.0));
        clock.set(Time::from_micros(u64::MAX - 1));
        pass(1_000_000_000).await;
        assert_eq!(clock.now(), Time::from_micros(u64::MAX));
        let slow = self::clock(times(0.001));
        assert!(slow.real_time_until(Time::from_micros(u64::MAX)).is_some());
    }

    #[test]
    fn a_speed_is_a_number_above_nothing() {
        for good in ["1", "20", "0.5", "0.001", "1e6"] {
            assert!(good.parse::<Speed>().is_ok(), "{good}");
        }
        for bad in ["0", "-1", "nan", "inf", "", "fast", "1e7"] {
            assert_eq!(bad.parse::<Speed>(), Err(InvalidSpeed), "{bad}");
        }
    }

    #[test]
    fn the_wall_clock_is_past_2023() {
        assert!(wall_clock_now() > EPOCH);
    }
}
