//! The one error type of the crate.
//!
//! Ask it questions: [`code`](Error::code), [`is_retryable`](Error::is_retryable),
//! [`may_have_been_sent`](Error::may_have_been_sent). After a submit it also carries what must not
//! be lost: the job's id and the idempotency key.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::contract::JobStatus;
use crate::contract::{ErrorCategory, ErrorCode, NextAction, Operation, PathError};
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
///     // The job may exist. The same key makes the submit safe to repeat.
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

    /// The key that the request was sent with: sending it again with this key pays only once.
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

    /// The client is set up wrongly: a URL, a key, the TLS certificates. Nothing was sent.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        matches!(self.kind(), Kind::Configuration(_))
    }

    /// The request can never be right, which was found before it was sent.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self.kind(), Kind::Invalid(_))
    }

    /// Whether the request may have reached the service.
    #[must_use]
    pub fn may_have_been_sent(&self) -> bool {
        match self.kind() {
            Kind::Configuration(_) | Kind::Invalid(_) | Kind::BudgetSpent { .. } => false,
            Kind::Transport(error) => error.may_have_been_sent(),
            Kind::Deadline { sent, .. } => *sent,
            _ => true,
        }
    }

    /// Whether it is unknown if the request was carried out: it may have arrived, and no answer of
    /// the service says what became of it.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        match self.kind() {
            Kind::Transport(error) => error.may_have_been_sent(),
            Kind::NoEnvelope { status, .. } => *status >= 500,
            Kind::Unreadable { .. } | Kind::Decode { .. } => true,
            Kind::Deadline { sent, .. } => *sent,
            _ => false,
        }
    }

    /// Whether sending the same again can succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self.kind() {
            Kind::Transport(_)
            | Kind::Unreadable { .. }
            | Kind::Deadline { .. }
            | Kind::BudgetSpent { .. } => true,
            Kind::NoEnvelope { status, .. } => *status == 429 || *status >= 500,
            Kind::Api { status, body, .. } => {
                body.retryable.unwrap_or_else(|| match body.code.entry() {
                    Some(entry) => entry.retryable,
                    None => matches!(status, 429 | 502 | 503),
                })
            }
            Kind::JobEnded { body, .. } => body
                .as_ref()
                .and_then(|body| body.retryable)
                .unwrap_or(false),
            Kind::PollUnreachable { source } => source.is_retryable(),
            _ => false,
        }
    }

    /// No answer came at all: no connection, or it broke.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        match self.kind() {
            Kind::Transport(_) => true,
            Kind::Deadline { last, .. } => last.as_ref().is_none_or(|last| last.is_unreachable()),
            _ => self.cause().is_some_and(Self::is_unreachable),
        }
    }

    /// The answer could not be read: no JSON, or JSON of another shape.
    #[must_use]
    pub fn is_decode(&self) -> bool {
        matches!(self.kind(), Kind::Unreadable { .. } | Kind::Decode { .. })
    }

    /// The service does not know the key (401).
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.status() == Some(401)
    }

    /// The key may not do this (403).
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.status() == Some(403)
    }

    /// There is no such thing (404).
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// The balance or the wallet cannot pay for it.
    #[must_use]
    pub fn is_insufficient_funds(&self) -> bool {
        self.status() == Some(402) || self.category() == Some(ErrorCategory::Funds)
    }

    /// Too many requests, or too many jobs at once.
    #[must_use]
    pub fn is_rate_limited(&self) -> bool {
        let own = matches!(self.kind(), Kind::BudgetSpent { .. });
        own || self.status() == Some(429) || self.category() == Some(ErrorCategory::RateLimit)
    }

    /// The service, or something before it, is overloaded (502, 503, 504).
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        matches!(self.status(), Some(502..=504))
    }

    /// The idempotency key was used for another request.
    #[must_use]
    pub fn is_idempotency_conflict(&self) -> bool {
        self.code() == Some(&ErrorCode::IdempotencyConflict)
    }

    /// The job failed: the service says so. The charge is refunded.
    #[must_use]
    pub fn is_job_failed(&self) -> bool {
        matches!(self.kind(), Kind::JobEnded { status, .. } if *status != JobStatus::Canceled)
    }

    /// The job was canceled. The charge is refunded.
    #[must_use]
    pub fn is_job_canceled(&self) -> bool {
        matches!(
            self.kind(),
            Kind::JobEnded {
                status: JobStatus::Canceled,
                ..
            }
        )
    }

    /// The wait was given up at its deadline: the job goes on, and can be waited for again.
    #[must_use]
    pub fn is_wait_deadline(&self) -> bool {
        matches!(self.kind(), Kind::WaitDeadline { .. })
    }

    /// How the job stands could not be read: that says nothing about the job.
    #[must_use]
    pub fn is_poll_unreachable(&self) -> bool {
        matches!(self.kind(), Kind::PollUnreachable { .. })
    }

    /// The call's deadline passed.
    #[must_use]
    pub fn is_deadline(&self) -> bool {
        matches!(self.kind(), Kind::Deadline { .. })
    }

    /// A file of a result could not be fetched or written. The result is there: download again.
    #[must_use]
    pub fn is_download(&self) -> bool {
        matches!(self.kind(), Kind::Download { .. } | Kind::File { .. })
    }

    /// A top-up ended unpaid, with this status.
    #[must_use]
    pub fn top_up_status(&self) -> Option<&str> {
        match self.kind() {
            Kind::TopUpEnded { status } => Some(status),
            _ => None,
        }
    }

    fn category(&self) -> Option<ErrorCategory> {
        Some(self.code()?.entry()?.category)
    }

    fn cause(&self) -> Option<&Self> {
        match self.kind() {
            Kind::Deadline { last, .. } => last.as_deref(),
            Kind::PollUnreachable { source } => Some(source),
            Kind::Download { source, .. } => source.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = String::new();
        self.write(&mut line)?;
        f.write_str(&one_line(&line))
    }
}

