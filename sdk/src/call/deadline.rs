//! Time limits that do not count the time during which the program cannot run.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use super::clock::{self, CHECK_INTERVAL, ClockReading, Instant};
use crate::transport::TransportError;

/// How late a timer may fire in a program that runs. A later one means that it was stopped.
const MAX_DELAY: Duration = Duration::from_secs(2);
/// The least time that is left after the program was stopped, once for each time limit.
const MIN_TIME_LEFT: Duration = Duration::from_secs(5);
/// How long an exchange that was under way while the computer slept may take to go on.
const GRACE_AFTER_SLEEP: Duration = Duration::from_secs(1);

/// The end of a time limit, which is put off while the program cannot run.
///
/// The time that the computer sleeps is not counted anyway, as tokio's clock stands still. That clock
/// goes on while the process is stopped, as by Ctrl-Z or a debugger: timers then fire late.
#[derive(Debug)]
pub(crate) struct Deadline(Mutex<State>);

#[derive(Clone, Copy, Debug)]
struct State {
    at: Instant,
    /// Whether [`MIN_TIME_LEFT`] was granted.
    is_extended: bool,
}

impl Deadline {
    pub(crate) fn at(at: Instant) -> Self {
        Self(Mutex::new(State {
            at,
            is_extended: false,
        }))
    }

    /// Creates the deadline after `span`.
    pub(crate) fn after(span: Duration) -> Self {
        Self::at(clock::after(span))
    }

    /// Returns when it is, as far as is known.
    pub(crate) fn instant(&self) -> Instant {
        self.state().at
    }

    /// Returns the time that is left.
    pub(crate) fn remaining(&self) -> Duration {
        self.instant().saturating_duration_since(clock::now())
    }

    pub(crate) fn has_passed(&self) -> bool {
        let (at, now) = (self.instant(), clock::now());
        now >= at && !self.put_off(at, now)
    }

    /// Returns the output of the future, or `None` if the deadline comes first.
    pub(crate) async fn before<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        // What is ready at once needs neither a clock nor a timer.
        let first = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        if let Poll::Ready(output) = first {
            return Some(output);
        }
        loop {
            let check = self.instant().min(clock::now() + CHECK_INTERVAL);
            let output = clock::before(check, future.as_mut()).await;
            let now = clock::now();
            if output.is_some() {
                self.put_off(check, now);
                return output;
            }
            if self.has_passed_at(check, now) {
                return None;
            }
        }
    }

    /// Returns whether the deadline has passed at a look at the clocks that was due at `check`, and
    /// is not put off.
    fn has_passed_at(&self, check: Instant, now: Instant) -> bool {
        let at = self.instant();
        !self.put_off(check, now) && at <= check
    }

    /// Puts the deadline off if it is much later than when the task was due to run.
    pub(crate) fn put_off(&self, due: Instant, now: Instant) -> bool {
        let delay = now.saturating_duration_since(due);
        delay > MAX_DELAY && self.state().put_off(delay, now)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn put_off(&mut self, delay: Duration, now: Instant) -> bool {
        let mut at = self.at.checked_add(delay).unwrap_or(self.at);
        // Some of the time before the timer was due was lost as well, which may have been all of a
        // short limit.
        if at < now + MIN_TIME_LEFT && !self.is_extended {
            at = now + MIN_TIME_LEFT;
            self.is_extended = true;
        }
        self.at = at;
        at > now
    }
}

impl Clone for Deadline {
    /// Creates a deadline at the same time, which is put off on its own.
    fn clone(&self) -> Self {
        Self(Mutex::new(*self.state()))
    }
}

/// Why an exchange with a server was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoResponse {
    /// The deadline of the call or download that the exchange belongs to has passed.
    DeadlinePassed,
    TimedOut,
    /// The computer slept, and the exchange did not go on afterwards.
    ComputerSlept,
}

impl From<NoResponse> for TransportError {
    fn from(reason: NoResponse) -> Self {
        match reason {
            NoResponse::DeadlinePassed | NoResponse::TimedOut => Self::timed_out(),
            NoResponse::ComputerSlept => {
                Self::maybe_sent("no response after the computer woke from sleep")
            }
        }
    }
}

/// Returns the output of an exchange with a server that began at `began`, unless `deadline` passes,
/// the exchange takes longer than `timeout`, or its connection died while the computer slept.
///
/// One timer serves both limits.
pub(crate) async fn exchange<F: Future>(
    deadline: Option<&Deadline>,
    timeout: Duration,
    began: ClockReading,
    mut future: Pin<&mut F>,
) -> Result<F::Output, NoResponse> {
    let limit = Deadline::at(began.monotonic_after(timeout));
    let mut now = began.monotonic();
    loop {
        let check = limit.instant().min(now + CHECK_INTERVAL);
        let check = deadline.map_or(check, |deadline| check.min(deadline.instant()));
        let output = clock::before(check, future.as_mut()).await;
        now = clock::now();
        if let Some(output) = output {
            if let Some(deadline) = deadline {
                deadline.put_off(check, now);
            }
            return Ok(output);
        }
        let is_over = deadline.is_some_and(|deadline| deadline.has_passed_at(check, now));
        let has_timed_out = limit.has_passed_at(check, now);
        if is_over {
            return Err(NoResponse::DeadlinePassed);
        }
        if has_timed_out {
            return Err(NoResponse::TimedOut);
        }
        if began.has_slept() {
            break;
        }
    }
    let check = now + GRACE_AFTER_SLEEP;
    let check = deadline.map_or(check, |deadline| check.min(deadline.instant()));
    match clock::before(check, future).await {
        Some(output) => Ok(output),
        None if deadline.is_some_and(|deadline| deadline.instant() <= check) => {
            Err(NoResponse::DeadlinePassed)
        }
        None => Err(NoResponse::ComputerSlept),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how long a time limit of 20 seconds lasts if the program stops for `stop` each time
    /// that it has run for a second.
    async fn duration_with_stops(stop: Duration) -> Duration {
        let stops = tokio::spawn(async move {
            loop {
                clock::sleep(Duration::from_secs(1)).await;
                tokio::time::advance(stop).await;
            }
        });
        let began = clock::now();
        let deadline = Deadline::after(Duration::from_secs(20));
        deadline.before(std::future::pending::<()>()).await;
        stops.abort();
        clock::now() - began
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_timer_counts_as_load_and_a_very_late_one_as_a_stop() {
        let lasts = duration_with_stops(Duration::from_millis(1_500)).await;
        assert!(lasts < Duration::from_secs(23), "{lasts:?}");
        let lasts = duration_with_stops(Duration::from_secs(60)).await;
        assert!(lasts > Duration::from_secs(180), "{lasts:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_is_not_put_off_forever() {
        let deadline = Deadline::after(Duration::from_secs(1));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(!deadline.has_passed());
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(deadline.has_passed());
    }
}
