//! Submitting a generation: the checks that follow the fields, and the job.

use serde_json::{Value, json};
use svc_sdk::contract::limits::{MAX_ATTACHMENT_IMAGE_BYTES, MAX_REQUEST_BODY_BYTES};
use svc_sdk::contract::{ErrorCode, JobStatus, RateLimitBucket};
use svc_sdk::types::Usd;

use super::api_error::ApiError;
use super::fields::Fields;
use super::generation::{self, CommunicationOptions, Generation};
use super::request::{IdempotencySlot, Request};
use super::response::{ApiResponse, ApiResult, JobWait};
use super::{job_view, resources};
use crate::engine::directives::Directives;
use crate::engine::jobs::{Artifact, Job, JobType};
use crate::engine::models::Router;
use crate::engine::resources::{Resource, ResourceDetails};
use crate::engine::workspaces::concurrent_jobs;
use crate::engine::{Host, Hosts, State, Timeline};
use crate::media;

/// What a job makes that is read by an id of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ResourceChange {
    /// Nothing: the job is all there is.
    None,
    /// Something new.
    Create(ResourceDetails),
    /// The resource of that id, once more.
    Regenerate(String),
}

/// What a submit makes, once its fields are judged.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JobDraft {
    pub(super) job_type: JobType,
    pub(super) model: &'static str,
    pub(super) directives: Directives,
    /// None of what is free.
    pub(super) price: Option<Usd>,
    /// What each file is made from; its seed is drawn later.
    pub(super) spec: media::Spec,
    /// How many files.
    pub(super) files: u64,
}

impl JobDraft {
    /// The draft of a generation by a model of a profile.
    pub(super) fn from_generation(generation: Generation) -> Self {
        let (width, height) = media::dimensions(&generation.resolution, &generation.aspect_ratio);
        let (job_type, files, spec) = match generation.model.router {
            Router::Image => {
                let spec = media::Spec::Image {
                    width,
                    height,
                    seed: 0,
                };
                (JobType::ImageGeneration, generation.images, spec)
            }
            Router::Video => {
                let spec = media::Spec::Video {
                    width,
                    height,
                    duration_ms: generation.duration * 1000,
                    with_audio: generation.sound,
                    seed: 0,
                };
                (JobType::VideoGeneration, 1, spec)
            }
        };
        Self {
            job_type,
            model: generation.model.id,
            directives: generation.directives,
            price: Some(generation.price.total),
            spec,
            files,
        }
    }
}

/// A submit to a router: idempotent replay, fields, funds, concurrency, accept.
pub(super) fn submit(request: &mut Request<'_>, router: Router) -> ApiResult {
    let body = request.body()?;
    let slot = match request.replay()? {
        Ok(receipt) => return Ok(ApiResponse::data(200, receipt)),
        Err(slot) => slot,
    };
    let fields = Fields::of_body(body)?;
    let model = fields.required_text("model")?;
    let (generation, communication) = generation::read(router, model, fields, true)?;
    accept(
        request,
        slot,
        JobDraft::from_generation(generation),
        ResourceChange::None,
        communication,
    )
}

/// A submit to a canonical path, whose fields `read` judges. Where a field is missing, it says so:
/// no body is one without fields.
pub(super) fn submit_versioned(
    request: &mut Request<'_>,
    read: impl FnOnce(&Request<'_>, Fields<'_>) -> Result<(JobDraft, ResourceChange), ApiError>,
) -> ApiResult {
    let slot = match request.replay()? {
        Ok(receipt) => return Ok(ApiResponse::data(200, receipt)),
        Err(slot) => slot,
    };
    let empty_body = json!({});
    let fields = Fields::of_body(request.body.as_ref().unwrap_or(&empty_body))?;
    let (draft, made) = read(request, fields)?;
    let communication = generation::communication(fields)?;
    accept(request, slot, draft, made, communication)
}

/// What follows once the fields are judged: funds, concurrency, accept.
pub(super) fn accept(
    request: &mut Request<'_>,
    slot: IdempotencySlot,
    draft: JobDraft,
    made: ResourceChange,
    communication: CommunicationOptions,
) -> ApiResult {
    request.check_max_spend(draft.price.unwrap_or_default())?;
    check_funds(request, draft.price)?;
    check_concurrency(request)?;
    if let Some(code) = &draft.directives.refuse {
        return Err(requested_error(code));
    }
    let wait = communication.wait;
    let job = new_job(request, draft, communication);
    let (id, timeline, price) = (job.id.clone(), job.timeline, job.price);
    let accepted = request.state.accept_job(job).map_err(|short| {
        // The balance was looked at above and nothing has happened since.
        insufficient_funds(request.host, price.unwrap_or_default(), short.available)
    })?;
    record_resource(request, &id, made);
    let now = request.now();
    let mut receipt = match request.state.jobs.get(accepted) {
        Some(job) => job_view::receipt(job, request.hosts, now),
        None => Value::Null,
    };
    insert_resource(request.state, &id, request.hosts, &mut receipt);
    request.store_receipt(slot, &receipt);
    let mut answer = ApiResponse::data(202, receipt.clone());
    answer.wait = wait.map(|wait| {
        let over = now.after(wait);
        let until = timeline.ends_at().map_or(over, |end| end.min(over));
        JobWait {
            job_id: id,
            until,
            receipt,
        }
    });
    Ok(answer)
}

