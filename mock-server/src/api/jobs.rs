//! Jobs on both surfaces: list, get, status, result and cancel.

use std::time::Duration;

use svc_sdk::contract::{ErrorCode, JobStatus};

use super::announcements::announce_ended;
use super::api_error::ApiError;
use super::job_view::{JobResult, JobStatusView, JobView};
use super::pagination;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::jobs::{Job, JobFilter, JobType};

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
        let wait = next_poll(request, job);
        return Err(ApiError::not_terminal(ErrorCode::JobNotCompleted, "job", &job.status, wait));
    }
    Ok(ApiResponse::data(200, JobResult::new(job, request.hosts)))
}

/// `POST /v1/jobs/{id}/cancel`.
pub(super) fn cancel(request: &mut Request<'_>) -> ApiResult {
    let job = find(request)?;
    let now = request.now();
    request.deny_body_fields()?;
    if job.status != JobStatus::Canceled {
        if !job.timeline.can_cancel(&job.status, now) {
            let message = match job.status.is_terminal() {
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

/// Returns how long to wait before the next poll of a job, in the time of clients.
pub(super) fn next_poll(request: &Request<'_>, job: &Job) -> Duration {
    let wait = job.timeline.next_poll(&job.status, request.now());
    request.hosts.client_time(wait)
}

/// Returns the job that the path names, if it is in the key's workspace.
pub(super) fn find<'r>(request: &'r Request<'_>) -> Result<&'r Job, ApiError> {
    let job = request.state.jobs.by_id(request.id());
    let job = job.filter(|job| *job.workspace == *request.workspace());
    job.ok_or_else(|| ApiError::new(ErrorCode::JobNotFound, "job not found in this workspace"))
}
