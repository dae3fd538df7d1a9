//! Batches of submits of several kinds, and what all batches do.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::batch_call::{BatchCall, FollowUp};
use super::failure::Failure;
use super::pace::Pace;
use super::{DEFAULT_CONCURRENCY, Submissions};
use crate::call::Core;
use crate::client::Client;
use crate::debug_fields::debug_fields;
use crate::error::{Error, Result};
use crate::surface::ClientSurface;

/// The number of submits that wait for room in the spend limit.
const MAX_SET_ASIDE: usize = 256;
/// The number of items of an earlier batch that are waited for at once, whatever the concurrency is:
/// a lower one may begin with some that take long, and those behind them would not be returned.
const MAX_SUBMITTED_BEFORE: usize = 500;

/// A batch of submits of several kinds, also through clients of both surfaces.
///
/// Returned by [`Client::mixed_batch`]. It works as a [`Batch`](super::Batch), but leaves to the program
/// what [follows](crate::Call::followed_by) a submit, and to acknowledge it.
#[must_use = "a batch does nothing until it is run"]
pub struct MixedBatch<'a, T> {
    core: Arc<Core>,
    submissions: Submissions<'a, T>,
    concurrency: usize,
    already_submitted: u64,
}

impl<'a, T> MixedBatch<'a, T> {
    pub(super) fn new(core: &Arc<Core>, submissions: Submissions<'a, T>) -> Self {
        Self {
            core: Arc::clone(core),
            submissions,
            concurrency: DEFAULT_CONCURRENCY,
            already_submitted: 0,
        }
    }

    /// Sets the maximum number of items in flight, as [`Batch::concurrency`](super::Batch::concurrency)
    /// does.
    pub fn concurrency(mut self, items: usize) -> Self {
        self.concurrency = items;
        self
    }

    /// Sets how many submissions, from the first one, an earlier batch has submitted. Up to 500 of them
    /// are waited for at once, whatever the concurrency is.
    pub fn already_submitted(mut self, items: u64) -> Self {
        self.already_submitted = items;
        self
    }

    /// Returns the outcomes of the items, in the order in which they end. Nothing is submitted before
    /// the first one is asked for.
    pub fn run(self) -> MixedOutcomes<'a, T> {
        MixedOutcomes {
            core: self.core,
            submissions: Some(self.submissions),
            is_stopped: false,
            pace: Pace::new(self.concurrency),
            already_submitted: self.already_submitted,
            next_index: 0,
            tasks: FuturesUnordered::new(),
            submitting: 0,
            waiting: 0,
            delayed: VecDeque::new(),
            set_aside: VecDeque::new(),
            ended: 0,
            skipped: 0,
            error: None,
        }
    }
}

/// An item of a [`MixedBatch`] that has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct MixedItem<T> {
    /// The number of its submission, from 0.
    pub index: u64,
    /// The id that the application gave to the submission.
    pub submission_id: Option<String>,
    /// What followed the submit, or the error of the submit.
    pub outcome: Result<T>,
}

/// The outcomes of a [`MixedBatch`], in the order in which its items end.
///
/// Dropping it ends the batch at once. What was submitted goes on. With a journal and submission ids,
/// the next batch waits for it.
#[must_use = "a batch does nothing unless its outcomes are asked for"]
pub struct MixedOutcomes<'a, T> {
    core: Arc<Core>,
    /// `None` after the last one was taken, or after the batch was stopped.
    submissions: Option<Submissions<'a, T>>,
    is_stopped: bool,
    pace: Pace,
    already_submitted: u64,
    next_index: u64,
    tasks: FuturesUnordered<Pin<Box<dyn Future<Output = Event<T>> + Send>>>,
    /// The items that are submitted now, and those that are accepted and have not ended.
    submitting: usize,
    waiting: usize,
    /// The submits that are tried again.
    delayed: VecDeque<Box<Submit<T>>>,
    /// The submits that do not fit into the spend limit until an item has ended.
    set_aside: VecDeque<(Box<Submit<T>>, Error)>,
    /// How many items have ended.
    ended: u64,
    skipped: u64,
    error: Option<Error>,
}

