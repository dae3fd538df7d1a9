//! The errors of a journal.

use std::error::Error as StdError;
use std::fmt;

use super::store::{BudgetTotals, IntentId, Reservation, StoreError};
use crate::types::{IdempotencyKey, Usd};

/// A submit without a receipt.
///
/// The `reason` says whether making the same call again finds out what became of it
/// ([`UndecidedReason::CallAgain`]). Otherwise it is not sent again: look for it among the jobs or runs
/// of the service, by its price and time, or by its idempotency key where a list shows that, and record
/// what you found with [`Journal::settle`](super::Journal::settle).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undecided {
    /// The identifier of the intent.
    pub id: IntentId,
    /// The id that the application gave.
    pub submission_id: Option<String>,
    /// The idempotency key, if it can be read.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Why it is unknown.
    pub reason: UndecidedReason,
    /// What it was expected to cost, if that is known.
    pub price_usd: Option<Usd>,
    /// When it was begun.
    pub begun_at: std::time::SystemTime,
}

/// The error of a journal. The call that returns it has sent nothing; an earlier one may have.
#[derive(Debug)]
#[non_exhaustive]
pub enum JournalError {
    /// The store failed.
    Store(StoreError),
    /// Another request was submitted under this submission id.
    SubmissionConflict {
        /// The id that the application gave.
        submission_id: String,
        /// The intent of the other request.
        id: IntentId,
    },
    /// The submission was begun with another base URL or API key, and the client has no account label
    /// ([`with_account`](crate::Client::with_account)) that says that they are the same account.
    ///
    /// Use the earlier base URL and key, or go on with the job that
    /// [`Journal::find`](super::Journal::find) returns. A label that is added now is part of another
    /// submission: it is submitted, and paid for, again.
    AccountChanged {
        /// The id that the application gave.
        submission_id: String,
        /// The intent of the other account.
        id: IntentId,
    },
    /// Another process is submitting it, and had no receipt within the time limit of the call.
    SubmissionInProgress {
        /// The id that the application gave.
        submission_id: String,
        /// The intent of the other process.
        id: IntentId,
    },
    /// It is unknown whether it was carried out.
    Undecided(Box<Undecided>),
    /// It does not fit into the spend limit.
    OverBudget {
        /// The name of the limit.
        budget: String,
        /// What would have been reserved.
        amount: Usd,
        /// The limit.
        limit: Usd,
        /// The sums of the limit's budget.
        totals: BudgetTotals,
    },
    /// Its price is unknown, so that the spend limit cannot be enforced.
    NoPrice {
        /// What is missing.
        reason: &'static str,
    },
    /// It is expected to cost more than [`at_most`](crate::Call::at_most) allows.
    TooExpensive {
        /// The price or the cap.
        price: Usd,
        /// What is allowed.
        at_most: Usd,
    },
    /// Another process began the same generation, or took it over. The call begins again.
    GenerationTaken,
}

impl JournalError {
    /// Creates the error of what does not fit into its budget.
    pub(super) fn over_budget(reservation: &Reservation, totals: BudgetTotals) -> Self {
        Self::OverBudget {
            budget: reservation.budget.clone(),
            amount: reservation.amount,
            limit: reservation.limit,
            totals,
        }
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => write!(f, "the journal failed: {error}"),
            Self::SubmissionConflict { submission_id, .. } => {
                write!(f, "another request was submitted under the submission id `{submission_id}`")
            }
            Self::AccountChanged { submission_id, .. } => write!(
                f,
                "the submission `{submission_id}` was begun with another base URL or API key: use those, \
                or go on with the job that `Journal::find` returns"
            ),
            Self::SubmissionInProgress { submission_id, .. } => {
                write!(f, "another process is submitting `{submission_id}` and has no receipt yet")
            }
            Self::Undecided(undecided) => {
                write!(f, "it is unknown whether an earlier submit was carried out")?;
                f.write_str(match undecided.reason {
                    UndecidedReason::CallAgain => ": make the same call again to find out",
                    UndecidedReason::KeyNotDocumented => {
                        ": the service does not document idempotency keys for this operation"
                    }
                    UndecidedReason::KeyExpired => {
                        ": the service may have forgotten its idempotency key"
                    }
                    UndecidedReason::AcceptedWithoutId => {
                        ": it was accepted and charged, but the response had no readable id"
                    }
                    UndecidedReason::NewerVersion => ": its journal was written by a newer version",
                    UndecidedReason::Closed => {
                        ": it was acknowledged or recorded as ended before its receipt was known"
                    }
                })
            }
            Self::OverBudget { budget, totals, .. } if totals.is_stopped => write!(
                f,
                "the spend limit `{budget}` is stopped, as the service charged more than was \
                reserved: nothing more can be reserved from it"
            ),
            Self::OverBudget { budget, amount, limit, .. } => write!(
                f,
                "{amount} USD does not fit into the spend limit `{budget}` of {limit} USD"
            ),
            Self::NoPrice { reason } => {
                write!(f, "cannot enforce the spend limit: {reason}")
            }
            Self::TooExpensive { price, at_most } => {
                write!(
                    f,
                    "the submit can cost up to {price} USD, which is more than its limit of {at_most} USD"
                )
            }
            Self::GenerationTaken => f.write_str("another process works on the same submission"),
        }
    }
}

impl StdError for JournalError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Store(error) => error.source(),
            _ => None,
        }
    }
}

impl From<StoreError> for JournalError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Why a submit has no receipt, and what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UndecidedReason {
    /// Sending the request again with the same key finds out, and cannot pay twice. With a submission
    /// id, make the same call. Without one, pass the entry's key to
    /// [`Call::idempotency_key`](crate::Call::idempotency_key): a call without it is a new submit.
    CallAgain,
    /// The service does not document that it recognizes the idempotency key.
    KeyNotDocumented,
    /// The service may have forgotten the idempotency key.
    KeyExpired,
    /// The service accepted the request and charged it, with a response that has no readable id.
    AcceptedWithoutId,
    /// The journal was written by a newer version.
    NewerVersion,
    /// It was acknowledged, or recorded as ended, before its receipt was known. Under this submission id it is
    /// not sent any more.
    Closed,
}
