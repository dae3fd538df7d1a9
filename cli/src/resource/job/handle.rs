//! Handles of jobs, as resources.

use serde::Serialize;
use serde_json::json;
use svc_sdk::contract::JobStatus;
use svc_sdk::handle::{Handle, JobResource};
use svc_sdk::types::{Job, JobStatusPayload, RequestId, SubmitReceipt, Usd};
use svc_sdk::{Client, Update, Updates};

use super::FinishedJob;
use super::tables;
use crate::download::DownloadPlan;
use crate::error::Failure;
use crate::output::{ProgressLine, Table};
use crate::pricing::{self, EstimateSource, Price};
use crate::resource::{OnProgress, ReceiptMode, Resource, Stopped, with_download_flags};
use crate::session::{Session, surface_choice};
use crate::text::sanitize;
use crate::types::{ResourceId, SubmitRequest};

/// The receipt of a job.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum JobReceipt {
    /// The response to the submit.
    Submitted(SubmitReceipt),
    /// The job, read by its id.
    Read { job: Job },
}

impl<S: EstimateSource> Resource for JobResource<S> {
    type Finished = FinishedJob;
    type ShownReceipt = JobReceipt;

    const NOUN: &'static str = "job";
    const VERB: &'static str = "Submit";

    fn from_id(client: &Client<S>, id: &str) -> Handle<Self> {
        client.jobs().handle(id)
    }

    fn resource_id(handle: &Handle<Self>) -> ResourceId {
        ResourceId::Job(handle.id().as_str().to_owned())
    }

    fn request_id(handle: &Handle<Self>) -> Option<&str> {
        let id = handle.receipt()?.request_id.as_ref();
        id.map(RequestId::as_str)
    }

    fn charge(handle: &Handle<Self>) -> Option<Usd> {
        handle.receipt()?.job.price_usd
    }

    async fn price(client: &Client<S>, request: &SubmitRequest) -> Result<Price, Failure> {
        let estimate = pricing::fetch_estimate(client, &request.body).await?;
        Ok(estimate.map_or(Price::Unknown, Price::Estimate))
    }

    fn list_command(session: &Session, _: &SubmitRequest) -> String {
        session.resume_command_on(surface_choice::<S>(), &["job", "list"])
    }

    fn wait_command(
        handle: &Handle<Self>,
        session: &Session,
        download: Option<&DownloadPlan>,
    ) -> String {
        let words = ["job", "wait", handle.id().as_str()];
        let words = with_download_flags(&words, "--download", download);
        session.resume_command_on(surface_choice::<S>(), &words)
    }

    fn download_command(handle: &Handle<Self>, session: &Session, plan: &DownloadPlan) -> String {
        let words = ["job", "download", handle.id().as_str()];
        let words = with_download_flags(&words, "--dir", Some(plan));
        session.resume_command_on(surface_choice::<S>(), &words)
    }

    fn show_status(live: &ProgressLine<'_>, update: &Update<JobStatusPayload>) {
        live.update(update, update.status.status.as_ref().map(JobStatus::as_str));
    }

    async fn result(handle: &Handle<Self>, updates: Updates<Self>) -> Result<FinishedJob, Failure> {
        let result = updates.result().await?;
        let mut finished = FinishedJob::new(result);
        // The result does not name what the job created besides its files.
        for (name, resource) in handle.receipt().iter().flat_map(|it| it.extra.iter()) {
            let id = resource.get("id").filter(|id| id.is_string());
            if let (Some(id), None) = (id, finished.result.extra.get(name)) {
                finished
                    .created
                    .insert(name.to_owned(), json!({ "id": id }));
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
            session
                .printer
                .warn(&format!("job {id} completed without files"));
        }
        let download = handle.download_result(&finished.result, plan.folder());
        finished
            .download(download, handle, session, plan, on_progress)
            .await;
    }

    async fn stop(handle: &Handle<Self>) -> Result<Stopped, svc_sdk::Error> {
        let status = handle.cancel().await?.status;
        Ok(Stopped {
            description: status.to_string(),
            is_canceled: status == JobStatus::Canceled,
        })
    }

    fn print_result(
        _: &Handle<Self>,
        session: &Session,
        finished: FinishedJob,
        _: ReceiptMode,
    ) -> Result<(), Failure> {
        let printed = session.printer.print_item(&finished, tables::finished);
        finished.failure.map_or(printed, Err)
    }

    async fn shown_receipt(handle: &Handle<Self>) -> Result<JobReceipt, svc_sdk::Error> {
        Ok(match handle.receipt() {
            Some(receipt) => JobReceipt::Submitted(receipt.clone()),
            None => JobReceipt::Read {
                job: handle.get().await?,
            },
        })
    }

    fn receipt_table(receipt: &JobReceipt) -> Table {
        match receipt {
            JobReceipt::Submitted(receipt) => tables::receipt(receipt),
            JobReceipt::Read { job } => tables::envelope(job),
        }
    }
}
