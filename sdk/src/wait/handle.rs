//! A job in one's hand.

use std::sync::Arc;
use std::time::Duration;

use super::{Updates, WaitOptions};
use crate::call::clock;
use crate::client::Client;
use crate::contract::{JobStatus, NextAction};
use crate::error::{Error, Kind, Result};
use crate::surface::Surface;
use crate::types::{
    ErrorBody, IdempotencyKey, Job, JobId, JobResult, StatusPayload, SubmitReceipt,
};

/// The time to read what a job came to, where the wait's own is all but over.
const LAST_LOOK: Duration = Duration::from_secs(10);

/// How far a replica may be behind the one that said that a job is through.
const LAG: Duration = Duration::from_secs(15);
/// The least pause before it is asked again.
const BEHIND: Duration = Duration::from_secs(1);

/// A job: to be watched, waited for, canceled and downloaded.
///
/// A submit gives one, and [`Client::job`] rebuilds one from an id alone. Dropping it does nothing
/// to the job.
#[derive(Clone, Debug)]
pub struct JobHandle<S> {
    pub(super) client: Client<S>,
    id: JobId,
    submitted: Option<Arc<Submitted>>,
}

#[derive(Debug)]
struct Submitted {
    receipt: SubmitReceipt,
    idempotency_key: Option<IdempotencyKey>,
    answered_200: bool,
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
    pub async fn status(&self) -> Result<StatusPayload> {
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
    pub fn updates(&self) -> Updates<S> {
        self.updates_with(WaitOptions::default())
    }

    /// Its updates until it is terminal; of the options, only the patience counts.
    pub fn updates_with(&self, options: WaitOptions) -> Updates<S> {
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
        let after = options.deadline.unwrap_or_default();
        let mut updates = self.updates_with(options);
        let status = loop {
            match clock::before(deadline, updates.next()).await {
                Some(Some(Ok(update))) if update.is_terminal() => break update.status,
                Some(Some(Ok(_))) => {}
                Some(Some(Err(error))) => return Err(error),
                Some(None) => break StatusPayload::default(),
                None => return Err(self.owned(Error::new(Kind::WaitDeadline { after }))),
            }
        };
        let left = deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(clock::now());
            left.max(LAST_LOOK).min(self.client.core.deadline)
        });
        self.outcome_within(status.status, left).await
    }

    /// What a terminal job came to: its result, or the error that it ended with.
    ///
    /// # Errors
    ///
    /// Where it ended without a result, or could not be read.
    pub async fn outcome(&self, status: Option<JobStatus>) -> Result<JobResult> {
        self.outcome_within(status, None).await
    }

    async fn outcome_within(
        &self,
        status: Option<JobStatus>,
        span: Option<Duration>,
    ) -> Result<JobResult> {
        let span = span.unwrap_or(self.client.core.deadline);
        let get = async || {
            let call = self.client.jobs_get(&self.id).with_deadline(span);
            call.send().await.map_err(|error| self.owned(error))
        };
        let status = match status {
            Some(status) => status,
            None => get().await?.status,
        };
        match (status, self.result_within(span).await) {
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
            (status, Ok(result)) => Err(self.ended(result.status.unwrap_or(status), result.error)),
        }
    }

    /// The result of a job that is known to be terminal. A replica that does not know it yet is
    /// asked again.
    async fn result_within(&self, span: Duration) -> Result<JobResult> {
        let patience = clock::after(span.min(LAG));
        loop {
            let call = self.client.jobs_result(&self.id).with_deadline(span);
            let error = match call.send().await {
                Err(error) if error.advice() == Some(NextAction::PollStatus) => error,
                other => return other.map_err(|error| self.owned(error)),
            };
            let pause = error.retry_after().unwrap_or_default().max(BEHIND);
            if clock::now() + pause >= patience {
                return Err(self.owned(error));
            }
            clock::sleep(pause).await;
        }
    }

    pub(crate) fn transport(&self) -> Arc<dyn crate::transport::Transport> {
        self.client.transport()
    }

    fn ended(&self, status: JobStatus, body: Option<ErrorBody>) -> Error {
        self.owned(Error::new(Kind::JobEnded {
            status,
            body: body.map(Box::new),
        }))
    }

    /// The error, with what must not be lost.
    pub(crate) fn owned(&self, error: Error) -> Error {
        error
            .with_job(&self.id, self.receipt())
            .with_key(self.idempotency_key())
    }
}
