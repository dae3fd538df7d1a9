//! The only place that reads a clock or sleeps: all on tokio's time, which a test can move.

use std::time::{Duration, SystemTime};

pub(crate) use tokio::time::Instant;

#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The wall clock: only to read dates that a server sent.
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

/// The moment after that span; a span past the clock's range is one that nobody lives to see.
pub(crate) fn after(span: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

    let now = now();
    now.checked_add(span).unwrap_or(now + CENTURY)
}

pub(crate) async fn sleep_until(moment: Instant) {
    tokio::time::sleep_until(moment).await;
}

pub(crate) async fn sleep(span: Duration) {
    tokio::time::sleep(span).await;
}

/// The future's output, unless `deadline` comes first.
pub(crate) async fn before<F: Future>(deadline: Option<Instant>, future: F) -> Option<F::Output> {
    match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline, future).await.ok(),
        None => Some(future.await),
    }
}
