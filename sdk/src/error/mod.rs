//! The one error type of the crate.
//!
//! Ask it questions: [`code`](Error::code), [`is_retryable`](Error::is_retryable),
//! [`may_have_been_sent`](Error::may_have_been_sent). After a submit it also carries what must not
//! be lost: the job's id and the idempotency key.

mod display;
mod predicates;

use std::path::PathBuf;
use std::time::Duration;

use crate::contract::JobStatus;
use crate::contract::{ErrorCode, NextAction, Operation, PathError};
use crate::transport::TransportError;
use crate::types::{ErrorBody, IdempotencyKey, InvalidField, JobId, RequestId, SubmitReceipt};

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
    job_id: Option<JobId>,
    receipt: Option<SubmitReceipt>,
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
                job_id: None,
                receipt: None,
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

    pub(crate) fn with_job(mut self, id: &JobId, receipt: Option<&SubmitReceipt>) -> Self {
        self.inner.job_id.get_or_insert_with(|| id.clone());
        if self.inner.receipt.is_none() {
            self.inner.receipt = receipt.cloned();
        }
        self
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
        self.body()?.advice()
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
        self.inner.job_id.as_ref()
    }

    /// The receipt of the job that was paid for, where this process has it.
    #[must_use]
    pub fn receipt(&self) -> Option<&SubmitReceipt> {
        self.inner.receipt.as_ref()
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
