//! The one error type of the crate.
//!
//! Ask it questions: [`code`](Error::code), [`is_retryable`](Error::is_retryable),
//! [`may_have_been_sent`](Error::may_have_been_sent). After a submit it also carries what must not
//! be lost: the id of the job, run or queue, and the idempotency key.

mod display;
mod predicates;

use std::path::PathBuf;
use std::time::Duration;

use crate::contract::JobStatus;
use crate::contract::{ErrorCode, NextAction, Operation, PathError};
use crate::transport::TransportError;
use crate::types::{
    ErrorBody, IdempotencyKey, InvalidField, JobId, OutputSchemaError, QueueId, RequestId, RunId,
    RunReceipt, SchemaViolation, SubmitReceipt,
};

/// The result of everything that this crate does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
///
/// ```
/// # fn handle(error: svc_sdk::Error) {
/// if error.is_insufficient_funds() {
///     println!("top up, then send it again: {error}");
/// } else if error.is_ambiguous() {
///     // The job may exist. On the open surface the same key makes the submit safe to repeat.
///     println!("may have been carried out; key {:?}", error.idempotency_key());
/// } else if let Some(job) = error.job_id() {
///     println!("paid for: take {job} up again later");
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
    subject: Option<Subject>,
}

/// What was paid for.
#[derive(Debug)]
enum Subject {
    Job(JobId, Option<Box<SubmitReceipt>>),
    Run(RunId, Option<Box<RunReceipt>>),
    Queue(QueueId),
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// The client was set up wrongly.
    Configuration(String),
    /// A field can never be right; nothing was sent.
    Invalid(InvalidField),
    /// No whole answer came.
    Transport(TransportError),
    /// The service answered with an error envelope.
    Api {
        status: u16,
        body: Box<ErrorBody>,
        retry_after: Option<Duration>,
    },
    /// Something answered, and not with an envelope.
    NoEnvelope {
        status: u16,
        snippet: String,
        retry_after: Option<Duration>,
    },
    /// A success whose body is no JSON: cut off, or not from the service.
    Unreadable { status: u16, snippet: String },
    /// A success whose body is JSON of another shape.
    Decode {
        status: u16,
        path: String,
        reason: String,
        snippet: String,
    },
    /// The key's budget is spent, as the service's headers said; nothing was sent.
    BudgetSpent { retry_after: Duration },
    /// The call's own deadline passed.
    Deadline {
        after: Duration,
        sent: bool,
        last: Option<Box<Error>>,
    },
    /// The job ended without a result.
    JobEnded {
        status: JobStatus,
        body: Option<Box<ErrorBody>>,
    },
    /// The run ended without completing.
    RunEnded { receipt: Box<RunReceipt> },
    /// What was said to have ended goes on, as its result says.
    GoesOn { status: String },
    /// The output schema is outside the supported subset; nothing was sent.
    Schema(OutputSchemaError),
    /// The wait's deadline passed; the job goes on.
    WaitDeadline { after: Duration },
    /// The job's status could not be read.
    PollUnreachable { source: Box<Error> },
    /// The top-up ended unpaid.
    TopUpEnded { status: String },
    /// A file could not be downloaded.
    Download {
        url: String,
        reason: String,
        source: Option<Box<Error>>,
    },
    /// A file could not be written.
    File {
        path: PathBuf,
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            inner: Box::new(Inner {
                kind,
                operation: None,
                request_id: None,
                idempotency_key: None,
                subject: None,
            }),
        }
    }

    pub(crate) fn configuration(reason: impl Into<String>) -> Self {
        Self::new(Kind::Configuration(reason.into()))
    }

    pub(crate) fn with_operation(mut self, operation: Option<Operation>) -> Self {
        self.inner.operation = self.inner.operation.or(operation);
        self
    }

    pub(crate) fn with_request_id(mut self, id: Option<RequestId>) -> Self {
        self.inner.request_id = self.inner.request_id.or(id);
        self
    }

    pub(crate) fn with_key(mut self, key: Option<&IdempotencyKey>) -> Self {
        if self.inner.idempotency_key.is_none() {
            self.inner.idempotency_key = key.cloned();
        }
        self
    }

    pub(crate) fn with_job(self, id: &JobId, receipt: Option<&SubmitReceipt>) -> Self {
        self.with_subject(|| Subject::Job(id.clone(), receipt.cloned().map(Box::new)))
    }

    pub(crate) fn with_run(self, id: &RunId, receipt: Option<&RunReceipt>) -> Self {
        self.with_subject(|| Subject::Run(id.clone(), receipt.cloned().map(Box::new)))
    }

    pub(crate) fn with_queue(self, id: &QueueId) -> Self {
        self.with_subject(|| Subject::Queue(id.clone()))
    }

    fn with_subject(mut self, subject: impl FnOnce() -> Subject) -> Self {
        let known = &mut self.inner.subject;
        match known {
            // The id alone says less than the id with its receipt.
            None | Some(Subject::Job(_, None) | Subject::Run(_, None)) => *known = Some(subject()),
            Some(_) => {}
        }
        self
    }

    /// The error of an answer that must not be shown.
    pub(crate) fn redacted(mut self) -> Self {
        const REDACTED: &str = "(a secret, not shown)";

        match &mut self.inner.kind {
            Kind::Unreadable { snippet, .. } => *snippet = REDACTED.to_owned(),
            Kind::Decode {
                snippet, reason, ..
            } => {
                *snippet = REDACTED.to_owned();
                *reason = "not of the known shape".to_owned();
            }
            _ => {}
        }
        self
    }

    /// The end of a wait: how it stands could not be read, for this reason.
    pub(crate) fn while_polling(self) -> Self {
        let source = Box::new(self);
        Self::new(Kind::PollUnreachable { source })
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.inner.kind
    }

    /// The operation that failed.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        self.inner.operation
    }

    /// The service's code, where it sent one: of the request, or of the job that failed.
    #[must_use]
    pub fn code(&self) -> Option<&ErrorCode> {
        self.body().map(|body| &body.code)
    }

    /// The HTTP status of the answer, where one came.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self.kind() {
            Kind::Api { status, .. }
            | Kind::NoEnvelope { status, .. }
            | Kind::Unreadable { status, .. }
            | Kind::Decode { status, .. } => Some(*status),
            _ => self.cause().and_then(Self::status),
        }
    }

    /// The service's whole `error` object, where it sent one.
    #[must_use]
    pub fn body(&self) -> Option<&ErrorBody> {
        match self.kind() {
            Kind::Api { body, .. } => Some(body),
            Kind::JobEnded { body, .. } => body.as_deref(),
            Kind::RunEnded { receipt } => receipt.error.as_ref(),
            _ => self.cause().and_then(Self::body),
        }
    }

    /// The first bytes of an answer that could not be read as one of the service's.
    #[must_use]
    pub fn snippet(&self) -> Option<&str> {
        match self.kind() {
            Kind::NoEnvelope { snippet, .. }
            | Kind::Unreadable { snippet, .. }
            | Kind::Decode { snippet, .. } => Some(snippet),
            _ => self.cause()?.snippet(),
        }
    }

    /// What to do about it: the service's word, else the catalogue's.
    #[must_use]
    pub fn advice(&self) -> Option<NextAction> {
        match self.kind() {
            Kind::GoesOn { .. } => Some(NextAction::PollStatus),
            _ => self.body()?.next_action(),
        }
    }

    /// The request's id, to be named to the service's support.
    #[must_use]
    pub fn request_id(&self) -> Option<&RequestId> {
        let own = self.inner.request_id.as_ref();
        own.or_else(|| self.body()?.request_id.as_ref())
            .or_else(|| self.cause()?.request_id())
    }

    /// How long the service asked to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self.kind() {
            Kind::Api { retry_after, .. } | Kind::NoEnvelope { retry_after, .. } => *retry_after,
            Kind::BudgetSpent { retry_after } => Some(*retry_after),
            _ => self.cause().and_then(Self::retry_after),
        }
    }

    /// The key that the request was sent with. Where the operation's idempotency is documented
    /// ([`RetryClass::Key`](crate::contract::RetryClass::Key)), sending it again with this key pays
    /// only once.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.inner.idempotency_key.as_ref()
    }

    /// The job that was paid for, where there is one: [`Client::job`](crate::Client::job) takes it
    /// up again, in this process or another.
    #[must_use]
    pub fn job_id(&self) -> Option<&JobId> {
        match self.inner.subject.as_ref()? {
            Subject::Job(id, _) => Some(id),
            _ => None,
        }
    }

    /// The receipt of the job that was paid for, where this process has it.
    #[must_use]
    pub fn receipt(&self) -> Option<&SubmitReceipt> {
        match self.inner.subject.as_ref()? {
            Subject::Job(_, receipt) => receipt.as_deref(),
            _ => None,
        }
    }

    /// The run that was started, where there is one: with its kind, all that is needed to take it up
    /// again.
    #[must_use]
    pub fn run_id(&self) -> Option<&RunId> {
        match self.inner.subject.as_ref()? {
            Subject::Run(id, _) => Some(id),
            _ => None,
        }
    }

    /// The newest receipt of the run that this process has: of a run that ended without completing,
    /// the terminal one, with its files, its usage and what is wrong with its output.
    #[must_use]
    pub fn run_receipt(&self) -> Option<&RunReceipt> {
        match (self.kind(), self.inner.subject.as_ref()) {
            (Kind::RunEnded { receipt }, _) => Some(receipt),
            (_, Some(Subject::Run(_, receipt))) => receipt.as_deref(),
            _ => None,
        }
    }

    /// The bulk queue that was started, where there is one:
    /// [`Client::format_queue`](crate::developer::Client::format_queue) takes it up again. Of a
    /// create whose key was used for another queue, that queue.
    #[must_use]
    pub fn queue_id(&self) -> Option<QueueId> {
        match &self.inner.subject {
            Some(Subject::Queue(id)) => Some(id.clone()),
            _ => self.body()?.details().queue_id.clone(),
        }
    }

    /// Where an output schema is outside the supported subset, found here or by the service, or an
    /// output does not fit its schema.
    #[must_use]
    pub fn violations(&self) -> Vec<SchemaViolation> {
        match self.kind() {
            Kind::Schema(error) => error.violations.clone(),
            _ => self
                .body()
                .map(|body| body.details().violations.clone())
                .unwrap_or_default(),
        }
    }

    /// The error within, whose answers are this one's too.
    fn cause(&self) -> Option<&Self> {
        match self.kind() {
            Kind::Deadline { last, .. } => last.as_deref(),
            Kind::PollUnreachable { source } => Some(source),
            Kind::Download { source, .. } => source.as_deref(),
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
        Self::new(Kind::Invalid(InvalidField::new("path", error.to_string())))
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
        Error::new(Kind::Api {
            status,
            body,
            retry_after: None,
        })
    }
}
