//! Tables and progress lines of queues and their items.

use svc_sdk::contract::RunStatus;
use svc_sdk::types::{Queue, QueueCounts, QueueItem, RunReceipt};

use super::finished::FinishedItem;
use crate::output::values::{money, time_ago_and_date};
use crate::output::{Column, Table};
use crate::tables::artifact_label;
use crate::text::sanitize;

/// Returns the table of a queue.
pub(crate) fn queue(queue: &Queue) -> Table {
    let mut table = Table::key_value();
    table.field("queue", queue.id());
    table.field("format", queue.format_id.as_ref());
    table.status_field("status", queue.status.as_ref());
    let counts = queue.counts();
    table.field("runs", (counts.total > 0).then(|| progress(&counts)));
    table.field("concurrency", queue.concurrency);
    table.field("created", time_ago_and_date(queue.created_at.as_ref()));
    for (position, item) in queue.items.iter().enumerate() {
        let index = item_index(item, position);
        let run = item.run_id.as_ref().map_or("", |id| id.as_str());
        table.field(
            &format!("item {index}"),
            Some(format!("{}  {run}", item.status).trim_end()),
        );
    }
    table.field("request", queue.request_id.as_ref());
    table
}

fn item_index(item: &QueueItem, position: usize) -> String {
    item.index
        .map_or_else(|| position.to_string(), |index| index.to_string())
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

/// Returns the lines of the items in this order: running, unsuccessful, completed, queued.
pub(super) fn rows(items: &[QueueItem]) -> Vec<String> {
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
            let index = item_index(item, position);
            let run = item.run_id.as_ref().map_or("", |id| id.as_str());
            let line = format!("{index:>3}  {:<9}  {run}", item.status.as_str());
            (rank, sanitize(line.trim_end()))
        })
        .collect();
    rows.sort_by_key(|(rank, _)| *rank);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Returns the table of the finished items.
pub(super) fn results(items: &[FinishedItem]) -> Table {
    let mut table = Table::new([
        Column::number("item"),
        Column::whole("run"),
        Column::status("status"),
        Column::number("spent"),
        Column::text("content"),
        Column::required("location"),
    ]);
    for item in items {
        let index = item.index.to_string();
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
    use serde_json::json;

    use super::*;

    #[test]
    fn progress_omits_counts_of_zero() {
        let counts = json!({"total": 20, "queued": 4, "running": 4, "completed": 11, "failed": 1});
        let queue: Queue = serde_json::from_value(json!({ "counts": counts })).unwrap();
        assert_eq!(
            progress(&queue.counts()),
            "12 of 20 ended, 4 running, 1 failed"
        );
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
            rows(&items),
            [
                "  2  running    run_[2Jc",
                "  1  failed     run_b",
                "  0  completed  run_a",
                "  3  queued"
            ]
        );
    }
}
