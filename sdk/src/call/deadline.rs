//! Time limits that do not count the time during which the program cannot run.

use std::pin::{Pin, pin};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::clock::{self, CHECK_INTERVAL, ClockReading, Instant};
use crate::transport::TransportError;

/// How late a timer may fire in a program that runs. A later one means that it was stopped.
const MAX_DELAY: Duration = Duration::from_secs(2);
/// The least time that is left after the program was stopped, once for each time limit.
const MIN_TIME_LEFT: Duration = Duration::from_secs(5);
/// How long an exchange that was under way while the computer slept may take to go on.
const TIME_TO_GO_ON: Duration = Duration::from_secs(1);

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
        let at = self.instant();
        clock::now() >= at && !self.put_off(at)
    }

    /// Returns the output of the future, or `None` if the deadline comes first.
    pub(crate) async fn before<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        loop {
            match self.step(future.as_mut()).await {
                Step::Finished(output) => return Some(output),
                Step::Passed => return None,
                Step::Running => {}
            }
        }
    }

    /// Runs the future until the clocks have to be looked at.
    async fn step<F: Future>(&self, future: Pin<&mut F>) -> Step<F::Output> {
        let at = self.instant();
        let check = at.min(clock::now() + CHECK_INTERVAL);
        let output = clock::before(check, future).await;
        let is_put_off = self.put_off(check);
        match output {
            Some(output) => Step::Finished(output),
            None if is_put_off || check < at => Step::Running,
            None => Step::Passed,
        }
    }

    /// Puts the deadline off if it is much later than when the task was due to run.
    pub(crate) fn put_off(&self, due: Instant) -> bool {
        let now = clock::now();
        let delay = now.saturating_duration_since(due);
        if delay <= MAX_DELAY {
            return false;
        }
        let mut state = self.state();
        let mut at = state.at.checked_add(delay).unwrap_or(state.at);
        // Some of the time before the timer was due was lost as well, which may have been all of a
        // short limit.
        if at < now + MIN_TIME_LEFT && !state.is_extended {
            at = now + MIN_TIME_LEFT;
            state.is_extended = true;
        }
        state.at = at;
        at > now
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Deadline {
    /// Creates a deadline at the same time, which is put off on its own.
    fn clone(&self) -> Self {
        Self(Mutex::new(*self.state()))
    }
}

/// What became of a future meanwhile.
enum Step<T> {
    Finished(T),
    /// The deadline has passed.
    Passed,
    Running,
}

/// Why an exchange with a server was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoResponse {
    TimedOut,
    /// The computer slept, and the exchange did not go on afterwards.
    ComputerSlept,
}

impl From<NoResponse> for TransportError {
    fn from(reason: NoResponse) -> Self {
        match reason {
            NoResponse::TimedOut => Self::timed_out(),
            NoResponse::ComputerSlept => {
                Self::maybe_sent("no response after the computer woke from sleep")
            }
        }
    }
}

/// Returns the output of an exchange with a server, unless it takes longer than `timeout` or its
/// connection died while the computer slept.
pub(crate) async fn exchange<F: Future>(
    timeout: Duration,
    future: F,
) -> Result<F::Output, NoResponse> {
    let deadline = Deadline::after(timeout);
    let began = ClockReading::now();
    let mut future = pin!(future);
    loop {
        match deadline.step(future.as_mut()).await {
            Step::Finished(output) => return Ok(output),
            Step::Passed => return Err(NoResponse::TimedOut),
            Step::Running if began.has_slept() => break,
            Step::Running => {}
        }
    }
    let output = clock::before(clock::now() + TIME_TO_GO_ON, future).await;
    output.ok_or(NoResponse::ComputerSlept)
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
