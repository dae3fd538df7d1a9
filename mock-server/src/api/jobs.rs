//! Jobs, on both surfaces: list, get, status, result, cancel.

use serde_json::json;
use svc_sdk::contract::{ErrorCode, JobStatus};

use super::announcements::announce_ended;
use super::api_error::{ApiError, seconds};
use super::job_view::{artifacts, error_of, with_delivery};
use super::pagination;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::jobs::{Job, JobFilter, JobType};

/// `GET /v1/jobs`: newest first, by `status` and `type`; `limit` and `cursor` page through it.
pub(super) fn list(request: &mut Request<'_>) -> ApiResult {
    let status = match request.parameter("status")? {
        None => None,
        Some(word) => match JobStatus::from(word) {
            JobStatus::Other(_) => {
                let known: Vec<_> = JobStatus::KNOWN.iter().map(JobStatus::as_str).collect();
                return Err(ApiError::field(
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
                return Err(ApiError::field("type", format!("must be one of {known}")));
            }
            known => known,
        },
    };
    let limit = pagination::limit(request)?;
    let workspace = request.workspace().to_owned();
    let jobs = &request.state.jobs;
    let before = match request.parameter("cursor")? {
        None => None,
        Some(id) => {
            let ours = jobs
                .by_id(&id)
                .is_some_and(|job| job.workspace == workspace);
            let number = jobs.number(&id).filter(|_| ours);
            Some(number.ok_or_else(pagination::invalid_cursor)?)
        }
    };
    let filter = JobFilter {
        workspace,
        status,
        job_type,
    };
    let (shown, next) = pagination::page(jobs.newest_first(&filter, before), limit);
    let next_cursor = next.map(|job| job.id.as_str());
    let items = shown
        .iter()
        .map(|job| with_delivery(request.state, job, request.host, request.hosts))
        .collect();
    Ok(ApiResponse::page(items, next_cursor))
}

/// `GET /v1/jobs/{id}`.
pub(super) fn get(request: &mut Request<'_>) -> ApiResult {
    let job = find(request)?;
    let view = with_delivery(request.state, job, request.host, request.hosts);
    Ok(ApiResponse::data(200, view))
}

/// `GET /v1/jobs/{id}/status`.
pub(super) fn status(request: &mut Request<'_>) -> ApiResult {
    let job = find(request)?;
    let payload = json!({
        "job_id": job.id,
        "status": job.status,
        "terminal": job.status.is_terminal(),
        "result_ready": job.status.is_terminal(),
        "next_poll_after_seconds": seconds(request.hosts.client_time(job.timeline.next_poll(&job.status, request.now()))),
    });
    Ok(ApiResponse::data(200, payload))
}

/// `GET /v1/jobs/{id}/result`.
pub(super) fn result(request: &mut Request<'_>) -> ApiResult {
    let job = find(request)?;
    if !job.status.is_terminal() {
        let error = ApiError::new(
            ErrorCode::JobNotCompleted,
            format!("The job is {}.", job.status),
        );
        let wait = job.timeline.next_poll(&job.status, request.now());
        let wait = request.hosts.client_time(wait);
        return Err(error.detail("status", json!(job.status)).retry_after(wait));
    }
    let mut result = json!({
        "job_id": job.id,
        "status": job.status,
        "artifacts": artifacts(job, request.hosts),
    });
    if let (Some(error), Some(fields)) = (error_of(job), result.as_object_mut()) {
        fields.insert("error".to_owned(), error);
    }
    Ok(ApiResponse::data(200, result))
}

/// `POST /v1/jobs/{id}/cancel`.
pub(super) fn cancel(request: &mut Request<'_>) -> ApiResult {
    let job = find(request)?;
    let now = request.now();
    request.deny_body_fields()?;
    if job.status != JobStatus::Canceled {
        if !job.timeline.can_cancel(&job.status, now) {
            let message = match job.status.is_terminal() {
                true => format!("The job is already {}.", job.status),
                false => "The generation has already started.".to_owned(),
            };
            return Err(ApiError::new(
                ErrorCode::JobGenerationAlreadyStarted,
                message,
            ));
        }
        if let Some(number) = request.state.jobs.number(&job.id) {
            request
                .state
                .end_job(number, JobStatus::Canceled, None, now);
            announce_ended(request.state);
        }
    }
    get(request)
}

/// The job of the path, in the key's workspace.
pub(super) fn find<'r>(request: &'r Request<'_>) -> Result<&'r Job, ApiError> {
    let job = request.state.jobs.by_id(request.id());
    let ours = job.filter(|job| job.workspace == request.workspace());
    ours.ok_or_else(|| {
        ApiError::new(
            ErrorCode::JobNotFound,
            "There is no such job in this workspace.",
        )
    })
}
