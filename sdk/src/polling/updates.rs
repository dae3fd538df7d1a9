//! The status of a resource as a stream.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use tracing::{Instrument, Span};

use super::failures::PollFailures;
use super::result_retry::{MAX_REPLICA_LAG, REPLICA_POLL_INTERVAL, ResultRetry};
use super::{PollStatus, WaitOptions, WebhookNotifier, schedule, wait_options};
use crate::call::clock::{self, Instant};
use crate::error::{Error, Kind, Result};
use crate::handle::{Handle, Resource};
use crate::observe::trace;

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A status update of a job, a run, a bulk queue or a top-up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Update<T> {
    /// The last known status.
    pub status: T,
    /// Why the latest poll failed, if it did.
    pub poll_error: Option<Arc<Error>>,
    /// The number of polls so far.
    pub poll_count: u32,
    /// The time since the wait began.
    pub elapsed: Duration,
    /// The time until the next poll, or `None` after the last.
    pub next_poll: Option<Duration>,
}

impl<T> Update<T> {
    /// Returns whether there is nothing left to wait for.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.next_poll.is_none()
    }
}

/// A stream of status updates.
///
/// Returned by [`Handle::updates`](crate::handle::Handle::updates). The first update comes from the
/// receipt of the submit, at once, and each later one from a poll. The stream ends after the update
/// that is finished, or after an error.
///
/// Poll it to its end or drop it: a stream that is left alone in the middle of a poll keeps a place
/// among its client's requests.
#[must_use = "streams do nothing unless polled"]
pub struct Updates<R: Resource> {
    handle: Handle<R>,
    pub(super) options: WaitOptions,
    started: Instant,
    status: R::Status,
    polls: u32,
    failures: PollFailures,
    /// Until when to poll often, after a webhook event.
    hurry_until: Option<Instant>,
    state: State<R::Status>,
    event: Option<BoxFuture<()>>,
    timeout: Option<BoxFuture<()>>,
    span: Span,
}

enum State<T> {
    /// Nothing was polled yet.
    New,
    /// The next poll, and when it is due.
    Polling(BoxFuture<Result<T>>, Instant),
    /// The last update was returned, or an error.
    Finished,
}

wait_options!(Updates, options);

impl<R: Resource> Updates<R> {
    pub(crate) fn new(handle: Handle<R>) -> Self {
        Self {
            handle,
            options: WaitOptions::new(R::DEFAULT_TIMEOUT),
            started: clock::now(),
            status: R::Status::unknown(),
            polls: 0,
            failures: PollFailures::default(),
            hurry_until: None,
            state: State::New,
            event: None,
            timeout: None,
            span: Span::none(),
        }
    }

    /// Returns the next update, or `None` after the last.
    ///
    /// # Errors
    ///
    /// Returns an error, after which the stream ends, if the status could not be read
    /// ([`is_poll_failure`](Error::is_poll_failure)) or the time limit passed
    /// ([`is_wait_timeout`](Error::is_wait_timeout)).
    pub async fn next(&mut self) -> Option<Result<Update<R::Status>>> {
        poll_fn(|context| self.poll_update(context)).await
    }

    /// Reads the result, after the last update.
    ///
    /// # Errors
    ///
    /// As [`Handle::wait`](crate::handle::Handle::wait).
    pub async fn result(self) -> Result<R::Output> {
        let retry = ResultRetry::new(&self.options, self.deadline());
        let result = R::output(&self.handle, self.status, retry)
            .instrument(self.span.clone())
            .await;
        if let Err(error) = &result {
            trace::record_error(&self.span, error);
        }
        result
    }

    fn deadline(&self) -> Option<Instant> {
        // A time limit beyond the range of the clock is none.
        self.options
            .timeout
            .and_then(|timeout| self.started.checked_add(timeout))
    }

    /// Starts the timers, and returns the first update if the receipt has a status.
    fn start(&mut self) -> Option<Update<R::Status>> {
        self.span = trace::wait_span(&self.handle.resource_ref());
        self.timeout = self
            .deadline()
            .map(|deadline| Box::pin(clock::sleep_until(deadline)) as BoxFuture<()>);
        if let Some(notifier) = self.options.notifier.clone() {
            let id = self.handle.id().as_ref().to_owned();
            self.event = Some(Box::pin(async move { notifier.end_of(&id).await }));
        }
        let now = clock::now();
        match self.handle.initial_status() {
            Some(status) => {
                self.status = status;
                Some(self.update(now, None, self.pause(now)))
            }
            None => {
                self.poll_at(now);
                None
            }
        }
    }

