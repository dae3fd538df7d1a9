//! Finished queues, their summaries and their exit codes.

use std::path::Path;

use serde::Serialize;
use serde::ser::Error as _;
use serde_json::{Value, json};
use svc_sdk::contract::RunStatus;
use svc_sdk::types::{Queue, QueueCounts, QueueItem, RunReceipt, Usd};

use crate::download::StoredFile;
use crate::error::{ClientCode, Exit, Failure, Result, Suggestion};
use crate::follow::run::report::download_command;
use crate::output::Table;
use crate::output::json::to_value;
use crate::output::layout::{cut, number, status, whole};
use crate::output::values::{artifact_label, error_text, money};
use crate::resource::ResourceId;
use crate::session::Session;
use crate::text::sanitize;

#[derive(Debug)]
pub(crate) struct FinishedQueue {
    pub(crate) counts: QueueCounts,
    pub(crate) items: Vec<FinishedItem>,
    /// That it ended with a status that this version does not know.
    pub(crate) failure: Option<Failure>,
}

#[derive(Debug)]
pub(crate) struct FinishedItem {
    /// Its number in the file that the queue was made from.
    pub(crate) number: u64,
    pub(crate) index: u64,
    pub(crate) item: QueueItem,
    /// The receipt, unless the run was never started or could not be read.
    pub(crate) receipt: Option<RunReceipt>,
    pub(crate) files: Option<Vec<StoredFile>>,
    /// A failure of this program while reading or downloading the item.
    pub(crate) failure: Option<Failure>,
}

impl FinishedItem {
    /// Returns the status in the receipt, or else the queue's status of the item.
    fn status(&self) -> &RunStatus {
        match &self.receipt {
            Some(receipt) => &receipt.status,
            None => &self.item.status,
        }
    }

    fn error(&self) -> Option<String> {
        let receipt = self.receipt.as_ref()?;
        let error = receipt.error.as_ref().or(receipt.output_error.as_ref())?;
        Some(error_text(error))
    }
}

impl Serialize for FinishedItem {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct ItemLine<'a> {
            /// The number of the item, as people count.
            item: u64,
            index: u64,
            #[serde(flatten)]
            run: &'a Value,
            #[serde(skip_serializing_if = "Option::is_none")]
            files: Option<&'a Vec<StoredFile>>,
            /// The error of reading or downloading the result, unless the run itself failed.
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<Value>,
        }
        let mut run = match &self.receipt {
            Some(receipt) => to_value(receipt).map_err(S::Error::custom)?,
            None => json!({"run_id": self.item.run_id, "status": self.item.status}),
        };
        let failure = self.failure.as_ref();
        let failure = failure.filter(|_| run.get("error").is_none_or(Value::is_null));
        if let (Some(_), Some(fields)) = (failure, run.as_object_mut()) {
            fields.remove("error");
        }
        let error = failure.map(Failure::to_json);
        ItemLine {
            item: self.number,
            index: self.index,
            run: &run,
            files: self.files.as_ref(),
            error: error.and_then(|mut json| Some(json.get_mut("error")?.take())),
        }
        .serialize(serializer)
    }
}

