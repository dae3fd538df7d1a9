//! The result of a check.

use std::time::Duration;

use serde::Serialize;

/// The time limit of a check, below the five seconds that a user waits at most.
pub(super) const CHECK_TIMEOUT: Duration = Duration::from_millis(4500);

/// A check and its result.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    /// The name of the check.
    #[serde(rename = "check")]
    pub(super) name: &'static str,
    pub(super) status: Status,
    /// What was found.
    pub(super) message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Ok,
    /// Something to know about, which does not prevent the use of the service.
    Warning,
    Failed,
    /// The check does not apply, or something that it needs is missing.
    Skipped,
}

impl Status {
    /// Returns the mark in the table.
    pub(super) const fn mark(self) -> &'static str {
        match self {
            Self::Ok => "✓",
            Self::Warning => "!",
            Self::Failed => "✗",
            Self::Skipped => "-",
        }
    }
}

impl Check {
    pub(super) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Status::Ok, message)
    }

    pub(super) fn warning(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Status::Warning, message)
    }

    pub(super) fn failed(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Status::Failed, message)
    }

    pub(super) fn skipped(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Status::Skipped, message)
    }

    fn new(name: &'static str, status: Status, message: impl Into<String>) -> Self {
        Self {
            name,
            status,
            message: message.into(),
            next: None,
        }
    }

    /// Adds what to do.
    pub(super) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

/// Runs blocking work on another thread, with the time limit of a check. Returns `None` if the
/// time is over.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let work = tokio::task::spawn_blocking(work);
    match tokio::time::timeout(CHECK_TIMEOUT, work).await {
        Ok(Ok(done)) => Some(done),
        _ => None,
    }
}
