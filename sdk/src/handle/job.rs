//! Jobs.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::{Handle, QueueResource, Resource, run};
use crate::call::Call;
use crate::contract::{JobStatus, Operation};
use crate::download::{ArtifactDownload, ArtifactList, Download};
use crate::error::{Error, Kind, ResourceRef, Result};
use crate::journal::ResourceKind;
use crate::polling::{PollStatus, Polled, ResultRetry, poll_job};
use crate::sealed::Sealed;
use crate::surface::{ClientSurface, Developer};
use crate::types::{
    Artifact, ErrorBody, Job, JobEvent, JobId, JobResult, JobStatusPayload, Page, Redelivery,
    RequestId, SubmitReceipt, Usd, id_in_url,
};

/// A job of a surface.
///
/// Submits such as [`Videos::generate`](crate::resources::Videos::generate) return one, and
/// [`Jobs::handle`](crate::resources::Jobs::handle) rebuilds one from an id.
pub type JobHandle<S> = Handle<JobResource<S>>;

/// Jobs, as a kind of [`Resource`].
#[derive(Clone, Copy, Debug)]
pub struct JobResource<S>(PhantomData<S>);

impl<S> Sealed for JobResource<S> {}

/// Returns the final cost of a job that has ended, given the charge for its submit.
pub(crate) fn charge(status: &JobStatus, price: Option<Usd>) -> Option<Usd> {
    match status {
        JobStatus::Failed | JobStatus::Canceled => Some(Usd::ZERO),
        _ => price,
    }
}

impl<S: ClientSurface> Handle<JobResource<S>> {
    /// Reads the job.
    pub fn get(&self) -> Call<Job> {
        self.call(Operation::JobsGet)
    }

    /// Reads the result of a job that has ended.
    ///
    /// # Errors
    ///
    /// Awaiting it returns an error with code `job_not_completed` while the job is running.
    pub fn result(&self) -> Call<JobResult> {
        self.call(Operation::JobsResult)
    }

    /// Cancels the job, if its generation has not started. The charge is refunded.
    ///
    /// # Errors
    ///
    /// Awaiting it returns an error with code `job_generation_already_started` if it is too late.
    pub fn cancel(&self) -> Call<Job> {
        self.call(Operation::JobsCancel)
    }

    /// Downloads the files of the result into a folder, which is created if it is missing.
    ///
    /// # Errors
    ///
    /// Awaiting it returns an error if the job has no result, or if an artifact could not be
    /// downloaded or written. The other artifacts are downloaded nevertheless
    /// ([`Error::downloaded_files`]). The result is still there, so download it again: files that
    /// were cut off are resumed.
    pub fn download(&self, folder: impl AsRef<Path>) -> Download {
        let handle = self.clone();
        let artifacts = async move { handle.artifacts_of(&handle.result().await?) };
        Download::new(folder.as_ref(), self.download_options(), artifacts)
    }

    /// Downloads the files of a result that was already read.
    ///
    /// # Errors
    ///
    /// As [`download`](Self::download).
    pub fn download_result(&self, result: &JobResult, folder: impl AsRef<Path>) -> Download {
        let artifacts = std::future::ready(self.artifacts_of(result));
        Download::new(folder.as_ref(), self.download_options(), artifacts)
    }

    /// Downloads one artifact of the job to a file, to a writer, or as a stream.
    ///
    /// The artifact may come from a result or from a webhook event.
    pub fn download_artifact(&self, artifact: &Artifact) -> ArtifactDownload {
        ArtifactDownload::new(artifact, self.download_options())
    }

    fn artifacts_of(&self, result: &JobResult) -> Result<ArtifactList> {
        let artifacts = ArtifactList::from_job(result);
        match &result.status {
            _ if !artifacts.is_empty() => Ok(artifacts),
            None | Some(JobStatus::Completed) => Ok(artifacts),
            Some(status) if is_running(status) => {
                Err(self.not_finished_error(Some(status.clone())))
            }
            Some(status) => Err(self.ended_error(status.clone(), result.error.clone())),
        }
    }

    fn not_finished_error(&self, status: Option<JobStatus>) -> Error {
        let status = status.map(|status| status.to_string()).unwrap_or_default();
        self.annotate(Error::new(Kind::NotFinished { status }))
    }

    fn ended_error(&self, status: JobStatus, body: Option<ErrorBody>) -> Error {
        self.annotate(Error::new(Kind::JobEnded { status, body: body.map(Box::new) }))
    }

    async fn read_output(
        &self,
        status: Option<JobStatus>,
        retry: &ResultRetry,
    ) -> Result<JobResult> {
        let get = async || retry.limit(self.get(), self).await;
        let status = match status {
            Some(status) => status,
            None => get().await?.status,
        };
        match (status, retry.limit(self.result(), self).await) {
            // The replica that answers is behind the one that said that the job has ended.
            (_, Ok(result)) if result.status.as_ref().is_some_and(is_running) => {
                Err(self.not_finished_error(result.status))
            }
            (JobStatus::Completed, result) => result,
            (status @ (JobStatus::Failed | JobStatus::Canceled), Ok(result)) => {
                Err(self.ended_error(status, result.error))
            }
            // How the job ended is known; only the reason has to be read elsewhere.
            (status @ (JobStatus::Failed | JobStatus::Canceled), Err(_)) => {
                let reason = get().await.ok().and_then(|job| job.error);
                Err(self.ended_error(status, reason))
            }
            // Otherwise the status in the result decides.
            (_, Err(error)) => Err(error),
            (status, Ok(result)) => match result.status.clone().unwrap_or(status) {
                JobStatus::Completed => Ok(result),
                status if is_running(&status) => Err(self.not_finished_error(Some(status))),
                // Without any status, files are a success.
                status
                    if status.as_str().is_empty()
                        && !ArtifactList::from_job(&result).is_empty() =>
                {
                    Ok(result)
                }
                status => Err(self.ended_error(status, result.error)),
            },
        }
    }
}

