//! Handles of what was submitted: jobs, runs, bulk queues and top-ups.
//!
//! A submit returns a handle, and a handle can be rebuilt from an id alone, in any process:
//!
//! ```no_run
//! # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
//! let job = client.jobs().handle("job_1");
//! let result = job.wait().await?;
//! println!("{} files", result.artifacts().len());
//! # Ok(())
//! # }
//! ```

mod job;
mod queue;
mod run;
mod top_up;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tracing::Span;

pub use self::job::{JobHandle, JobResource};
pub use self::queue::{QueueHandle, QueueItemResult, QueueResource};
pub use self::run::{ActionRun, AgentRun, FormatRun, RunHandle, RunResource};
pub use self::top_up::{TopUpHandle, TopUpResource};
use crate::call::clock;
use crate::call::lenient_json::parse_lenient;
use crate::call::{Call, Core, DecodeContext, RawResponse, Request};
use crate::client::Client;
use crate::contract::Operation;
use crate::contract::limits::SUGGESTED_VIDEO_TIMEOUT;
use crate::download;
use crate::error::{Error, ResourceRef, Result};
use crate::observe::trace;
use crate::polling::{PollStatus, Polled, ResultRetry, Updates, Wait};
use crate::sealed::Sealed;
use crate::surface::Surface;
use crate::types::{IdempotencyKey, InvalidField};

/// A kind of resource that is submitted and waited for.
///
/// This trait is sealed: [`JobResource`], [`ActionRun`], [`FormatRun`], [`AgentRun`],
/// [`QueueResource`] and [`TopUpResource`] implement it.
pub trait Resource: Sealed + Copy + fmt::Debug + Send + Sync + Unpin + 'static {
    /// The surface that has the resource.
    type Surface: Surface;
    /// The identifier.
    type Id: Clone + fmt::Debug + fmt::Display + AsRef<str> + From<String> + Send + Sync + Unpin;
    /// The response to a submit.
    type Receipt: DeserializeOwned + fmt::Debug + Send + Sync + 'static;
    /// The response to a poll.
    type Status: PollStatus + DeserializeOwned;
    /// What a wait returns.
    type Output: Send + 'static;

    /// The operation that polls.
    #[doc(hidden)]
    const STATUS: Operation;
    /// The time limit of a wait.
    #[doc(hidden)]
    const DEFAULT_TIMEOUT: Option<Duration> = Some(SUGGESTED_VIDEO_TIMEOUT);

    /// Whether the operation submits such a resource.
    #[doc(hidden)]
    fn is_submitted_by(operation: Operation) -> bool;

    /// The id in a receipt.
    #[doc(hidden)]
    fn receipt_id(receipt: &Self::Receipt) -> Option<Self::Id>;

    /// The id in a receipt that could not be decoded.
    #[doc(hidden)]
    fn salvage_id(receipt: &Value) -> Option<Self::Id>;

    /// Whether a submit that was answered with status 200 found an existing resource.
    #[doc(hidden)]
    fn is_replay(_: &Self::Receipt) -> bool {
        true
    }

    /// The status that a receipt shows.
    #[doc(hidden)]
    fn initial_status(receipt: &Self::Receipt) -> Self::Status;

    /// Polls when the client's poll schedule has room for it, in a single attempt. A poll that is
    /// urgent is not put together with others.
    #[doc(hidden)]
    fn poll(
        handle: Handle<Self>,
        _is_urgent: bool,
    ) -> impl Future<Output = Result<Polled<Self::Status, Self::Output>>> + Send {
        async move { handle.poll_alone().await.map(Polled::new) }
    }

    /// The resource, for errors.
    #[doc(hidden)]
    fn resource_ref(id: &Self::Id, receipt: Option<&Arc<Self::Receipt>>) -> ResourceRef;

    /// Reads the result of a resource whose last status says that there is one.
    #[doc(hidden)]
    fn output(
        handle: &Handle<Self>,
        status: Self::Status,
        retry: ResultRetry,
    ) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// A job, a run, a bulk queue or a top-up.
