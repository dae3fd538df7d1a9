//! Submitting a generation: the checks that follow the fields, and the job.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus};

use super::answer::{Answer, Outcome, Wait};
use super::failure::Failure;
use super::fields::Fields;
use super::generation::{self, Communication, Order};
use super::jobs;
use super::request::Request;
use crate::engine::Course;
use crate::engine::jobs::{Artifact, Job, JobType};
use crate::engine::models::Router;
use crate::engine::workspaces::concurrent_jobs;
use crate::media;

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
    check_funds(request, &order)?;
    check_concurrency(request)?;
    if let Some(code) = &order.words.refuse {
        return Err(refused_at_will(code));
    }
    let wait = communication.wait;
    let job = job_of(request, order, communication);
    let (id, course) = (job.id.clone(), job.course);
    let accepted = request.state.accept_job(job).map_err(|short| {
        // The balance was looked at above and nothing has happened since.
        insufficient_funds(json!(null), json!(short.available))
    })?;
    let now = request.now();
    let receipt = match request.state.jobs.get(accepted) {
        Some(job) => jobs::receipt(job, request.hosts, now),
        None => Value::Null,
    };
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

fn check_funds(request: &Request<'_>, order: &Order) -> Result<(), Failure> {
    if !request.bills_dollars() {
        return Ok(());
    }
    let required = order.price.total;
    let covered = request.state.ledger.covers(request.workspace(), required);
    covered.map_err(|short| insufficient_funds(json!(required), json!(short.available)))
}

fn insufficient_funds(required: Value, available: Value) -> Failure {
    Failure::new(
        ErrorCode::InsufficientFunds,
        "The balance does not cover the price.",
    )
    .detail("required_usd", required)
    .detail("available_usd", available)
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
    match code.entry() {
        Some(entry) if entry.retryable => failure.after(std::time::Duration::from_secs(1)),
        _ => failure,
    }
}

fn job_of(request: &mut Request<'_>, order: Order, communication: Communication) -> Job {
    let now = request.now();
    let job_type = match order.model.router {
        Router::Image => JobType::ImageGeneration,
        Router::Video => JobType::VideoGeneration,
    };
    let takes = order.words.takes.unwrap_or(job_type.takes());
    let chance = &mut request.state.chance;
    let id = chance.id("job");
    let (width, height) = media::dimensions(&order.resolution, &order.aspect_ratio);
    let files = match job_type {
        JobType::ImageGeneration => order.images,
        JobType::VideoGeneration => 1,
    };
    let artifacts = (0..files).map(|_| {
        let seed = chance.next();
        let spec = match job_type {
            JobType::ImageGeneration => media::Spec::Image {
                width,
                height,
                seed,
            },
            JobType::VideoGeneration => media::Spec::Video {
                width,
                height,
                duration_ms: order.duration * 1000,
                with_audio: order.sound,
                seed,
            },
        };
        Artifact {
            id: chance.id("art"),
            token: chance.token(32),
            spec,
        }
    });
    let artifacts = artifacts.collect();
    Job {
        id,
        request_id: request.request_id.to_owned(),
        workspace: request.workspace().to_owned(),
        surface: request.host,
        job_type,
        model: order.model.id.to_owned(),
        status: JobStatus::Queued,
        updated_at: now,
        course: Course::new(now, takes, order.words.stuck),
        fails_with: order.words.fail,
        error: None,
        price: request.bills_dollars().then_some(order.price.total),
        metadata: communication.metadata,
        webhook_url: communication.webhook_url,
        artifacts,
    }
}
