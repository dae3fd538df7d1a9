//! The public kinds of errors.

use super::{Error, Kind};
use crate::contract::{JobStatus, QueueStatus, RunStatus, TopUpStatus};

/// The kind of an [`Error`], from [`Error::kind`].
///
/// It says where a call, a wait or a download ended. The cause behind it is answered by
/// [`Error::status`], [`Error::code`] and predicates such as [`Error::is_unauthorized`].
///
/// ```
/// use svc_sdk::{Error, ErrorKind};
///
/// fn is_refunded(error: &Error) -> bool {
///     matches!(error.kind(), ErrorKind::JobFailed | ErrorKind::JobCanceled)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The configuration of the client is not valid, such as its URL, key or TLS certificates.
    /// Nothing was sent.
    Configuration,
    /// The [`KeyProvider`](crate::KeyProvider) failed. Nothing was sent.
    KeyProvider,
    /// The request is not valid. Nothing was sent.
    InvalidRequest,
    /// The journal kept the submit from being sent, or failed. [`Error::journal`] says why.
    Journal,
    /// The key's rate limit is used up for longer than the call may take. Nothing was sent.
    RateLimitExhausted,
    /// There was no connection, or it broke before the complete response was received.
    Connection,
    /// The response has an error status.
    ErrorResponse,
    /// The response is not valid: it is not JSON, or JSON of another shape.
    InvalidResponse,
    /// The time limit of the call passed.
    Timeout,
    /// The job failed, as the service says. The charge is refunded.
    JobFailed,
    /// The job was canceled. The charge is refunded.
    JobCanceled,
    /// The run failed. What it did before is billed, and its files are in [`Error::run_receipt`].
    ///
    /// Start it again with a new key, or continue it with `previous_run_id`.
    RunFailed,
    /// The run was canceled. What it did before is billed.
    RunCanceled,
    /// The run was skipped. It costs nothing.
    RunSkipped,
    /// The top-up failed or expired, without being paid.
    TopUpEnded,
    /// The job, run, queue or top-up ended with a status that this version does not know, which is
    /// neither a success nor a refund. [`Error::terminal_status`] names it.
    UnknownStatus,
    /// The status was terminal, but the result says that the job or run is still in progress.
    NotFinished,
    /// The time limit of the wait passed. The resource goes on, and can be waited for again.
    WaitTimeout,
    /// A wait ended because the status could not be read, which says nothing about the resource.
    PollFailed,
    /// Files could not be downloaded or written. The result is still there, so download it again.
    ///
    /// [`Error::downloaded_files`] has the other files of the same result.
    Download,
}

impl Error {
    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self.variant() {
            Kind::Configuration(_) => ErrorKind::Configuration,
            Kind::KeyProvider { .. } => ErrorKind::KeyProvider,
            Kind::Invalid(_) | Kind::Schema(_) => ErrorKind::InvalidRequest,
            Kind::Transport(error) if error.is_setup() => ErrorKind::Configuration,
            Kind::Transport(_) => ErrorKind::Connection,
            Kind::Api { .. } | Kind::NoEnvelope { .. } => ErrorKind::ErrorResponse,
            Kind::NotJson { .. } | Kind::Decode { .. } | Kind::RepeatedCursor { .. } => {
                ErrorKind::InvalidResponse
            }
            Kind::Journal(_) => ErrorKind::Journal,
            Kind::RateLimitExhausted { .. } => ErrorKind::RateLimitExhausted,
            Kind::Timeout { .. } => ErrorKind::Timeout,
            Kind::JobEnded { status, .. } => match status {
                JobStatus::Failed => ErrorKind::JobFailed,
                JobStatus::Canceled => ErrorKind::JobCanceled,
                _ => ErrorKind::UnknownStatus,
            },
            Kind::RunEnded { receipt } => match receipt.status {
                RunStatus::Failed => ErrorKind::RunFailed,
                RunStatus::Canceled => ErrorKind::RunCanceled,
                RunStatus::Skipped => ErrorKind::RunSkipped,
                _ => ErrorKind::UnknownStatus,
            },
            Kind::TopUpEnded { status } => match TopUpStatus::from(status.as_str()) {
                TopUpStatus::Failed | TopUpStatus::Expired => ErrorKind::TopUpEnded,
                _ => ErrorKind::UnknownStatus,
            },
            Kind::QueueEnded { .. } => ErrorKind::UnknownStatus,
            Kind::NotFinished { .. } => ErrorKind::NotFinished,
            Kind::WaitTimeout { .. } => ErrorKind::WaitTimeout,
            Kind::PollFailed { .. } => ErrorKind::PollFailed,
            Kind::Download { .. }
            | Kind::IncompleteDownload { .. }
            | Kind::File { .. }
            | Kind::Write { .. } => ErrorKind::Download,
        }
    }

    /// Returns the status with which the job, run, queue or top-up ended without a result.
    ///
    /// It is empty if the service gave none.
    #[must_use]
    pub fn terminal_status(&self) -> Option<&str> {
        match self.variant() {
            Kind::JobEnded { status, .. } => Some(status.as_str()),
            Kind::RunEnded { receipt } => Some(receipt.status.as_str()),
            Kind::TopUpEnded { status } => Some(status),
            Kind::QueueEnded { queue } => queue.status.as_ref().map(QueueStatus::as_str),
            _ => None,
        }
    }
}
