//! Bulk queues: many runs of one Format with limited concurrency.

use std::time::Duration;

use super::FormatRunCreate;
use crate::contract::limits::{BULK_CONCURRENCY_RANGE, BULK_ITEMS_RANGE};
use crate::contract::{QueueStatus, RunStatus};
use crate::types::id::id_in_url;
use crate::types::request::request_body;
use crate::types::response::response_body;
use crate::types::validation::webhook_url;
use crate::types::{Extra, FormatId, InvalidField, QueueId, RequestId, RunId, Timestamp, Validate};

request_body! {
    /// The body that starts a bulk queue: up to 100 runs, of which at most `concurrency` run at a
    /// time.
    ///
    /// ```
    /// use svc_sdk::types::{BulkRunCreate, FormatRunCreate};
    ///
    /// let cities = ["Lisbon", "Oslo", "Lima"];
    /// let items = cities.map(|city| FormatRunCreate::default().input("city", city));
    /// let body = BulkRunCreate::new(items).concurrency(2);
    /// assert_eq!(serde_json::to_value(&body)?["items"][1], serde_json::json!({"input": {"city": "Oslo"}}));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct BulkRunCreate {
        /// The runs, in the order in which they start: 1 to 100.
        items: {Vec<FormatRunCreate>},
        /// The maximum number of runs in flight: 1 to 16.
        concurrency: integer,
        /// The URL that receives the terminal receipt of each run. Assumed.
        webhook_url: text,
    }
}

impl BulkRunCreate {
    /// Creates a body with the runs.
    #[must_use]
    pub fn new(items: impl IntoIterator<Item = FormatRunCreate>) -> Self {
        Self { items: items.into_iter().collect(), ..Self::default() }
    }
}

impl Validate for BulkRunCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        if !BULK_ITEMS_RANGE.contains(&self.items.len()) {
            let (min, max) = (BULK_ITEMS_RANGE.start(), BULK_ITEMS_RANGE.end());
            let reason = format!("must have {min} to {max} runs");
            return Err(InvalidField::new("items", reason));
        }
        if let Some(concurrency) = self.concurrency
            && !BULK_CONCURRENCY_RANGE.contains(&concurrency)
        {
            let (min, max) = (BULK_CONCURRENCY_RANGE.start(), BULK_CONCURRENCY_RANGE.end());
            let reason = format!("must be {min} to {max}");
            return Err(InvalidField::new("concurrency", reason));
        }
        for (index, item) in self.items.iter().enumerate() {
            let item = item.validate();
            item.map_err(|field| field.within(format_args!("items[{index}]")))?;
        }
        webhook_url(self.webhook_url.as_ref())
    }
}

response_body! {
    /// A bulk queue with the status of each run. The fields other than `counts` and `items` are
    /// assumed.
    #[derive(Default)]
    pub struct Queue {
        /// The queue's identifier, if the receipt has it; see [`id`](Self::id).
        optional queue_id: QueueId,
        /// The request that was answered with the receipt.
        optional request_id: RequestId,
        /// The Format of the runs.
        optional format_id: FormatId,
        /// The queue's status.
        optional status: QueueStatus,
        /// Whether the queue is terminal; see [`is_terminal`](Self::is_terminal).
        optional terminal: bool,
        /// The maximum number of runs in flight.
        optional concurrency: u64,
        /// The number of runs by status; see [`counts`](Self::counts).
        optional counts: Extra,
        /// The runs, in the order in which they start.
        list items: QueueItem,
        /// When the queue was created.
        optional created_at: Timestamp,
        /// The URL of the queue's progress.
        optional status_url: String,
        /// How long to wait before the next poll, in seconds.
        seconds poll_after as "next_poll_after_seconds": Duration,
    }
}

impl Queue {
    /// Returns the queue's identifier, from the receipt's fields or from its URL.
    #[must_use]
    pub fn id(&self) -> Option<QueueId> {
        let in_url = || id_in_url(self.status_url.as_ref()?, &["format-run-queues"]);
        let own = self.queue_id.clone().or_else(|| self.extra.get_as("id"));
        own.filter(|id| !id.as_str().is_empty()).or_else(|| in_url().map(QueueId::from))
    }

