//! Tables of runs.

use svc_sdk::types::{RunEvent, RunReceipt, RunStatusPayload};

use super::FinishedRun;
use super::finished::spend;
use crate::output::values::{date_and_time, money, time_ago, time_ago_and_date};
use crate::output::{Column, Table};
use crate::tables::{add_artifacts, artifact_label, error_label, error_text};

/// Returns the table of a list of runs.
pub(crate) fn list(runs: &[RunReceipt]) -> Table {
    let mut table = Table::new([
        Column::required("run"),
        Column::status("status"),
        Column::number("spent"),
        Column::number("files"),
        Column::time("created"),
        Column::text("error"),
    ]);
    for run in runs {
        let spent = run.billable_amount();
        table.row([
            run.id().as_ref().map_or("", |id| id.as_str()),
            run.status.as_str(),
            &spent.map_or_else(|| "unknown".to_owned(), money),
            &run.artifacts.len().to_string(),
            &time_ago(run.created_at.as_ref()),
            run.error.as_ref().map_or("", error_label),
        ]);
    }
    table
}

/// Returns the table of several finished runs.
pub(crate) fn finished_list(finished: &[FinishedRun]) -> Table {
    let mut table = Table::new([
        Column::required("run"),
        Column::status("status"),
        Column::text("usage"),
        Column::text("content"),
        Column::required("location"),
    ]);
    for finished in finished {
        let receipt = &finished.result;
        let (id, status) = (receipt.id(), receipt.status.as_str());
        let id = id.as_ref().map_or("", |id| id.as_str());
        let usage = spend(receipt);
        let mut row =
            |content: &str, location: &str| table.row([id, status, &usage, content, location]);
        if let Some(output) = &receipt.output {
            row("output", &output.to_string());
        }
        match &finished.files {
            Some(files) => files.iter().for_each(|file| row("file", &file.path)),
            None => receipt.artifacts.iter().for_each(|artifact| {
                let kind = artifact_label(artifact);
                row(kind, artifact.url.as_deref().unwrap_or("-"));
            }),
        }
        if receipt.output.is_none() && receipt.artifacts.is_empty() {
            let error = receipt.error.as_ref();
            row("", error.map_or("", error_label));
        }
    }
    table
}

/// Returns the table of a run's status.
pub(crate) fn status(status: &RunStatusPayload) -> Table {
    let mut table = Table::key_value();
    table.field("run", status.run_id.as_ref());
    table.field("kind", status.kind.as_ref());
    table.status_field("status", status.status.as_ref());
    table.field("terminal", status.terminal);
    table.field("result ready", status.result_ready);
    let next = status.poll_after;
    table.field(
        "next poll",
        next.map(|hint| format!("in {} s", hint.as_secs_f64())),
    );
    table
}

/// Returns the table of a run's phases, oldest first.
pub(crate) fn timeline(events: &[RunEvent]) -> Table {
    let mut table = Table::new([
        Column::time("at (UTC)"),
        Column::whole("phase"),
        Column::status("status"),
        Column::text("message"),
    ]);
    for event in events {
        table.row([
            &event
                .created_at
                .as_ref()
                .map(date_and_time)
                .unwrap_or_default(),
            event.phase.as_deref().unwrap_or_default(),
            event.status.as_deref().unwrap_or_default(),
            event.message.as_deref().unwrap_or_default(),
        ]);
    }
    table
}

/// Returns the table of a run.
pub(crate) fn finished(finished: &FinishedRun) -> Table {
    let receipt = &finished.result;
    let mut table = Table::key_value();
    table.field("run", receipt.id());
    table.field("kind", receipt.kind.as_ref());
    table.status_field("status", Some(&receipt.status));
    table.field("format", receipt.format_id.as_ref());
    table.field("action", receipt.action_id.as_ref());
    table.field("continues", receipt.previous_run_id.as_ref());
    table.field("queue", receipt.queue_id.as_ref());
    table.field("created", time_ago_and_date(receipt.created_at.as_ref()));
    table.field("usage", Some(spend(receipt)));
    table.field("output", receipt.output.as_ref());
    table.field("primary output", receipt.primary_output_url.as_ref());
    add_artifacts(&mut table, &receipt.artifacts);
    for file in finished.files.iter().flatten() {
        table.field("file", Some(file));
    }
    for (name, error) in [
        ("error", &receipt.error),
        ("output error", &receipt.output_error),
    ] {
        table.field(name, error.as_ref().map(error_text));
    }
    let delivery = receipt.webhook_delivery.as_ref();
    table.field("webhook", delivery.and_then(|it| it.status.as_ref()));
    table.field("request", receipt.request_id.as_ref());
    table
}