///
/// [`JobHandle`], [`RunHandle`], [`QueueHandle`] and [`TopUpHandle`] are this type. Dropping a handle
/// does nothing to what it stands for.
pub struct Handle<R: Resource> {
    pub(crate) core: Arc<Core>,
    id: R::Id,
    submission: Option<Submission<R::Receipt>>,
}

/// What a handle keeps of the submit that returned it.
#[derive(Debug)]
struct Submission<T> {
    /// The receipt, unless it has other fields than expected.
    receipt: Option<Arc<T>>,
    idempotency_key: Option<IdempotencyKey>,
    is_replay: bool,
}

impl<R: Resource> Handle<R> {
    pub(crate) fn from_id(client: &Client<R::Surface>, id: R::Id) -> Self {
        Self {
            core: Arc::clone(&client.core),
            id,
            submission: None,
        }
    }

    /// Returns the identifier, from which the handle can be rebuilt in any process.
    #[must_use]
    pub fn id(&self) -> &R::Id {
        &self.id
    }

    /// Returns the response to the submit, or `None` if the handle was rebuilt from an id, or if
    /// nothing but the id could be read of the response.
    #[must_use]
    pub fn receipt(&self) -> Option<&R::Receipt> {
        self.submission.as_ref()?.receipt.as_deref()
    }

    /// Returns the idempotency key of the submit, or `None` if the handle was rebuilt from an id.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.submission.as_ref()?.idempotency_key.as_ref()
    }

    /// Returns whether the submit returned what an earlier one with the same key had submitted.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.submission.as_ref().is_some_and(|it| it.is_replay)
    }

    /// Reads the status once. A wait polls it at the right times.
    pub fn status(&self) -> Call<R::Status> {
        self.call(R::STATUS)
    }

    /// Returns a stream of status updates, which ends when there is nothing left to wait for.
    ///
    /// ```no_run
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let mut updates = client.jobs().handle("job_1").updates();
    /// while let Some(update) = updates.next().await {
    ///     let update = update?;
    ///     println!("{:?} after {:?}", update.status.status, update.elapsed);
    /// }
    /// let result = updates.result().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn updates(&self) -> Updates<R> {
        Updates::new(self.clone())
    }

    /// Waits for the result.
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// # async fn run(client: svc_sdk::open::Client) {
    /// let job = client.jobs().handle("job_1");
    /// match job.wait().timeout(Duration::from_secs(600)).await {
    ///     Ok(result) => println!("{} files", result.artifacts().len()),
    ///     Err(error) if error.is_job_failed() => println!("refunded: {error}"),
    ///     Err(error) if error.is_wait_timeout() => println!("still running: {error}"),
    ///     Err(error) => println!("status unknown: {error}"),
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Awaiting it returns one of three kinds of error, each with the id:
    ///
    /// - It ended without a result: [`is_job_failed`](Error::is_job_failed),
    ///   [`is_run_failed`](Error::is_run_failed), [`top_up_status`](Error::top_up_status) and
    ///   their like.
    /// - Its status could not be read: [`is_poll_failure`](Error::is_poll_failure).
    /// - The time limit of the wait passed: [`is_wait_timeout`](Error::is_wait_timeout).
    ///
    /// # Cancel safety
    ///
    /// Dropping the wait changes nothing: wait again at any time.
    pub fn wait(&self) -> Wait<R> {
        Wait::new(self.updates())
    }

    /// A call about this resource.
    pub(crate) fn call<T: DeserializeOwned>(&self, operation: Operation) -> Call<T> {
        Call::new(&self.core, operation, &[self.id.as_ref()]).about(self.resource_ref())
    }

    pub(crate) async fn poll_alone(&self) -> Result<R::Status> {
        let slot = self.core.rate_limiter.reserve_poll(clock::now());
        clock::sleep_until(slot).await;
        self.status().max_retries(0).await
    }

    fn download_options(&self) -> download::Options {
        download::Options::new(
            Arc::clone(&self.core),
            self.resource_ref(),
            self.id.as_ref(),
            self.idempotency_key().cloned(),
        )
    }

    pub(crate) fn resource_ref(&self) -> ResourceRef {
        let submission = self.submission.as_ref();
        R::resource_ref(&self.id, submission.and_then(|it| it.receipt.as_ref()))
    }

    /// Adds to an error what must not be lost: the id, the receipt and the idempotency key.
    pub(crate) fn annotate(&self, error: Error) -> Error {
        error
            .with_resource(self.resource_ref())
            .with_key(self.idempotency_key())
    }

    pub(crate) fn initial_status(&self) -> Option<R::Status> {
        self.receipt().map(R::initial_status)
    }
}

