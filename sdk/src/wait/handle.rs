//! A job in one's hand.

use std::sync::Arc;

use super::watched::{self, LastLook, Look, Standing, Watched};
use super::{Updates, WaitOptions};
use crate::call::clock::{self, Instant};
use crate::client::Client;
use crate::contract::JobStatus;
use crate::error::{Error, Kind, Result};
use crate::sealed::Sealed;
use crate::submit::Submitted;
use crate::surface::Surface;
use crate::types::{
    ErrorBody, IdempotencyKey, Job, JobId, JobResult, JobStatusPayload, SubmitReceipt,
};

/// A job: to be watched, waited for, canceled and downloaded.
///
/// A submit gives one, and [`Client::job`] rebuilds one from an id alone. Dropping it does nothing
/// to the job.
#[derive(Clone, Debug)]
pub struct JobHandle<S> {
    pub(crate) client: Client<S>,
    id: JobId,
    submitted: Option<Arc<Submitted<SubmitReceipt>>>,
}

impl<S: Surface> JobHandle<S> {
    pub(crate) fn submitted(
        client: Client<S>,
        receipt: SubmitReceipt,
        idempotency_key: Option<IdempotencyKey>,
        answered_200: bool,
    ) -> Self {
        let id = receipt.job.id.clone();
        let submitted = Some(Arc::new(Submitted {
            receipt,
            idempotency_key,
            answered_200,
        }));
        Self {
            client,
            id,
            submitted,
        }
    }

    pub(crate) fn from_id(client: Client<S>, id: JobId) -> Self {
        Self {
            client,
            id,
            submitted: None,
        }
    }

    /// Identifies the job: all that is needed to take it up again.
    #[must_use]
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// The receipt; none where the handle was rebuilt from an id.
    #[must_use]
    pub fn receipt(&self) -> Option<&SubmitReceipt> {
        Some(&self.submitted.as_ref()?.receipt)
    }

