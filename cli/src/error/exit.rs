//! How the program ends, as a type.

use std::process::ExitCode;

/// What the exit code says. The numbers are a promise to scripts: they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Any other failure.
    Failure,
    /// Bad usage or configuration.
    Usage,
    /// Not authenticated, or not allowed.
    NotAllowed,
    /// Not found.
    NotFound,
    /// Not enough funds, or over `--max-price`.
    Funds,
    /// Rate limited or overloaded until the retries were spent.
    Overloaded,
    /// The job or run ended `failed`.
    JobFailed,
    /// The job or run ended `canceled`.
    JobCanceled,
    /// The run ended `skipped`.
    Skipped,
    /// Gave up waiting; it is still running.
    StillRunning,
    /// Could not reach the service.
    Unreachable,
    /// The request may have been carried out.
    Ambiguous,
    /// Interrupted.
    Interrupted,
}

impl Exit {
    /// The number that the shell sees.
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
        }
    }

    /// What a failed HTTP status means, where its body says nothing more.
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
    fn the_numbers_are_those_that_scripts_know() {
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
