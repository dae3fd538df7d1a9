//! Exit codes, and the codes of errors that the service has not named.

use std::process::ExitCode;

use svc_sdk::{Error, ErrorKind};

/// An exit status. The numeric codes are stable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    #[default]
    Failure,
    Usage,
    /// Not authenticated or not authorized.
    NotAllowed,
    NotFound,
    /// Insufficient funds, or a price above `--max-price`.
    Funds,
    /// Rate limited or overloaded after all retries.
    Overloaded,
    JobFailed,
    JobCanceled,
    Skipped,
    /// The wait timed out; the job or run is still running.
    StillRunning,
    Unreachable,
    Ambiguous,
    Interrupted,
    Terminated,
    HungUp,
    /// The exit code of a command that `svc mock exec` ran.
    Command(u8),
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::NotAllowed => 3,
            Self::NotFound => 4,
            Self::Funds => 5,
            Self::Overloaded => 6,
            Self::JobFailed => 7,
            Self::JobCanceled | Self::Skipped => 8,
            Self::StillRunning => 9,
            Self::Unreachable => 10,
            Self::Ambiguous => 11,
            Self::Interrupted => 130,
            Self::Terminated => 143,
            Self::HungUp => 129,
            Self::Command(code) => code,
        }
    }

    /// Returns the more important of the exit statuses of two parts of a command, such as the waits
    /// for two jobs.
    pub(crate) fn most_important(self, other: Self) -> Self {
        if other.importance() > self.importance() { other } else { self }
    }

    const fn importance(self) -> u8 {
        match self {
            Self::Interrupted | Self::Terminated | Self::HungUp => 12,
            Self::Ambiguous => 11,
            Self::JobFailed => 10,
            Self::JobCanceled => 9,
            Self::Skipped => 8,
            Self::Funds => 7,
            Self::StillRunning => 6,
            Self::NotAllowed => 5,
            Self::NotFound => 4,
            Self::Overloaded => 3,
            Self::Unreachable => 2,
            Self::Failure | Self::Usage | Self::Command(_) => 1,
            Self::Done => 0,
        }
    }

    /// Returns the exit status for an HTTP status without an error body.
    pub(crate) const fn from_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Done,
            401 | 403 => Self::NotAllowed,
            402 => Self::Funds,
            404 => Self::NotFound,
            429 | 502..=504 => Self::Overloaded,
            _ => Self::Failure,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The code of an error without a code of the service. The names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientCode {
    Usage,
    Configuration,
    NotAuthenticated,
    ConnectionFailed,
    TimedOut,
    BadGateway,
    /// The service answered with an error status and without an error object.
    HttpError,
    UnreadableResponse,
    Ambiguous,
    Interrupted,
    /// A job, a run, a top-up or a check failed without an error code.
    Failed,
    /// The job or run ended with a status that this version does not know.
    UnknownStatus,
    /// The job or run was canceled, or the request was not confirmed.
    Canceled,
    Skipped,
    DownloadFailed,
    FilterFailed,
    OverBudget,
    NotFound,
    /// The client has used up the rate limit.
    RateLimited,
    /// A file, a stream or another resource of this machine could not be used.
    Io,
}

impl ClientCode {
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
            Self::UnknownStatus => "unknown_status",
            Self::Canceled => "canceled",
            Self::Skipped => "skipped",
            Self::DownloadFailed => "download_failed",
            Self::FilterFailed => "filter_failed",
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
            Exit::Interrupted | Exit::Terminated | Exit::HungUp => Self::Interrupted,
            Exit::Done | Exit::Failure | Exit::Command(_) => Self::Io,
        }
    }

    /// Returns the code for an SDK error that leads to the exit status.
    pub(crate) fn from_sdk(error: &Error, exit: Exit) -> Self {
        if error.kind() == ErrorKind::UnknownStatus {
            return Self::UnknownStatus;
        }
        match exit {
            Exit::JobFailed | Exit::JobCanceled | Exit::Skipped | Exit::StillRunning => {
                return Self::from_exit(exit);
            }
            Exit::Ambiguous => return Self::Ambiguous,
            _ => {}
        }
        match error.kind() {
            ErrorKind::Configuration if exit == Exit::Unreachable => Self::ConnectionFailed,
            ErrorKind::Configuration => Self::Configuration,
            ErrorKind::InvalidRequest => Self::Usage,
            ErrorKind::Download => Self::DownloadFailed,
            ErrorKind::InvalidResponse => Self::UnreadableResponse,
            _ if error.is_timeout() => Self::TimedOut,
            _ if error.is_unreachable() => Self::ConnectionFailed,
            _ => match error.status() {
                Some(502 | 504) => Self::BadGateway,
                Some(200..=299) => Self::UnreadableResponse,
                Some(_) => Self::HttpError,
                None if error.is_rate_limited() => Self::RateLimited,
                None => Self::from_exit(exit),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_important_exit_status_decides() {
        let in_order = [
            Exit::Interrupted,
            Exit::Ambiguous,
            Exit::JobFailed,
            Exit::JobCanceled,
            Exit::Skipped,
            Exit::Funds,
            Exit::StillRunning,
            Exit::NotAllowed,
            Exit::NotFound,
            Exit::Overloaded,
            Exit::Unreachable,
            Exit::Failure,
            Exit::Done,
        ];
        for pair in in_order.windows(2) {
            assert_eq!(pair[0].most_important(pair[1]), pair[0]);
            assert_eq!(pair[1].most_important(pair[0]), pair[0]);
        }
    }
}
