//! The status of a resource as a stream.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use tracing::{Instrument, Span};

use super::failures::PollFailures;
use super::result_retry::{MAX_REPLICA_LAG, REPLICA_POLL_INTERVAL, ResultRetry};
use super::{PollStatus, Polled, WaitOptions, WebhookNotifier, schedule, wait_options};
use crate::call::clock::{self, CHECK_INTERVAL, ClockReading, Instant, Timer};
use crate::call::deadline::with_grace;
use crate::call::task;
use crate::debug_fields::debug_fields;
use crate::error::{Error, Kind, Result};
use crate::handle::{Handle, Resource};
use crate::observe::trace;

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

type PollResult<R> = Result<Polled<<R as Resource>::Status, <R as Resource>::Output>, Arc<Error>>;

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
    /// The output, if the last poll had it.
    output: Option<Box<R::Output>>,
    /// Whether the next poll follows a webhook event.
    is_urgent: bool,
    state: WaitState<R>,
    /// When a poll that is under way is given up after the end of the time limit.
    last_answer: Option<Instant>,
    /// When to see whether the next poll is due, or the time limit has passed.
    timer: Option<Timer>,
    event: Option<BoxFuture<()>>,
    span: Span,
}

/// While it sleeps, a wait keeps nothing of the next poll but its time: thousands of them may sleep.
enum WaitState<R: Resource> {
    /// Nothing was polled yet.
    New,
    /// The next poll is due at that time, or when the computer has slept since the reading.
    Sleeping(Instant, ClockReading),
    /// A poll is under way.
    Polling(BoxFuture<PollResult<R>>),
    /// The last update was returned.
    Finished,
    /// The result is being read.
    Reading(BoxFuture<Result<R::Output>>),
    /// The result was returned, or an error.
    Ended,
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
            output: None,
            is_urgent: false,
            state: WaitState::New,
            last_answer: None,
            timer: None,
            event: None,
            span: Span::none(),
        }
    }

    /// Returns the next update, or `None` after the last.
    ///
    /// # Errors
    ///
    /// Returns an error, after which the stream ends, if the status could not be read
    /// ([`ErrorKind::PollFailed`](crate::ErrorKind::PollFailed)) or the time limit passed
    /// ([`is_wait_timeout`](Error::is_wait_timeout)).
    pub async fn next(&mut self) -> Option<Result<Update<R::Status>>> {
        poll_fn(|context| self.poll_update(context)).await
    }

    /// Reads the result, after the last update.
    ///
    /// # Errors
    ///
    /// As [`Handle::wait`](crate::handle::Handle::wait).
    pub async fn result(mut self) -> Result<R::Output> {
        self.state = WaitState::Finished;
        poll_fn(|context| self.poll_result(context)).await
    }

    pub(super) fn poll_result(&mut self, context: &mut Context<'_>) -> Poll<Result<R::Output>> {
        if let WaitState::Finished = self.state {
            self.state = WaitState::Ended;
            let output = self.output.take();
            let retry = ResultRetry::new(&self.options, self.deadline());
            let deadline = retry.deadline;
            let (handle, status) = (self.handle.clone(), self.status.clone());
            let reading = async move {
                let result = match output {
                    Some(output) => Ok(*output),
                    None => R::output(&handle, status, retry).await,
                };
                handle.record_outcome(&result, deadline).await;
                result
            };
            self.state = WaitState::Reading(Box::pin(reading.instrument(self.span.clone())));
        }
        let WaitState::Reading(reading) = &mut self.state else {
            let error = Error::configuration("the wait has already ended");
            return Poll::Ready(Err(error));
        };
        let result = ready!(reading.as_mut().poll(context));
        self.state = WaitState::Ended;
        if let Err(error) = &result {
            trace::record_error(&self.span, error);
        }
        Poll::Ready(result)
    }

    fn deadline(&self) -> Option<Instant> {
        // A time limit beyond the range of the clock is none.
        self.options.timeout.and_then(|timeout| self.started.checked_add(timeout))
    }

    /// Starts the timers, and returns the first update if the receipt has a status.
    fn start(&mut self) -> Result<Option<Update<R::Status>>> {
        self.state = WaitState::Ended;
        task::runtime()?;
        self.span = trace::wait_span(&self.handle.resource_ref());
        if let Some(notifier) = self.options.notifier.clone() {
            let id = self.handle.id().as_ref().to_owned();
            self.event = Some(Box::pin(async move { notifier.wait_for_end_of(&id).await }));
        }
        let now = clock::now();
        self.started = now;
        match self.handle.initial_status() {
            Some(status) => {
                self.status = status;
                let pause = self.pause(now, false);
                Ok(Some(self.update(now, None, pause)))
            }
            None => {
                self.poll_at(now);
                Ok(None)
            }
        }
    }

    /// Schedules the next poll.
    fn poll_at(&mut self, due: Instant) {
        self.state = WaitState::Sleeping(due, ClockReading::now());
        self.set_timer(due);
    }

    /// Sets the timer to the moment, the end of the time limit, or the next look at the clocks.
    fn set_timer(&mut self, moment: Instant) {
        let check = clock::now() + CHECK_INTERVAL;
        let limit = self.deadline().unwrap_or(moment);
        let moment = moment.min(limit).min(check);
        match &mut self.timer {
            Some(timer) => timer.set(moment),
            None => self.timer = Some(Timer::new(moment)),
        }
    }

    fn start_poll(&mut self) {
        self.handle.core.notice_sleep();
        let poll = R::poll(self.handle.clone(), std::mem::take(&mut self.is_urgent));
        self.state = WaitState::Polling(Box::pin(poll.instrument(self.span.clone())));
        self.timer = self.deadline().map(Timer::new);
    }

    fn has_event_arrived(&mut self, context: &mut Context<'_>) -> bool {
        let event = self.event.as_mut();
        let has_arrived = event.is_some_and(|event| event.as_mut().poll(context).is_ready());
        if has_arrived {
            self.event = None;
        }
        has_arrived
    }

    fn is_timer_due(&mut self, context: &mut Context<'_>) -> bool {
        let timer = self.timer.as_mut();
        timer.is_some_and(|timer| timer.poll(context).is_ready())
    }

    fn is_out_of_time(&self) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= clock::now())
    }

    fn end_by_timeout(&mut self) -> Error {
        self.state = WaitState::Ended;
        let timeout = self.options.timeout.unwrap_or_default();
        let last_poll = self.failures.last();
        let error = Error::new(Kind::WaitTimeout { timeout, last_poll });
        trace::record_error(&self.span, &error);
        self.handle.annotate(error)
    }

    pub(super) fn poll_update(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Update<R::Status>>>> {
        loop {
            match &mut self.state {
                WaitState::Finished | WaitState::Reading(_) | WaitState::Ended => {
                    return Poll::Ready(None);
                }
                WaitState::New => {
                    if let Some(update) = self.start().transpose() {
                        return Poll::Ready(Some(update));
                    }
                }
                WaitState::Sleeping(due, began) => {
                    let (due, began) = (*due, *began);
                    if self.has_event_arrived(context) {
                        self.poll_more_often();
                        self.poll_at(clock::now());
                        continue;
                    }
                    if !self.is_timer_due(context) {
                        return Poll::Pending;
                    }
                    if began.has_slept() || clock::now() >= due {
                        self.start_poll();
                    } else if self.is_out_of_time() {
                        return Poll::Ready(Some(Err(self.end_by_timeout())));
                    } else {
                        self.set_timer(due);
                    }
                }
                WaitState::Polling(poll) => {
                    if let Poll::Ready(polled) = poll.as_mut().poll(context) {
                        return Poll::Ready(Some(self.handle_poll(polled)));
                    }
                    if self.has_event_arrived(context) {
                        // A poll that is under way is not interrupted.
                        self.poll_more_often();
                    }
                    if !self.is_timer_due(context) {
                        return Poll::Pending;
                    }
                    let now = clock::now();
                    let end = self.deadline().unwrap_or(now);
                    let last = *self.last_answer.get_or_insert(with_grace(end, now));
                    if now >= last {
                        return Poll::Ready(Some(Err(self.end_by_timeout())));
                    }
                    self.timer = Some(Timer::new(last));
                }
            }
        }
    }

    fn handle_poll(
        &mut self,
        polled: Result<Polled<R::Status, R::Output>, Arc<Error>>,
    ) -> Result<Update<R::Status>> {
        let now = clock::now();
        self.polls += 1;
        self.span.record("svc.poll_count", self.polls);
        match polled {
            Ok(polled) => {
                self.failures.reset();
                self.status = polled.status;
                self.output = polled.output;
                Ok(self.update(now, None, self.pause(now, polled.is_listed)))
            }
            Err(error) => {
                let timeout = self.options.poll_failure_timeout;
                let jitter = self.handle.core.random.fraction();
                match self.failures.pause(&error, now, timeout, jitter) {
                    Some(pause) => {
                        let error = self.failures.set_last(error);
                        Ok(self.update(now, Some(error), Some(pause)))
                    }
                    None => {
                        self.state = WaitState::Ended;
                        trace::record_error(&self.span, &error);
                        let error = self.handle.annotate(Error::poll_failure(error));
                        Err(error.with_ended_wait())
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
            None => self.state = WaitState::Finished,
        }
        Update {
            status: self.status.clone(),
            poll_error,
            poll_count: self.polls,
            elapsed: now.saturating_duration_since(self.started),
            next_poll,
        }
    }

    /// Returns the pause before the next poll, or `None` if there is nothing left to wait for.
    fn pause(&self, now: Instant, is_listed: bool) -> Option<Duration> {
        if self.status.is_finished() {
            return None;
        }
        let waited = now.saturating_duration_since(self.started);
        let mut pause = match is_listed {
            true => schedule::pause_after_list(waited),
            false => {
                let jitter = self.handle.core.random.fraction();
                schedule::pause(self.status.poll_after(), waited, jitter)
            }
        };
        if let Some(deadline) = self.deadline() {
            pause = schedule::in_time(pause, deadline.saturating_duration_since(now));
        }
        match self.hurry_until {
            Some(until) if now < until => Some(pause.min(REPLICA_POLL_INTERVAL)),
            _ => Some(pause),
        }
    }

    /// Polls often for a while after an event, as the replica that is polled may be behind the one
    /// that sent it.
    fn poll_more_often(&mut self) {
        self.hurry_until = Some(clock::now() + MAX_REPLICA_LAG);
        self.is_urgent = true;
    }
}

impl<R: Resource> Stream for Updates<R> {
    type Item = Result<Update<R::Status>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_update(context)
    }
}

debug_fields! { [R: Resource] Updates<R> as "Updates" { handle, status, polls } }
