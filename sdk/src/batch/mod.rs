//! Batches: any number of submits, of which a limited number is in flight.
//!
//! With a [journal](crate::ClientBuilder::journal) and a
//! [`submission_id`](crate::Call::submission_id) for each submit, a batch that was interrupted at any
//! moment is continued by running the same code again: it waits for what was submitted, submits the
//! rest, and skips what was acknowledged. Without a journal, a submission id is an error.
//!
//! The client of this example was built with a journal. Asking for the next item acknowledges the one
//! before, unless that is [left to the program](Batch::manual_acknowledge).
//!
//! ```no_run
//! use svc_sdk::open;
//! use svc_sdk::types::ImageGenerate;
//!
//! # async fn store(id: Option<&str>, result: svc_sdk::Result<svc_sdk::types::JobResult>) {}
//! # async fn run(client: open::Client, rows: Vec<(String, String)>) -> svc_sdk::Result<()> {
//! let calls = rows.into_iter().map(|(id, prompt)| {
//!     let body = ImageGenerate::new("auto").prompt(prompt);
//!     client.images().generate(body).submission_id(id)
//! });
//! let mut outcomes = client.batch(calls).concurrency(32).run();
//! while let Some(item) = outcomes.next().await {
//!     let item = item?;
//!     store(item.submission_id.as_deref(), item.outcome).await;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A batch that runs again submits nothing that is acknowledged:
//!
//! ```
//! # #[cfg(feature = "testing")]
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> svc_sdk::Result<()> {
//! use serde_json::json;
//! use svc_sdk::contract::Operation;
//! use svc_sdk::journal::Journal;
//! use svc_sdk::testing::ScriptedService;
//! use svc_sdk::{open, types::ImageGenerate};
//!
//! let service = ScriptedService::new()
//!     .answer(Operation::ImageGenerate, json!({"job": {"id": "job_1", "status": "queued"}}))
//!     .answer(Operation::JobsStatus, json!({"status": "completed", "terminal": true}))
//!     .answer(Operation::JobsResult, json!({"status": "completed", "artifacts": []}));
//! let client: open::Client = service.builder()?.journal(Journal::in_memory()).build()?;
//! let calls = || {
//!     let body = ImageGenerate::new("auto").prompt("a red fox");
//!     [client.images().generate(body).submission_id("row-1")]
//! };
//!
//! let mut outcomes = client.batch(calls()).run();
//! while let Some(item) = outcomes.next().await {
//!     assert!(item?.outcome.is_ok());
//! }
//! let mut outcomes = client.batch(calls()).run();
//! assert!(outcomes.next().await.is_none());
//! assert_eq!(outcomes.skipped(), 1);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "testing"))]
//! # fn main() {}
//! ```
//!
//! Calls are taken when there is room for them, so that a batch needs no more memory than what is in
//! flight, however long it is.
//!
//! # What slows a batch down, and what ends it
//!
//! - The service has too many jobs (`concurrency_limit_reached`): the number of jobs in flight falls,
//!   the submit is tried again, and the number rises again slowly. The same goes for a service that is
//!   overloaded, and for a rate limit that outlasts the retries of the client. No item fails by that.
//! - The [spend limit](crate::ClientBuilder::spend_limit) has no room for the price: the submit is
//!   set aside and tried again when another item has ended, as that may be refunded; later ones go on,
//!   as they may be cheaper. When nothing is in flight any more, those that were set aside fail with
//!   [`OverBudget`](crate::journal::JournalError::OverBudget). Once 256 are set aside, that error ends
//!   the batch.
//! - What would happen to every submit ends the batch: a rejected API key, a missing permission or
//!   balance, a service that cannot be reached, a journal that cannot be written. What is in flight is
//!   waited for, and then [`Outcomes::next`] returns that error. The submission that met it, and the
//!   calls that were not taken, are not submitted.
//! - Any other error concerns one item, and is its outcome.

mod batch_call;
mod failure;
mod mixed;
mod outcomes;
mod pace;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use futures_util::{StreamExt, stream};

pub use self::batch_call::BatchCall;
pub use self::mixed::{MixedBatch, MixedItem, MixedOutcomes};
pub use self::outcomes::{BatchItem, Outcomes};
use crate::call::{Call, Core};
use crate::client::Client;
use crate::debug_fields::debug_fields;
use crate::download::Download;
use crate::handle::{Handle, Resource};
use crate::surface::ClientSurface;

/// The jobs in flight, unless [`Batch::concurrency`] sets another number.
const DEFAULT_CONCURRENCY: usize = 32;

type Submissions<'a, T> = Pin<Box<dyn Stream<Item = BatchCall<T>> + Send + 'a>>;
type Calls<'a, R> = Pin<Box<dyn Stream<Item = Call<Handle<R>>> + Send + 'a>>;
type DownloadFn<R> =
    Arc<dyn Fn(&Handle<R>, &<R as Resource>::Output) -> Download + Send + Sync + 'static>;

/// A batch of submits, which [`run`](Self::run) begins.
///
/// Returned by [`Client::batch`] and [`Client::batch_stream`].
#[must_use = "a batch does nothing until it is run"]
pub struct Batch<'a, R: Resource> {
    core: Arc<Core>,
    calls: Calls<'a, R>,
    concurrency: usize,
    wait_timeout: Option<Duration>,
    download: Option<DownloadFn<R>>,
    is_acknowledged_by_hand: bool,
}

