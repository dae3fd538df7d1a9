//! The system clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current Unix time in seconds, or 0 if the clock is set before 1970.
#[allow(clippy::disallowed_methods, reason = "the only place in this crate that reads the clock")]
pub(crate) fn unix_seconds() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    since_epoch.map_or(0, |duration| duration.as_secs())
}