fn is_running(status: &JobStatus) -> bool {
    matches!(status, JobStatus::Queued | JobStatus::Processing)
}

impl Handle<JobResource<Developer>> {
    /// Lists the events of the job so far, as its public timeline shows them.
    pub fn events(&self) -> Call<Page<JobEvent>> {
        Call::list(&self.core, Operation::JobsEvents, &[self.id()])
            .with_resource(self.resource_ref())
    }

    /// Sends the job's terminal event to its webhook URL again.
    ///
    /// # Errors
    ///
    /// Awaiting it returns an error with code `webhook_not_configured` if the job has no webhook URL,
    /// and with code `job_not_terminal` while it is running.
    pub fn redeliver_webhook(&self) -> Call<Redelivery> {
        self.call(Operation::JobsWebhookRedeliver)
    }
}

impl<S: ClientSurface> Resource for JobResource<S> {
    type Surface = S;
    type Id = JobId;
    type Receipt = SubmitReceipt;
    type Status = JobStatusPayload;
    type Output = JobResult;

    const STATUS: Operation = Operation::JobsStatus;
    const JOURNAL_KIND: ResourceKind = ResourceKind::Job;

    fn receipt_request_id(receipt: &SubmitReceipt) -> Option<&RequestId> {
        receipt.request_id.as_ref()
    }

    fn receipt_price(receipt: &SubmitReceipt) -> Option<Usd> {
        receipt.job.price_usd
    }

    fn ended_status(result: &Result<JobResult>) -> Option<String> {
        match result {
            Ok(_) => Some(JobStatus::Completed.to_string()),
            Err(error) => match error.variant() {
                Kind::JobEnded { status, .. } => Some(status.to_string()),
                _ => None,
            },
        }
    }

    async fn final_charge(
        _: &Handle<Self>,
        result: &Result<JobResult>,
        price: Option<Usd>,
    ) -> Option<Usd> {
        match result.as_ref().map_err(Error::variant) {
            Err(Kind::JobEnded { status, .. }) => charge(status, price),
            _ => price,
        }
    }

    /// A new operation may submit a job, so this is all that submit no run, queue or top-up.
    fn is_submitted_by(operation: Operation) -> bool {
        !run::is_submit(operation)
            && !QueueResource::is_submitted_by(operation)
            && operation != Operation::TopUpsCreate
    }

    fn receipt_id(receipt: &SubmitReceipt) -> Option<JobId> {
        let id = &receipt.job.id;
        (!id.as_str().is_empty()).then(|| id.clone())
    }

    fn salvage_id(receipt: &Value) -> Option<JobId> {
        let text = |value: Option<&Value>| {
            let text = value?.as_str().filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        let job = receipt.get("job").unwrap_or(receipt);
        text(job.get("id"))
            .or_else(|| text(receipt.get("job_id")))
            .or_else(|| id_in_url(&text(receipt.get("status_url"))?, &["jobs"]))
            .map(JobId::from)
    }

    /// A `sync` submit whose job ended in time is answered with status 200 as well.
    fn is_replay(receipt: &SubmitReceipt) -> bool {
        !receipt.job.status.is_terminal()
    }

    fn initial_status(receipt: &SubmitReceipt) -> JobStatusPayload {
        JobStatusPayload {
            job_id: Some(receipt.job.id.clone()),
            status: Some(receipt.job.status.clone()).filter(|it| !it.as_str().is_empty()),
            poll_after: receipt.poll_after,
            ..JobStatusPayload::default()
        }
    }

    async fn poll(
        handle: Handle<Self>,
        is_urgent: bool,
    ) -> Result<Polled<JobStatusPayload, JobResult>, Arc<Error>> {
        match is_urgent {
            true => Ok(Polled::new(Box::pin(handle.poll_alone()).await?)),
            false => poll_job(&handle).await,
        }
    }

    fn resource_ref(id: &JobId, receipt: Option<&Arc<SubmitReceipt>>) -> ResourceRef {
        ResourceRef::Job(id.clone(), receipt.cloned())
    }

    async fn output(
        handle: &Handle<Self>,
        status: JobStatusPayload,
        mut retry: ResultRetry,
    ) -> Result<JobResult> {
        loop {
            match handle.read_output(status.status.clone(), &retry).await {
                Err(error) => retry.pause(handle, error).await?,
                result => return result,
            }
        }
    }
}

impl Sealed for JobStatusPayload {}

impl PollStatus for JobStatusPayload {
    fn unknown() -> Self {
        Self::default()
    }

    fn is_finished(&self) -> bool {
        let awaits_result =
            self.status == Some(JobStatus::Completed) && self.result_ready == Some(false);
        self.is_terminal() && !awaits_result
    }

    fn poll_after(&self) -> Option<std::time::Duration> {
        self.poll_after
    }
}