/// A submission that is about to be sent.
struct Submit<T> {
    index: u64,
    /// How many items had ended when it was sent.
    ended_before: u64,
    submission: BatchCall<T>,
}

impl<T> Submit<T> {
    fn failed(self, error: Error) -> MixedItem<T> {
        MixedItem {
            index: self.index,
            submission_id: self.submission.submission_id,
            outcome: Err(error),
        }
    }
}

enum Event<T> {
    Submitted(Box<Submit<T>>, Result<FollowUp<T>>),
    Ended(MixedItem<T>),
}

impl<T: Send + 'static> MixedOutcomes<'_, T> {
    /// Returns the next item that has ended, or `None` at the end of the batch.
    ///
    /// # Errors
    ///
    /// Returns the error that ended the batch, once and as the last one. See [`batch`](super) for
    /// which errors do.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<MixedItem<T>>> {
        poll_fn(|context| self.poll_result(context)).await
    }

    /// Submits nothing more. What is in flight is waited for and returned.
    pub fn stop(&mut self) {
        self.is_stopped = true;
        self.submissions = None;
        self.delayed.clear();
    }

    /// Returns the number of items in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.submitting + self.waiting
    }

    /// Returns the number of items that are submitted now.
    #[must_use]
    pub fn submitting(&self) -> usize {
        self.submitting
    }

    /// Returns how many items were left out, as they had ended and were acknowledged before.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns whether the batch pauses, as the service pushes back.
    #[must_use]
    pub fn is_slowed(&self) -> bool {
        self.pace.is_paused()
    }

    /// Returns the next item that has ended. After the last one, [`take_error`](Self::take_error) says
    /// what ended the batch.
    pub(super) fn poll_item(&mut self, context: &mut Context<'_>) -> Poll<Option<MixedItem<T>>> {
        loop {
            if self.is_ending()
                && let Some((submit, error)) = self.set_aside.pop_front()
            {
                return Poll::Ready(Some(submit.failed(error)));
            }
            self.begin(context);
            match self.tasks.poll_next_unpin(context) {
                Poll::Ready(Some(event)) => {
                    if let Some(item) = self.handle_event(event) {
                        return Poll::Ready(Some(item));
                    }
                }
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) if !self.is_ending() => return Poll::Pending,
                Poll::Ready(None) if self.set_aside.is_empty() => return Poll::Ready(None),
                Poll::Ready(None) => {}
            }
        }
    }

    fn poll_result(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<MixedItem<T>>>> {
        let item = ready!(self.poll_item(context)).map(Ok);
        Poll::Ready(item.or_else(|| self.take_error().map(Err)))
    }

    pub(super) fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    /// Whether nothing can free budget any longer, so that what is set aside fails.
    fn is_ending(&self) -> bool {
        let is_over = self.submissions.is_none() && self.delayed.is_empty();
        self.is_stopped || (is_over && self.in_flight() == 0)
    }

    /// Submits as many items as there is room for.
    fn begin(&mut self, context: &mut Context<'_>) {
        while self.set_aside.len() < MAX_SET_ASIDE
            && self.in_flight() < self.size()
            && self.pace.poll(context).is_ready()
            && let Poll::Ready(Some(mut submit)) = self.poll_submission(context)
        {
            self.submitting += 1;
            submit.ended_before = self.ended;
            self.tasks.push(Box::pin(async move {
                let result = (submit.submission.send)().await;
                Event::Submitted(submit, result)
            }));
        }
        if self.set_aside.len() >= MAX_SET_ASIDE && self.in_flight() == 0 {
            // Without an item that can end, the spend limit has as much room as it will have.
            if let Some((_, error)) = self.set_aside.pop_back() {
                self.fail(error);
            }
        }
    }

    /// Returns the number of items that may be in flight when the next one is submitted.
    fn size(&self) -> usize {
        let size = self.pace.size();
        match self.delayed.is_empty() && self.next_index < self.already_submitted {
            true => size.max(MAX_SUBMITTED_BEFORE),
            false => size,
        }
    }

    /// Returns the next submission. Those that are tried again come first.
    fn poll_submission(&mut self, context: &mut Context<'_>) -> Poll<Option<Box<Submit<T>>>> {
        if let Some(delayed) = self.delayed.pop_front() {
            return Poll::Ready(Some(delayed));
        }
        let Some(submissions) = &mut self.submissions else { return Poll::Ready(None) };
        let Some(submission) = ready!(submissions.poll_next_unpin(context)) else {
            self.submissions = None;
            return Poll::Ready(None);
        };
        let index = self.next_index;
        self.next_index += 1;
        Poll::Ready(Some(Box::new(Submit { index, ended_before: self.ended, submission })))
    }

    /// Returns the item that has ended, if one has.
    fn handle_event(&mut self, event: Event<T>) -> Option<MixedItem<T>> {
        let (submit, result) = match event {
            Event::Submitted(submit, result) => (submit, result),
            Event::Ended(item) => {
                self.waiting -= 1;
                self.ended += 1;
                self.pace.ended();
                if !self.is_stopped {
                    // What did not fit may fit now.
                    let set_aside = self.set_aside.drain(..);
                    self.delayed.extend(set_aside.map(|(submit, _)| submit));
                }
                return Some(item);
            }
        };
        self.submitting -= 1;
        match result {
            Ok(None) => {
                self.skipped += 1;
                None
            }
            Ok(Some(outcome)) => {
                self.waiting += 1;
                self.pace.accepted(self.in_flight());
                let (index, submission_id) = (submit.index, submit.submission.submission_id);
                self.tasks.push(Box::pin(async move {
                    Event::Ended(MixedItem { index, submission_id, outcome: Ok(outcome.await) })
                }));
                None
            }
            Err(error) => self.handle_failure(submit, error),
        }
    }

    /// Returns the item if the error is its outcome.
    fn handle_failure(&mut self, submit: Box<Submit<T>>, error: Error) -> Option<MixedItem<T>> {
        let jitter = self.core.random.fraction();
        match Failure::of(&error) {
            Failure::OfBatch if self.error.is_none() => self.fail(error),
            // What has ended meanwhile may have made room.
            Failure::OverBudget if submit.ended_before < self.ended => self.try_again(submit),
            Failure::OverBudget => self.set_aside.push_back((submit, error)),
            Failure::TooManyJobs => {
                self.pace.reached_limit(self.waiting, jitter);
                self.try_again(submit);
            }
            Failure::Busy => {
                let retry_after = error.retry_after().unwrap_or_default();
                self.pace.slow_down(retry_after, jitter);
                self.try_again(submit);
            }
            Failure::OfItem | Failure::OfBatch => return Some(submit.failed(error)),
        }
        None
    }

    fn try_again(&mut self, submit: Box<Submit<T>>) {
        if !self.is_stopped {
            self.delayed.push_back(submit);
        }
    }

    /// Ends the batch after what is in flight.
    pub(super) fn fail(&mut self, error: Error) {
        self.stop();
        self.error.get_or_insert(error);
    }
}

