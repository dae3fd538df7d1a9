//! JSON views of jobs: the job, its receipt, its artifacts and its error.

use serde_json::{Value, json};
use svc_sdk::contract::{JobStatus, Operation};

use super::api_error::seconds;
use super::error_details::{ErrorContext, details};
use super::json_object::set_field;
use crate::engine::jobs::{Artifact, Job};
use crate::engine::{Host, Hosts, State, Time};
use crate::media;

/// Returns the view of a job on a surface, without its webhook delivery.
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
    if let (Host::Open, Some(price)) = (surface, job.price) {
        set_field(&mut view, "price_usd", json!(price));
    }
    match job.status {
        JobStatus::Completed => {
            set_field(
                &mut view,
                "result",
                json!({"artifacts": artifacts(job, hosts)}),
            );
        }
        JobStatus::Failed => set_field(&mut view, "error", error_of(job)),
        _ => {}
    }
    view
}

/// Returns the view of a job on a surface, with its webhook delivery if there is one.
pub(crate) fn with_delivery(state: &State, job: &Job, surface: Host, hosts: &Hosts) -> Value {
    let mut view = view(job, surface, hosts);
    set_field(
        &mut view,
        "webhook_delivery",
        state.webhook_queue.view(&job.id),
    );
    view
}

/// Returns the receipt of a submit.
pub(crate) fn receipt(job: &Job, hosts: &Hosts, now: Time) -> Value {
    let base = hosts.base(job.surface);
    let url = |operation: Operation| {
        // Expanding the path cannot fail: IDs that the mock generates are valid path segments.
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

/// Returns the views of a job's artifacts. Jobs that have not completed have none.
pub(super) fn artifacts(job: &Job, hosts: &Hosts) -> Vec<Value> {
    match job.status {
        JobStatus::Completed => artifact_views(&job.artifacts, hosts),
        _ => Vec::new(),
    }
}

/// Returns the views of artifacts of a job or run.
pub(super) fn artifact_views(artifacts: &[Artifact], hosts: &Hosts) -> Vec<Value> {
    let view = |artifact: &Artifact| {
        json!({
            "id": artifact.id,
            "url": artifact_url(artifact, hosts),
            "media_type": artifact.spec.media_type(),
            "content_type": artifact.spec.content_type(),
        })
    };
    artifacts.iter().map(view).collect()
}

/// Returns the URL of an artifact on the media host.
pub(super) fn artifact_url(artifact: &Artifact, hosts: &Hosts) -> String {
    format!(
        "{}/artifacts/{}.{}",
        hosts.media,
        artifact.token,
        artifact.spec.extension()
    )
}

/// Returns the specification of an artifact, if its job has completed or its run has created it.
pub(super) fn artifact<'s>(state: &'s State, token: &str) -> Option<&'s media::Spec> {
    if let Some((run, artifact)) = state.runs.by_token(token) {
        return run.artifacts_ready.then_some(&artifact.spec);
    }
    let (job, artifact) = state.jobs.by_token(token)?;
    (job.status == JobStatus::Completed).then_some(&artifact.spec)
}

/// Returns the error of a failed or canceled job.
pub(super) fn error_of(job: &Job) -> Option<Value> {
    match (&job.status, &job.error) {
        (JobStatus::Failed, Some(code)) => {
            let mut error = json!({"code": code, "message": format!("job failed: {code}")});
            let context = ErrorContext::for_job(&job.id);
            set_field(&mut error, "details", details(code, &context));
            Some(error)
        }
        (JobStatus::Canceled, _) => Some(
            json!({"code": "job_canceled", "message": "job was canceled before generation started"}),
        ),
        _ => None,
    }
}