    /// Schedules the next poll, when it is due and the client's poll schedule has room for it.
    fn poll_at(&mut self, due: Instant) {
        let core = Arc::clone(&self.handle.core);
        let status = self.handle.status().max_retries(0);
        let poll = async move {
            clock::sleep_until(due).await;
            clock::sleep_until(core.rate_limiter.reserve_poll(clock::now())).await;
            status.await
        };
        let poll = poll.instrument(self.span.clone());
        self.state = State::Polling(Box::pin(poll), due);
    }

    fn poll_update(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Update<R::Status>>>> {
        loop {
            match &mut self.state {
                State::Finished => return Poll::Ready(None),
                State::New => {
                    if let Some(update) = self.start() {
                        return Poll::Ready(Some(Ok(update)));
                    }
                }
                State::Polling(poll, _) => {
                    if let Poll::Ready(status) = poll.as_mut().poll(context) {
                        return Poll::Ready(Some(self.handle_poll(status)));
                    }
                    if let Some(event) = &mut self.event
                        && event.as_mut().poll(context).is_ready()
                    {
                        self.event = None;
                        self.hurry();
                        continue;
                    }
                    if let Some(timeout) = &mut self.timeout
                        && timeout.as_mut().poll(context).is_ready()
                    {
                        self.state = State::Finished;
                        let timeout = self.options.timeout.unwrap_or_default();
                        let error = Error::new(Kind::WaitTimeout { timeout });
                        trace::record_error(&self.span, &error);
                        return Poll::Ready(Some(Err(self.handle.annotate(error))));
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    fn handle_poll(&mut self, status: Result<R::Status>) -> Result<Update<R::Status>> {
        let now = clock::now();
        self.polls += 1;
        self.span.record("svc.poll_count", self.polls);
        match status {
            Ok(status) => {
                self.failures.reset();
                self.status = status;
                Ok(self.update(now, None, self.pause(now)))
            }
            Err(error) => {
                let timeout = self.options.poll_failure_timeout;
                let jitter = self.handle.core.random.fraction();
                match self.failures.pause(&error, now, timeout, jitter) {
                    Some(pause) => Ok(self.update(now, Some(Arc::new(error)), Some(pause))),
                    None => {
                        self.state = State::Finished;
                        trace::record_error(&self.span, &error);
                        Err(self
                            .handle
                            .annotate(error.into_poll_failure())
                            .with_ended_wait())
                    }
                }
            }
        }
    }

    /// Schedules what comes next, and returns the update that says so.
    fn update(
        &mut self,
        now: Instant,
        poll_error: Option<Arc<Error>>,
        next_poll: Option<Duration>,
    ) -> Update<R::Status> {
        if self.polls > 0 {
            trace::poll(&self.span, self.polls, poll_error.as_deref(), next_poll);
        }
        match next_poll {
            Some(pause) => self.poll_at(now + pause),
            None => self.state = State::Finished,
        }
        Update {
            status: self.status.clone(),
            poll_error,
            poll_count: self.polls,
            elapsed: now.saturating_duration_since(self.started),
            next_poll,
        }
    }

    /// The pause before the next poll, or `None` if there is nothing left to wait for.
    fn pause(&self, now: Instant) -> Option<Duration> {
        if self.status.is_finished() {
            return None;
        }
        let waited = now.saturating_duration_since(self.started);
        let jitter = self.handle.core.random.fraction();
        let mut pause = schedule::pause(self.status.poll_after(), waited, jitter);
        if let Some(deadline) = self.deadline() {
            pause = schedule::in_time(pause, deadline.saturating_duration_since(now));
        }
        match self.hurry_until {
            Some(until) if now < until => Some(pause.min(REPLICA_POLL_INTERVAL)),
            _ => Some(pause),
        }
    }

    /// Polls at once, and often for a while, as the replica that is polled may be behind the one
    /// that sent the event.
    fn hurry(&mut self) {
        let now = clock::now();
        self.hurry_until = Some(now + MAX_REPLICA_LAG);
        // A poll that is under way is not interrupted.
        if matches!(self.state, State::Polling(_, due) if now < due) {
            self.poll_at(now);
        }
    }
}

impl<R: Resource> Stream for Updates<R> {
    type Item = Result<Update<R::Status>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_update(context)
    }
}

impl<R: Resource> fmt::Debug for Updates<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates")
            .field("handle", &self.handle)
            .field("status", &self.status)
            .field("polls", &self.polls)
            .finish_non_exhaustive()
    }
}
