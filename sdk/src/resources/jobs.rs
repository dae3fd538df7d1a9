//! Jobs.

use super::resource;
use crate::call::Call;
use crate::contract::{JobStatus, Operation};
use crate::handle::JobHandle;
use crate::surface::ClientSurface;
use crate::types::{Job, JobId, JobType, Page};

resource! {
    /// The jobs of the workspace.
    ///
    /// ```no_run
    /// use svc_sdk::contract::JobStatus;
    ///
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// for job in client.jobs().list().status(JobStatus::Failed).limit(50).await? {
    ///     println!("{} {}", job.id, job.status);
    /// }
    /// let result = client.jobs().handle("job_1").wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    Jobs, /// Jobs: list them, or get a handle of one.
    jobs of both surfaces
}

impl<S: ClientSurface> Jobs<'_, S> {
    /// Lists the jobs of the workspace: `GET /v1/jobs`.
    pub fn list(&self) -> Call<Page<Job>> {
        Call::list::<&str>(&self.client.core, Operation::JobsList, &[])
    }

    /// Returns a handle of the job with that id. Nothing is requested.
    #[must_use]
    pub fn handle(&self, id: impl Into<JobId>) -> JobHandle<S> {
        JobHandle::from_id(self.client, id.into())
    }
}

impl Call<Page<Job>> {
    /// Lists only jobs with that status.
    pub fn status(self, status: impl Into<JobStatus>) -> Self {
        self.query("status", status.into())
    }

    /// Lists only jobs of that type.
    pub fn job_type(self, job_type: impl Into<JobType>) -> Self {
        self.query("type", job_type.into())
    }
}
