//! Bulk queues: many runs of one Format, a few at a time.

use serde::Serialize;

use super::FormatRunCreate;
use crate::contract::limits::{BULK_CONCURRENCY, BULK_ITEMS};
use crate::contract::{QueueStatus, RunStatus};
use crate::types::body::run_setters;
use crate::types::id::id_in_url;
use crate::types::invalid::webhook_url;
use crate::types::received::received;
use crate::types::{Extra, FormatId, InvalidField, QueueId, RequestId, RunId, Seconds, Validate};

/// The body that starts a bulk queue: up to 100 runs, of which `concurrency` are at work at once.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BulkRunCreate {
    /// The runs, in the order in which they start.
    pub items: Vec<FormatRunCreate>,
    /// How many are at work at once: 1 to 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// Where each run's terminal receipt is told. Assumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_url: Option<String>,
    /// Any other field.
    #[serde(flatten)]
    pub extra: Extra,
}

impl BulkRunCreate {
    /// A queue of these runs.
    #[must_use]
    pub fn new(items: impl IntoIterator<Item = FormatRunCreate>) -> Self {
        Self {
            items: items.into_iter().collect(),
            ..Self::default()
        }
    }

    /// How many are at work at once: 1 to 16.
    #[must_use]
    pub fn concurrency(mut self, concurrency: u64) -> Self {
        self.concurrency = Some(concurrency);
        self
    }
}

run_setters!(BulkRunCreate: webhook_url, field);

impl Validate for BulkRunCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        if !BULK_ITEMS.contains(&self.items.len()) {
            let reason = format!(
                "must have {} to {} runs",
                BULK_ITEMS.start(),
                BULK_ITEMS.end()
            );
            return Err(InvalidField::new("items", reason));
        }
        if let Some(concurrency) = self.concurrency
            && !BULK_CONCURRENCY.contains(&concurrency)
        {
            let (least, most) = (BULK_CONCURRENCY.start(), BULK_CONCURRENCY.end());
            let reason = format!("must be {least} to {most}");
            return Err(InvalidField::new("concurrency", reason));
        }
        for (index, item) in self.items.iter().enumerate() {
            item.validate().map_err(|field| {
                let name = format!("items[{index}].{}", field.field());
                InvalidField::new(name, field.reason().to_owned())
            })?;
        }
        webhook_url(self.webhook_url.as_ref())
    }
}

received! {
    /// A bulk queue: how many runs stand where, and each of them. The fields but `counts` and
    /// `items` are assumed.
    #[derive(Default)]
    pub struct Queue () {
        /// Identifies the queue, where the receipt says so; see [`id`](Self::id).
        queue_id: maybe QueueId,
        /// The request that this answers.
        request_id: maybe RequestId,
        /// The Format.
        format_id: maybe FormatId,
        /// Where the queue is.
        status: maybe QueueStatus,
        /// Whether every item has ended, where the service says so; see
        /// [`is_terminal`](Self::is_terminal).
        terminal: maybe bool,
        /// How many runs are at work at once.
        concurrency: maybe u64,
        /// How many runs stand where, as it came; see [`counts`](Self::counts).
        counts: maybe Extra,
        /// The runs, in the order in which they start.
        items: many QueueItem,
        /// When it was created (RFC 3339).
        created_at: maybe String,
        /// Where to poll.
        status_url: maybe String,
        /// Seconds until the next poll makes sense.
        next_poll_after_seconds: maybe Seconds,
    }
}

impl Queue {
    /// Identifies the queue: as the receipt says, or as its URL does.
    #[must_use]
    pub fn id(&self) -> Option<QueueId> {
        let in_url = || id_in_url(self.status_url.as_ref()?, &["format-run-queues"]);
        let own = self.queue_id.clone().or_else(|| self.extra.field("id"));
        own.filter(|id| !id.as_str().is_empty())
            .or_else(|| in_url().map(QueueId::from))
    }

    /// Whether every item has ended, in whatever way.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        match (&self.status, self.told_counts()) {
            _ if self.terminal.is_some() => self.terminal == Some(true),
            (Some(QueueStatus::Completed), _) => true,
            (Some(QueueStatus::Running), _) => false,
            // A status that this build does not know, or none: the counts tell, else the items.
            (_, Some(counts)) => counts.ended() >= counts.total,
            _ => !self.items.is_empty() && self.items.iter().all(|item| item.status.is_terminal()),
        }
    }

    /// How many runs stand where: the service's counts, else the items counted.
    #[must_use]
    pub fn counts(&self) -> QueueCounts {
        self.told_counts()
            .unwrap_or_else(|| QueueCounts::of(&self.items))
    }

    fn told_counts(&self) -> Option<QueueCounts> {
        let counts = self.counts.as_ref()?;
        let of = |name| counts.field(name).unwrap_or_default();
        let counts = QueueCounts {
            total: of("total"),
            queued: of("queued"),
            running: of("running"),
            completed: of("completed"),
            failed: of("failed"),
            skipped: of("skipped"),
            canceled: of("canceled"),
        };
        (counts.total > 0).then_some(counts)
    }
}