impl Error {
    /// What it says, with the service's text as it came.
    fn write(&self, f: &mut impl fmt::Write) -> fmt::Result {
        if let Some(operation) = self.inner.operation {
            write!(f, "{operation}: ")?;
        }
        match self.kind() {
            Kind::Configuration(reason) => f.write_str(reason),
            Kind::Invalid(field) => write!(f, "{field}"),
            Kind::Transport(error) => write!(f, "{error}"),
            Kind::Api { status, body, .. } => {
                write!(f, "{} ({status} {})", brief(&body.message), body.code)
            }
            Kind::NoEnvelope {
                status, snippet, ..
            } => {
                write!(
                    f,
                    "answered {status} without an error of the service: {}",
                    quoted(snippet)
                )
            }
            Kind::Unreadable { status, snippet } => {
                write!(
                    f,
                    "answered {status} with a body that is no JSON: {}",
                    quoted(snippet)
                )
            }
            Kind::Decode {
                status,
                path,
                reason,
                snippet,
            } => {
                write!(
                    f,
                    "answered {status} with a body of another shape, at {path}: {reason}: {}",
                    quoted(snippet)
                )
            }
            Kind::BudgetSpent { retry_after } => {
                write!(
                    f,
                    "the key's requests of this minute are used up; wait {} s",
                    retry_after.as_secs() + 1
                )
            }
            Kind::Deadline { after, .. } => write!(f, "no answer within {} s", after.as_secs_f32()),
            Kind::JobEnded { status, body } => {
                match &self.inner.job_id {
                    Some(id) => write!(f, "job {id} ended {status}")?,
                    None => write!(f, "the job ended {status}")?,
                }
                match body {
                    Some(body) => write!(f, ": {} ({})", brief(&body.message), body.code),
                    None => Ok(()),
                }
            }
            Kind::WaitDeadline { after } => {
                write!(
                    f,
                    "gave up waiting after {} s; the job goes on",
                    after.as_secs()
                )
            }
            Kind::PollUnreachable { .. } => {
                f.write_str("could not ask how the job stands; it may well go on")
            }
            Kind::TopUpEnded { status } => {
                write!(f, "the top-up ended {status}; nothing was charged")
            }
            Kind::Download { url, reason, .. } => {
                write!(f, "could not download {url}: {reason}")
            }
            Kind::File { path, .. } => write!(f, "could not write {}", path.display()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.inner.kind)
            .field("operation", &self.inner.operation)
            .field("request_id", &self.inner.request_id)
            .field("idempotency_key", &self.inner.idempotency_key)
            .field("job_id", &self.inner.job_id)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.kind() {
            Kind::Transport(error) => std::error::Error::source(error),
            Kind::Deadline {
                last: Some(last), ..
            } => Some(last.as_ref()),
            Kind::PollUnreachable { source } => Some(source.as_ref()),
            Kind::Download {
                source: Some(source),
                ..
            } => Some(source.as_ref()),
            Kind::File { source, .. } => Some(source),
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

/// Text on one line, so that the service can neither forge lines of a log nor turn one around.
fn one_line(text: &str) -> String {
    let is_hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .map(|c| if is_hostile(c) { ' ' } else { c })
        .collect()
}

/// As much of a message as a person reads; the whole is in the error's body.
fn brief(message: &str) -> std::borrow::Cow<'_, str> {
    match message.char_indices().nth(1_000) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()).into(),
        None => message.into(),
    }
}

fn quoted(snippet: &str) -> String {
    if snippet.is_empty() {
        "(empty)".to_owned()
    } else {
        format!("{:?}", snippet.chars().take(80).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(status: u16, json: serde_json::Value) -> Error {
        let body = Box::new(serde_json::from_value(json).unwrap());
        Error::new(Kind::Api {
            status,
            body,
            retry_after: None,
        })
    }

    #[test]
    fn an_errors_line_cannot_be_forged_by_the_service() {
        let error = api(
            400,
            serde_json::json!({"code": "invalid_request", "message": "bad\nERROR all is lost\u{1b}[2J"}),
        );
        assert_eq!(
            error.to_string(),
            "bad ERROR all is lost [2J (400 invalid_request)"
        );
    }

    #[test]
    fn no_part_of_an_errors_line_can_be_forged() {
        let hostile = "x\nERROR\u{1b}[2J\u{202e}\u{2028}";
        let body = serde_json::json!({"code": hostile, "message": "m".repeat(1_000_000)});
        let ended = Error::new(Kind::JobEnded {
            status: hostile.into(),
            body: None,
        });
        let download = Error::new(Kind::Download {
            url: hostile.into(),
            reason: "no".into(),
            source: None,
        });
        let top_up = Error::new(Kind::TopUpEnded {
            status: hostile.into(),
        });
        for error in [
            api(400, body.clone()),
            api(400, serde_json::json!({"code": hostile})),
            ended.with_job(&hostile.into(), None),
            download,
            top_up,
        ] {
            let line = error.to_string();
            assert!(
                !line.contains(['\n', '\u{1b}', '\u{202e}', '\u{2028}']),
                "{line:?}"
            );
            assert!(line.len() < 2_000);
        }
    }

    #[test]
    fn retryability_is_the_services_word_then_the_catalogues_then_the_statuss() {
        let rows = [
            (
                503,
                serde_json::json!({"code": "database_busy", "retryable": false}),
                false,
            ),
            (
                400,
                serde_json::json!({"code": "brand_new", "retryable": true}),
                true,
            ),
            (503, serde_json::json!({"code": "database_busy"}), true),
            (
                503,
                serde_json::json!({"code": "stripe_not_configured"}),
                false,
            ),
            (503, serde_json::json!({"code": "brand_new"}), true),
            (500, serde_json::json!({"code": "brand_new"}), false),
        ];
        for (status, json, retryable) in rows {
            assert_eq!(
                api(status, json.clone()).is_retryable(),
                retryable,
                "{status} {json}"
            );
        }
    }

    #[test]
    fn what_the_service_refused_is_not_ambiguous_and_what_it_never_answered_is() {
        assert!(!api(500, serde_json::json!({"code": "x"})).is_ambiguous());
        assert!(Error::from(TransportError::perhaps_sent("reset")).is_ambiguous());
        assert!(!Error::from(TransportError::not_sent("refused")).is_ambiguous());
        let html = Kind::NoEnvelope {
            status: 502,
            snippet: "<html>".into(),
            retry_after: None,
        };
        assert!(Error::new(html).is_ambiguous());
    }

    #[test]
    fn the_error_is_one_word_wide() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }
}
