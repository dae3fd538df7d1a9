//! Jobs, which both surfaces have.

use crate::call::{Call, Request};
use crate::client::Client;
use crate::contract::{JobStatus, Operation};
use crate::error::Result;
use crate::surface::Surface;
use crate::types::{Job, JobId, JobResult, JobStatusPayload, JobType, Page};
use crate::wait::JobHandle;

impl<S: Surface> Client<S> {
    /// Takes up a job again, from its id alone: in any process, on any machine.
    ///
    /// ```no_run
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let result = client.job("job_1").wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn job(&self, id: impl Into<JobId>) -> JobHandle<S> {
        JobHandle::from_id(self.clone(), id.into())
    }

    /// `GET /v1/jobs`: the workspace's jobs.
    pub fn jobs_list(&self) -> JobsList {
        JobsList {
            call: Call::list(&self.core, Request::new::<&str>(Operation::JobsList, &[])),
        }
    }

    /// `GET /v1/jobs/{id}`: the job's envelope.
    pub fn jobs_get(&self, id: &JobId) -> Call<Job> {
        Call::new(&self.core, Request::new(Operation::JobsGet, &[id]))
    }

    /// `GET /v1/jobs/{id}/status`: one poll. [`JobHandle`] does it at the right moments.
    pub fn jobs_status(&self, id: &JobId) -> Call<JobStatusPayload> {
        Call::new(&self.core, Request::new(Operation::JobsStatus, &[id]))
    }

    /// `GET /v1/jobs/{id}/result`: what a terminal job came to.
    pub fn jobs_result(&self, id: &JobId) -> Call<JobResult> {
        Call::new(&self.core, Request::new(Operation::JobsResult, &[id]))
    }

    /// `POST /v1/jobs/{id}/cancel`: cancels a job whose generation has not started; the charge is
    /// refunded.
    pub fn jobs_cancel(&self, id: &JobId) -> Call<Job> {
        Call::new(&self.core, Request::new(Operation::JobsCancel, &[id]))
    }
}

/// A list of jobs, to be narrowed down and sent.
#[must_use = "a call does nothing until it is sent"]
#[derive(Debug)]
pub struct JobsList {
    call: Call<Page<Job>>,
}

impl JobsList {
    /// Only jobs of that status.
    pub fn status(self, status: &JobStatus) -> Self {
        self.query("status", status)
    }

    /// Only jobs of that type.
    pub fn job_type(self, job_type: &JobType) -> Self {
        self.query("type", job_type)
    }

    /// Any other query parameter, such as a limit.
    pub fn query(self, name: &str, value: impl ToString) -> Self {
        Self {
            call: self.call.with_query(name, value),
        }
    }

    /// The call itself, for its options.
    pub fn call(self) -> Call<Page<Job>> {
        self.call
    }

    /// Sends it.
    ///
    /// # Errors
    ///
    /// See [`Error`](crate::Error).
    pub async fn send(self) -> Result<Page<Job>> {
        self.call.send().await
    }
}