pub(super) fn summarize(session: &Session, queue: &str, finished: &FinishedQueue) -> Result {
    let counts = &finished.counts;
    // The service may return counts without items.
    let count = |status: &RunStatus, reported: u64| match finished.items.is_empty() {
        true => usize::try_from(reported).unwrap_or(usize::MAX),
        false => finished.items.iter().filter(|it| it.status() == status).count(),
    };
    let receipts = || finished.items.iter().filter_map(|item| item.receipt.as_ref());
    let [completed, failed, canceled, skipped] = [
        (RunStatus::Completed, counts.completed),
        (RunStatus::Failed, counts.failed),
        (RunStatus::Canceled, counts.canceled),
        (RunStatus::Skipped, counts.skipped),
    ]
    .map(|(status, reported)| count(&status, reported));
    let is_unknown = |status: &RunStatus| matches!(status, RunStatus::Other(it) if !it.is_empty());
    let unknown = finished.items.iter().filter(|it| is_unknown(it.status())).count();
    let degraded = receipts().filter(|it| it.is_degraded()).count();
    let total = usize::try_from(counts.total).unwrap_or(usize::MAX);
    let total = total.max(finished.items.len());
    if total == 0 {
        let why = "the queue ended, but the answer has neither its runs nor their number";
        return Err(Failure::other(why)
            .with_client_code(ClientCode::UNREADABLE_RESPONSE)
            .for_resource(ResourceId::Queue(queue.to_owned()))
            .hint(
                Suggestion::from("show the answer: ").svc(["queue", "get", queue, "-o", "json"]),
            ));
    }
    let spent: Usd = receipts().filter_map(RunReceipt::billable_amount).sum();
    let is_unread = |item: &&FinishedItem| {
        let spent = item.receipt.as_ref().and_then(RunReceipt::billable_amount);
        item.item.run_id.is_some() && spent.is_none()
    };
    let unread = finished.items.iter().filter(is_unread).count();
    let mut sentence = format!("{completed} of {total} runs completed");
    for (count, what) in [
        (failed, "failed"),
        (canceled, "canceled"),
        (skipped, "skipped"),
        (unknown, "with an unknown status"),
        (degraded, "without an output that fits the schema"),
    ] {
        if count > 0 {
            sentence.push_str(&format!(", {count} {what}"));
        }
    }
    sentence.push_str(&format!("; spent {}", money(spent)));
    if unread > 0 {
        sentence.push_str(&format!(", and the spend of {unread} is unknown"));
    }
    let item_failure = finished.items.iter().find_map(|item| item.failure.as_ref());
    let exit = match item_failure {
        _ if failed + unknown > 0 => Exit::JobFailed,
        _ if canceled > 0 => Exit::JobCanceled,
        _ if skipped > 0 => Exit::Skipped,
        Some(failure) => failure.exit(),
        None if completed < total => Exit::Failure,
        None => {
            session.printer.note(&sentence);
            return Ok(());
        }
    };
    let mut failure =
        Failure::new(exit, sentence).for_resource(ResourceId::Queue(queue.to_owned()));
    if failed == 0 && unknown > 0 {
        failure = failure.with_client_code(ClientCode::UNKNOWN_STATUS);
    } else if exit == Exit::Failure && item_failure.is_none() {
        // The statuses are missing, or are not those of runs that have ended.
        failure = failure.with_client_code(ClientCode::UNREADABLE_RESPONSE);
    }
    for item in &finished.items {
        let number = item.number;
        if let Some(item_failure) = &item.failure {
            failure = failure.issue(format!("item {number}: {}", item_failure.headline()));
        } else if *item.status() != RunStatus::Completed {
            let status = match item.status().as_str() {
                "" => "has no status",
                status => status,
            };
            let run = item.item.run_id.as_ref();
            let run = run.map(|id| format!(", {id}")).unwrap_or_default();
            let error = item.error().map(|error| format!(": {error}")).unwrap_or_default();
            failure = failure.issue(format!("item {number}{run} {status}{error}"));
        }
    }
    let not_downloaded = finished.items.iter().find(|item| {
        let has_files = item.receipt.as_ref().is_some_and(|it| !it.artifacts.is_empty());
        has_files && item.failure.is_some()
    });
    if let Some(item) = not_downloaded
        && let Some(id) = &item.item.run_id
        && !session.is_sandbox()
    {
        let command = download_command(session, id.as_str(), "format", Path::new("DIR"));
        let download = format!("download the files of item {}: ", item.number);
        failure = failure.hint(Suggestion::from(download).command(command));
    }
    Err(failure)
}

pub(crate) fn queue(queue: &Queue) -> Table {
    let mut table = Table::key_value();
    table.field("queue", queue.id());
    table.fields(queue, "format=format_id, status");
    let counts = queue.counts();
    table.field("runs", (counts.total > 0).then(|| progress(&counts)));
    table.fields(queue, "concurrency, created=created_at");
    for (position, item) in queue.items.iter().enumerate() {
        let number = item_number(item, position, &[]);
        let run = item.run_id.as_ref().map_or("", |id| id.as_str());
        table.field(&format!("item {number}"), Some(format!("{}  {run}", item.status).trim_end()));
    }
    table.field("request", queue.request_id.as_ref());
    table
}