    /// The key that it was submitted with; none where the handle was rebuilt from an id.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.submitted.as_ref()?.idempotency_key.as_ref()
    }

    /// Whether the submit found a job that an earlier one with the same key had made.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        // A `sync` submit is answered 200 too, with a job that is terminal.
        self.submitted
            .as_ref()
            .is_some_and(|it| it.answered_200 && !it.receipt.job.status.is_terminal())
    }

    /// One look at how it stands.
    ///
    /// # Errors
    ///
    /// Where it could not be read.
    pub async fn status(&self) -> Result<JobStatusPayload> {
        self.client
            .jobs_status(&self.id)
            .send()
            .await
            .map_err(|error| self.owned(error))
    }

    /// Its envelope.
    ///
    /// # Errors
    ///
    /// Where it could not be read.
    pub async fn get(&self) -> Result<Job> {
        self.client
            .jobs_get(&self.id)
            .send()
            .await
            .map_err(|error| self.owned(error))
    }

    /// What it came to. It must be terminal.
    ///
    /// # Errors
    ///
    /// Where it could not be read, or it is too early.
    pub async fn result(&self) -> Result<JobResult> {
        self.client
            .jobs_result(&self.id)
            .send()
            .await
            .map_err(|error| self.owned(error))
    }

    /// Cancels it, while its generation has not started; the charge is refunded.
    ///
    /// # Errors
    ///
    /// Where it is too late (`job_generation_already_started`), or could not be asked.
    pub async fn cancel(&self) -> Result<Job> {
        self.client
            .jobs_cancel(&self.id)
            .send()
            .await
            .map_err(|error| self.owned(error))
    }

    /// Its updates until it is terminal.
    pub fn updates(&self) -> Updates<Self> {
        self.updates_with(WaitOptions::default())
    }

    /// Its updates until it is terminal; of the options, only the patience counts.
    pub fn updates_with(&self, options: WaitOptions) -> Updates<Self> {
        Updates::new(self.clone(), options)
    }

    /// Waits for its result, for 20 minutes at most.
    ///
    /// ```no_run
    /// # async fn run(client: svc_sdk::open::Client) {
    /// match client.job("job_1").wait().await {
    ///     Ok(result) => println!("{} files", result.artifacts().len()),
    ///     Err(error) if error.is_job_failed() => println!("refunded: {error}"),
    ///     Err(error) if error.is_wait_deadline() => println!("still running: {error}"),
    ///     Err(error) => println!("could not ask: {error}"),
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The three that are never mixed up: it ended without a result
    /// ([`is_job_failed`](Error::is_job_failed), [`is_job_canceled`](Error::is_job_canceled)); we
    /// could not ask ([`is_poll_unreachable`](Error::is_poll_unreachable)); we gave up
    /// ([`is_wait_deadline`](Error::is_wait_deadline)). Each carries the job's id.
    pub async fn wait(&self) -> Result<JobResult> {
        self.wait_with(WaitOptions::default()).await
    }

    /// Waits for its result, with a deadline of one's own or none.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    pub async fn wait_with(&self, options: WaitOptions) -> Result<JobResult> {
        let deadline = options.deadline.map(clock::after);
        let status = watched::until_through(self, &options, deadline).await?;
        self.outcome_by(status.status, LastLook::of_a_wait(options, deadline))
            .await
    }

    /// What a terminal job came to: its result, or the error that it ended with.
    ///
    /// # Errors
    ///
    /// Where it ended without a result, or could not be read.
    pub async fn outcome(&self, status: Option<JobStatus>) -> Result<JobResult> {
        self.outcome_by(status, LastLook::alone(self.client.core.deadline))
            .await
    }

    async fn outcome_by(&self, status: Option<JobStatus>, mut last: LastLook) -> Result<JobResult> {
        loop {
            match self.outcome_at_once(status.clone(), &last).await {
                Err(error) => last.bear(self, error).await?,
                outcome => return outcome,
            }
        }
    }

    async fn outcome_at_once(
        &self,
        status: Option<JobStatus>,
        last: &LastLook,
    ) -> Result<JobResult> {
        let most = self.client.core.deadline;
        let get = async || {
            last.within(self.client.jobs_get(&self.id), most)
                .send()
                .await
        };
        let status = match status {
            Some(status) => status,
            None => get().await?.status,
        };
        let result = last.within(self.client.jobs_result(&self.id), most);
        let goes_on =
            |status: &JobStatus| matches!(status, JobStatus::Queued | JobStatus::Processing);
        match (status, result.send().await) {
            // What answers is behind what said that it has ended.
            (_, Ok(result)) if result.status.as_ref().is_some_and(goes_on) => {
                Err(self.goes_on(result.status))
            }
            (JobStatus::Completed, result) => result,
            (status @ (JobStatus::Failed | JobStatus::Canceled), Ok(result)) => {
                Err(self.ended(status, result.error))
            }
            // What the job ended with is known; only its reason is to be found elsewhere.
            (status @ (JobStatus::Failed | JobStatus::Canceled), Err(_)) => {
                let reason = get().await.ok().and_then(|job| job.error);
                Err(self.ended(status, reason))
            }
            // A terminal status that this build does not know, or none: the result tells.
            (_, Err(error)) => Err(error),
            (_, Ok(result))
                if !result.artifacts().is_empty()
                    || result.status == Some(JobStatus::Completed) =>
            {
                Ok(result)
            }
            (status, Ok(result)) if result.status.is_none() && goes_on(&status) => {
                Err(self.goes_on(Some(status)))
            }
            (status, Ok(result)) => Err(self.ended(result.status.unwrap_or(status), result.error)),
        }
    }

    pub(crate) fn transport(&self) -> Arc<dyn crate::transport::Transport> {
        self.client.transport()
    }

    fn goes_on(&self, status: Option<JobStatus>) -> Error {
        let status = status.map(|status| status.to_string()).unwrap_or_default();
        self.owned(Error::new(Kind::GoesOn { status }))
    }

    fn ended(&self, status: JobStatus, body: Option<ErrorBody>) -> Error {
        self.owned(Error::new(Kind::JobEnded {
            status,
            body: body.map(Box::new),
        }))
    }
}

impl<S> Sealed for JobHandle<S> {}
impl Sealed for JobStatusPayload {}

impl<S: Surface> Watched for JobHandle<S> {
    type Status = JobStatusPayload;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn told(&self) -> Option<JobStatusPayload> {
        let receipt = self.receipt()?;
        Some(JobStatusPayload {
            job_id: Some(receipt.job.id.clone()),
            status: Some(receipt.job.status.clone()),
            poll_after: receipt.poll_after,
            ..JobStatusPayload::default()
        })
    }

    fn unknown(&self) -> JobStatusPayload {
        JobStatusPayload::default()
    }

    fn look(&self, due: Instant) -> Look<JobStatusPayload> {
        watched::look(&self.client, self.client.jobs_status(&self.id), due)
    }

    fn draw(&self) -> f64 {
        self.client.core.entropy.fraction()
    }

    fn owned(&self, error: Error) -> Error {
        error
            .with_job(&self.id, self.receipt())
            .with_key(self.idempotency_key())
    }
}

impl Standing for JobStatusPayload {
    fn is_through(&self) -> bool {
        let awaits_result =
            self.status == Some(JobStatus::Completed) && self.result_ready == Some(false);
        self.is_terminal() && !awaits_result
    }

    fn next_look_after(&self) -> Option<f64> {
        self.poll_after
            .as_ref()
            .map(std::time::Duration::as_secs_f64)
    }
}
