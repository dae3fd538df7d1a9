//! Jobs.

use serde_json::{Value, json};
use svc_sdk::contract::{JobStatus, Surface};
use svc_sdk::handle::{Handle, JobResource};
use svc_sdk::types::{Job, JobEvent, JobStatusPayload, RequestId, SubmitReceipt, Usd};
use svc_sdk::{Client, ClientSurface, ErrorKind, Update, Updates};

use crate::args::ReceiptArgs;
use crate::download::DownloadPlan;
use crate::error::{Failure, Result, SuggestedCommand};
use crate::follow::{OnProgress, ResourceKind, Stopped, WaitTogether};
use crate::output::json::to_value;
use crate::output::layout::{cut, number, required, status, time, whole};
use crate::output::object::Shown;
use crate::output::values::{add_artifacts, date_and_time, error_text, money, time_ago};
use crate::output::{ObjectKind, ProgressLine, Table};
use crate::request::SubmitRequest;
use crate::request::pricing::{self, EstimateSource, Price};
use crate::session::{Session, surface_choice};
use crate::text::sanitize;

pub(crate) type FinishedJob = crate::follow::ResultWithFiles<svc_sdk::types::JobResult>;

impl<S: EstimateSource> ResourceKind for JobResource<S> {
    type Finished = FinishedJob;

    const KIND: ObjectKind = ObjectKind::Job;
    const NOUN: &'static str = "job";
    const VERB: &'static str = "Submit";

    fn handle(client: &Client<S>, id: &str) -> Handle<Self> {
        client.jobs().handle(id)
    }

    fn set_reused(finished: &mut FinishedJob) {
        finished.reused = true;
    }

    fn request_id(handle: &Handle<Self>) -> Option<&str> {
        let id = handle.receipt()?.request_id.as_ref();
        id.map(RequestId::as_str)
    }

    fn charge(handle: &Handle<Self>) -> Option<Usd> {
        handle.receipt()?.job.price_usd
    }

    async fn price(client: &Client<S>, request: &SubmitRequest) -> Result<Price> {
        let estimate = pricing::fetch_estimate(client, &request.body).await?;
        Ok(estimate.map_or(Price::Unknown, Price::Estimate))
    }

    fn list_command(session: &Session, _: &SubmitRequest) -> SuggestedCommand {
        session.resume_command_on(surface_choice::<S>(), &["job", "list"])
    }

    fn resume_command(session: &Session, words: &[String]) -> SuggestedCommand {
        session.resume_command_on(surface_choice::<S>(), words)
    }

    fn show_status(live: &ProgressLine<'_>, update: &Update<JobStatusPayload>, _: &[u64]) {
        let status = update.status.status.as_ref().map(JobStatus::as_str);
        live.see(status);
        live.update(update, status);
    }

    async fn result(
        handle: &Handle<Self>,
        updates: Updates<Self>,
        _: &[u64],
    ) -> Result<FinishedJob> {
        let result = updates.result().await.map_err(|error| {
            let is_refunded = S::SURFACE == Surface::Open
                && matches!(error.kind(), ErrorKind::JobFailed | ErrorKind::JobCanceled);
            let failure = Failure::from(error);
            if is_refunded { failure.and("the charge was refunded") } else { failure }
        })?;
        let mut finished = FinishedJob::of(handle, result);
        finished.price_usd = match handle.receipt() {
            Some(receipt) => receipt.job.price_usd,
            // Neither the status nor the result has the price.
            None if S::SURFACE == Surface::Open => {
                handle.get().await.ok().and_then(|job| job.price_usd)
            }
            None => None,
        };
        // The result does not name what the job created besides its files.
        for (name, resource) in handle.receipt().iter().flat_map(|it| it.extra.iter()) {
            let id = resource.get("id").filter(|id| id.is_string());
            if let (Some(id), None) = (id, finished.result.extra.get(name)) {
                finished.created.insert(name.to_owned(), json!({ "id": id }));
            }
        }
        Ok(finished)
    }

    async fn download(
        handle: &Handle<Self>,
        session: &Session,
        finished: &mut FinishedJob,
        plan: &DownloadPlan,
        on_progress: OnProgress,
    ) {
        if finished.result.artifacts().is_empty() {
            let id = sanitize(handle.id().as_str());
            session.printer.warn(&format!("job {id} completed without files"));
        }
        let download = handle.download_result(&finished.result, plan.folder());
        finished.download(download, handle, session, plan, on_progress).await;
    }

