//! Submits: calls that are paid for, and give a job.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::call::{Core, Options, Request};
use crate::client::Client;
use crate::contract::Operation;
use crate::error::{Error, Result};
use crate::surface::Surface;
use crate::types::{IdempotencyKey, InvalidField, JobId, SubmitReceipt, Validate};
use crate::wait::JobHandle;

impl<S: Surface> Client<S> {
    pub(crate) fn submit_typed<B: Serialize + Validate>(
        &self,
        operation: Operation,
        body: &B,
    ) -> Submit<S> {
        let request = body
            .validate()
            .map_err(|field| Error::from(field).with_operation(Some(operation)))
            .and_then(|()| Request::new::<&str>(operation, &[])?.with_body(body));
        self.submit_request(request)
    }

    pub(crate) fn submit_bare(&self, operation: Operation, segments: &[&str]) -> Submit<S> {
        self.submit_request(Request::new(operation, segments))
    }

    /// A submit with a body that is already JSON: of an operation whose fields this build may not
    /// know. `segments` are the values of its path's placeholders.
    ///
    /// Nothing is checked but that the operation is a submit of this surface.
    ///
    /// ```no_run
    /// use svc_sdk::contract::Operation;
    ///
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let body = serde_json::json!({"model": "auto", "prompt": "a red fox in snow"});
    /// let job = client.submit(Operation::VideoGenerate, &[], &body).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn submit(
        &self,
        operation: Operation,
        segments: &[&str],
        body: &serde_json::Value,
    ) -> Submit<S> {
        let request = if operation.surface().includes(S::SURFACE) && operation.retry().sends_key() {
            Request::new(operation, segments).and_then(|request| request.with_body(body))
        } else {
            let reason = format!("{operation} is no submit of this surface");
            Err(Error::from(InvalidField::new("operation", reason)))
        };
        self.submit_request(request)
    }

    fn submit_request(&self, request: Result<Request>) -> Submit<S> {
        let request = request.and_then(|mut request| {
            request.idempotency_key = Some(self.core.entropy.idempotency_key()?);
            Ok(request)
        });
        Submit {
            client: self.clone(),
            request,
            options: Options::default(),
        }
    }
}

/// A submit that is ready to be sent.
///
/// Its idempotency key exists already, so that it can be written down before the money is spent.
///
/// ```no_run
/// use svc_sdk::types::VideoGenerate;
///
/// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
/// let submit = client.video_generate(&VideoGenerate::new("auto").prompt("a red fox in snow"));
/// println!("if this is cut off, send it again with {:?}", submit.idempotency_key());
/// let job = submit.send().await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a submit does nothing until it is sent"]
#[derive(Debug)]
pub struct Submit<S> {
    client: Client<S>,
    request: Result<Request>,
    options: Options,
}

impl<S: Surface> Submit<S> {
    /// Uses that key instead of a fresh one: sent again with the same key and body, it is the same
    /// job.
    pub fn with_idempotency_key(mut self, key: IdempotencyKey) -> Self {
        if let Ok(request) = &mut self.request {
            request.idempotency_key = Some(key);
        }
        self
    }

    /// Gives up after that time, repetitions included.
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// Repeats at most so often.
    pub fn with_retries(mut self, retries: u32) -> Self {
        self.options.retries = Some(retries);
        self
    }

    /// The key that it is sent with; none where the request can never be right.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.request.as_ref().ok()?.idempotency_key.as_ref()
    }

    /// What will be sent, but for the host and the credential.
    ///
    /// # Errors
    ///
    /// Where the request can never be right.
    pub fn request(&self) -> std::result::Result<&Request, &Error> {
        self.request.as_ref()
    }

    /// Sends it, repeats it where that is safe, and gives the job.
    ///
    /// # Errors
    ///
    /// See [`Error`]. Where [`is_ambiguous`](Error::is_ambiguous) holds the job may exist. For an
    /// operation of the class [`Key`](crate::contract::RetryClass::Key), sending the same again with
    /// [`idempotency_key`](Error::idempotency_key) finds out without paying twice. For one of the
    /// class [`Unsent`](crate::contract::RetryClass::Unsent) the service promises no such thing:
    /// look whether the job exists first.
    pub async fn send(self) -> Result<JobHandle<S>> {
        let request = self.request?;
        let core: &Arc<Core> = &self.client.core;
        let wrapping = core.wrapping;
        let sending = core.execute(&request, &self.options, |answer| {
            let answer = answer.success()?;
            let receipt = answer.decode::<SubmitReceipt>(wrapping).map_err(|error| {
                // What was paid for can be taken up again even so.
                match job_id(&answer.body) {
                    Some(id) => error.with_job(&id, None),
                    None => error,
                }
            })?;
            Ok((receipt, answer.status == 200))
        });
        let (receipt, answered_200) = Box::pin(sending).await?;
        Ok(JobHandle::submitted(
            self.client,
            receipt,
            request.idempotency_key,
            answered_200,
        ))
    }
}

/// The job's id in a receipt of another shape.
fn job_id(body: &[u8]) -> Option<JobId> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let receipt = body.get("data").unwrap_or(&body);
    let job = receipt.get("job").unwrap_or(receipt);
    let id = job.get("id").or_else(|| receipt.get("job_id"))?;
    Some(id.as_str()?.into())
}
