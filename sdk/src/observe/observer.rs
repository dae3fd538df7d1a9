//! The trait that a program implements to follow the requests of a client.

use std::borrow::Cow;
use std::time::Duration;

use http::HeaderMap;

use crate::call::raw_response::RawResponse;
use crate::call::request::{Request, parse_header};
use crate::error::{Error, Kind};
use crate::journal::{IntentId, StoreError};
use crate::types::{IdempotencyKey, InvalidField, RequestId};

/// Follows the calls of a client: for metrics, logs, and headers of requests.
///
/// Set it with [`ClientBuilder::observer`](crate::ClientBuilder::observer). Its methods run in the task
/// that makes the call, between its steps, so that they must not block. Downloads are not observed:
/// they are requests to other hosts. See the [module](super) for traces.
pub trait Observer: Send + Sync + 'static {
    /// Called once for each call that is awaited, before anything else. Its end follows in any case.
    fn on_call_start(&self, call: &CallStart<'_>) {
        let _ = call;
    }

    /// Called before an attempt is sent. Can add headers.
    fn on_attempt_start(&self, attempt: &mut AttemptStart<'_>) {
        let _ = attempt;
    }

    /// Called after an attempt, when its response is decoded and it is known whether it is retried.
    fn on_attempt_end(&self, attempt: &AttemptEnd<'_>) {
        let _ = attempt;
    }

    /// Called once for each call that was awaited, at its end, also if its future is dropped.
    fn on_call_end(&self, call: &CallEnd<'_>) {
        let _ = call;
    }

    /// Called when a receipt or an outcome could not be written to the journal. The call or wait goes on
    /// with it, and it is written before the next submit; until then no submit is sent.
    fn on_journal_failure(&self, failure: &JournalFailure<'_>) {
        let _ = failure;
    }
}

/// A receipt or an outcome that could not be written to the journal.
#[derive(Debug)]
#[non_exhaustive]
pub struct JournalFailure<'a> {
    /// The intent that it is about.
    pub id: &'a IntentId,
    /// The id that the application gave.
    pub submission_id: Option<&'a str>,
    /// The idempotency key of the request.
    pub idempotency_key: &'a IdempotencyKey,
    /// Why it could not be written.
    pub error: &'a StoreError,
}

/// A call that begins.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallStart<'a> {
    /// The request, without the host and the credential.
    pub request: &'a Request,
}

/// An attempt that is about to be sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct AttemptStart<'a> {
    /// The request, without the host and the credential.
    pub request: &'a Request,
    /// The attempt, counted from 1.
    pub attempt: u32,
    pub(super) headers: &'a mut HeaderMap,
}

impl AttemptStart<'_> {
    /// Sets a header of this attempt.
    ///
    /// # Errors
    ///
    /// Returns an error if the name or the value is not a valid header, or if the client sets that
    /// header itself (`Authorization`, `X-Api-Key`, `Idempotency-Key`).
    pub fn set_header(&mut self, name: &str, value: &str) -> Result<(), InvalidField> {
        let (header, value) = parse_header(name, value)?;
        self.headers.insert(header, value);
        Ok(())
    }
}

/// An attempt that has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct AttemptEnd<'a> {
    /// The request, without the host and the credential.
    pub request: &'a Request,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// The host of the base URL.
    pub server_address: &'a str,
    /// The port of the base URL.
    pub server_port: u16,
    /// The time from sending the request to reading the end of its response.
    pub duration: Duration,
    /// The response, if a complete one was received.
    pub response: Option<&'a RawResponse>,
    /// The error, if the attempt failed.
    pub error: Option<&'a Error>,
    /// The pause before the next attempt, or `None` if this was the last.
    pub retry_delay: Option<Duration>,
}

impl AttemptEnd<'_> {
    /// Returns the HTTP status of the response.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.response.map(|response| response.status)
    }

    /// Returns the id that the service gave the request.
    #[must_use]
    pub fn request_id(&self) -> Option<RequestId> {
        self.response?.request_id()
    }

    /// Returns the size of the request's body in bytes.
    #[must_use]
    pub fn request_bytes(&self) -> usize {
        self.request.body.as_ref().map_or(0, bytes::Bytes::len)
    }

    /// Returns the size of the response's body in bytes.
    #[must_use]
    pub fn response_bytes(&self) -> usize {
        self.response.map_or(0, |response| response.body.len())
    }

    /// Returns the kind of failure, as one of few values: see the [module](super).
    #[must_use]
    pub fn error_type(&self) -> Option<Cow<'static, str>> {
        self.error.map(error_type)
    }
}

/// A call that has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallEnd<'a> {
    /// The request, without the host and the credential.
    pub request: &'a Request,
    /// The number of attempts. It is 0 if nothing was sent.
    pub attempts: u32,
    /// The time that the call took, with its pauses.
    pub duration: Duration,
    /// How the call ended.
    pub outcome: CallOutcome<'a>,
}

impl CallEnd<'_> {
    /// Returns the kind of failure, as one of few values: see the [module](super).
    #[must_use]
    pub fn error_type(&self) -> Option<Cow<'static, str>> {
        match self.outcome {
            CallOutcome::Success => None,
            CallOutcome::Failure(error) => Some(error_type(error)),
            CallOutcome::Canceled => Some(Cow::Borrowed("canceled")),
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CallOutcome<'a> {
    /// With a value.
    Success,
    /// With an error.
    Failure(&'a Error),
    /// The future was dropped before the call ended.
    Canceled,
}

/// Returns the value of `error.type`: one of few words for each kind of failure.
pub(super) fn error_type(error: &Error) -> Cow<'static, str> {
    let word = match error.variant() {
        Kind::Api { status, .. } | Kind::NoEnvelope { status, .. } => {
            return Cow::Owned(status.to_string());
        }
        Kind::PollFailed { source } => return error_type(source),
        Kind::Download { source: Some(source), .. } => return error_type(source),
        Kind::Configuration(_) => "configuration",
        Kind::KeyProvider { .. } => "key_unavailable",
        Kind::Invalid(_) | Kind::Schema(_) => "invalid_request",
        Kind::Transport(error) if error.is_setup() => "configuration",
        Kind::Transport(error) if error.has_timed_out() => "timeout",
        Kind::Transport(error) if error.may_have_been_sent() => "connection_lost",
        Kind::Transport(_) => "connection_failed",
        Kind::NotJson { .. } | Kind::Decode { .. } | Kind::RepeatedCursor { .. } => {
            "invalid_response"
        }
        Kind::Journal(_) => "journal",
        Kind::RateLimitExhausted { .. } => "rate_limit_exhausted",
        Kind::Timeout { .. } => "timeout",
        Kind::JobEnded { .. }
        | Kind::RunEnded { .. }
        | Kind::TopUpEnded { .. }
        | Kind::QueueEnded { .. }
        | Kind::NotFinished { .. } => "not_completed",
        Kind::WaitTimeout { .. } => "wait_timeout",
        Kind::Download { source: None, .. } | Kind::IncompleteDownload { .. } => "download_failed",
        Kind::File { .. } | Kind::Write { .. } => "file",
    };
    Cow::Borrowed(word)
}
