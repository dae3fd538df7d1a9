//! The service clock, which is the only module of this crate that reads the system time.
//!
//! The engine receives the time from its callers. Waiting is done by the frontends; the clock computes
//! how long to wait.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::engine::Time;

/// The clock of the simulated service.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    epoch: Time,
    time_source: TimeSource,
    clock_mode: ClockMode,
    /// The service time when the clock was last set.
    anchor: Time,
    /// The elapsed time of the source when the clock was last set.
    anchor_elapsed: Duration,
}

/// How service time passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClockMode {
    /// With real time, multiplied by a speed.
    Real(Speed),
    /// Only when it is advanced explicitly.
    Manual,
}

impl Default for ClockMode {
    fn default() -> Self {
        Self::Real(Speed::default())
    }
}

/// The clock that the timestamps of webhooks show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
pub enum WebhookTimestamps {
    /// The wall clock, so that a receiver that checks the age of a webhook accepts it whatever the
    /// service clock shows.
    Wall,
    /// The service clock.
    Service,
}

/// The source of real time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TimeSource {
    /// The operating system's monotonic clock.
    #[cfg(any(feature = "serve", feature = "wiremock"))]
    System(std::time::Instant),
    /// The clock of the Tokio runtime, which `tokio::time::pause` stops and
    /// `tokio::time::advance` moves.
    #[cfg(any(feature = "in-process", test))]
    Runtime(tokio::time::Instant),
}

#[allow(clippy::disallowed_methods, reason = "this is the only module that reads the system time")]
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
    /// Returns the clock that the timestamps of webhooks show unless it is set: a receiver on the
    /// runtime's clock has no wall clock.
    pub(crate) fn webhook_timestamps(self) -> WebhookTimestamps {
        match self {
            #[cfg(any(feature = "serve", feature = "wiremock"))]
            Self::System(_) => WebhookTimestamps::Wall,
            #[cfg(any(feature = "in-process", test))]
            Self::Runtime(_) => WebhookTimestamps::Service,
        }
    }

    fn elapsed(self) -> Duration {
        match self {
            #[cfg(any(feature = "serve", feature = "wiremock"))]
            Self::System(start) => start.elapsed(),
            #[cfg(any(feature = "in-process", test))]
            Self::Runtime(start) => start.elapsed(),
        }
    }
}

/// Returns the time of the runtime, for time limits of connections.
#[cfg(feature = "serve")]
#[expect(clippy::disallowed_methods, reason = "this is the only module that reads the system time")]
pub(crate) fn runtime_now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// Returns the current wall-clock time.
#[expect(clippy::disallowed_methods, reason = "this is the only module that reads the system time")]
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

    /// Returns the current service time.
    #[must_use]
    pub(crate) fn now(&self) -> Time {
        match self.clock_mode {
            ClockMode::Manual => self.anchor,
            ClockMode::Real(speed) => {
                let real = self.time_source.elapsed().saturating_sub(self.anchor_elapsed);
                self.anchor.after(speed.to_service(real))
            }
        }
    }

    #[must_use]
    pub(crate) const fn epoch(&self) -> Time {
        self.epoch
    }

    /// Returns how service time passes.
    #[must_use]
    pub(crate) const fn clock_mode(&self) -> ClockMode {
        self.clock_mode
    }

    /// Returns the real time until `then`; `None` if a manual clock has to be advanced first.
    pub(crate) fn real_time_until(&self, then: Time) -> Option<Duration> {
        let service = then.since(self.now());
        match self.clock_mode {
            _ if service.is_zero() => Some(Duration::ZERO),
            ClockMode::Manual => None,
            ClockMode::Real(speed) => Some(speed.to_real(service)),
        }
    }

    pub(crate) fn after(&self, span: Duration) -> Result<Time, NotManual> {
        match self.clock_mode {
            ClockMode::Manual => Ok(self.anchor.after(span)),
            ClockMode::Real(_) => Err(NotManual),
        }
    }

    /// Sets the current service time. If it is before the epoch, the epoch is set as well.
    pub(crate) fn set(&mut self, now: Time) {
        self.epoch = self.epoch.min(now);
        self.anchor = now;
        self.anchor_elapsed = self.time_source.elapsed();
    }

    /// Changes how service time passes, from the current time on.
    pub(crate) fn set_clock_mode(&mut self, clock_mode: ClockMode) {
        self.set(self.now());
        self.clock_mode = clock_mode;
    }

    /// Returns the real time since the start, for measuring spans.
    pub(crate) fn real_time(&self) -> Duration {
        self.time_source.elapsed()
    }
}

