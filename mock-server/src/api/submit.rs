//! Submits: the checks after the fields are read, and the creation of the job.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus};
use svc_sdk::types::Usd;

use super::api_error::ApiError;
use super::communication::CommunicationOptions;
use super::error_details::requested_error;
use super::fields::{Fields, directive_error};
use super::generation;
use super::job_draft::{JobDraft, ResourceChange};
use super::job_view::JobReceipt;
use super::request::{Created, Request};
use super::resources;
use super::response::{ApiResponse, ApiResult, JobWait};
use crate::engine::idempotency::StoredReceipt;
use crate::engine::jobs::{Artifact, Job};
use crate::engine::models::Router;
use crate::engine::resources::Resource;
use crate::engine::{Host, Timeline};
use crate::json_object::set_field;

pub(super) fn submit(request: &mut Request<'_>, router: Router) -> ApiResult {
    request.body()?;
    request.create_once(|request| {
        let fields = request.fields()?;
        let model = fields.required_text("model")?;
        let (generation, communication) = generation::read(router, model, fields, true)?;
        accept(request, generation.draft, ResourceChange::None, communication)
    })
}

/// Handles a submit to a canonical path, whose fields are read by `read`. An absent body is an empty
/// object, so that the error names the first missing field.
pub(super) fn submit_versioned(
    request: &mut Request<'_>,
    read: impl FnOnce(&Request<'_>, Fields<'_>) -> Result<(JobDraft, ResourceChange), ApiError>,
) -> ApiResult {
    request.create_once(|request| {
        let fields = request.optional_fields()?;
        let (draft, change) = read(request, fields)?;
        let communication = CommunicationOptions::parse(fields)?;
        accept(request, draft, change, communication)
    })
}

/// Checks spend limit, funds and concurrency, then creates the job.
fn accept(
    request: &mut Request<'_>,
    mut draft: JobDraft,
    change: ResourceChange,
    communication: CommunicationOptions,
) -> Created {
    if let Some(name) = draft.directives.for_runs() {
        return Err(directive_error(format!("`[mock:{name}]` is for runs, not for jobs")));
    }
    request.check_max_spend(draft.price.unwrap_or_default())?;
    check_funds(request, draft.price)?;
    check_concurrency(request)?;
    draft.directives = request.apply_directives(&draft.directives);
    if let Some(refusal) = &draft.directives.refuse {
        return Err(requested_error(refusal, request.hosts));
    }
    let wait = communication.wait;
    let job = new_job(request, draft, communication);
    let (id, timeline, price) = (job.id.clone(), job.timeline, job.price);
    let accepted = request.state.accept_job(job).map_err(|shortfall| {
        // Not reached, because the balance was checked above and has not changed since.
        insufficient_funds(request.host, price.unwrap_or_default(), shortfall.available)
    })?;
    record_resource(request, &id, change);
    let now = request.now();
    let Some(job) = request.state.jobs.get(accepted) else {
        return Ok((ApiResponse::data(202, Value::Null), StoredReceipt::Job(id)));
    };
    let receipt = JobReceipt::new(job, request.hosts, now);
    let (response, stored) = match resources::receipt_field(request.state, job, request.hosts) {
        // The receipt of a job without a resource can be made again from the job.
        None => (ApiResponse::data(202, receipt), StoredReceipt::Job(id.clone())),
        Some((field, view)) => {
            let mut receipt = json!(receipt);
            set_field(&mut receipt, field, view);
            (ApiResponse::data(202, &receipt), request.receipt_to_store(&receipt))
        }
    };
    let wait = wait.map(|wait| {
        let deadline = now.after(request.hosts.service_time(wait));
        let until = timeline.ends_at().map_or(deadline, |end| end.min(deadline));
        JobWait { job_id: id.to_string(), until, receipt: response.data_value() }
    });
    Ok((ApiResponse { wait, ..response }, stored))
}

/// Creates the resource of a job, or assigns an existing one to it.
fn record_resource(request: &mut Request<'_>, job_id: &str, change: ResourceChange) {
    match change {
        ResourceChange::None => {}
        ResourceChange::Create(details) => {
            let resource = Resource {
                id: request.state.rng.id(details.kind().prefix()),
                workspace: request.workspace().to_owned(),
                job_id: job_id.to_owned(),
                details,
            };
            request.state.resources.add(resource);
        }
        ResourceChange::Regenerate(id) => request.state.resources.reassign_job(&id, job_id),
    }
}

fn check_funds(request: &Request<'_>, price: Option<Usd>) -> Result<(), ApiError> {
    let Some(price) = price else { return Ok(()) };
    let covered = request.state.ledger.covers(request.workspace(), price);
    covered.map_err(|shortfall| insufficient_funds(request.host, price, shortfall.available))
}

/// Returns the error for a balance that does not cover a price. The code depends on the surface,
/// although both surfaces share one balance.
pub(super) fn insufficient_funds(surface: Host, required: Usd, available: Usd) -> ApiError {
    let code = match surface {
        Host::Developer => ErrorCode::InsufficientCredits,
        _ => ErrorCode::InsufficientFunds,
    };
    let message = format!("balance of {available} USD is less than the required {required} USD");
    ApiError::new(code, message)
        .detail("required_usd", json!(required))
        .detail("available_usd", json!(available))
}

fn check_concurrency(request: &Request<'_>) -> Result<(), ApiError> {
    let workspace = request.workspace();
    let limit = request.state.concurrent_jobs(workspace);
    if request.state.jobs.in_flight(workspace) < limit {
        return Ok(());
    }
    let message = format!("concurrency limit reached: the plan allows {limit} concurrent jobs");
    Err(ApiError::new(ErrorCode::ConcurrencyLimitReached, message).detail("limit", json!(limit)))
}

fn new_job(request: &mut Request<'_>, draft: JobDraft, communication: CommunicationOptions) -> Job {
    let now = request.now();
    let duration = draft.directives.duration.unwrap_or(draft.job_type.duration());
    let rng = &mut request.state.rng;
    let id = rng.id("job").into();
    let artifacts = (0..draft.files).map(|_| {
        let seed = rng.next();
        Artifact {
            id: rng.id("art").into(),
            token: rng.token(32).into(),
            spec: draft.spec.clone().seeded(seed),
        }
    });
    let artifacts = artifacts.collect();
    Job {
        id,
        request_id: request.request_id.into(),
        workspace: request.workspace().into(),
        surface: request.host,
        job_type: draft.job_type,
        model: draft.model.into(),
        status: JobStatus::Queued,
        updated_at: now,
        timeline: Timeline::new(now, duration, draft.directives.stuck),
        source: request.source(),
        planned_error: draft.directives.fail,
        error: None,
        price: draft.price,
        metadata: communication.metadata.into(),
        webhook_url: communication.webhook_url.map(String::into),
        artifacts,
    }
}
