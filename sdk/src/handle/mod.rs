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
mod submit;
mod top_up;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use self::job::charge as job_charge;
pub use self::job::{JobHandle, JobResource};
pub use self::queue::{QueueHandle, QueueItemResult, QueueResource};
pub(crate) use self::run::charge as run_charge;
pub use self::run::{ActionRun, AgentRun, FormatRun, RunHandle, RunResource};
pub use self::top_up::{TopUpHandle, TopUpResource};
use crate::call::clock::{self, Instant};
use crate::call::{Call, Core};
use crate::client::Client;
use crate::contract::Operation;
use crate::contract::limits::SUGGESTED_VIDEO_TIMEOUT;
use crate::debug_fields::debug_fields;
use crate::download;
use crate::error::{Error, ResourceRef, Result};
use crate::journal::{ActiveIntent, IntentId, ResourceKind};
use crate::polling::{PollStatus, Polled, ResultRetry, Updates, Wait};
use crate::sealed::Sealed;
use crate::surface::ClientSurface;
use crate::types::{IdempotencyKey, RequestId, Usd};

/// A kind of resource that is submitted and waited for.
///
/// This trait is sealed: [`JobResource`], [`ActionRun`], [`FormatRun`], [`AgentRun`],
/// [`QueueResource`] and [`TopUpResource`] implement it.
pub trait Resource: Sealed + Copy + fmt::Debug + Send + Sync + Unpin + 'static {
    /// The surface that has the resource.
    type Surface: ClientSurface;
    /// The identifier.
    type Id: Clone + fmt::Debug + fmt::Display + AsRef<str> + From<String> + Send + Sync + Unpin;
    /// The response to a submit.
    type Receipt: DeserializeOwned + fmt::Debug + Send + Sync + 'static;
    /// The response to a poll.
    type Status: PollStatus + DeserializeOwned;
    /// What a wait returns.
    type Output: Send + Sync + 'static;

    /// The operation that polls.
    #[doc(hidden)]
    const STATUS: Operation;
    /// The time limit of a wait.
    #[doc(hidden)]
    const DEFAULT_TIMEOUT: Option<Duration> = Some(SUGGESTED_VIDEO_TIMEOUT);

    /// Returns whether the operation submits such a resource.
    #[doc(hidden)]
    fn is_submitted_by(operation: Operation) -> bool;

    /// Returns the id in a receipt.
    #[doc(hidden)]
    fn receipt_id(receipt: &Self::Receipt) -> Option<Self::Id>;

    /// Returns the id in a receipt that could not be decoded.
    #[doc(hidden)]
    fn salvage_id(receipt: &Value) -> Option<Self::Id>;

    /// Returns whether a submit with response status 200 found an existing resource.
    #[doc(hidden)]
    fn is_replay(_: &Self::Receipt) -> bool {
        true
    }

    /// Returns the status in a receipt.
    #[doc(hidden)]
    fn initial_status(receipt: &Self::Receipt) -> Self::Status;

    /// Polls in a single attempt, when the client's poll schedule has room for it. An urgent poll
    /// is not combined with others.
    #[doc(hidden)]
    fn poll(
        handle: Handle<Self>,
        _is_urgent: bool,
    ) -> impl Future<Output = Result<Polled<Self::Status, Self::Output>, Arc<Error>>> + Send {
        async move { Ok(Polled::new(handle.poll_alone().await?)) }
    }

    /// The kind of the resource in the journal.
    #[doc(hidden)]
    const JOURNAL_KIND: ResourceKind;

    /// Returns the id of the request that the receipt is the response to.
    #[doc(hidden)]
    fn receipt_request_id(receipt: &Self::Receipt) -> Option<&RequestId>;

    /// Returns the charge in the receipt.
    #[doc(hidden)]
    fn receipt_price(_: &Self::Receipt) -> Option<Usd> {
        None
    }

    /// Returns the terminal status in the result of a wait, as the service spells it.
    #[doc(hidden)]
    fn ended_status(result: &Result<Self::Output>) -> Option<String>;

    /// Returns the final cost of the resource. `price` is the charge for the submit.
    #[doc(hidden)]
    fn final_charge(
        _: &Handle<Self>,
        _: &Result<Self::Output>,
        price: Option<Usd>,
    ) -> impl Future<Output = Option<Usd>> + Send {
        std::future::ready(price)
    }

    /// Returns the reference to the resource for errors.
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

/// The data of the submit that returned a handle.
#[derive(Debug)]
struct Submission<T> {
    /// The receipt, unless it has other fields than expected.
    receipt: Option<Arc<T>>,
    idempotency_key: Option<IdempotencyKey>,
    is_replay: bool,
    /// The intent in the client's journal.
    intent: Option<Arc<ActiveIntent>>,
}

// Written by hand, as receipts need not be `Clone`.
impl<T> Clone for Submission<T> {
    fn clone(&self) -> Self {
        Self {
            receipt: self.receipt.clone(),
            idempotency_key: self.idempotency_key.clone(),
            is_replay: self.is_replay,
            intent: self.intent.clone(),
        }
    }
}