    /// Returns `true` if all runs are terminal.
    ///
    /// The field `terminal` decides, or else a known status, the counts, or the items.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        match (&self.status, self.reported_counts()) {
            _ if self.terminal.is_some() => self.terminal == Some(true),
            (Some(QueueStatus::Completed), _) => true,
            (Some(QueueStatus::Running), _) => false,
            (_, Some(counts)) => counts.ended() >= counts.total,
            _ => !self.items.is_empty() && self.items.iter().all(|item| item.status.is_terminal()),
        }
    }

    /// Returns the number of runs by status, as reported or else counted from the items.
    #[must_use]
    pub fn counts(&self) -> QueueCounts {
        self.reported_counts().unwrap_or_else(|| QueueCounts::from_items(&self.items))
    }

    fn reported_counts(&self) -> Option<QueueCounts> {
        let counts = self.counts.as_ref()?;
        let count = |name| counts.get_as(name).unwrap_or_default();
        let mut counts = QueueCounts { total: count("total"), ..QueueCounts::default() };
        for status in RunStatus::KNOWN {
            counts.add(status, count(status.as_str()));
        }
        (counts.total > 0).then_some(counts)
    }
}

/// The number of runs of a queue by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueCounts {
    /// All runs.
    pub total: u64,
    /// Runs that have not started.
    pub queued: u64,
    /// Runs in flight.
    pub running: u64,
    /// Completed runs.
    pub completed: u64,
    /// Failed runs.
    pub failed: u64,
    /// Skipped runs.
    pub skipped: u64,
    /// Canceled runs.
    pub canceled: u64,
}

impl QueueCounts {
    fn from_items(items: &[QueueItem]) -> Self {
        let mut counts = Self::default();
        for item in items {
            counts.total += 1;
            counts.add(&item.status, 1);
        }
        counts
    }

    fn add(&mut self, status: &RunStatus, runs: u64) {
        match status {
            RunStatus::Queued => self.queued += runs,
            RunStatus::Running => self.running += runs,
            RunStatus::Completed => self.completed += runs,
            RunStatus::Failed => self.failed += runs,
            RunStatus::Skipped => self.skipped += runs,
            RunStatus::Canceled => self.canceled += runs,
            RunStatus::Other(_) => {}
        }
    }

    /// Returns the number of terminal runs.
    #[must_use]
    pub fn ended(&self) -> u64 {
        let ended = [self.completed, self.failed, self.skipped, self.canceled];
        ended.into_iter().fold(0, u64::saturating_add)
    }
}

response_body! {
    /// A run of a queue.
    pub struct QueueItem {
        /// The run's status, empty if the service did not send it.
        text status: RunStatus,
        /// The position in the queue, from 0.
        optional index: u64,
        /// The run's identifier, after the run started.
        optional run_id: RunId,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn terminal_is_read_from_field_status_counts_or_items() {
        let queue = |json| serde_json::from_value::<Queue>(json).unwrap();
        for (json, terminal) in [
            (json!({"status": "completed"}), true),
            (json!({"status": "running", "counts": {"total": 1, "failed": 1}}), false),
            (json!({"status": "paused", "counts": {"total": 2, "failed": 1, "skipped": 1}}), true),
            (json!({"counts": {"total": 2, "completed": 1}}), false),
            (json!({"items": [{"status": "failed"}, {"status": "canceled"}]}), true),
            (json!({"items": [{"status": "queued"}]}), false),
            (json!({}), false),
            (
                json!({"status": "held", "terminal": true, "counts": {"total": 2, "expired": 1}}),
                true,
            ),
            (json!({"counts": {"total": 2, "completed": u64::MAX, "failed": 1}}), true),
        ] {
            assert_eq!(queue(json.clone()).is_terminal(), terminal, "{json}");
        }
        let json = json!({
            "queue_id": "q", "lane": 1, "items": [{"status": "failed", "run_id": null}],
            "counts": {"total": 1, "failed": 1, "held": 0}
        });
        assert_eq!(serde_json::to_value(queue(json.clone())).unwrap(), json);
    }
}
