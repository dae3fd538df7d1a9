//! A bulk queue in one's hand.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::{FormatRun, RunHandle};
use crate::call::clock::{self, Instant};
use crate::contract::Operation;
use crate::developer::Client;
use crate::error::{Error, Result};
use crate::sealed::Sealed;
use crate::submit::{Started, Submitted};
use crate::surface::Developer;
use crate::types::{IdempotencyKey, Queue, QueueId, QueueItem, RunReceipt};
use crate::wait::watched::{self, Look};
use crate::wait::{Standing, Updates, WaitOptions, Watched};

/// A bulk queue of Format runs: to be watched, and its runs taken up.
///
/// [`Client::formats_bulk_create`] gives one, and [`Client::format_queue`] rebuilds one from an id
/// alone. Dropping it does nothing to the queue. There is no way to cancel a queue but to cancel its
/// runs.
///
/// ```no_run
/// # async fn run(client: svc_sdk::developer::Client) -> svc_sdk::Result<()> {
/// let queue = client.format_queue("frq_1");
/// let mut updates = queue.updates();
/// while let Some(update) = updates.next().await {
///     let counts = update?.status.counts();
///     println!("{} of {} ended, {} at work", counts.ended(), counts.total, counts.running);
/// }
/// for item in queue.results().await? {
///     println!("{:?} {:?}", item.item.index, item.receipt.map(|receipt| receipt.output));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct QueueHandle {
    client: Client,
    id: QueueId,
    started: Option<Arc<Submitted<Queue>>>,
}

/// What an item of a queue came to.
#[derive(Debug)]
#[non_exhaustive]
pub struct ItemResult {
    /// The item, as the queue shows it.
    pub item: QueueItem,
    /// The receipt of its run: none where it was never started.
    pub receipt: Option<RunReceipt>,
    /// Why the receipt could not be read.
    pub error: Option<Error>,
}

impl QueueHandle {
    pub(crate) fn from_id(client: Client, id: QueueId) -> Self {
        Self {
            client,
            id,
            started: None,
        }
    }

    /// Identifies the queue: all that is needed to take it up again.
    #[must_use]
    pub fn id(&self) -> &QueueId {
        &self.id
    }

    /// The receipt; none where the handle was rebuilt from an id.
    #[must_use]
    pub fn receipt(&self) -> Option<&Queue> {
        Some(&self.started.as_ref()?.receipt)
    }

    /// The key that it was started with; none where the handle was rebuilt from an id.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.started.as_ref()?.idempotency_key.as_ref()
    }

    /// Whether the start found a queue that an earlier one with the same key had started.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.started.as_ref().is_some_and(|it| it.answered_200)
    }

    /// One look at it: the counts, and each item.
    ///
    /// # Errors
    ///
    /// Where it could not be read.
    pub async fn get(&self) -> Result<Queue> {
        let call = self.client.format_queues_get(&self.id);
        call.send().await.map_err(|error| self.owned(error))
    }

    /// Its progress until every item has ended.
    pub fn updates(&self) -> Updates<Self> {
        self.updates_with(WaitOptions::default())
    }

    /// Its progress until every item has ended; of the options, only the patience counts.
    pub fn updates_with(&self, options: WaitOptions) -> Updates<Self> {
        Updates::new(self.clone(), options)
    }

    /// Waits until every item has ended, in whatever way, and gives the last look. Events tell of
    /// runs: no event is about a queue.
    ///
    /// # Errors
    ///
    /// Where it could not be asked ([`is_poll_unreachable`](Error::is_poll_unreachable)), and at the
    /// deadline ([`is_wait_deadline`](Error::is_wait_deadline)). Each carries the queue's id.
    pub async fn wait_with(&self, options: WaitOptions) -> Result<Queue> {
        let deadline = options.deadline.map(clock::after);
        watched::until_through(self, &options, deadline).await
    }

    /// Waits until every item has ended, without a deadline: a queue takes as long as its items.
    ///
    /// # Errors
    ///
    /// As [`wait_with`](Self::wait_with).
    pub async fn wait(&self) -> Result<Queue> {
        self.wait_with(WaitOptions::default().no_deadline()).await
    }

    /// The run of an item; none where it was not started yet.
    #[must_use]
    pub fn run(&self, item: &QueueItem) -> Option<RunHandle<FormatRun>> {
        Some(self.client.format_run(item.run_id.clone()?))
    }

    /// What each item came to, in order. A receipt that cannot be read does not hide the others.
    ///
    /// # Errors
    ///
    /// Where the queue itself could not be read.
    pub async fn results(&self) -> Result<Vec<ItemResult>> {
        let mut results = Vec::new();
        for item in self.get().await?.items {
            let read = match self.run(&item) {
                Some(run) => Some(run.get().await),
                None => None,
            };
            let (receipt, error) = match read {
                Some(Ok(receipt)) => (Some(receipt), None),
                Some(Err(error)) => (None, Some(error)),
                None => (None, None),
            };
            results.push(ItemResult {
                item,
                receipt,
                error,
            });
        }
        Ok(results)
    }
}

impl Sealed for QueueHandle {}
impl Sealed for Queue {}

impl Watched for QueueHandle {
    type Status = Queue;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn told(&self) -> Option<Queue> {
        self.receipt().cloned()
    }

    fn unknown(&self) -> Queue {
        Queue::default()
    }

    fn look(&self, due: Instant) -> Look<Queue> {
        watched::look(&self.client, self.client.format_queues_get(&self.id), due)
    }

    fn draw(&self) -> f64 {
        self.client.core.entropy.fraction()
    }

    fn owned(&self, error: Error) -> Error {
        error.with_queue(&self.id).with_key(self.idempotency_key())
    }
}

impl Standing for Queue {
    fn is_through(&self) -> bool {
        self.is_terminal()
    }

    fn next_look_after(&self) -> Option<f64> {
        self.poll_after
            .as_ref()
            .map(std::time::Duration::as_secs_f64)
    }
}

impl Started for QueueHandle {
    type Surface = Developer;
    type Receipt = Queue;

    fn starts(operation: Operation) -> bool {
        matches!(
            operation,
            Operation::FormatsBulkCreate | Operation::FormatsBySlugBulkCreate
        )
    }

    fn started(
        client: &Client,
        receipt: Queue,
        idempotency_key: Option<&IdempotencyKey>,
        answered_200: bool,
    ) -> Option<Self> {
        Some(Self {
            client: client.clone(),
            id: receipt.id()?,
            started: Some(Arc::new(Submitted {
                receipt,
                idempotency_key: idempotency_key.cloned(),
                answered_200,
            })),
        })
    }

    fn found(error: Error, receipt: &Value) -> Error {
        match Queue::deserialize(receipt).ok().and_then(|it| it.id()) {
            Some(id) => error.with_queue(&id),
            None => error,
        }
    }
}
