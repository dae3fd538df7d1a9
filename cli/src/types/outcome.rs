//! Outcomes of submits.

use serde::{Deserialize, Serialize};

/// What became of a submit, as a person was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The receipt was printed, and nobody waited.
    Submitted,
    /// It completed, and its result was printed.
    Completed,
    /// It failed.
    Failed,
    /// It was canceled.
    Canceled,
    /// The run was skipped.
    Skipped,
    /// The service refused the submit: nothing ran, nothing was charged.
    Refused,
    /// It never reached the service.
    NotSent,
    /// A person chose to leave it and make a new call.
    Abandoned,
}

impl Outcome {
    /// The word for it.
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
