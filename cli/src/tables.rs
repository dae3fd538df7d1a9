//! Tables that several commands print.

use svc_sdk::types::{Artifact, AvatarVideo, Redelivery};

use crate::output::Table;

/// Returns what an artifact is called in a table: its content type, where it is known.
pub(crate) fn artifact_label(artifact: &Artifact) -> &str {
    artifact.content_type.as_deref().unwrap_or("artifact")
}

/// Adds a field for each artifact.
pub(crate) fn add_artifacts<'a>(
    table: &mut Table,
    artifacts: impl IntoIterator<Item = &'a Artifact>,
) {
    for artifact in artifacts {
        table.field(artifact_label(artifact), artifact.url.as_ref());
    }
}

/// An avatar video, or a preview of one.
pub(crate) fn avatar_video(video: &AvatarVideo) -> Table {
    let mut table = Table::key_value();
    table.field("id", Some(&video.id));
    table.field("status", video.status.as_ref());
    table.field("avatar", video.avatar_handle.as_ref());
    table.field("job", video.job_id.as_ref());
    add_artifacts(&mut table, &video.artifacts);
    table
}

/// An event that is sent again, and how its delivery fared until now.
pub(crate) fn redelivery(redelivery: &Redelivery) -> Table {
    let mut table = Table::key_value();
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