/// Takes down what the job makes.
fn record_resource(request: &mut Request<'_>, job_id: &str, made: ResourceChange) {
    match made {
        ResourceChange::None => {}
        ResourceChange::Create(about) => {
            let resource = Resource {
                id: request.state.rng.id(about.kind().prefix()),
                workspace: request.workspace().to_owned(),
                job_id: job_id.to_owned(),
                details: about,
            };
            request.state.resources.add(resource);
        }
        ResourceChange::Regenerate(id) => request.state.resources.reassign_job(&id, job_id),
    }
}

/// Puts what the job makes beside it.
fn insert_resource(state: &State, job_id: &str, hosts: &Hosts, receipt: &mut Value) {
    let job = state.jobs.by_id(job_id);
    let receipt_field = job.and_then(|job| resources::receipt_field(state, job, hosts));
    if let (Some((field, view)), Value::Object(fields)) = (receipt_field, receipt) {
        fields.insert(field.to_owned(), view);
    }
}

fn check_funds(request: &Request<'_>, price: Option<Usd>) -> Result<(), ApiError> {
    let Some(price) = price else { return Ok(()) };
    let covered = request.state.ledger.covers(request.workspace(), price);
    covered.map_err(|short| insufficient_funds(request.host, price, short.available))
}

/// A price that the balance does not cover: dollars on the open surface, credits on the developer
/// surface, one wallet behind both.
pub(super) fn insufficient_funds(surface: Host, required: Usd, available: Usd) -> ApiError {
    let code = match surface {
        Host::Developer => ErrorCode::InsufficientCredits,
        _ => ErrorCode::InsufficientFunds,
    };
    ApiError::new(code, "The balance does not cover the price.")
        .detail("required_usd", json!(required))
        .detail("available_usd", json!(available))
}

fn check_concurrency(request: &Request<'_>) -> Result<(), ApiError> {
    let workspace = request.workspace();
    let cap = concurrent_jobs(&request.state.workspaces.plan(workspace));
    if request.state.jobs.in_flight(workspace) < cap {
        return Ok(());
    }
    let message = format!("The workspace has {cap} jobs in flight, as many as its plan allows.");
    Err(ApiError::new(ErrorCode::ConcurrencyLimitReached, message).detail("limit", json!(cap)))
}

/// The refusal that a magic word asks for.
pub(super) fn requested_error(code: &ErrorCode) -> ApiError {
    let error = ApiError::new(
        code.clone(),
        format!("Refused as a magic word asked: {code}."),
    );
    // What the specification says that these codes always tell.
    let error = match code {
        ErrorCode::AttachmentFetchFailed => error.detail("index", json!(0)),
        ErrorCode::RateLimited => error.detail("scope", json!(RateLimitBucket::Write.as_str())),
        ErrorCode::PayloadTooLarge => error.detail("limit_bytes", json!(MAX_REQUEST_BODY_BYTES)),
        ErrorCode::AttachmentTooLarge => {
            error.detail("limit_bytes", json!(MAX_ATTACHMENT_IMAGE_BYTES))
        }
        _ => error,
    };
    match code.defaults() {
        Some(entry) if entry.retryable => error.retry_after(std::time::Duration::from_secs(1)),
        _ => error,
    }
}

fn new_job(request: &mut Request<'_>, draft: JobDraft, communication: CommunicationOptions) -> Job {
    let now = request.now();
    let duration = draft
        .directives
        .duration
        .unwrap_or(draft.job_type.duration());
    let rng = &mut request.state.rng;
    let id = rng.id("job");
    let artifacts = (0..draft.files).map(|_| {
        let seed = rng.next();
        Artifact {
            id: rng.id("art"),
            token: rng.token(32),
            spec: draft.spec.clone().seeded(seed),
        }
    });
    let artifacts = artifacts.collect();
    Job {
        id,
        request_id: request.request_id.to_owned(),
        workspace: request.workspace().to_owned(),
        surface: request.host,
        job_type: draft.job_type,
        model: draft.model.to_owned(),
        status: JobStatus::Queued,
        updated_at: now,
        timeline: Timeline::new(now, duration, draft.directives.stuck),
        planned_error: draft.directives.fail,
        error: None,
        price: draft.price,
        metadata: communication.metadata,
        webhook_url: communication.webhook_url,
        artifacts,
    }
}
