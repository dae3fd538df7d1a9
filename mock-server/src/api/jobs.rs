//! Jobs, on both surfaces: list, get, status, result, cancel.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus, Operation};

use super::answer::{Answer, Outcome};
use super::failure::{Failure, seconds};
use super::request::Request;
use super::{failed, paging};
use crate::engine::jobs::{Artifact, Job, JobType, Shelf};
use crate::engine::{Host, Hosts, State, Time};
use crate::media;

/// `GET /v1/jobs`: newest first, by `status` and `type`; `limit` and `cursor` page through it.
pub(super) fn list(request: &mut Request<'_>) -> Outcome {
    let status = match request.parameter("status")? {
        None => None,
        Some(word) => match JobStatus::from(word) {
            JobStatus::Other(_) => {
                let known: Vec<_> = JobStatus::KNOWN.iter().map(JobStatus::as_str).collect();
                return Err(Failure::field(
                    "status",
                    format!("must be one of {}", known.join(", ")),
                ));
            }
            status => Some(status),
        },
    };
    let job_type = match request.parameter("type")? {
        None => None,
        Some(word) => match JobType::ALL
            .into_iter()
            .find(|known| known.as_str() == word)
        {
            None => {
                let known = JobType::ALL.map(JobType::as_str).join(", ");
                return Err(Failure::field("type", format!("must be one of {known}")));
            }
            known => known,
        },
    };
    let limit = paging::limit(request)?;
    let workspace = request.workspace().to_owned();
    let jobs = &request.state.jobs;
    let before = match request.parameter("cursor")? {
        None => None,
        Some(id) => {
            let ours = jobs
                .by_id(&id)
                .is_some_and(|job| job.workspace == workspace);
            let number = jobs.number(&id).filter(|_| ours);
            Some(number.ok_or_else(paging::foreign_cursor)?)
        }
    };
    let shelf = Shelf {
        workspace,
        status,
        job_type,
    };
    let (shown, next) = paging::cut(jobs.newest_first(&shelf, before), limit);
    let next_cursor = next.map(|job| job.id.as_str());
    let items = shown
        .iter()
        .map(|job| with_delivery(request.state, job, request.host, request.hosts))
        .collect();
    Ok(Answer::page(items, next_cursor))
}

/// `GET /v1/jobs/{id}`.
pub(super) fn get(request: &mut Request<'_>) -> Outcome {
    let job = find(request)?;
    let view = with_delivery(request.state, job, request.host, request.hosts);
    Ok(Answer::data(200, view))
}

/// `GET /v1/jobs/{id}/status`.
pub(super) fn status(request: &mut Request<'_>) -> Outcome {
    let job = find(request)?;
    let payload = json!({
        "job_id": job.id,
        "status": job.status,
        "terminal": job.status.is_terminal(),
        "result_ready": job.status.is_terminal(),
        "next_poll_after_seconds": seconds(request.hosts.client_time(job.course.next_poll(&job.status, request.now()))),
    });
    Ok(Answer::data(200, payload))
}

/// `GET /v1/jobs/{id}/result`.
pub(super) fn result(request: &mut Request<'_>) -> Outcome {
    let job = find(request)?;
    if !job.status.is_terminal() {
        let failure = Failure::new(
            ErrorCode::JobNotCompleted,
            format!("The job is {}.", job.status),
        );
        let wait = job.course.next_poll(&job.status, request.now());
        let wait = request.hosts.client_time(wait);
        return Err(failure.detail("status", json!(job.status)).after(wait));
    }
    let mut result = json!({
        "job_id": job.id,
        "status": job.status,
        "artifacts": artifacts(job, request.hosts),
    });
    if let (Some(error), Some(fields)) = (error_of(job), result.as_object_mut()) {
        fields.insert("error".to_owned(), error);
    }
    Ok(Answer::data(200, result))
}

/// `POST /v1/jobs/{id}/cancel`.
pub(super) fn cancel(request: &mut Request<'_>) -> Outcome {
    let job = find(request)?;
    let now = request.now();
    request.no_body_needed()?;
    if job.status != JobStatus::Canceled {
        if !job.course.may_cancel(&job.status, now) {
            let message = match job.status.is_terminal() {
                true => format!("The job is already {}.", job.status),
                false => "The generation has already started.".to_owned(),
            };
            return Err(Failure::new(
                ErrorCode::JobGenerationAlreadyStarted,
                message,
            ));
        }
        if let Some(number) = request.state.jobs.number(&job.id) {
            request
                .state
                .end_job(number, JobStatus::Canceled, None, now);
        }
    }
    get(request)
}

/// The job of the path, in the key's workspace.
pub(super) fn find<'r>(request: &'r Request<'_>) -> Result<&'r Job, Failure> {
    let job = request.state.jobs.by_id(request.id());
    let ours = job.filter(|job| job.workspace == request.workspace());
    ours.ok_or_else(|| {
        Failure::new(
            ErrorCode::JobNotFound,
            "There is no such job in this workspace.",
        )
    })
}

/// A job by itself, as it is read on a surface.
pub(super) fn view(job: &Job, surface: Host, hosts: &Hosts) -> Value {
    let mut view = json!({
        "id": job.id,
        "status": job.status,
        "type": job.job_type.as_str(),
        "model": job.model,
        "created_at": job.course.created_at().to_string(),
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
    if let (Some(delivery), Some(fields)) = (state.outbox.view(&job.id), view.as_object_mut()) {
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
        "next_poll_after_seconds": seconds(hosts.client_time(job.course.next_poll(&job.status, now))),
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
        return run.made.then_some(&artifact.spec);
    }
    let (job, artifact) = state.jobs.by_token(token)?;
    (job.status == JobStatus::Completed).then_some(&artifact.spec)
}

/// Why a job made nothing.
pub(super) fn error_of(job: &Job) -> Option<Value> {
    match (&job.status, &job.error) {
        (JobStatus::Failed, Some(code)) => {
            let mut error = json!({"code": code, "message": format!("The job failed: {code}.")});
            let details = failed::details(code, &failed::Facts::of_a_job(&job.id));
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
