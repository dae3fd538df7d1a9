//! The only module that reads a clock or sleeps: on tokio's time, which tests can move.
//!
//! That time stands still while the computer sleeps, so that pauses compare it with the wall clock.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

pub(crate) use tokio::time::Instant;
use tokio::time::Sleep;

/// How often a long pause or time limit looks at the clocks.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// How much more the wall clock has to advance than tokio's: less may be a correction of the clock.
const MIN_SLEEP: Duration = Duration::from_secs(30);

#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Returns the wall-clock time, which is only used to read dates that a server sent, and to notice
/// that the computer slept.
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub(crate) fn wall() -> SystemTime {
    let now = SystemTime::now();
    #[cfg(test)]
    let now = now + WALL_OFFSET.get();
    now
}

#[cfg(test)]
thread_local! {
    static WALL_OFFSET: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };
}

/// Lets the computer sleep: moves the wall clock of this thread, and no other clock.
#[cfg(test)]
pub(crate) fn sleep_computer(span: Duration) {
    WALL_OFFSET.set(WALL_OFFSET.get() + span);
}

/// Returns the time after `span`. A span beyond the range of the clock counts as a century.
pub(crate) fn after(span: Duration) -> Instant {
    add(now(), span)
}

fn add(moment: Instant, span: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

    moment.checked_add(span).unwrap_or(moment + CENTURY)
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

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockReading {
    monotonic: Instant,
    wall: SystemTime,
}

impl ClockReading {
    pub(crate) fn now() -> Self {
        Self { monotonic: now(), wall: wall() }
    }

    pub(crate) fn monotonic(&self) -> Instant {
        self.monotonic
    }

    pub(crate) fn monotonic_after(&self, span: Duration) -> Instant {
        add(self.monotonic, span)
    }

    /// Returns how long the computer slept between this reading and a later one, if it did.
    pub(crate) fn slept_until(&self, later: &Self) -> Option<Duration> {
        let elapsed = later.wall.duration_since(self.wall).ok()?;
        let awake = later.monotonic.saturating_duration_since(self.monotonic);
        elapsed.checked_sub(awake).filter(|slept| *slept >= MIN_SLEEP)
    }

    /// Returns the time since this reading, on the clock that advanced more.
    pub(crate) fn elapsed(&self) -> Duration {
        let now = Self::now();
        let awake = now.monotonic.saturating_duration_since(self.monotonic);
        now.wall.duration_since(self.wall).map_or(awake, |elapsed| elapsed.max(awake))
    }

    /// Returns whether the computer slept since this reading.
    pub(crate) fn has_slept(&self) -> bool {
        self.slept_until(&Self::now()).is_some()
    }
}

pub(crate) async fn sleep_until(moment: Instant) {
    tokio::time::sleep_until(moment).await;
}

pub(crate) async fn sleep(span: Duration) {
    tokio::time::sleep(span).await;
}

/// Returns the output of the future, or `None` if the deadline comes first.
pub(crate) async fn before<F: Future>(deadline: Instant, future: F) -> Option<F::Output> {
    tokio::time::timeout_at(deadline, future).await.ok()
}

/// Sleeps until the moment, or until the computer has woken from sleep, if that is earlier.
pub(crate) async fn pause_until(moment: Instant) {
    let began = ClockReading::now();
    loop {
        let check = moment.min(now() + CHECK_INTERVAL);
        sleep_until(check).await;
        if check == moment || began.has_slept() {
            return;
        }
    }
}

/// Pauses for `span`, like [`pause_until`].
pub(crate) async fn pause(span: Duration) {
    pause_until(after(span)).await;
}
