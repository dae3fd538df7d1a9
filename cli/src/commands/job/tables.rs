//! Jobs as tables.

use svc_sdk::types::{Job, JobEvent, Redelivery};

use crate::output::Table;
use crate::subject::job::JobEnd;

/// What several jobs came to.
pub(super) fn finished(finished: &[JobEnd]) -> Table {
    let mut table = Table::new(["job", "status", "what", "where"]);
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
                    artifact.content_type.as_deref().unwrap_or("artifact"),
                    &artifact.url,
                ]);
            }),
        }
    }
    table
}

/// A job's envelope, as a table.
pub(crate) fn envelope(job: &Job) -> Table {
    let mut table = Table::of_fields();
    table.field("id", Some(&job.id));
    table.field("status", Some(&job.status));
    table.field("type", job.job_type.as_ref());
    table.field("model", job.model.as_ref());
    table.field("price", job.price_usd.map(|price| format!("{price} USD")));
    table.field("created", job.created_at.as_ref());
    table.field("updated", job.updated_at.as_ref());
    for artifact in job.result.iter().flat_map(|result| &result.artifacts) {
        table.field(
            artifact.content_type.as_deref().unwrap_or("artifact"),
            Some(&artifact.url),
        );
    }
    if let Some(error) = &job.error {
        table.field("error", Some(format!("{} ({})", error.message, error.code)));
    }
    table
}

/// A job's timeline, in the service's order.
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

/// An event that is sent again, and how its delivery fared until now.
pub(crate) fn redelivery(redelivery: &Redelivery) -> Table {
    let mut table = Table::of_fields();
    table.field("job", redelivery.job_id.as_ref());
    table.field("run", redelivery.run_id.as_ref());
    table.field("event", redelivery.event.as_ref());
    if let Some(delivery) = &redelivery.webhook_delivery {
        table.field("delivery until now", delivery.status.as_ref());
        table.field("attempts", delivery.attempts);
        table.field("last answer", delivery.last_status_code);
        table.field("last error", delivery.last_error.as_ref());
    }
    table
}