impl<T: Send + 'static> Stream for MixedOutcomes<'_, T> {
    type Item = Result<MixedItem<T>>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_result(context)
    }
}

impl<S: ClientSurface> Client<S> {
    /// Returns a batch of submits of several kinds, which may be those of several clients.
    ///
    /// ```no_run
    /// use futures_util::stream;
    /// use svc_sdk::types::{ImageGenerate, VideoGenerate};
    ///
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let image = client.images().generate(ImageGenerate::new("auto").prompt("a red fox"));
    /// let video = client.videos().generate(VideoGenerate::new("auto").prompt("a red fox"));
    /// let submissions = [image, video]
    ///     .map(|call| call.followed_by(|job| async move { job.wait().await.is_ok() }));
    /// let mut outcomes = client.mixed_batch(stream::iter(submissions)).run();
    /// while let Some(item) = outcomes.next().await {
    ///     println!("{:?}", item?.outcome);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn mixed_batch<'a, T>(
        &self,
        submissions: impl Stream<Item = BatchCall<T>> + Send + 'a,
    ) -> MixedBatch<'a, T> {
        MixedBatch::new(&self.core, Box::pin(submissions))
    }
}

debug_fields! { [T] MixedBatch<'_, T> as "MixedBatch" { concurrency } }

debug_fields! { [T] MixedOutcomes<'_, T> as "MixedOutcomes" { submitting, waiting, skipped } }
