//! Tables of jobs.

use svc_sdk::types::{Job, JobEvent, SubmitReceipt, Usd};

use super::finished::FinishedJob;
use crate::output::Table;
use crate::tables::{add_artifacts, artifact_label, error_text};

/// Returns the table of several finished jobs.
pub(crate) fn finished_list(finished: &[FinishedJob]) -> Table {
    let mut table = Table::new(["job", "status", "content", "location"]);
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
    }
    table
}

/// Returns the table of a job.
pub(crate) fn envelope(job: &Job) -> Table {
    let mut table = Table::key_value();
    table.field("id", Some(&job.id));
    table.field("status", Some(&job.status));
    table.field("type", job.job_type.as_ref());
    table.field("model", job.model.as_ref());
    table.field("price", job.price_usd.map(|price| format!("{price} USD")));
    table.field("created", job.created_at.as_ref());
    table.field("updated", job.updated_at.as_ref());
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
    let mut table = Table::new(["at", "event"]);
    for event in events {
        table.row([
            event.created_at.as_ref().map_or("", |at| at.as_str()),
            event.event_type.as_deref().unwrap_or_default(),
        ]);
    }
    table
}

/// Returns the table of a finished job.
pub(crate) fn finished(finished: &FinishedJob) -> Table {
    let result = &finished.result;
    let mut table = Table::key_value();
    table.field("job", result.job_id.as_ref());
    table.field("status", result.status.as_ref());
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
    table.field("status", Some(&receipt.job.status));
    table.field(
        "price",
        receipt
            .job
            .price_usd
            .map(|price: Usd| format!("{price} USD")),
    );
    table.field("status url", receipt.status_url.as_ref());
    table.field("result url", receipt.result_url.as_ref());
    table.field("request", receipt.request_id.as_ref());
    table
}
