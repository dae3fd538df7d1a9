//! An event in the output.

use std::time::SystemTime;

use jiff::Timestamp;
use serde::Serialize;
use svc_webhook_inbox::StoredEvent;

use crate::clock;
use crate::output::values::seconds_ago;
use crate::output::{Column, Table};
use crate::text::sanitize;

/// An event without its headers and body.
#[derive(Debug, Serialize)]
pub(super) struct Item {
    pub(super) id: String,
    pub(super) event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) job_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run_id: Option<String>,
    pub(super) state: &'static str,
    /// The number of attempts to handle it since it was received or replayed.
    pub(super) attempts: u32,
    pub(super) received_at: Timestamp,
    /// When it may be handled, or when the lease of the process that handles it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) due_at: Option<Timestamp>,
    /// When it was handled or became dead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) finished_at: Option<Timestamp>,
    /// The reason of the last failed attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    pub(super) bytes: usize,
}

impl Item {
    pub(super) fn new(event: &StoredEvent) -> Self {
        let parsed = event.parse().ok();
        let parsed = parsed.as_ref();
        Self {
            id: event.id.to_string(),
            event: event.event_type.clone(),
            job_id: parsed.and_then(|event| event.job_id().map(str::to_owned)),
            run_id: parsed.and_then(|event| event.run_id().map(str::to_owned)),
            state: event.state.as_str(),
            attempts: event.attempts,
            received_at: timestamp(event.received_at),
            due_at: event.due_at.map(timestamp),
            finished_at: event.finished_at.map(timestamp),
            error: event.last_error.clone(),
            bytes: event.body.len(),
        }
    }

    /// Returns the id of the job or run.
    pub(super) fn resource(&self) -> Option<&str> {
        self.job_id.as_deref().or(self.run_id.as_deref())
    }
}

/// Returns the table of a list.
pub(super) fn table(items: &[Item]) -> Table {
    let mut table = Table::new([
        Column::required("id"),
        Column::text("event"),
        Column::whole("resource"),
        Column::status("state"),
        Column::number("attempts"),
        Column::time("received"),
        Column::text("error"),
    ]);
    for item in items {
        table.row([
            &item.id,
            &sanitize(&item.event),
            &sanitize(item.resource().unwrap_or("-")),
            item.state,
            &item.attempts.to_string(),
            &age(item.received_at),
            &sanitize(item.error.as_deref().unwrap_or("-")),
        ]);
    }
    table
}

pub(super) fn age(at: Timestamp) -> String {
    seconds_ago(clock::now().as_second() - at.as_second())
}

fn timestamp(at: SystemTime) -> Timestamp {
    Timestamp::try_from(at).unwrap_or_default()
}
