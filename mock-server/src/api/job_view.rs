//! Jobs as clients read them: alone, with their webhook delivery, in receipts.

use serde_json::{Value, json};
use svc_sdk::contract::{JobStatus, Operation};

use super::api_error::seconds;
use super::error_details;
use crate::engine::jobs::{Artifact, Job};
use crate::engine::{Host, Hosts, State, Time};
use crate::media;

/// A job by itself, as it is read on a surface.
pub(super) fn view(job: &Job, surface: Host, hosts: &Hosts) -> Value {
    let mut view = json!({
        "id": job.id,
        "status": job.status,
        "type": job.job_type.as_str(),
        "model": job.model,
        "created_at": job.timeline.created_at().to_string(),
        "updated_at": job.updated_at.to_string(),
        "metadata": job.metadata,
    });
    let Some(fields) = view.as_object_mut() else {
        return view;
    };
    if let (Host::Open, Some(price)) = (surface, job.price) {
        fields.insert("price_usd".to_owned(), json!(price));
    }
    if job.status == JobStatus::Completed {
        fields.insert(
            "result".to_owned(),
            json!({"artifacts": artifacts(job, hosts)}),
        );
    }
    if let (JobStatus::Failed, Some(error)) = (&job.status, error_of(job)) {
        fields.insert("error".to_owned(), error);
    }
    view
}

/// A job as it is read once something may have been announced of it.
pub(crate) fn with_delivery(state: &State, job: &Job, surface: Host, hosts: &Hosts) -> Value {
    let mut view = view(job, surface, hosts);
    if let (Some(delivery), Some(fields)) =
        (state.webhook_queue.view(&job.id), view.as_object_mut())
    {
        fields.insert("webhook_delivery".to_owned(), delivery);
    }
    view
}

/// The receipt of a submit.
pub(crate) fn receipt(job: &Job, hosts: &Hosts, now: Time) -> Value {
    let base = hosts.base(job.surface);
    let url = |operation: Operation| {
        // The mock's own identifiers can be a segment of a path.
        format!("{base}{}", operation.expand(&[&job.id]).unwrap_or_default())
    };
    json!({
        "request_id": job.request_id,
        "job": view(job, job.surface, hosts),
        "status_url": url(Operation::JobsStatus),
        "result_url": url(Operation::JobsResult),
        "cancel_url": url(Operation::JobsCancel),
        "next_poll_after_seconds": seconds(hosts.client_time(job.timeline.next_poll(&job.status, now))),
    })
}

/// What a completed job made; nothing of any other.
pub(super) fn artifacts(job: &Job, hosts: &Hosts) -> Vec<Value> {
    let made = match job.status {
        JobStatus::Completed => job.artifacts.as_slice(),
        _ => &[],
    };
    made.iter()
        .map(|artifact| {
            json!({
                "id": artifact.id,
                "url": artifact_url(artifact, hosts),
                "media_type": artifact.spec.media_type(),
                "content_type": artifact.spec.content_type(),
            })
        })
        .collect()
}

/// Where the media host has a file.
pub(super) fn artifact_url(artifact: &Artifact, hosts: &Hosts) -> String {
    format!(
        "{}/artifacts/{}.{}",
        hosts.media,
        artifact.token,
        artifact.spec.extension()
    )
}

/// What a file of the media host is made from: an artifact of a completed job, or of a run that
/// has made it.
pub(super) fn artifact<'s>(state: &'s State, token: &str) -> Option<&'s media::Spec> {
    if let Some((run, artifact)) = state.runs.by_token(token) {
        return run.artifacts_ready.then_some(&artifact.spec);
    }
    let (job, artifact) = state.jobs.by_token(token)?;
    (job.status == JobStatus::Completed).then_some(&artifact.spec)
}

/// Why a job made nothing.
pub(super) fn error_of(job: &Job) -> Option<Value> {
    match (&job.status, &job.error) {
        (JobStatus::Failed, Some(code)) => {
            let mut error = json!({"code": code, "message": format!("The job failed: {code}.")});
            let details =
                error_details::details(code, &error_details::ErrorContext::for_job(&job.id));
            if let (Some(details), Some(fields)) = (details, error.as_object_mut()) {
                fields.insert("details".to_owned(), details);
            }
            Some(error)
        }
        (JobStatus::Canceled, _) => Some(
            json!({"code": "job_canceled", "message": "The job was canceled before its generation."}),
        ),
        _ => None,
    }
}
