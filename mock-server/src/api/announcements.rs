//! Webhook bodies that announce the end of jobs and runs.

use serde_json::{Value, json};
use svc_sdk::contract::{JobStatus, Operation, RunStatus};

use super::job_view::{ArtifactView, error_of};
use super::runs::{operations, receipt};
use crate::engine::jobs::Job;
use crate::engine::json_text::JsonText;
use crate::engine::runs::{PlannedOutcome, Run};
use crate::engine::url_placeholders::placeholder_hosts;
use crate::engine::webhooks::queue::Announcement;
use crate::engine::{Ended, Host, State};
use crate::json_object::set_field;

/// Queues webhooks for the jobs and runs that have ended since the last call.
pub(crate) fn announce_ended(state: &mut State) {
    for ended in state.take_ended() {
        let announcement = match ended {
            Ended::Job(number) => state.jobs.get(number).and_then(job_announcement),
            Ended::Run(number) => state.runs.get(number).and_then(run_announcement),
        };
        if let Some(announcement) = announcement {
            state.announce(announcement);
        }
    }
}

/// Returns the webhook of a job that has ended, or `None` if the job is still running or has no
/// webhook URL.
fn job_announcement(job: &Job) -> Option<Announcement> {
    let url = job.webhook_url.as_deref()?.to_owned();
    let event = match job.status {
        JobStatus::Completed => "job.completed",
        JobStatus::Failed => "job.failed",
        JobStatus::Canceled => "job.canceled",
        _ => return None,
    };
    let hosts = placeholder_hosts();
    let artifacts = ArtifactView::of_job(job, &hosts);
    let artifacts: Vec<Value> = artifacts.iter().map(webhook_artifact).collect();
    let mut body = json!({
        "event": event,
        "request_id": job.request_id,
        "job_id": job.id,
        "status": if job.status == JobStatus::Completed { "OK" } else { "ERROR" },
        "payload": {"artifacts": artifacts},
    });
    set_field(&mut body, "error", error_of(job));
    let path = Operation::JobsResult.expand(&[&job.id]);
    Some(Announcement {
        workspace: job.workspace.to_string(),
        subject_id: job.id.to_string(),
        event: event.to_owned(),
        url,
        body: JsonText::from(&body),
        result_url: format!("{}{}", hosts.base(job.surface), path.unwrap_or_default()),
    })
}

/// Returns an artifact as webhooks carry it: `media_type` is named `type` there.
fn webhook_artifact(artifact: &ArtifactView<'_>) -> Value {
    let ArtifactView { content_type, id, media_type, url } = artifact;
    json!({"content_type": content_type, "id": id, "type": media_type, "url": url})
}

/// Returns the webhook of a run that has ended, or `None` if the run is still running or has no
/// webhook URL.
fn run_announcement(run: &Run) -> Option<Announcement> {
    let url = run.config.webhook_url.clone()?;
    let (status, outcome) = match run.status {
        RunStatus::Completed if run.config.planned_outcome == PlannedOutcome::Degraded => {
            ("OK", "degraded")
        }
        RunStatus::Completed => ("OK", "success"),
        RunStatus::Skipped => ("OK", "skipped"),
        RunStatus::Canceled => ("ERROR", "canceled"),
        RunStatus::Failed => ("ERROR", "error"),
        _ => return None,
    };
    let hosts = placeholder_hosts();
    let receipt = receipt(run, &hosts, run.updated_at);
    let event = format!("{}.run.terminal", run.config.kind.as_str());
    let error = receipt.get("error").cloned().unwrap_or_default();
    let body = json!({
        "event": event,
        "request_id": run.config.request_id,
        "run_id": run.id,
        "status": status,
        "outcome": outcome,
        "payload": receipt,
        "error": error,
    });
    let [_, result, _] = operations(run.config.kind);
    let path = result.expand(&[&run.id]).unwrap_or_default();
    Some(Announcement {
        workspace: run.config.workspace.clone(),
        subject_id: run.id.clone(),
        event,
        url,
        body: JsonText::from(&body),
        result_url: format!("{}{path}", hosts.base(Host::Developer)),
    })
}
