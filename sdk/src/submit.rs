//! Submits: calls that are paid for, and start a job, a run or a bulk queue.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::call::legible::legible;
use crate::call::{Core, Options, Request};
use crate::client::Client;
use crate::contract::Operation;
use crate::error::{Error, Result};
use crate::runs::{self, QueueHandle};
use crate::sealed::Sealed;
use crate::surface::Surface;
use crate::types::{IdempotencyKey, InvalidField, SubmitReceipt, Validate, id_in_url};
use crate::wait::JobHandle;

impl<S: Surface> Client<S> {
    pub(crate) fn submit_typed<B: Serialize + Validate>(
        &self,
        operation: Operation,
        body: &B,
    ) -> Submit<JobHandle<S>> {
        self.start_typed(operation, &[], body)
    }

    pub(crate) fn submit_bare(
        &self,
        operation: Operation,
        segments: &[&str],
    ) -> Submit<JobHandle<S>> {
        self.start_request(Request::new(operation, segments))
    }

    pub(crate) fn start_typed<B: Serialize + Validate, H: Started<Surface = S>>(
        &self,
        operation: Operation,
        segments: &[&str],
        body: &B,
    ) -> Submit<H> {
        let request = body
            .validate()
            .map_err(|field| Error::from(field).with_operation(Some(operation)))
            .and_then(|()| Request::new(operation, segments)?.with_body(body));
        self.start_request(request)
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
    ) -> Submit<JobHandle<S>> {
        self.start(operation, segments, body)
    }

    /// As [`submit`](Self::submit), of what gives a run or a bulk queue.
    ///
    /// ```no_run
    /// use svc_sdk::contract::Operation;
    /// use svc_sdk::runs::{AgentRun, RunHandle};
    ///
    /// # async fn run(client: svc_sdk::developer::Client) -> svc_sdk::Result<()> {
    /// let body = serde_json::json!({"instruction": "Three posters", "generation_spend_cap_usd": 2});
    /// let start = client.start::<RunHandle<AgentRun>>(Operation::AgentCompletionsCreate, &[], &body);
    /// let run = start.send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn start<H: Started<Surface = S>>(
        &self,
        operation: Operation,
        segments: &[&str],
        body: &serde_json::Value,
    ) -> Submit<H> {
        let request = if !operation.surface().includes(S::SURFACE) || !operation.retry().sends_key()
        {
            let reason = format!("{operation} is no submit of this surface");
            Err(Error::from(InvalidField::new("operation", reason)))
        } else if !H::starts(operation) {
            let reason = format!("{operation} starts something else");
            Err(Error::from(InvalidField::new("operation", reason)))
        } else {
            Request::new(operation, segments).and_then(|request| request.with_body(body))
        };
        self.start_request(request)
    }

    fn start_request<H: Started<Surface = S>>(&self, request: Result<Request>) -> Submit<H> {
        let request = request.and_then(|mut request| {
            request.idempotency_key = Some(self.core.entropy.idempotency_key()?);
            Ok(request)
        });
        Submit {
            client: self.clone(),
            request,
            options: Options::default(),
            started: PhantomData,
        }
    }
}

/// What a submit starts, and gives the handle of: a [`JobHandle`], a
/// [`RunHandle`](crate::runs::RunHandle) or a [`QueueHandle`](crate::runs::QueueHandle).
///
/// Only this crate implements it.
pub trait Started: Sealed + Sized {
    /// The surface that it is on.
    type Surface: Surface;

    /// The receipt that a submit is answered with.
    type Receipt: DeserializeOwned;

    /// Whether that is what the operation starts.
    #[doc(hidden)]
    fn starts(operation: Operation) -> bool;

    /// The handle; none where the receipt does not say what was started. An earlier submit with the
    /// same key may have been answered 200.
    #[doc(hidden)]
    fn started(
        client: &Client<Self::Surface>,
        receipt: Self::Receipt,
        idempotency_key: Option<&IdempotencyKey>,
        answered_200: bool,
    ) -> Option<Self>;

    /// The error of a receipt of another shape, with what it still tells of what was started.
    #[doc(hidden)]
    fn found(error: Error, receipt: &Value) -> Error;
}

/// What a handle keeps of the submit that gave it.
#[derive(Debug)]
pub(crate) struct Submitted<R> {
    pub(crate) receipt: R,
    pub(crate) idempotency_key: Option<IdempotencyKey>,
    /// An earlier submit with the same key had made it already, unless it was answered at its end.
    pub(crate) answered_200: bool,
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
pub struct Submit<H: Started> {
    client: Client<H::Surface>,
    request: Result<Request>,
    options: Options,
    started: PhantomData<fn() -> H>,
}

impl<H: Started> Submit<H> {
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

    /// Sends it, repeats it where that is safe, and gives the handle of what it started.
    ///
    /// # Errors
    ///
    /// See [`Error`]. Where [`is_ambiguous`](Error::is_ambiguous) holds the job may exist. For an
    /// operation of the class [`Key`](crate::contract::RetryClass::Key), sending the same again with
    /// [`idempotency_key`](Error::idempotency_key) finds out without paying twice. For one of the
    /// class [`Unsent`](crate::contract::RetryClass::Unsent) the service promises no such thing:
    /// look whether the job exists first.
    pub async fn send(self) -> Result<H> {
        let request = self.request?;
        let core: &Arc<Core> = &self.client.core;
        let wrapping = core.wrapping;
        let sending = core.execute(&request, &self.options, |answer| {
            let answer = answer.success()?;
            let receipt = answer.decode::<H::Receipt>(wrapping).map_err(|error| {
                // What was paid for can be taken up again even so.
                match legible(&answer.body) {
                    Some(body) => H::found(error, body.get("data").unwrap_or(&body)),
                    None => error,
                }
            })?;
            let key = request.idempotency_key.as_ref();
            H::started(&self.client, receipt, key, answer.status == 200)
                .ok_or_else(|| answer.nameless())
        });
        Box::pin(sending).await
    }
}

impl<S: Surface> Started for JobHandle<S> {
    type Surface = S;
    type Receipt = SubmitReceipt;

    /// Whatever starts no run and no queue: a new path may start a job.
    fn starts(operation: Operation) -> bool {
        !runs::is_start(operation) && !QueueHandle::starts(operation)
    }

    fn started(
        client: &Client<S>,
        receipt: SubmitReceipt,
        idempotency_key: Option<&IdempotencyKey>,
        answered_200: bool,
    ) -> Option<Self> {
        let (client, key) = (client.clone(), idempotency_key.cloned());
        let is_named = !receipt.job.id.as_str().is_empty();
        is_named.then(|| Self::submitted(client, receipt, key, answered_200))
    }

    fn found(error: Error, receipt: &Value) -> Error {
        let text = |value: Option<&Value>| value?.as_str().map(str::to_owned);
        let job = receipt.get("job").unwrap_or(receipt);
        let id = text(job.get("id"))
            .or_else(|| text(receipt.get("job_id")))
            .or_else(|| id_in_url(&text(receipt.get("status_url"))?, &["jobs"]));
        match id {
            Some(id) => error.with_job(&id.into(), None),
            None => error,
        }
    }
}