    async fn stop(handle: &Handle<Self>) -> Result<Stopped, svc_sdk::Error> {
        let status = handle.cancel().await?.status;
        Ok(Stopped { description: status.to_string(), is_canceled: status == JobStatus::Canceled })
    }

    fn print_result(
        _: &Handle<Self>,
        session: &Session,
        finished: FinishedJob,
        _: ReceiptArgs,
    ) -> Result {
        let printed = session.printer.print_object(ObjectKind::Job, &finished, finished_table);
        finished.failure.map_or(printed, Err)
    }

    async fn receipt(handle: &Handle<Self>) -> Result<(Value, Table), svc_sdk::Error> {
        if let Some(receipt) = handle.receipt() {
            return Ok((to_value(receipt).unwrap_or_default(), submit_table(receipt)));
        }
        let job = handle.get().await?;
        Ok((json!({ "job": to_value(&job).unwrap_or_default() }), envelope::<S>(&job)))
    }
}

impl<S: EstimateSource> WaitTogether for JobResource<S> {
    fn report(_: &Handle<Self>, _: &Session, finished: FinishedJob) -> (Shown, Option<Failure>) {
        (Shown::new(ObjectKind::Job, &finished), finished.failure)
    }
}

pub(crate) fn list<S: ClientSurface>(jobs: &[Job]) -> Table {
    let (price, created) = (number("price=price_usd").optional(), time("created=created_at"));
    let columns = [required("id"), status("status"), whole("model"), cut("type"), price, created];
    let refunded = |_| "refunded".to_owned();
    let jobs: Vec<_> = jobs.iter().map(|job| with_refund::<S>(job, refunded)).collect();
    Table::rows(&jobs, columns)
}

fn with_refund<S: ClientSurface>(job: &Job, text: impl Fn(Usd) -> String) -> Value {
    let mut shown = to_value(job).unwrap_or_default();
    if let (Some(price), Some(shown)) = (refund::<S>(job), shown.get_mut("price_usd")) {
        *shown = text(price).into();
    }
    shown
}

/// Returns what a job cost, if that was refunded.
pub(crate) fn refund<S: ClientSurface>(job: &Job) -> Option<Usd> {
    let is_refunded = S::SURFACE == Surface::Open
        && matches!(job.status, JobStatus::Failed | JobStatus::Canceled);
    job.price_usd.filter(|_| is_refunded)
}

pub(crate) fn envelope<S: ClientSurface>(job: &Job) -> Table {
    let fields = "id, status, type, model, price=price_usd, created=created_at, updated=updated_at";
    let refunded = |price| format!("{} (refunded)", money(price));
    let mut table = Table::of(&with_refund::<S>(job, refunded), fields);
    add_artifacts(&mut table, job.result.iter().flat_map(|result| &result.artifacts));
    if let Some(error) = &job.error {
        table.field("error", Some(error_text(error)));
    }
    table
}

pub(crate) fn timeline(events: &[JobEvent]) -> Table {
    let mut table = Table::new([time("at (UTC)"), cut("event"), time("age")]);
    for event in events {
        let at = event.created_at.as_ref();
        table.row([
            &at.map(date_and_time).unwrap_or_default(),
            event.event_type.as_deref().unwrap_or_default(),
            &time_ago(at),
        ]);
    }
    table
}

pub(crate) fn finished_table(finished: &FinishedJob) -> Table {
    let result = &finished.result;
    let mut table = Table::key_value();
    table.field("id", result.job_id.as_ref());
    table.status_field("status", result.status.as_ref());
    for (name, resource) in &finished.created {
        let id = resource.get("id").and_then(Value::as_str);
        table.field(name, id);
    }
    add_artifacts(&mut table, result.artifacts());
    for file in finished.files.iter().flatten() {
        table.field("file", Some(file));
    }
    if let Some(error) = &result.error {
        table.field("error", Some(error_text(error)));
    }
    table
}

pub(crate) fn submit_table(receipt: &SubmitReceipt) -> Table {
    let fields = "id=job.id, status=job.status, price=job.price_usd, status url=status_url, \
        result url=result_url, request=request_id";
    Table::of(receipt, fields)
}