/// Returns the number of an item as people count: that of its row, if the numbers of the rows are known.
pub(super) fn item_number(item: &QueueItem, position: usize, numbers: &[u64]) -> u64 {
    let index = item.index.and_then(|index| usize::try_from(index).ok()).unwrap_or(position);
    let next = || u64::try_from(index).unwrap_or_default().saturating_add(1);
    numbers.get(index).copied().unwrap_or_else(next)
}

/// Describes the progress of a queue: `12 of 20 ended, 4 running, 2 failed`.
pub(super) fn progress(counts: &QueueCounts) -> String {
    let mut text = format!("{} of {} ended", counts.ended(), counts.total);
    for (count, word) in [
        (counts.running, "running"),
        (counts.failed, "failed"),
        (counts.canceled, "canceled"),
        (counts.skipped, "skipped"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    text
}

pub(super) fn rows(items: &[QueueItem], numbers: &[u64]) -> Vec<String> {
    let mut rows: Vec<(u8, String)> = items
        .iter()
        .enumerate()
        .map(|(position, item)| {
            let rank = match item.status {
                RunStatus::Running => 0,
                RunStatus::Failed | RunStatus::Canceled | RunStatus::Skipped => 1,
                RunStatus::Completed => 2,
                _ => 3,
            };
            let number = item_number(item, position, numbers);
            let run = item.run_id.as_ref().map_or("", |id| id.as_str());
            let line = format!("{number:>3}  {:<9}  {run}", item.status.as_str());
            (rank, sanitize(line.trim_end()))
        })
        .collect();
    rows.sort_by_key(|(rank, _)| *rank);
    rows.into_iter().map(|(_, row)| row).collect()
}

pub(super) fn results(items: &[FinishedItem]) -> Table {
    let mut table = Table::new([
        number("item"),
        whole("run"),
        status("status"),
        number("price"),
        cut("content"),
        cut("location"),
    ]);
    for item in items {
        let index = item.number.to_string();
        let run = item.item.run_id.as_ref().map_or("", |id| id.as_str());
        let status = item.status().as_str();
        let spent = match item.receipt.as_ref().map(RunReceipt::billable_amount) {
            Some(Some(spent)) => money(spent),
            Some(None) => "unknown".to_owned(),
            None => String::new(),
        };
        let mut lines: Vec<(&str, String)> = Vec::new();
        if let Some(failure) = &item.failure {
            lines.push(("failure", failure.headline()));
        }
        if let Some(error) = item.error() {
            lines.push(("error", error));
        }
        if let Some(receipt) = &item.receipt {
            if let Some(output) = &receipt.output {
                lines.push(("output", output.to_string()));
            }
            match &item.files {
                Some(files) => lines.extend(files.iter().map(|it| ("file", it.path.clone()))),
                None => lines.extend(receipt.artifacts.iter().map(|artifact| {
                    let kind = artifact_label(artifact);
                    (kind, artifact.url.clone().unwrap_or_else(|| "-".to_owned()))
                })),
            }
        }
        if lines.is_empty() {
            table.row([&index, run, status, &spent, "", ""]);
        }
        for (position, (content, location)) in lines.iter().enumerate() {
            match position {
                0 => table.row([&index, run, status, &spent, content, location]),
                _ => table.row(["", "", "", "", content, location]),
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_is_cut_and_hides_no_id() {
        let run = json!({"run_id": "run_a", "status": "completed", "output": "x".repeat(200)});
        let item = FinishedItem {
            number: 3,
            index: 0,
            item: serde_json::from_value(run.clone()).unwrap(),
            receipt: serde_json::from_value(run).unwrap(),
            files: None,
            failure: None,
        };
        let table = results(&[item]).render(Some(100), false);
        assert!(table.contains("   3  run_a  completed"), "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    }

    #[test]
    fn running_items_are_first_and_queued_ones_last() {
        let items: Vec<QueueItem> = serde_json::from_value(json!([
            {"index": 0, "status": "completed", "run_id": "run_a"},
            {"index": 1, "status": "failed", "run_id": "run_b"},
            {"index": 2, "status": "running", "run_id": "run_\u{1b}[2Jc"},
            {"index": 3, "status": "queued", "run_id": null}
        ]))
        .unwrap();
        assert_eq!(
            rows(&items, &[]),
            [
                "  3  running    run_[2Jc",
                "  2  failed     run_b",
                "  1  completed  run_a",
                "  4  queued"
            ]
        );
    }
}