impl<'a, R: Resource> Batch<'a, R> {
    /// Sets the maximum number of items in flight: submitted, and not ended. The default is 32.
    ///
    /// The batch begins with eight, and has more in flight as the service accepts them.
    pub fn concurrency(mut self, items: usize) -> Self {
        self.concurrency = items;
        self
    }

    /// Sets the time limit of the wait for each item, in place of the [default](crate::Wait::timeout).
    /// An item that takes longer has the error of its wait as its outcome, and goes on.
    pub fn wait_timeout(mut self, timeout: Duration) -> Self {
        self.wait_timeout = Some(timeout);
        self
    }

    /// Downloads the files of each result, before the item is returned.
    ///
    /// ```no_run
    /// # async fn run(
    /// #     client: svc_sdk::open::Client,
    /// #     calls: Vec<svc_sdk::Call<svc_sdk::JobHandle<svc_sdk::Open>>>,
    /// # ) -> svc_sdk::Result<()> {
    /// let batch = client.batch(calls);
    /// let mut outcomes = batch.download(|job, result| job.download_result(result, "out")).run();
    /// while let Some(item) = outcomes.next().await {
    ///     println!("{:?}", item?.files);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn download(
        mut self,
        download: impl Fn(&Handle<R>, &R::Output) -> Download + Send + Sync + 'static,
    ) -> Self {
        self.download = Some(Arc::new(download));
        self
    }

    /// Leaves it to the program to [acknowledge](BatchItem::acknowledge) items. By default, asking for
    /// the next item acknowledges the one before.
    pub fn manual_acknowledge(mut self) -> Self {
        self.is_acknowledged_by_hand = true;
        self
    }

    /// Returns the outcomes of the items, in the order in which they end. Nothing is submitted before
    /// the first one is asked for.
    pub fn run(self) -> Outcomes<'a, R> {
        let Self { core, calls, concurrency, wait_timeout, download, is_acknowledged_by_hand } =
            self;
        let follow = move |handle| outcomes::follow(handle, wait_timeout, download.clone());
        let submissions = calls.map(move |call| call.followed_by(follow.clone()));
        let batch = MixedBatch::new(&core, Box::pin(submissions)).concurrency(concurrency);
        Outcomes::new(batch, is_acknowledged_by_hand)
    }
}

debug_fields! { [R: Resource] Batch<'_, R> as "Batch" { concurrency } }

impl<S: ClientSurface> Client<S> {
    /// Returns a batch of submits of one kind: of jobs, of runs of one kind, or of bulk queues.
    ///
    /// See [`batch`](crate::batch) for how it continues after a crash, and for what ends it. Without a
    /// [journal](crate::ClientBuilder::journal), and for calls without a submission id, a new batch
    /// submits, and pays for, everything again.
    pub fn batch<'a, R, I>(&self, calls: I) -> Batch<'a, R>
    where
        R: Resource<Surface = S>,
        I: IntoIterator<Item = Call<Handle<R>>, IntoIter: Send + 'a>,
    {
        self.batch_stream(stream::iter(calls))
    }

    /// Returns a batch of submits that come as a stream, such as from a queue of messages.
    pub fn batch_stream<'a, R: Resource<Surface = S>>(
        &self,
        calls: impl Stream<Item = Call<Handle<R>>> + Send + 'a,
    ) -> Batch<'a, R> {
        Batch {
            core: Arc::clone(&self.core),
            calls: Box::pin(calls),
            concurrency: DEFAULT_CONCURRENCY,
            wait_timeout: None,
            download: None,
            is_acknowledged_by_hand: false,
        }
    }
}

#[cfg(test)]
mod tests;
