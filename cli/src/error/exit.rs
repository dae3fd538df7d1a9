//! Exit codes.

use std::process::ExitCode;

/// An exit status. The numeric codes are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded.
    Done,
    /// Any other failure.
    Failure,
    /// Invalid usage or configuration.
    Usage,
    /// Not authenticated or not authorized.
    NotAllowed,
    /// Not found.
    NotFound,
    /// Insufficient funds, or a price above `--max-price`.
    Funds,
    /// Rate limited or overloaded after all retries.
    Overloaded,
    /// The job or run failed.
    JobFailed,
    /// The job or run was canceled.
    JobCanceled,
    /// The run was skipped.
    Skipped,
    /// The wait timed out; the job or run is still running.
    StillRunning,
    /// The service is unreachable.
    Unreachable,
    /// The outcome of a request is unknown.
    Ambiguous,
    /// Interrupted by Ctrl-C.
    Interrupted,
    /// The exit code of a command that `svc mock exec` ran.
    Command(u8),
}

impl Exit {
    /// Returns the numeric exit code.
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
            Self::Command(code) => code,
        }
    }

    /// Returns the more important of the exit statuses of two parts of a command, such as the waits
    /// for two jobs.
    pub(crate) fn most_important(self, other: Self) -> Self {
        if other.importance() > self.importance() {
            other
        } else {
            self
        }
    }

    const fn importance(self) -> u8 {
        match self {
            Self::Interrupted => 12,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_job_outweighs_a_canceled_one_and_a_timeout() {
        let in_order = [
            Exit::Interrupted,
            Exit::Ambiguous,
            Exit::JobFailed,
            Exit::JobCanceled,
            Exit::StillRunning,
            Exit::NotFound,
            Exit::Failure,
            Exit::Done,
        ];
        for pair in in_order.windows(2) {
            assert_eq!(pair[0].most_important(pair[1]), pair[0]);
            assert_eq!(pair[1].most_important(pair[0]), pair[0]);
        }
    }

    #[test]
    fn exit_codes_are_stable() {
        let rows = [
            (Exit::Done, 0),
            (Exit::Failure, 1),
            (Exit::Usage, 2),
            (Exit::NotAllowed, 3),
            (Exit::NotFound, 4),
            (Exit::Funds, 5),
            (Exit::Overloaded, 6),
            (Exit::JobFailed, 7),
            (Exit::JobCanceled, 8),
            (Exit::Skipped, 8),
            (Exit::StillRunning, 9),
            (Exit::Unreachable, 10),
            (Exit::Ambiguous, 11),
            (Exit::Interrupted, 130),
        ];
        for (exit, code) in rows {
            assert_eq!(exit.code(), code, "{exit:?}");
        }
    }
}
