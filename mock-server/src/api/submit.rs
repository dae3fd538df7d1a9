//! Submitting a generation: the checks that follow the fields, and the job.

use serde_json::{Value, json};
use svc_sdk::contract::limits::{ATTACHMENT_IMAGE_BYTES, REQUEST_BODY_BYTES};
use svc_sdk::contract::{Budget, ErrorCode, JobStatus};
use svc_sdk::types::Usd;

use super::api_error::Failure;
use super::fields::Fields;
use super::generation::{self, Communication, Order};
use super::request::{Once, Request};
use super::response::{Answer, Outcome, Wait};
use super::{job_view, resources};
use crate::engine::directives::Directives;
use crate::engine::jobs::{Artifact, Job, JobType};
use crate::engine::models::Router;
use crate::engine::resources::{About, Resource};
use crate::engine::workspaces::concurrent_jobs;
use crate::engine::{Host, Hosts, State, Timeline};
use crate::media;

/// What a job makes that is read by an id of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// Nothing: the job is all there is.
    Nothing,
    /// Something new.
    New(About),
    /// The resource of that id, once more.
    Again(String),
}

/// What a submit makes, once its fields are judged.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Draft {
    pub(super) job_type: JobType,
    pub(super) model: &'static str,
    pub(super) words: Directives,
    /// None of what is free.
    pub(super) price: Option<Usd>,
    /// What each file is made from; its seed is drawn later.
    pub(super) spec: media::Spec,
    /// How many files.
    pub(super) files: u64,
}

impl Draft {
    /// The draft of a generation by a model of a profile.
    pub(super) fn of(order: Order) -> Self {
        let (width, height) = media::dimensions(&order.resolution, &order.aspect_ratio);
        let (job_type, files, spec) = match order.model.router {
            Router::Image => {
                let spec = media::Spec::Image {
                    width,
                    height,
                    seed: 0,
                };
                (JobType::ImageGeneration, order.images, spec)
            }
            Router::Video => {
                let spec = media::Spec::Video {
                    width,
                    height,
                    duration_ms: order.duration * 1000,
                    with_audio: order.sound,
                    seed: 0,
                };
                (JobType::VideoGeneration, 1, spec)
            }
        };
        Self {
            job_type,
            model: order.model.id,
            words: order.words,
            price: Some(order.price.total),
            spec,
            files,
        }
    }
}

/// A submit to a router: idempotent replay, fields, funds, concurrency, accept.
pub(super) fn submit(request: &mut Request<'_>, router: Router) -> Outcome {
    let body = request.body()?;
    let once = match request.replay()? {
        Ok(receipt) => return Ok(Answer::data(200, receipt)),
        Err(once) => once,
    };
    let fields = Fields::of_body(body)?;
    let model = fields.required_text("model")?;
    let (order, communication) = generation::read(router, model, fields, true)?;
    accept(
        request,
        once,
        Draft::of(order),
        Made::Nothing,
        communication,
    )
}

/// A submit to a canonical path, whose fields `read` judges. Where a field is missing, it says so:
/// no body is one without fields.
pub(super) fn to_a_model(
    request: &mut Request<'_>,
    read: impl FnOnce(&Request<'_>, Fields<'_>) -> Result<(Draft, Made), Failure>,
) -> Outcome {
    let once = match request.replay()? {
        Ok(receipt) => return Ok(Answer::data(200, receipt)),
        Err(once) => once,
    };
    let nothing_said = json!({});
    let fields = Fields::of_body(request.body.as_ref().unwrap_or(&nothing_said))?;
    let (draft, made) = read(request, fields)?;
    let communication = generation::communication(fields)?;
    accept(request, once, draft, made, communication)
}

/// What follows once the fields are judged: funds, concurrency, accept.
pub(super) fn accept(
    request: &mut Request<'_>,
    once: Once,
    draft: Draft,
    made: Made,
    communication: Communication,
) -> Outcome {
    request.check_ceiling(draft.price.unwrap_or_default())?;
    check_funds(request, draft.price)?;
    check_concurrency(request)?;
    if let Some(code) = &draft.words.refuse {
        return Err(refused_at_will(code));
    }
    let wait = communication.wait;
    let job = job_of(request, draft, communication);
    let (id, course, price) = (job.id.clone(), job.course, job.price);
    let accepted = request.state.accept_job(job).map_err(|short| {
        // The balance was looked at above and nothing has happened since.
        uncovered(request.host, price.unwrap_or_default(), short.available)
    })?;
    note(request, &id, made);
    let now = request.now();
    let mut receipt = match request.state.jobs.get(accepted) {
        Some(job) => job_view::receipt(job, request.hosts, now),
        None => Value::Null,
    };
    put_beside(request.state, &id, request.hosts, &mut receipt);
    request.keep(once, &receipt);
    let mut answer = Answer::data(202, receipt.clone());
    answer.wait = wait.map(|wait| {
        let over = now.after(wait);
        let until = course.ends_at().map_or(over, |end| end.min(over));
        Wait {
            job_id: id,
            until,
            receipt,
        }
    });
    Ok(answer)
}

