//! JSON views of jobs: the job, its receipt, its artifacts and its error.

use serde::Serialize;
use serde_json::{Value, json};
use svc_sdk::contract::{JobStatus, Operation};
use svc_sdk::types::Usd;

use super::api_error::seconds;
use super::error_details::{ErrorContext, details};
use crate::engine::jobs::{Artifact, Job, Metadata};
use crate::engine::runs::GenerationJob;
use crate::engine::time::TimeText;
use crate::engine::{Host, Hosts, State, Time};
use crate::json_object::set_field;
use crate::media;

/// A job as a surface shows it. The fields of this and the other views are sorted by name.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct JobView<'j> {
    created_at: TimeText,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    id: &'j str,
    metadata: &'j Metadata,
    model: &'j str,
    #[serde(skip_serializing_if = "Option::is_none")]
    price_usd: Option<Usd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<JobArtifacts<'j>>,
    status: &'j JobStatus,
    #[serde(rename = "type")]
    job_type: &'static str,
    updated_at: TimeText,
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_delivery: Option<Value>,
}

#[derive(Clone, Debug, Serialize)]
struct JobArtifacts<'j> {
    artifacts: Vec<ArtifactView<'j>>,
}

/// An artifact of a job or run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ArtifactView<'j> {
    pub(super) content_type: &'static str,
    pub(super) id: &'j str,
    pub(super) media_type: &'static str,
    pub(super) url: String,
}

impl<'j> JobView<'j> {
    /// Creates the view of a job on a surface, with its webhook delivery if there is one.
    pub(crate) fn new(state: &State, job: &'j Job, surface: Host, hosts: &Hosts) -> Self {
        Self {
            webhook_delivery: state.webhook_queue.view(&job.id),
            ..Self::without_delivery(job, surface, hosts)
        }
    }

    /// Creates the view of a job on a surface, without its webhook delivery.
    pub(super) fn without_delivery(job: &'j Job, surface: Host, hosts: &Hosts) -> Self {
        let result = (job.status == JobStatus::Completed)
            .then(|| JobArtifacts { artifacts: ArtifactView::of_job(job, hosts) });
        Self {
            created_at: TimeText(job.timeline.created_at()),
            error: match job.status {
                JobStatus::Failed => error_of(job),
                _ => None,
            },
            id: &job.id,
            metadata: &job.metadata,
            model: &job.model,
            price_usd: job.price.filter(|_| surface == Host::Open),
            result,
            status: &job.status,
            job_type: job.job_type.as_str(),
            updated_at: TimeText(job.updated_at),
            webhook_delivery: None,
        }
    }
}

impl<'j> ArtifactView<'j> {
    /// Creates the views of a job's artifacts. Jobs that have not completed have none.
    pub(super) fn of_job(job: &'j Job, hosts: &Hosts) -> Vec<Self> {
        match job.status {
            JobStatus::Completed => Self::of_all(&job.artifacts, hosts),
            _ => Vec::new(),
        }
    }

    pub(super) fn of_all(artifacts: &'j [Artifact], hosts: &Hosts) -> Vec<Self> {
        let view = |artifact: &'j Artifact| Self {
            content_type: artifact.spec.content_type(),
            id: &artifact.id,
            media_type: artifact.spec.media_type(),
            url: artifact_url(artifact, hosts),
        };
        artifacts.iter().map(view).collect()
    }
}

pub(crate) fn generation_job(job: &GenerationJob) -> Value {
    let mut view = job.view();
    let error = job.error.as_ref();
    let error = error.map(|code| json!({"code": code, "message": format!("job failed: {code}")}));
    set_field(&mut view, "error", error);
    set_field(&mut view, "created_at", json!(job.started_at.to_string()));
    set_field(&mut view, "updated_at", json!(job.updated_at.to_string()));
    view
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct JobStatusView<'j> {
    job_id: &'j str,
    next_poll_after_seconds: Value,
    result_ready: bool,
    status: &'j JobStatus,
    terminal: bool,
}

impl<'j> JobStatusView<'j> {
    pub(super) fn new(job: &'j Job, hosts: &Hosts, now: Time) -> Self {
        let is_terminal = job.status.is_terminal();
        Self {
            job_id: &job.id,
            next_poll_after_seconds: next_poll(job, hosts, now),
            result_ready: is_terminal,
            status: &job.status,
            terminal: is_terminal,
        }
    }
}

/// The result of a job that has ended.
#[derive(Clone, Debug, Serialize)]
pub(super) struct JobResult<'j> {
    artifacts: Vec<ArtifactView<'j>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    job_id: &'j str,
    status: &'j JobStatus,
}

impl<'j> JobResult<'j> {
    pub(super) fn new(job: &'j Job, hosts: &Hosts) -> Self {
        Self {
            artifacts: ArtifactView::of_job(job, hosts),
            error: error_of(job),
            job_id: &job.id,
            status: &job.status,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct JobReceipt<'j> {
    cancel_url: String,
    job: JobView<'j>,
    next_poll_after_seconds: Value,
    request_id: &'j str,
    result_url: String,
    status_url: String,
}

impl<'j> JobReceipt<'j> {
    pub(super) fn new(job: &'j Job, hosts: &Hosts, now: Time) -> Self {
        let base = hosts.base(job.surface);
        let url = |operation: Operation| {
            // Expanding the path cannot fail: IDs that the mock generates are valid path segments.
            [base, &operation.expand(&[&job.id]).unwrap_or_default()].concat()
        };
        Self {
            cancel_url: url(Operation::JobsCancel),
            job: JobView::without_delivery(job, job.surface, hosts),
            next_poll_after_seconds: next_poll(job, hosts, now),
            request_id: &job.request_id,
            result_url: url(Operation::JobsResult),
            status_url: url(Operation::JobsStatus),
        }
    }
}

/// Returns the seconds to wait before the next poll of a job, in the time of clients.
fn next_poll(job: &Job, hosts: &Hosts, now: Time) -> Value {
    seconds(job.timeline.next_poll(job.status.is_terminal(), now, hosts))
}

fn artifact_url(artifact: &Artifact, hosts: &Hosts) -> String {
    format!("{}/artifacts/{}.{}", hosts.media, artifact.token, artifact.spec.extension())
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
