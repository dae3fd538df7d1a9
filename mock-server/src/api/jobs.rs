//! Jobs on both surfaces: list, get, status, result, events and cancel.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus};

use super::announcements::announce_ended;
use super::api_error::ApiError;
use super::job_view::{JobResult, JobStatusView, JobView, error_of};
use super::pagination;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::Time;
use crate::engine::jobs::{Job, JobFilter, JobType};
use crate::json_object::set_field;

/// `GET /v1/jobs`: newest first, filtered by `status` and `type`. `limit` and `cursor` page through
/// the list.
pub(super) fn list(request: &mut Request<'_>) -> ApiResult {
    let statuses: Vec<_> = JobStatus::KNOWN.iter().map(JobStatus::as_str).collect();
    let status = request.parameter_one_of("status", &statuses)?.map(JobStatus::from);
    let job_type = request.parameter_one_of("type", JobType::NAMES)?;
    let job_type = job_type.and_then(|name| JobType::from_name(&name));
    let limit = pagination::limit(request)?;
    let workspace = request.workspace();
    let jobs = &request.state.jobs;
    let before = pagination::before(request, |id| {
        let is_listed = jobs.by_id(id).is_some_and(|job| *job.workspace == *workspace);
        jobs.number(id).filter(|_| is_listed)
    })?;
    let filter = JobFilter { workspace, status, job_type };
    let (page, next) = pagination::page(jobs.newest_first(&filter, before), limit);
    let next_cursor = next.map(|job| &*job.id);
    let items = page
        .iter()
        .map(|job| JobView::new(request.state, job, request.host, request.hosts))
        .collect();
    Ok(ApiResponse::page(items, next_cursor))
}

/// `GET /v1/jobs/{id}`.
pub(super) fn get(request: &mut Request<'_>) -> ApiResult {
    let job = find(request)?;
    let view = JobView::new(request.state, job, request.host, request.hosts);
    Ok(ApiResponse::data(200, view))
}

/// `GET /v1/jobs/{id}/status`.
pub(super) fn status(request: &mut Request<'_>) -> ApiResult {
    let job = find(request)?;
    let view = JobStatusView::new(job, request.hosts, request.now());
    Ok(ApiResponse::data(200, view))
}

/// `GET /v1/jobs/{id}/result`.
pub(super) fn result(request: &mut Request<'_>) -> ApiResult {
    let job = find(request)?;
    if !job.status.is_terminal() {
        return Err(not_terminal(request, ErrorCode::JobNotCompleted, job));
    }
    Ok(ApiResponse::data(200, JobResult::new(job, request.hosts)))
}

/// `POST /v1/jobs/{id}/cancel`.
pub(super) fn cancel(request: &mut Request<'_>) -> ApiResult {
    let job = find(request)?;
    let now = request.now();
    request.deny_body_fields()?;
    if job.status != JobStatus::Canceled {
        let is_terminal = job.status.is_terminal();
        if is_terminal || now >= job.timeline.generation_starts_at() {
            let message = match is_terminal {
                true => format!("job is already {}", job.status),
                false => "generation has already started".to_owned(),
            };
            return Err(ApiError::new(ErrorCode::JobGenerationAlreadyStarted, message));
        }
        if let Some(number) = request.state.jobs.number(&job.id) {
            request.state.end_job(number, JobStatus::Canceled, None, now);
            announce_ended(request.state);
        }
    }
    get(request)
}

/// Returns the error for a job that has not ended.
pub(super) fn not_terminal(request: &Request<'_>, code: ErrorCode, job: &Job) -> ApiError {
    let wait = job.timeline.next_poll(false, request.now(), request.hosts);
    ApiError::not_terminal(code, "job", &job.status, wait)
}

/// Returns the job that the path names, if it is in the key's workspace.
pub(super) fn find<'r>(request: &'r Request<'_>) -> Result<&'r Job, ApiError> {
    let job = request.state.jobs.by_id(request.id());
    let job = job.filter(|job| *job.workspace == *request.workspace());
    job.ok_or_else(|| ApiError::new(ErrorCode::JobNotFound, "job not found in this workspace"))
}

/// `GET /v1/jobs/{id}/events`: the steps of a job so far, and the attempts to deliver its webhook,
/// oldest first.
pub(super) fn events(request: &mut Request<'_>) -> ApiResult {
    let now = request.now();
    let job = find(request)?;
    let mut events = step_events(job, now);
    let attempts = request.state.webhook_queue.attempts(&job.id);
    events.extend(attempts.map(|(at, delivery)| {
        let mut event = event(job, "webhook_delivery", at);
        set_field(&mut event, "webhook_delivery", delivery);
        event
    }));
    Ok(ApiResponse::list(events))
}

/// Returns an event for each step that the job has reached, and one for its end.
fn step_events(job: &Job, now: Time) -> Vec<Value> {
    let terminal = job.status.is_terminal();
    // A job that was canceled or failed early never reached its later steps.
    let until = if terminal { job.updated_at } else { now };
    let steps = [
        ("queued", job.timeline.created_at()),
        ("processing", job.timeline.starts_at()),
        ("generation_started", job.timeline.generation_starts_at()),
    ];
    let mut events: Vec<Value> = steps
        .iter()
        .filter(|(_, at)| *at <= until)
        .map(|(name, at)| event(job, name, *at))
        .collect();
    if terminal {
        let mut last = event(job, job.status.as_str(), job.updated_at);
        set_field(&mut last, "error", error_of(job));
        events.push(last);
    }
    events
}

fn event(job: &Job, name: &str, at: Time) -> Value {
    json!({"type": name, "job_id": job.id, "created_at": at.to_string()})
}