/// Takes down what the job makes.
fn note(request: &mut Request<'_>, job_id: &str, made: Made) {
    match made {
        Made::Nothing => {}
        Made::New(about) => {
            let resource = Resource {
                id: request.state.chance.id(about.kind().prefix()),
                workspace: request.workspace().to_owned(),
                job_id: job_id.to_owned(),
                about,
            };
            request.state.resources.add(resource);
        }
        Made::Again(id) => request.state.resources.remade(&id, job_id),
    }
}

/// Puts what the job makes beside it.
fn put_beside(state: &State, job_id: &str, hosts: &Hosts, receipt: &mut Value) {
    let job = state.jobs.by_id(job_id);
    let beside = job.and_then(|job| resources::beside(state, job, hosts));
    if let (Some((field, view)), Value::Object(fields)) = (beside, receipt) {
        fields.insert(field.to_owned(), view);
    }
}

fn check_funds(request: &Request<'_>, price: Option<Usd>) -> Result<(), Failure> {
    let Some(price) = price else { return Ok(()) };
    let covered = request.state.ledger.covers(request.workspace(), price);
    covered.map_err(|short| uncovered(request.host, price, short.available))
}

/// A price that the balance does not cover: dollars on the open surface, credits on the developer
/// surface, one wallet behind both.
pub(super) fn uncovered(surface: Host, required: Usd, available: Usd) -> Failure {
    let code = match surface {
        Host::Developer => ErrorCode::InsufficientCredits,
        _ => ErrorCode::InsufficientFunds,
    };
    Failure::new(code, "The balance does not cover the price.")
        .detail("required_usd", json!(required))
        .detail("available_usd", json!(available))
}

fn check_concurrency(request: &Request<'_>) -> Result<(), Failure> {
    let workspace = request.workspace();
    let cap = concurrent_jobs(&request.state.workspaces.plan(workspace));
    if request.state.jobs.in_flight(workspace) < cap {
        return Ok(());
    }
    let message = format!("The workspace has {cap} jobs in flight, as many as its plan allows.");
    Err(Failure::new(ErrorCode::ConcurrencyLimitReached, message).detail("limit", json!(cap)))
}

/// The refusal that a magic word asks for.
pub(super) fn refused_at_will(code: &ErrorCode) -> Failure {
    let failure = Failure::new(
        code.clone(),
        format!("Refused as a magic word asked: {code}."),
    );
    // What the specification says that these codes always tell.
    let failure = match code {
        ErrorCode::AttachmentFetchFailed => failure.detail("index", json!(0)),
        ErrorCode::RateLimited => failure.detail("scope", json!(Budget::Write.as_str())),
        ErrorCode::PayloadTooLarge => failure.detail("limit_bytes", json!(REQUEST_BODY_BYTES)),
        ErrorCode::AttachmentTooLarge => {
            failure.detail("limit_bytes", json!(ATTACHMENT_IMAGE_BYTES))
        }
        _ => failure,
    };
    match code.entry() {
        Some(entry) if entry.retryable => failure.after(std::time::Duration::from_secs(1)),
        _ => failure,
    }
}

fn job_of(request: &mut Request<'_>, draft: Draft, communication: Communication) -> Job {
    let now = request.now();
    let takes = draft.words.takes.unwrap_or(draft.job_type.takes());
    let chance = &mut request.state.chance;
    let id = chance.id("job");
    let artifacts = (0..draft.files).map(|_| {
        let seed = chance.next();
        Artifact {
            id: chance.id("art"),
            token: chance.token(32),
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
        course: Timeline::new(now, takes, draft.words.stuck),
        fails_with: draft.words.fail,
        error: None,
        price: draft.price,
        metadata: communication.metadata,
        webhook_url: communication.webhook_url,
        artifacts,
    }
}
