//! Tables of jobs.

use serde_json::Value;
use svc_sdk::types::{Job, JobEvent, SubmitReceipt};

use super::FinishedJob;
use crate::output::values::{date_and_time, money, time_ago, time_ago_and_date};
use crate::output::{Column, Table};
use crate::tables::{add_artifacts, artifact_label, error_label, error_text};

/// Returns the table of a list of jobs.
pub(crate) fn list(jobs: &[Job]) -> Table {
    let mut table = Table::new([
        Column::required("id"),
        Column::status("status"),
        Column::whole("model"),
        Column::text("type"),
        Column::number("price"),
        Column::time("created"),
    ]);
    for job in jobs {
        table.row([
            job.id.as_str(),
            job.status.as_str(),
            job.model.as_deref().unwrap_or_default(),
            job.job_type
                .as_ref()
                .map_or("", |job_type| job_type.as_str()),
            &price(job).unwrap_or_default(),
            &time_ago(job.created_at.as_ref()),
        ]);
    }
    table
}

/// Returns the table of several finished jobs.
pub(crate) fn finished_list(finished: &[FinishedJob]) -> Table {
    let mut table = Table::new([
        Column::required("job"),
        Column::status("status"),
        Column::text("content"),
        Column::required("location"),
    ]);
    for finished in finished {
        let result = &finished.result;
        let id = result.job_id.as_ref().map_or("", |id| id.as_str());
        let status = result.status.as_ref().map_or("", |status| status.as_str());
        match &finished.files {
            Some(files) => files
                .iter()
                .for_each(|file| table.row([id, status, "file", &file.path])),
            None => result.artifacts().iter().for_each(|artifact| {
                table.row([
                    id,
                    status,
                    artifact_label(artifact),
                    artifact.url.as_deref().unwrap_or("-"),
                ]);
            }),
        }
        if result.artifacts().is_empty() {
            let error = result.error.as_ref();
            table.row([id, status, "", error.map_or("", error_label)]);
        }
    }
    table
}

/// Returns the table of a job.
pub(crate) fn envelope(job: &Job) -> Table {
    let mut table = Table::key_value();
    table.field("id", Some(&job.id));
    table.status_field("status", Some(&job.status));
    table.field("type", job.job_type.as_ref());
    table.field("model", job.model.as_ref());
    table.field("price", price(job));
    table.field("created", time_ago_and_date(job.created_at.as_ref()));
    table.field("updated", time_ago_and_date(job.updated_at.as_ref()));
    add_artifacts(
        &mut table,
        job.result.iter().flat_map(|result| &result.artifacts),
    );
    if let Some(error) = &job.error {
        table.field("error", Some(error_text(error)));
    }
    table
}

/// Returns the table of a job's timeline, in the service's order.
pub(crate) fn timeline(events: &[JobEvent]) -> Table {
    let mut table = Table::new([
        Column::time("at (UTC)"),
        Column::text("event"),
        Column::time("age"),
    ]);
    for event in events {
        let at = event.created_at.as_ref();
        table.row([
            &at.map(date_and_time).unwrap_or_default(),
            event.event_type.as_deref().unwrap_or_default(),
            &time_ago(at),
        ]);
    }
    table
}

/// Returns the table of a finished job.
pub(crate) fn finished(finished: &FinishedJob) -> Table {
    let result = &finished.result;
    let mut table = Table::key_value();
    table.field("job", result.job_id.as_ref());
    table.status_field("status", result.status.as_ref());
    for (name, resource) in &finished.created {
        let id = resource.get("id").and_then(Value::as_str);
        table.field(name, id);
    }
    add_artifacts(&mut table, result.artifacts());
    for file in finished.files.iter().flatten() {
        table.field("file", Some(file));
    }
    if let Some(error) = &result.error {
        table.field("error", Some(error_text(error)));
    }
    table
}

/// Returns the table of a submit receipt.
pub(crate) fn receipt(receipt: &SubmitReceipt) -> Table {
    let mut table = Table::key_value();
    table.field("job", Some(&receipt.job.id));
    table.status_field("status", Some(&receipt.job.status));
    table.field("price", price(&receipt.job));
    table.field("status url", receipt.status_url.as_ref());
    table.field("result url", receipt.result_url.as_ref());
    table.field("request", receipt.request_id.as_ref());
    table
}

/// Returns the price of a job, as received if it is not an amount.
fn price(job: &Job) -> Option<String> {
    let received = || match job.extra.get("price_usd")? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    job.price_usd.map(money).or_else(received)
}
