//! Outcomes of submits.

use serde::{Deserialize, Serialize};

/// The outcome of a submit, as it was reported to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The receipt was printed, without waiting for the result.
    Submitted,
    /// It completed, and its result was printed.
    Completed,
    /// It failed.
    Failed,
    /// It was canceled.
    Canceled,
    /// The run was skipped.
    Skipped,
    /// The service rejected the submit: nothing ran and nothing was charged.
    Refused,
    /// The request never reached the service.
    NotSent,
    /// The user abandoned it for a new call (`--new`).
    Abandoned,
}

impl Outcome {
    /// Returns the outcome in words.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Skipped => "skipped",
            Self::Refused => "refused",
            Self::NotSent => "not sent",
            Self::Abandoned => "abandoned",
        }
    }
}
