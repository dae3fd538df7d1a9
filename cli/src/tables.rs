//! Tables and table fields that several commands print.

use svc_sdk::types::{Artifact, AvatarVideo, ErrorBody, Redelivery};

use crate::output::Table;
use crate::text::sanitize;

/// Returns the label of an artifact in a table: its content type, if known.
pub(crate) fn artifact_label(artifact: &Artifact) -> &str {
    artifact.content_type.as_deref().unwrap_or("artifact")
}

/// Returns the code of an error, or its message if it has no code.
pub(crate) fn error_label(error: &ErrorBody) -> &str {
    match error.code.as_str() {
        "" => &error.message,
        code => code,
    }
}

/// Returns the message and the code of an error.
pub(crate) fn error_text(error: &ErrorBody) -> String {
    match error.message.as_str() {
        "" => sanitize(error.code.as_str()),
        message if message.contains(error.code.as_str()) => sanitize(message),
        message => sanitize(&format!("{message} ({})", error.code)),
    }
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

/// Returns the table of an avatar video or a preview.
pub(crate) fn avatar_video(video: &AvatarVideo) -> Table {
    let mut table = Table::key_value();
    table.field("id", Some(&video.id));
    table.status_field("status", video.status.as_ref());
    table.field("avatar", video.avatar_handle.as_ref());
    table.field("job", video.job_id.as_ref());
    add_artifacts(&mut table, &video.artifacts);
    table
}

/// Returns the table of a redelivery, with the status of the previous delivery.
pub(crate) fn redelivery(redelivery: &Redelivery) -> Table {
    let mut table = Table::key_value();
    table.field("job", redelivery.job_id.as_ref());
    table.field("run", redelivery.run_id.as_ref());
    table.field("event", redelivery.event.as_ref());
    if let Some(delivery) = &redelivery.webhook_delivery {
        table.status_field("previous delivery", delivery.status.as_ref());
        table.field("attempts", delivery.attempts);
        table.field("last status code", delivery.last_status_code);
        table.field("last error", delivery.last_error.as_ref());
    }
    table
}
