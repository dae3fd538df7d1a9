//! The error type of the crate.

mod context;
mod display;
pub(crate) mod failure_class;
mod kind;
mod predicates;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use self::kind::ErrorKind;
use crate::call::key_provider::KeyProviderError;
use crate::call::raw_response::RawResponse;
use crate::contract::{ErrorCode, JobStatus, NextAction, Operation, PathError, RetryClass};
use crate::download::progress::DownloadedFile;
use crate::journal::error::JournalError;
use crate::transport::TransportError;
use crate::types::{
    ErrorBody, IdempotencyKey, InvalidField, JobId, OutputSchemaError, Queue, QueueId, RequestId,
    RunId, RunReceipt, SchemaViolation, SubmitReceipt, TopUpId,
};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a call, a wait or a download.
///
/// Its methods say what failed ([`kind`](Self::kind), [`code`](Self::code), [`status`](Self::status)),
/// what it means for money ([`is_ambiguous`](Self::is_ambiguous)) and what to do
/// ([`next_action`](Self::next_action), [`retry_after`](Self::retry_after)). After a submit it also
/// carries what must not be lost: the id of the job, run, queue or top-up, and the idempotency key.
///
/// ```
/// # fn handle(error: svc_sdk::Error) {
/// if error.is_insufficient_funds() {
///     println!("top up, then submit again: {error}");
/// } else if error.is_ambiguous() {
///     // The job may exist. If the operation's key is documented, the same key makes it safe to repeat.
///     println!("may have been carried out; key {:?}", error.idempotency_key());
/// } else if let Some(job) = error.job_id() {
///     println!("paid for: wait for {job} again later");
/// }
/// # }
/// ```
pub struct Error {
    inner: Box<Inner>,
}

struct Inner {
    kind: Kind,
    operation: Option<Operation>,
    request_id: Option<RequestId>,
    idempotency_key: Option<IdempotencyKey>,
    resource: Option<ResourceRef>,
    response: Option<RawResponse>,
    /// The base URL that the request was sent to.
    base_url: Option<String>,
    /// The retry class of the request that failed.
    retry_class: Option<RetryClass>,
    /// Whether an attempt before it may have been carried out.
    has_unsettled_attempt: bool,
    /// Whether it ended a wait, so that what was waited for is paid for.
    ended_wait: bool,
}

/// The resource that an error is about, with its receipt if this process has it.
#[derive(Clone, Debug)]
pub enum ResourceRef {
    /// A job.
    Job(JobId, Option<Arc<SubmitReceipt>>),
    /// A run.
    Run(RunId, Option<Arc<RunReceipt>>),
    /// A bulk queue.
    Queue(QueueId),
    /// A top-up.
    TopUp(TopUpId),
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// The configuration of the client is not valid.
    Configuration(String),
    /// The API key could not be read; nothing was sent with it.
    KeyProvider { source: KeyProviderError },
    /// A field is not valid; nothing was sent.
    Invalid(InvalidField),
    /// The output schema is outside the supported subset; nothing was sent.
    Schema(OutputSchemaError),
    /// The request got no complete response.
    Transport(TransportError),
    /// The service answered with an error envelope.
    Api { status: u16, body: Box<ErrorBody>, retry_after: Option<Duration> },
    /// An error status without an envelope.
    NoEnvelope { status: u16, snippet: String, retry_after: Option<Duration> },
    /// The journal kept the submit from being sent, or failed.
    Journal(JournalError),
    /// A success whose body is not JSON: cut off, or not from the service.
    NotJson { status: u16, snippet: String },
    /// A success whose body is JSON of another shape.
    Decode { status: u16, path: String, reason: String, snippet: String },
    /// A page of a list that names its own cursor as the next one.
    RepeatedCursor { cursor: String },
    /// The key's request budget is used up, as the service's headers say; nothing was sent.
    RateLimitExhausted { retry_after: Duration },
    /// The time limit of the call passed.
    Timeout { timeout: Duration, sent: bool, last: Option<Box<Error>> },
    /// The job ended without a result.
    JobEnded { status: JobStatus, body: Option<Box<ErrorBody>> },
    /// The run ended without completing.
    RunEnded { receipt: Box<RunReceipt> },
    /// The top-up ended without being paid.
    TopUpEnded { status: String },
    /// The queue ended with a status that this version does not know.
    QueueEnded { queue: Box<Queue> },
    /// The status was terminal, but the result says that the job or run is still in progress.
    NotFinished { status: String },
    /// The time limit of the wait passed; the resource goes on.
    WaitTimeout {
        timeout: Duration,
        /// Why the latest poll failed, if it did.
        last_poll: Option<Arc<Error>>,
    },
    /// The status could not be read.
    PollFailed { source: Arc<Error> },
    /// An artifact could not be downloaded.
    Download {
        /// The artifact's identifier or its position, such as `artifact art_1`.
        artifact: String,
        /// The URL without secrets, if it is valid.
        url: Option<String>,
        reason: String,
        source: Option<Box<Error>>,
    },
    /// Some artifacts of a result could not be downloaded.
    IncompleteDownload { files: Vec<DownloadedFile>, errors: Vec<Error> },
    /// A file could not be written.
    File { path: PathBuf, source: std::io::Error },
    /// The writer that a download was given failed.
    Write { source: std::io::Error },
}

