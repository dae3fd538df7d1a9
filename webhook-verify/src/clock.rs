//! The system's clock. Everything else takes the time as an argument.

use std::time::{SystemTime, UNIX_EPOCH};

/// A clock that is set before 1970 stands at 0: then no delivery is fresh.
#[allow(
    clippy::disallowed_methods,
    reason = "the one place where the clock is read"
)]
pub(crate) fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
