//! Bulk queues of Format runs.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::run::charge;
use super::{FormatRun, Handle, Resource, RunHandle};
use crate::call::Call;
use crate::client::Client;
use crate::contract::{Operation, QueueStatus};
use crate::error::{Error, Kind, ResourceRef, Result};
use crate::journal::ResourceKind;
use crate::polling::{PollStatus, ResultRetry};
use crate::sealed::Sealed;
use crate::surface::Developer;
use crate::types::{Queue, QueueId, QueueItem, RequestId, RunReceipt, Usd};

/// A bulk queue of Format runs.
///
/// [`Formats::bulk_run`](crate::resources::Formats::bulk_run) returns one, and
/// [`Queues::handle`](crate::resources::Queues::handle) rebuilds one from an id. A queue cannot be
/// canceled; its runs can.
///
/// A wait returns when every item has ended, in whatever way, and has no time limit by default. A queue
/// that ended with an unknown status is an error, which has the [`queue`](Error::queue):
///
/// ```no_run
/// # async fn run(client: svc_sdk::developer::Client) -> svc_sdk::Result<()> {
/// let queue = client.queues().handle("frq_1");
/// let mut updates = queue.updates();
/// while let Some(update) = updates.next().await {
///     let counts = update?.status.counts();
///     println!("{} of {} ended, {} running", counts.ended(), counts.total, counts.running);
/// }
/// for item in queue.results().await? {
///     println!("{:?}: {:?}", item.item.index, item.receipt.map(|receipt| receipt.output));
/// }
/// # Ok(())
/// # }
/// ```
pub type QueueHandle = Handle<QueueResource>;

/// Bulk queues, as a kind of [`Resource`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueResource;

impl Sealed for QueueResource {}

/// The result of an item of a queue.
#[derive(Debug)]
#[non_exhaustive]
pub struct QueueItemResult {
    /// The item, as the queue shows it.
    pub item: QueueItem,
    /// The receipt of its run, or `None` if it was never started or could not be read.
    pub receipt: Option<RunReceipt>,
    /// Why the receipt could not be read.
    pub error: Option<Error>,
}

impl Handle<QueueResource> {
    /// Reads the queue: its counts, and each item.
    pub fn get(&self) -> Call<Queue> {
        self.status()
    }

    /// Returns a handle of the run of an item, or `None` if it has not started yet.
    #[must_use]
    pub fn item_run(&self, item: &QueueItem) -> Option<RunHandle<FormatRun>> {
        let client = Client::from_core(Arc::clone(&self.core));
        Some(RunHandle::from_id(&client, item.run_id.clone()?))
    }

    /// Reads the result of each item, in order. A receipt that cannot be read does not hide the
    /// others.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue itself could not be read.
    pub async fn results(&self) -> Result<Vec<QueueItemResult>> {
        let mut results = Vec::new();
        for item in self.get().await?.items {
            let (receipt, error) = match self.item_run(&item) {
                Some(run) => match run.get().await {
                    Ok(receipt) => (Some(receipt), None),
                    Err(error) => (None, Some(error)),
                },
                None => (None, None),
            };
            results.push(QueueItemResult { item, receipt, error });
        }
        Ok(results)
    }
}

impl Resource for QueueResource {
    type Surface = Developer;
    type Id = QueueId;
    type Receipt = Queue;
    type Status = Queue;
    type Output = Queue;

    const STATUS: Operation = Operation::FormatQueuesGet;
    const DEFAULT_TIMEOUT: Option<Duration> = None;
    const JOURNAL_KIND: ResourceKind = ResourceKind::Queue;

    fn receipt_request_id(receipt: &Queue) -> Option<&RequestId> {
        receipt.request_id.as_ref()
    }

    fn ended_status(result: &Result<Queue>) -> Option<String> {
        let queue = match result {
            Ok(queue) => queue,
            Err(error) => error.queue()?,
        };
        Some(queue.status.as_ref().map_or_else(|| "completed".to_owned(), ToString::to_string))
    }

    /// Sums the spend of the runs, if all of their receipts have it.
    async fn final_charge(handle: &Handle<Self>, _: &Result<Queue>, _: Option<Usd>) -> Option<Usd> {
        let results = handle.results().await.ok()?;
        results.iter().try_fold(Usd::ZERO, |sum, item| {
            let spent = match &item.receipt {
                Some(receipt) => charge(receipt)?,
                // A run that was never started costs nothing.
                None if item.error.is_none() => Usd::ZERO,
                None => return None,
            };
            sum.checked_add(spent)
        })
    }

    fn is_submitted_by(operation: Operation) -> bool {
        matches!(operation, Operation::FormatsBulkCreate | Operation::FormatsBySlugBulkCreate)
    }

    fn receipt_id(receipt: &Queue) -> Option<QueueId> {
        receipt.id()
    }

    fn salvage_id(receipt: &Value) -> Option<QueueId> {
        Queue::deserialize(receipt).ok()?.id()
    }

    fn initial_status(receipt: &Queue) -> Queue {
        receipt.clone()
    }

    fn resource_ref(id: &QueueId, _: Option<&Arc<Queue>>) -> ResourceRef {
        ResourceRef::Queue(id.clone())
    }

    async fn output(handle: &Handle<Self>, queue: Queue, _: ResultRetry) -> Result<Queue> {
        match queue.status {
            None | Some(QueueStatus::Running | QueueStatus::Completed) => Ok(queue),
            Some(_) => {
                let queue = Box::new(queue);
                Err(handle.annotate(Error::new(Kind::QueueEnded { queue })))
            }
        }
    }
}

impl Sealed for Queue {}

impl PollStatus for Queue {
    fn unknown() -> Self {
        Self::default()
    }

    fn is_finished(&self) -> bool {
        self.is_terminal()
    }

    fn poll_after(&self) -> Option<Duration> {
        self.poll_after
    }
}
