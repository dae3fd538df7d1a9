//! Service time, which callers pass to the engine.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

/// A time of the service clock, in microseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// Creates a time from microseconds since the Unix epoch.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Returns the microseconds since the Unix epoch.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the whole seconds since the Unix epoch.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Returns the time that is `span` later. Saturates at the maximum.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }

    /// Returns the time that is `span` earlier; `None` if that is before the Unix epoch.
    pub(crate) fn before(self, span: Duration) -> Option<Self> {
        let micros = u64::try_from(span.as_micros()).ok()?;
        self.0.checked_sub(micros).map(Self)
    }

    /// Returns the duration since `earlier`, or zero if `earlier` is later than this time.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Time {
    /// Formats the time as RFC 3339 in UTC.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = i64::try_from(self.0).unwrap_or(i64::MAX);
        match jiff::Timestamp::from_microsecond(micros) {
            Ok(timestamp) => timestamp.fmt(f),
            Err(_) => write!(f, "{micros}us"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeText(pub(crate) Time);

impl Serialize for TimeText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}
