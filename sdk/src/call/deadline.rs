//! Time limits.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

use super::clock::{self, CHECK_INTERVAL, ClockReading, Instant};
use crate::error::{Error, Kind};
use crate::transport::TransportError;

/// The end of a time limit is noticed within this time unless the thread was busy. If it was, an answer that
/// arrived meanwhile has this long to be read.
const GRACE: Duration = Duration::from_millis(500);
/// How long a request that was in flight while the computer slept may take to continue.
const GRACE_AFTER_SLEEP: Duration = Duration::from_secs(1);

/// A time limit that has begun.
///
/// The time that the computer sleeps is not counted, as tokio's clock stands still.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    timeout: Duration,
    at: Instant,
}

impl Deadline {
    /// Creates the deadline of a time limit that begins now.
    pub(crate) fn after(timeout: Duration) -> Self {
        let at = clock::after(timeout);
        Self { timeout, at }
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) fn instant(&self) -> Instant {
        self.at
    }

    pub(crate) fn remaining(&self) -> Duration {
        self.at.saturating_duration_since(clock::now())
    }

    pub(crate) fn has_passed(&self) -> bool {
        clock::now() >= self.at
    }

    /// Returns the error of a call whose time limit passed before its request was sent.
    pub(crate) fn passed_before_sending(&self) -> Error {
        Error::new(Kind::Timeout { timeout: self.timeout, sent: false, last: None })
    }

    /// Returns the output of the future, or `None` if the deadline comes first.
    pub(crate) async fn before<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        // What is ready at once needs neither a clock nor a timer.
        let first = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        match first {
            Poll::Ready(output) => Some(output),
            Poll::Pending => clock::before(self.at, future).await,
        }
    }
}

/// Returns until when to wait for a response whose time limit ended at `end`, if that is noticed at `now`.
pub(crate) fn with_grace(end: Instant, now: Instant) -> Instant {
    if now.saturating_duration_since(end) > GRACE { now + GRACE } else { end }
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
    deadline: &Deadline,
    timeout: Duration,
    began: ClockReading,
    mut future: Pin<&mut F>,
) -> Result<F::Output, NoResponse> {
    let limit = began.monotonic_after(timeout);
    let (end, reason) = match deadline.at <= limit {
        true => (deadline.at, NoResponse::DeadlinePassed),
        false => (limit, NoResponse::TimedOut),
    };
    let mut now = began.monotonic();
    let (last, reason) = loop {
        let check = end.min(now + CHECK_INTERVAL);
        if let Some(output) = clock::before(check, future.as_mut()).await {
            return Ok(output);
        }
        now = clock::now();
        if now >= end {
            // On one thread, what has arrived is read before timers fire.
            break match Handle::current().runtime_flavor() {
                RuntimeFlavor::CurrentThread => (end, reason),
                _ => (with_grace(end, now), reason),
            };
        }
        if began.has_slept() {
            let last = now + GRACE_AFTER_SLEEP;
            break if last < end { (last, NoResponse::ComputerSlept) } else { (end, reason) };
        }
    };
    clock::before(last, future).await.ok_or(reason)
}
