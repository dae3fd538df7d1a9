//! Exit codes, and the codes of errors that the service has not named.

use std::process::ExitCode;

use svc_sdk::{Error, ErrorKind};

/// The numeric codes are stable.
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
        self.row().0
    }

    pub(crate) fn most_important(self, other: Self) -> Self {
        if other.row().1 > self.row().1 { other } else { self }
    }

    /// The numeric code, the importance among the parts of a command, and the code of an error.
    const fn row(self) -> (u8, u8, ClientCode) {
        match self {
            Self::Done => (0, 0, ClientCode::IO),
            Self::Failure => (1, 1, ClientCode::IO),
            Self::Usage => (2, 1, ClientCode::USAGE),
            Self::NotAllowed => (3, 5, ClientCode::NOT_AUTHENTICATED),
            Self::NotFound => (4, 4, ClientCode::NOT_FOUND),
            Self::Funds => (5, 7, ClientCode::OVER_BUDGET),
            Self::Overloaded => (6, 3, ClientCode::HTTP_ERROR),
            Self::JobFailed => (7, 10, ClientCode::FAILED),
            Self::JobCanceled => (8, 9, ClientCode::CANCELED),
            Self::Skipped => (8, 8, ClientCode::SKIPPED),
            Self::StillRunning => (9, 6, ClientCode::TIMED_OUT),
            Self::Unreachable => (10, 2, ClientCode::CONNECTION_FAILED),
            Self::Ambiguous => (11, 11, ClientCode::AMBIGUOUS),
            Self::Interrupted => (130, 12, ClientCode::INTERRUPTED),
            Self::Terminated => (143, 12, ClientCode::INTERRUPTED),
            Self::HungUp => (129, 12, ClientCode::INTERRUPTED),
            Self::Command(code) => (code, 1, ClientCode::IO),
        }
    }

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
pub(crate) struct ClientCode(&'static str);

impl ClientCode {
    pub(crate) const USAGE: Self = Self("usage");
    pub(crate) const CONFIGURATION: Self = Self("configuration");
    pub(crate) const NOT_AUTHENTICATED: Self = Self("not_authenticated");
    pub(crate) const CONNECTION_FAILED: Self = Self("connection_failed");
    pub(crate) const TIMED_OUT: Self = Self("timed_out");
    pub(crate) const BAD_GATEWAY: Self = Self("bad_gateway");
    /// The service answered with an error status and without an error object.
    pub(crate) const HTTP_ERROR: Self = Self("http_error");
    pub(crate) const UNREADABLE_RESPONSE: Self = Self("unreadable_response");
    pub(crate) const AMBIGUOUS: Self = Self("ambiguous");
    pub(crate) const INTERRUPTED: Self = Self("interrupted");
    /// A job, a run, a top-up or a check failed without an error code.
    pub(crate) const FAILED: Self = Self("failed");
    /// The job or run ended with a status that this version does not know.
    pub(crate) const UNKNOWN_STATUS: Self = Self("unknown_status");
    pub(crate) const CANCELED: Self = Self("canceled");
    pub(crate) const SKIPPED: Self = Self("skipped");
    pub(crate) const DOWNLOAD_FAILED: Self = Self("download_failed");
    pub(crate) const FILTER_FAILED: Self = Self("filter_failed");
    pub(crate) const OVER_BUDGET: Self = Self("over_budget");
    pub(crate) const NOT_FOUND: Self = Self("not_found");
    pub(crate) const RATE_LIMITED: Self = Self("rate_limited");
    /// A file, a stream or another resource of this machine could not be used.
    pub(crate) const IO: Self = Self("io");

    pub(crate) const fn as_str(self) -> &'static str {
        self.0
    }

    pub(crate) const fn from_exit(exit: Exit) -> Self {
        exit.row().2
    }

    pub(crate) fn from_sdk(error: &Error, exit: Exit) -> Self {
        use Exit::{Ambiguous, JobCanceled, JobFailed, Skipped, StillRunning};

        if error.kind() == ErrorKind::UnknownStatus {
            return Self::UNKNOWN_STATUS;
        }
        if matches!(exit, JobFailed | JobCanceled | Skipped | StillRunning | Ambiguous) {
            return Self::from_exit(exit);
        }
        match error.kind() {
            ErrorKind::Configuration if exit == Exit::Unreachable => Self::CONNECTION_FAILED,
            ErrorKind::Configuration => Self::CONFIGURATION,
            ErrorKind::InvalidRequest => Self::USAGE,
            ErrorKind::Download => Self::DOWNLOAD_FAILED,
            ErrorKind::InvalidResponse => Self::UNREADABLE_RESPONSE,
            _ if error.is_timeout() => Self::TIMED_OUT,
            _ if error.is_unreachable() => Self::CONNECTION_FAILED,
            _ => match error.status() {
                Some(502 | 504) => Self::BAD_GATEWAY,
                Some(200..=299) => Self::UNREADABLE_RESPONSE,
                Some(_) => Self::HTTP_ERROR,
                None if error.is_rate_limited() => Self::RATE_LIMITED,
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