/// How many runs of a queue stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueCounts {
    /// All.
    pub total: u64,
    /// Waiting for their turn.
    pub queued: u64,
    /// At work.
    pub running: u64,
    /// Ended well.
    pub completed: u64,
    /// Ended with an error.
    pub failed: u64,
    /// Not run.
    pub skipped: u64,
    /// Canceled.
    pub canceled: u64,
}

impl QueueCounts {
    fn of(items: &[QueueItem]) -> Self {
        let mut counts = Self::default();
        for item in items {
            counts.total += 1;
            match item.status {
                RunStatus::Queued => counts.queued += 1,
                RunStatus::Running => counts.running += 1,
                RunStatus::Completed => counts.completed += 1,
                RunStatus::Failed => counts.failed += 1,
                RunStatus::Skipped => counts.skipped += 1,
                RunStatus::Canceled => counts.canceled += 1,
                RunStatus::Other(_) => {}
            }
        }
        counts
    }

    /// Those that have ended, in whatever way.
    #[must_use]
    pub fn ended(&self) -> u64 {
        let ended = [self.completed, self.failed, self.skipped, self.canceled];
        ended.into_iter().fold(0, u64::saturating_add)
    }
}

received! {
    /// A run of a queue.
    pub struct QueueItem (
        /// Where it is in its life.
        status: RunStatus,
    ) {
        /// Its place in the queue, from 0.
        index: maybe u64,
        /// The run, once it was started.
        run_id: maybe RunId,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_queue_is_through_when_the_service_or_else_its_counts_say_so() {
        let queue = |json| serde_json::from_value::<Queue>(json).unwrap();
        let rows = [
            (json!({"queue_id": "q", "status": "completed"}), true),
            (
                json!({"queue_id": "q", "status": "running", "counts": {"total": 1, "failed": 1}}),
                false,
            ),
            (
                json!({"queue_id": "q", "status": "paused", "counts": {"total": 2, "failed": 1, "skipped": 1}}),
                true,
            ),
            (
                json!({"queue_id": "q", "counts": {"total": 2, "completed": 1}}),
                false,
            ),
            (
                json!({"queue_id": "q", "items": [{"status": "failed"}, {"status": "canceled"}]}),
                true,
            ),
            (
                json!({"queue_id": "q", "items": [{"status": "queued"}]}),
                false,
            ),
            (json!({"queue_id": "q"}), false),
            (
                json!({"queue_id": "q", "status": "held", "terminal": true, "counts": {"total": 2, "completed": 1, "expired": 1}}),
                true,
            ),
            (
                json!({"queue_id": "q", "counts": {"total": 2, "completed": u64::MAX, "failed": 1}}),
                true,
            ),
        ];
        for (json, terminal) in rows {
            assert_eq!(queue(json.clone()).is_terminal(), terminal, "{json}");
        }
        let json = json!({
            "queue_id": "q", "lane": 1, "items": [{"status": "failed", "run_id": null}],
            "counts": {"total": 1, "failed": 1, "held": 0}
        });
        assert_eq!(serde_json::to_value(queue(json.clone())).unwrap(), json);
    }

    #[test]
    fn a_bulk_body_names_the_item_that_can_never_be_right() {
        let item = || FormatRunCreate::new("x");
        let rows = [
            (BulkRunCreate::new([]), "items"),
            (BulkRunCreate::new(vec![item(); 101]), "items"),
            (BulkRunCreate::new([item()]).concurrency(0), "concurrency"),
            (BulkRunCreate::new([item()]).concurrency(17), "concurrency"),
            (
                BulkRunCreate::new([item(), FormatRunCreate::default()]),
                "items[1].instruction",
            ),
        ];
        for (body, field) in rows {
            assert_eq!(body.validate().unwrap_err().field(), field);
        }
        assert!(
            BulkRunCreate::new(vec![item(); 100])
                .concurrency(16)
                .validate()
                .is_ok()
        );
    }
}
