//! The codes of errors that the service has not named.

use svc_sdk::Error;

use crate::error::Exit;

/// The code of an error without a code of the service. The names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientCode {
    /// The arguments are not valid.
    Usage,
    /// The configuration is missing or not valid.
    Configuration,
    /// No API key is configured.
    NotAuthenticated,
    /// There was no connection, or it broke.
    ConnectionFailed,
    /// A time limit passed.
    TimedOut,
    /// A gateway in front of the service answered for it.
    BadGateway,
    /// The service answered with an error status and without an error object.
    HttpError,
    /// The answer could not be decoded.
    UnreadableResponse,
    /// The request may have been carried out.
    Ambiguous,
    /// The command was interrupted.
    Interrupted,
    /// A job, a run, a top-up or a check failed, and there is no code for it.
    Failed,
    /// The job or run was canceled, or the request was not confirmed.
    Canceled,
    /// The run was skipped.
    Skipped,
    /// A file could not be downloaded.
    DownloadFailed,
    /// The price is above a limit.
    OverBudget,
    /// It does not exist.
    NotFound,
    /// The client has used up the rate limit.
    RateLimited,
    /// A file, a stream or another resource of this machine could not be used.
    Io,
}

impl ClientCode {
    /// Returns the code in JSON.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Configuration => "configuration",
            Self::NotAuthenticated => "not_authenticated",
            Self::ConnectionFailed => "connection_failed",
            Self::TimedOut => "timed_out",
            Self::BadGateway => "bad_gateway",
            Self::HttpError => "http_error",
            Self::UnreadableResponse => "unreadable_response",
            Self::Ambiguous => "ambiguous",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Skipped => "skipped",
            Self::DownloadFailed => "download_failed",
            Self::OverBudget => "over_budget",
            Self::NotFound => "not_found",
            Self::RateLimited => "rate_limited",
            Self::Io => "io",
        }
    }

    /// Returns the code of a failure of which only the exit status is known.
    pub(crate) const fn from_exit(exit: Exit) -> Self {
        match exit {
            Exit::Usage => Self::Usage,
            Exit::NotAllowed => Self::NotAuthenticated,
            Exit::NotFound => Self::NotFound,
            Exit::Funds => Self::OverBudget,
            Exit::Overloaded => Self::HttpError,
            Exit::JobFailed => Self::Failed,
            Exit::JobCanceled => Self::Canceled,
            Exit::Skipped => Self::Skipped,
            Exit::StillRunning => Self::TimedOut,
            Exit::Unreachable => Self::ConnectionFailed,
            Exit::Ambiguous => Self::Ambiguous,
            Exit::Interrupted => Self::Interrupted,
            Exit::Done | Exit::Failure | Exit::Command(_) => Self::Io,
        }
    }

    /// Returns the code of an error of the SDK that ends with an exit status.
    pub(crate) fn from_sdk(error: &Error, exit: Exit) -> Self {
        match exit {
            Exit::JobFailed | Exit::JobCanceled | Exit::Skipped | Exit::StillRunning => {
                return Self::from_exit(exit);
            }
            Exit::Ambiguous => return Self::Ambiguous,
            _ => {}
        }
        if error.is_configuration() {
            Self::Configuration
        } else if error.is_invalid() {
            Self::Usage
        } else if error.is_download() {
            Self::DownloadFailed
        } else if error.is_decode() {
            Self::UnreadableResponse
        } else if error.is_timeout() {
            Self::TimedOut
        } else if error.is_unreachable() {
            Self::ConnectionFailed
        } else {
            match error.status() {
                Some(502 | 504) => Self::BadGateway,
                // The SDK rejects an answer for another reason, such as a repeated cursor.
                Some(200..=299) => Self::UnreadableResponse,
                Some(_) => Self::HttpError,
                None if error.is_rate_limited() => Self::RateLimited,
                None => Self::from_exit(exit),
            }
        }
    }
}
