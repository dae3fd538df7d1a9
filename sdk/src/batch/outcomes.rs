//! The outcomes of a batch.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::DownloadFn;
use super::mixed::{MixedBatch, MixedItem, MixedOutcomes};
use crate::debug_fields::debug_fields;
use crate::download::DownloadedFile;
use crate::error::Result;
use crate::handle::{Handle, Resource};
use crate::polling::Wait;

/// An item of a batch that has ended.
#[non_exhaustive]
pub struct BatchItem<R: Resource> {
    /// The number of its call, from 0.
    pub index: u64,
    /// The id that the application gave to the submission.
    pub submission_id: Option<String>,
    /// What was submitted, or `None` if nothing was, or if that is unknown.
    pub handle: Option<Handle<R>>,
    /// The result of the submit and of the wait.
    pub outcome: Result<R::Output>,
    /// The files that were [downloaded](super::Batch::download), none by default.
    pub files: Result<Vec<DownloadedFile>>,
}

impl<R: Resource> BatchItem<R> {
    fn new(item: MixedItem<EndedItem<R>>) -> Self {
        let (handle, outcome, files) = match item.outcome {
            Ok(ended) => (Some(ended.handle), ended.outcome, ended.files),
            Err(error) => (None, Err(error), Ok(Vec::new())),
        };
        Self { index: item.index, submission_id: item.submission_id, handle, outcome, files }
    }

    /// Records in the journal that the program has what it needs of the outcome: a batch leaves the
    /// submission out from now on. Does nothing without a journal.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal cannot be written.
    pub async fn acknowledge(&self) -> Result<()> {
        match &self.handle {
            Some(handle) => handle.acknowledge().await,
            None => Ok(()),
        }
    }

    /// Returns what is acknowledged when the next item is asked for: what has an outcome, and all its
    /// files.
    fn finished(&self) -> Option<Handle<R>> {
        let has_ended = R::ended_status(&self.outcome).is_some() && self.files.is_ok();
        self.handle.clone().filter(|_| has_ended)
    }
}

/// The outcomes of a batch, in the order in which its items end.
///
/// Returned by [`Batch::run`](super::Batch::run). The batch goes on while the next outcome is waited
/// for; in between, what was sent is answered and recorded, and nothing new is begun.
///
/// Dropping it ends the batch at once. What was submitted goes on. With a journal and submission ids,
/// the next batch waits for it.
#[must_use = "a batch does nothing unless its outcomes are asked for"]
pub struct Outcomes<'a, R: Resource> {
    outcomes: MixedOutcomes<'a, EndedItem<R>>,
    is_acknowledged_by_hand: bool,
    acknowledgements: FuturesUnordered<Pin<Box<dyn Future<Output = Result<()>> + Send>>>,
    /// What is acknowledged when the next item is asked for.
    returned: Option<Handle<R>>,
}

/// What was submitted, and what became of it.
pub(super) struct EndedItem<R: Resource> {
    handle: Handle<R>,
    outcome: Result<R::Output>,
    files: Result<Vec<DownloadedFile>>,
}

impl<'a, R: Resource> Outcomes<'a, R> {
    pub(super) fn new(batch: MixedBatch<'a, EndedItem<R>>, is_acknowledged_by_hand: bool) -> Self {
        Self {
            outcomes: batch.run(),
            is_acknowledged_by_hand,
            acknowledgements: FuturesUnordered::new(),
            returned: None,
        }
    }

    /// Returns the next item that has ended, or `None` at the end of the batch.
    ///
    /// It acknowledges the item before, unless that is
    /// [left to the program](super::Batch::manual_acknowledge), its outcome is not known, or its files
    /// could not be downloaded.
    ///
    /// # Errors
    ///
    /// Returns the error that ended the batch, once and as the last one. See [`batch`](super) for
    /// which errors do.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<BatchItem<R>>> {
        poll_fn(|context| self.poll_item(context)).await
    }

    /// Submits nothing more. What is in flight is waited for and returned.
    pub fn stop(&mut self) {
        self.outcomes.stop();
    }

    /// Returns the number of items in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.outcomes.in_flight()
    }

    /// Returns how many items were left out, as they had ended and were acknowledged before.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.outcomes.skipped()
    }

    /// Returns whether the batch pauses, as the service pushes back.
    #[must_use]
    pub fn is_slowed(&self) -> bool {
        self.outcomes.is_slowed()
    }

    fn poll_item(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<BatchItem<R>>>> {
        if let Some(handle) = self.returned.take() {
            let acknowledgement = async move { handle.acknowledge().await };
            self.acknowledgements.push(Box::pin(acknowledgement));
        }
        while let Poll::Ready(Some(result)) = self.acknowledgements.poll_next_unpin(context) {
            if let Err(error) = result {
                self.outcomes.fail(error);
            }
        }
        match ready!(self.outcomes.poll_item(context)) {
            Some(item) => {
                let item = BatchItem::new(item);
                if !self.is_acknowledged_by_hand {
                    self.returned = item.finished();
                }
                Poll::Ready(Some(Ok(item)))
            }
            None if self.acknowledgements.is_empty() => {
                Poll::Ready(self.outcomes.take_error().map(Err))
            }
            None => Poll::Pending,
        }
    }
}

/// Waits for what was submitted, and downloads its files.
pub(super) async fn follow<R: Resource>(
    handle: Handle<R>,
    wait_timeout: Option<Duration>,
    download: Option<DownloadFn<R>>,
) -> EndedItem<R> {
    let wait = handle.wait();
    let wait = wait_timeout.into_iter().fold(wait, Wait::timeout);
    let outcome = wait.await;
    let download = outcome.as_ref().ok().zip(download);
    let download = download.map(|(output, download)| download(&handle, output));
    let files = match download {
        Some(download) => download.await,
        None => Ok(Vec::new()),
    };
    EndedItem { handle, outcome, files }
}

impl<R: Resource> Stream for Outcomes<'_, R> {
    type Item = Result<BatchItem<R>>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_item(context)
    }
}

impl<R: Resource<Output: fmt::Debug>> fmt::Debug for BatchItem<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchItem")
            .field("index", &self.index)
            .field("submission_id", &self.submission_id)
            .field("handle", &self.handle)
            .field("outcome", &self.outcome)
            .field("files", &self.files)
            .finish()
    }
}

debug_fields! { [R: Resource] Outcomes<'_, R> as "Outcomes" { outcomes } }