impl<R: Resource> Clone for Handle<R> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            id: self.id.clone(),
            submission: self.submission.as_ref().map(|it| Submission {
                receipt: it.receipt.clone(),
                idempotency_key: it.idempotency_key.clone(),
                is_replay: it.is_replay,
            }),
        }
    }
}

impl<R: Resource> fmt::Debug for Handle<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("id", &self.id)
            .field("submission", &self.submission)
            .finish_non_exhaustive()
    }
}

impl<R: Resource> Call<Handle<R>> {
    /// A call that submits such a resource.
    pub(crate) fn submit(core: &Arc<Core>, operation: Operation, segments: &[&str]) -> Self {
        Self::submit_request(core, Request::new(operation, segments))
    }

    fn submit_request(core: &Arc<Core>, request: Result<Request>) -> Self {
        Self::with_decoder(core, request, decode_handle)
    }
}

/// A receipt, which is not moved again after it was decoded: it is large.
struct Shared<T>(Arc<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|receipt| Self(Arc::new(receipt)))
    }
}

/// Decodes the response to a submit. A receipt that cannot be decoded is left out if it has an id,
/// which is all that a wait needs.
fn decode_handle<R: Resource>(
    context: &DecodeContext<'_>,
    response: &RawResponse,
) -> Result<Handle<R>> {
    let receipt = response.decode(context.core.wrapping);
    let decoded = receipt.and_then(|Shared::<R::Receipt>(receipt)| {
        let id = R::receipt_id(&receipt).ok_or_else(|| response.missing_id())?;
        Ok((id, Some(receipt)))
    });
    let (id, receipt) = decoded.or_else(|error| {
        let body = parse_lenient(&response.body);
        let id = body.and_then(|body| R::salvage_id(body.get("data").unwrap_or(&body)));
        let id = id.filter(|id| !id.as_ref().is_empty());
        id.map(|id| (id, None)).ok_or(error)
    })?;
    let span = Span::current();
    if !span.is_disabled() {
        trace::record_resource(&span, &R::resource_ref(&id, None));
    }
    Ok(Handle {
        core: Arc::clone(context.core),
        id,
        submission: Some(Submission {
            is_replay: response.status == 200
                && receipt
                    .as_deref()
                    .is_none_or(|receipt| R::is_replay(receipt)),
            receipt,
            idempotency_key: context.request.idempotency_key.clone(),
        }),
    })
}

impl<S: Surface> Client<S> {
    /// Submits a JSON body as it is, for fields that this build may not know.
    ///
    /// `segments` are the values of the placeholders in the operation's path. Nothing is checked but
    /// that the operation is one of this surface and submits such a resource.
    ///
    /// ```no_run
    /// use serde_json::json;
    /// use svc_sdk::contract::Operation;
    /// use svc_sdk::{JobHandle, Open};
    ///
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let body = json!({"model": "auto", "prompt": "a red fox in snow"});
    /// let job: JobHandle<Open> = client.submit_json(Operation::VideoGenerate, &[], &body).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As any [`Call`].
    pub fn submit_json<R: Resource<Surface = S>>(
        &self,
        operation: Operation,
        segments: &[&str],
        body: &Value,
    ) -> Call<Handle<R>> {
        let is_submit =
            operation.surface().includes(S::SURFACE) && operation.retry().sends_idempotency_key();
        let request = if !is_submit || !R::is_submitted_by(operation) {
            let reason = format!("`{operation}` does not submit this kind of resource here");
            Err(Error::from(InvalidField::new("operation", reason)))
        } else {
            Request::new(operation, segments).and_then(|request| request.with_body(body))
        };
        Call::submit_request(&self.core, request)
    }
}