impl<R: Resource> Handle<R> {
    pub(crate) fn from_id(client: &Client<R::Surface>, id: R::Id) -> Self {
        Self { core: Arc::clone(&client.core), id, submission: None }
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

    /// Returns the id that the application gave to the submission, if it is in a journal.
    #[must_use]
    pub fn submission_id(&self) -> Option<&str> {
        self.intent()?.submission_id.as_deref()
    }

    /// Returns the intent in the client's journal, or `None` if the handle was rebuilt from an id.
    #[must_use]
    pub fn intent_id(&self) -> Option<&IntentId> {
        Some(self.intent()?.id())
    }

    /// Returns whether the submission was in the journal before the call that returned this handle.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.intent().is_some_and(|intent| intent.is_resumed)
    }

    /// Records in the journal that the application has what it needs of the outcome: the submission is
    /// not [recovered](Client::recover) any more. Does nothing without a journal.
    ///
    /// Its submission id stays taken: the same submit returns a handle of the same resource.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal cannot be written.
    pub async fn acknowledge(&self) -> Result<()> {
        match self.intent() {
            Some(intent) => intent.acknowledge().await,
            None => Ok(()),
        }
    }

    /// Returns whether the submission had ended and was acknowledged before the call that returned this
    /// handle.
    pub(crate) fn was_acknowledged(&self) -> bool {
        self.intent().is_some_and(|intent| intent.was_acknowledged())
    }

    fn intent(&self) -> Option<&Arc<ActiveIntent>> {
        self.submission.as_ref()?.intent.as_ref()
    }

    /// Returns a handle of the resource that the service made for an intent of the journal.
    pub(crate) fn restore(core: &Arc<Core>, id: String, intent: Arc<ActiveIntent>) -> Self {
        Self {
            core: Arc::clone(core),
            id: id.into(),
            submission: Some(Submission {
                receipt: None,
                idempotency_key: Some(intent.key().clone()),
                is_replay: true,
                intent: Some(intent),
            }),
        }
    }

    /// Records in the journal how a wait has ended. If that cannot be written now, it is written before
    /// the next submit, or found out again. A charge that cannot be read until the deadline stays
    /// reserved.
    pub(crate) async fn record_outcome(
        &self,
        result: &Result<R::Output>,
        deadline: Option<Instant>,
    ) {
        let Some(intent) = self.intent() else { return };
        let Some(status) = R::ended_status(result) else { return };
        let charge = R::final_charge(self, result, intent.charge());
        let charge = match deadline {
            Some(deadline) => clock::before(deadline, charge).await.flatten(),
            None => charge.await,
        };
        if let Err(error) = intent.ended(&status, charge).await {
            self.core.report_journal_failure(intent, &error);
        }
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
    /// use svc_sdk::ErrorKind;
    ///
    /// # async fn run(client: svc_sdk::open::Client) {
    /// let job = client.jobs().handle("job_1");
    /// match job.wait().timeout(Duration::from_secs(600)).await {
    ///     Ok(result) => println!("{} files", result.artifacts().len()),
    ///     Err(error) => match error.kind() {
    ///         ErrorKind::JobFailed | ErrorKind::JobCanceled => println!("refunded: {error}"),
    ///         ErrorKind::WaitTimeout => println!("still running: {error}"),
    ///         _ => println!("outcome unknown: {error}"),
    ///     },
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Awaiting it returns an error with the id if it
    ///
    /// - ended without a result: [`ErrorKind::JobFailed`](crate::ErrorKind::JobFailed) and its like,
    ///   with the [status](Error::terminal_status);
    /// - ended with a status that this version does not know:
    ///   [`ErrorKind::UnknownStatus`](crate::ErrorKind::UnknownStatus);
    /// - did not end within the time limit: [`ErrorKind::WaitTimeout`](crate::ErrorKind::WaitTimeout);
    ///
    /// or if its status could not be read: [`ErrorKind::PollFailed`](crate::ErrorKind::PollFailed).
    ///
    /// # Cancel safety
    ///
    /// Dropping the wait changes nothing: wait again at any time.
    pub fn wait(&self) -> Wait<R> {
        Wait::new(self.updates())
    }

    /// Creates a call about this resource.
    pub(crate) fn call<T: DeserializeOwned>(&self, operation: Operation) -> Call<T> {
        Call::new(&self.core, operation, &[self.id.as_ref()]).with_resource(self.resource_ref())
    }

    pub(crate) async fn poll_alone(&self) -> Result<R::Status> {
        let slot = self.core.key.rate_limiter.reserve_poll(clock::now());
        clock::sleep_until(slot).await;
        self.status().max_retries(0).await
    }

    fn download_options(&self) -> download::DownloadOptions {
        download::DownloadOptions::new(
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
        error.with_resource(self.resource_ref()).with_key(self.idempotency_key())
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
            submission: self.submission.clone(),
        }
    }
}

debug_fields! { [R: Resource] Handle<R> as "Handle" { id, submission } }
