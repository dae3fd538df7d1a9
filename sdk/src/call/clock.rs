//! The only module that reads a clock or sleeps: on tokio's time, which tests can move.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

pub(crate) use tokio::time::Instant;
use tokio::time::Sleep;

#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Returns the wall-clock time, which is only used to read dates that a server sent.
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

/// Returns the time after `span`. A span beyond the range of the clock counts as a century.
pub(crate) fn after(span: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

    let now = now();
    now.checked_add(span).unwrap_or(now + CENTURY)
}

/// A timer that can be set again.
#[derive(Debug)]
pub(crate) struct Timer(Pin<Box<Sleep>>);

impl Timer {
    pub(crate) fn new(moment: Instant) -> Self {
        Self(Box::pin(tokio::time::sleep_until(moment)))
    }

    pub(crate) fn set(&mut self, moment: Instant) {
        self.0.as_mut().reset(moment);
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}

pub(crate) async fn sleep_until(moment: Instant) {
    tokio::time::sleep_until(moment).await;
}

pub(crate) async fn sleep(span: Duration) {
    tokio::time::sleep(span).await;
}

/// Returns the output of the future, or `None` if the deadline comes first.
pub(crate) async fn before<F: Future>(deadline: Option<Instant>, future: F) -> Option<F::Output> {
    match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline, future).await.ok(),
        None => Some(future.await),
    }
}