impl Error {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            inner: Box::new(Inner {
                kind,
                operation: None,
                request_id: None,
                idempotency_key: None,
                resource: None,
                response: None,
                base_url: None,
                retry_class: None,
                has_unsettled_attempt: false,
                ended_wait: false,
            }),
        }
    }

    pub(crate) fn configuration(reason: impl Into<String>) -> Self {
        Self::new(Kind::Configuration(reason.into()))
    }

    pub(crate) fn repeated_cursor(operation: Option<Operation>, cursor: &str) -> Self {
        let cursor = cursor.to_owned();
        Self::new(Kind::RepeatedCursor { cursor }).with_operation(operation)
    }

    /// Returns whether an earlier attempt with the same key may have been carried out although the last
    /// one was refused. [`is_ambiguous`](Self::is_ambiguous) includes this.
    #[must_use]
    pub fn has_unsettled_attempt(&self) -> bool {
        self.inner.has_unsettled_attempt
    }

    pub(crate) fn poll_failure(source: Arc<Self>) -> Self {
        Self::new(Kind::PollFailed { source })
    }

    pub(crate) fn variant(&self) -> &Kind {
        &self.inner.kind
    }

    /// Returns the operation that failed.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        self.inner.operation
    }

    /// Returns the service's error code: of the request, or of the job or run that failed.
    #[must_use]
    pub fn code(&self) -> Option<&ErrorCode> {
        let code = self.body().map(|body| &body.code);
        code.filter(|code| !code.as_str().is_empty())
    }

    /// Returns the HTTP status of the response, if one came.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self.variant() {
            Kind::Api { status, .. }
            | Kind::NoEnvelope { status, .. }
            | Kind::NotJson { status, .. }
            | Kind::Decode { status, .. } => Some(*status),
            _ => self.cause().and_then(Self::status),
        }
    }

    /// Returns the service's `error` object, if it sent one.
    #[must_use]
    pub fn body(&self) -> Option<&ErrorBody> {
        match self.variant() {
            Kind::Api { body, .. } => Some(body),
            Kind::JobEnded { body, .. } => body.as_deref(),
            Kind::RunEnded { receipt } => receipt.error.as_ref(),
            _ => self.cause().and_then(Self::body),
        }
    }

    /// Returns the whole response, if one came that was not a success or could not be decoded.
    #[must_use]
    pub fn response(&self) -> Option<&RawResponse> {
        let own = self.inner.response.as_ref();
        own.or_else(|| self.cause()?.response())
    }

    /// Returns the first bytes of a response that is not one of the service's.
    #[must_use]
    pub fn snippet(&self) -> Option<&str> {
        match self.variant() {
            Kind::NoEnvelope { snippet, .. }
            | Kind::NotJson { snippet, .. }
            | Kind::Decode { snippet, .. } => Some(snippet),
            _ => self.cause()?.snippet(),
        }
    }

    /// Returns what to do about it: as the service says, or as its documentation says for the code.
    #[must_use]
    pub fn next_action(&self) -> Option<NextAction> {
        match self.variant() {
            Kind::NotFinished { .. } => Some(NextAction::PollStatus),
            _ => self.body()?.next_action(),
        }
    }

    /// Returns why the journal kept the submit from being sent, or could not be written.
    #[must_use]
    pub fn journal(&self) -> Option<&JournalError> {
        match self.variant() {
            Kind::Journal(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the request's id, to be given to the service's support.
    #[must_use]
    pub fn request_id(&self) -> Option<&RequestId> {
        let own = self.inner.request_id.as_ref();
        own.or_else(|| self.body()?.request_id.as_ref()).or_else(|| self.cause()?.request_id())
    }

    /// Returns how long the service asks to wait before the next attempt.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self.variant() {
            Kind::Api { retry_after, .. } | Kind::NoEnvelope { retry_after, .. } => *retry_after,
            Kind::RateLimitExhausted { retry_after } => Some(*retry_after),
            _ => self.cause().and_then(Self::retry_after),
        }
    }

    /// Returns the idempotency key that the request was sent with.
    ///
    /// If the operation's idempotency is documented
    /// ([`RetryClass::Key`](crate::contract::RetryClass::Key)), sending the request again with this
    /// key pays only once.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.inner.idempotency_key.as_ref()
    }

    /// Returns the job that was paid for, if there is one.
    ///
    /// [`Jobs::handle`](crate::resources::Jobs::handle) waits for it again, in any process.
    #[must_use]
    pub fn job_id(&self) -> Option<&JobId> {
        match self.inner.resource.as_ref()? {
            ResourceRef::Job(id, _) => Some(id),
            _ => None,
        }
    }

    /// Returns the receipt of the job that was paid for, if this process has it.
    #[must_use]
    pub fn submit_receipt(&self) -> Option<&SubmitReceipt> {
        match self.inner.resource.as_ref()? {
            ResourceRef::Job(_, receipt) => receipt.as_deref(),
            _ => None,
        }
    }

    /// Returns the run that was started, if there is one.
    #[must_use]
    pub fn run_id(&self) -> Option<&RunId> {
        match self.inner.resource.as_ref()? {
            ResourceRef::Run(id, _) => Some(id),
            _ => None,
        }
    }

    /// Returns the newest receipt of the run that this process has.
    ///
    /// For a run that ended without completing, it is the terminal one, with its files, its usage and
    /// the errors of its output.
    #[must_use]
    pub fn run_receipt(&self) -> Option<&RunReceipt> {
        match (self.variant(), self.inner.resource.as_ref()) {
            (Kind::RunEnded { receipt }, _) => Some(receipt),
            (_, Some(ResourceRef::Run(_, receipt))) => receipt.as_deref(),
            _ => None,
        }
    }

    /// Returns the bulk queue that ended with a status that this version does not know, with its items.
    #[must_use]
    pub fn queue(&self) -> Option<&Queue> {
        match self.variant() {
            Kind::QueueEnded { queue } => Some(queue),
            _ => None,
        }
    }

    /// Returns the bulk queue that was started, if there is one.
    ///
    /// If the idempotency key was used for another queue before, it is that queue.
    #[must_use]
    pub fn queue_id(&self) -> Option<QueueId> {
        match &self.inner.resource {
            Some(ResourceRef::Queue(id)) => Some(id.clone()),
            _ => self.body()?.details().queue_id.clone(),
        }
    }

    /// Returns the top-up that was created, if there is one.
    #[must_use]
    pub fn top_up_id(&self) -> Option<&TopUpId> {
        match self.inner.resource.as_ref()? {
            ResourceRef::TopUp(id) => Some(id),
            _ => None,
        }
    }

    /// Returns the files that a download delivered although others of the same result failed.
    ///
    /// The message names the artifacts that could not be downloaded.
    #[must_use]
    pub fn downloaded_files(&self) -> &[DownloadedFile] {
        match self.variant() {
            Kind::IncompleteDownload { files, .. } => files,
            _ => &[],
        }
    }

    /// Returns where an output schema is outside the supported subset, or where an output does not
    /// match its schema.
    #[must_use]
    pub fn violations(&self) -> Vec<SchemaViolation> {
        match self.variant() {
            Kind::Schema(error) => error.violations.clone(),
            _ => self.body().map(|body| body.details().violations.clone()).unwrap_or_default(),
        }
    }

    /// Returns the error that this one wraps. The predicates of this one look at it as well.
    fn cause(&self) -> Option<&Self> {
        match self.variant() {
            Kind::Timeout { last, .. } => last.as_deref(),
            Kind::PollFailed { source } => Some(source),
            Kind::Download { source, .. } => source.as_deref(),
            Kind::IncompleteDownload { errors, .. } => errors.first(),
            _ => None,
        }
    }
}

impl From<InvalidField> for Error {
    fn from(field: InvalidField) -> Self {
        Self::new(Kind::Invalid(field))
    }
}

impl From<OutputSchemaError> for Error {
    fn from(error: OutputSchemaError) -> Self {
        Self::new(Kind::Schema(error))
    }
}

impl From<PathError> for Error {
    fn from(error: PathError) -> Self {
        let invalid = match &error {
            PathError::InvalidSegment { name, value } => {
                let reason =
                    format!("must not be {value:?}: expected one segment of a path, such as an id");
                InvalidField::new(*name, reason)
            }
            other => InvalidField::new("path", other.to_string()),
        };
        Self::new(Kind::Invalid(invalid))
    }
}

impl From<JournalError> for Error {
    fn from(error: JournalError) -> Self {
        Self::new(Kind::Journal(error))
    }
}

impl From<TransportError> for Error {
    fn from(error: TransportError) -> Self {
        Self::new(Kind::Transport(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn api(status: u16, json: serde_json::Value) -> Error {
        let body = Box::new(serde_json::from_value(json).unwrap());
        Error::new(Kind::Api { status, body, retry_after: None })
    }
}
