//! The consequences of a submit's error for its batch.

use crate::contract::{ErrorCode, NextAction};
use crate::error::{Error, Kind};
use crate::journal::JournalError;

/// The consequence of a submit's error for its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The service has too many jobs. Nothing ran.
    TooManyJobs,
    /// The service is overloaded or limits the rate. Nothing ran.
    Busy,
    /// The price does not fit into the spend limit now.
    OverBudget,
    /// Every submit would fail.
    OfBatch,
    /// It concerns this submit only.
    OfItem,
}

impl Failure {
    pub(super) fn of(error: &Error) -> Self {
        if error.is_ambiguous() {
            return Self::OfItem;
        }
        if error.code() == Some(&ErrorCode::ConcurrencyLimitReached) {
            return Self::TooManyJobs;
        }
        match error.variant() {
            Kind::Journal(JournalError::OverBudget { totals, .. }) if !totals.is_stopped => {
                return Self::OverBudget;
            }
            Kind::Journal(JournalError::OverBudget { .. } | JournalError::Store(_))
            | Kind::Configuration(_)
            | Kind::KeyProvider { .. } => return Self::OfBatch,
            Kind::Transport(error) if error.is_setup() => return Self::OfBatch,
            // The time limit passed before it was sent: there are many requests before it.
            Kind::Timeout { sent: false, .. } => return Self::Busy,
            _ => {}
        }
        if matches!(error.status(), Some(401 | 403)) || error.is_insufficient_funds() {
            return Self::OfBatch;
        }
        // A 502 for a URL in the body, such as one of an attachment, is not an overload.
        let is_transient =
            error.is_retryable() && error.next_action() != Some(NextAction::FixInput);
        let is_overloaded = matches!(error.status(), Some(502..=504));
        if is_transient && (error.is_rate_limited() || is_overloaded) {
            return Self::Busy;
        }
        if error.is_unreachable() && !error.may_have_been_sent() {
            return Self::OfBatch;
        }
        Self::OfItem
    }
}
