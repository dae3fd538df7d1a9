//! The time that stores read.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A source of the current time for a store.
///
/// Stores on one machine use the system clock. Stores on a server use the clock of that server,
/// so that workers agree on when a lease expires. Tests can replace both.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// Creates a clock from a function that returns the current time.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the clock of this machine.
    #[must_use]
    #[allow(
        clippy::disallowed_methods,
        reason = "the only place in this crate that reads the clock"
    )]
    pub fn system() -> Self {
        Self::new(SystemTime::now)
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        (self.0)()
    }

    /// Returns the current time in milliseconds since the Unix epoch.
    pub(crate) fn millis(&self) -> i64 {
        to_millis(self.now())
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Returns a time in milliseconds since the Unix epoch, or 0 if it is earlier.
pub(crate) fn to_millis(time: SystemTime) -> i64 {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    duration_millis(since_epoch)
}

/// Returns the time that is `millis` milliseconds after the Unix epoch.
pub(crate) fn from_millis(millis: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis.unsigned_abs())
}

/// Returns a duration in milliseconds, with saturation at a few million years.
pub(crate) fn duration_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).map_or(i64::MAX / 4, |millis| millis.min(i64::MAX / 4))
}