/// The error for advancing a clock that runs in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotManual;

impl fmt::Display for NotManual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "cannot advance the clock: it runs in real time; pause it with PUT /clock and \
             {\"mode\": \"manual\"}, or start the mock with a manual clock (--clock manual, or \
             clock_manual() on the builder)",
        )
    }
}

impl std::error::Error for NotManual {}

/// The speed of service time relative to real time.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Speed(f64);

impl Speed {
    const LIMITS: std::ops::RangeInclusive<f64> = 0.001..=1_000_000.0;

    /// Creates a speed from a factor between 0.001 and 1,000,000.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidSpeed`] if the factor is out of range or not a number.
    pub fn new(factor: f64) -> Result<Self, InvalidSpeed> {
        if Self::LIMITS.contains(&factor) { Ok(Self(factor)) } else { Err(InvalidSpeed) }
    }

    /// Returns the factor.
    #[must_use]
    pub const fn factor(self) -> f64 {
        self.0
    }

    fn to_service(self, real: Duration) -> Duration {
        micros(real.as_micros() as f64 * self.0)
    }

    /// Converts service time to real time, rounded up so that a wait never ends too early.
    fn to_real(self, service: Duration) -> Duration {
        micros((service.as_micros() as f64 / self.0).ceil())
    }
}

/// Converts a number of microseconds, which saturates at the bounds of `u64`.
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

/// The error for a factor that is not a valid speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidSpeed;

impl fmt::Display for InvalidSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid speed: expected a number from 0.001 to 1000000")
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
    async fn a_real_clock_follows_real_time_at_its_speed() {
        for (clock_mode, factor) in [(ClockMode::default(), 1), (times(20.0), 20)] {
            let clock = clock(clock_mode);
            assert_eq!(clock.now(), EPOCH);
            pass(3).await;
            assert_eq!(clock.now(), seconds(3 * factor));
            let until = clock.real_time_until(seconds(4 * factor));
            assert_eq!(until, Some(Duration::from_secs(1)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_manual_clock_moves_only_when_it_is_set() {
        let mut clock = clock(ClockMode::Manual);
        pass(7).await;
        assert_eq!(clock.now(), EPOCH);
        assert_eq!(clock.real_time_until(seconds(1)), None);
        assert_eq!(clock.real_time_until(EPOCH), Some(Duration::ZERO));
        let later = clock.after(Duration::from_millis(1500)).unwrap();
        clock.set(later);
        assert_eq!(clock.now(), EPOCH.after(Duration::from_millis(1500)));
        assert_eq!(clock.epoch(), EPOCH);
        let long_ago = Time::from_micros(5);
        clock.set(long_ago);
        assert_eq!(clock.epoch(), long_ago, "the epoch is never after the current time");
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_continues_from_the_time_it_is_set_to() {
        let mut clock = clock(times(10.0));
        pass(5).await;
        clock.set(seconds(1000));
        pass(1).await;
        assert_eq!(clock.now(), seconds(1010));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_never_ends_too_early() {
        let clock = clock(times(3.0));
        let then = EPOCH.after(Duration::from_micros(10));
        let wait = clock.real_time_until(then).unwrap();
        tokio::time::advance(wait).await;
        assert!(clock.now() >= then);
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_saturates_at_the_maximum_time() {
        let mut clock = clock(times(1_000_000.0));
        clock.set(Time::from_micros(u64::MAX - 1));
        pass(1_000_000_000).await;
        assert_eq!(clock.now(), Time::from_micros(u64::MAX));
        let slow = self::clock(times(0.001));
        assert!(slow.real_time_until(Time::from_micros(u64::MAX)).is_some());
    }

    #[test]
    fn speeds_outside_of_the_range_are_rejected() {
        for valid in ["1", "20", "0.5", "0.001", "1e6"] {
            assert!(valid.parse::<Speed>().is_ok(), "{valid}");
        }
        for invalid in ["0", "-1", "nan", "inf", "", "fast", "1e7"] {
            assert_eq!(invalid.parse::<Speed>(), Err(InvalidSpeed), "{invalid}");
        }
    }

    #[test]
    fn the_wall_clock_is_later_than_2023() {
        assert!(wall_clock_now() > EPOCH);
    }
}
