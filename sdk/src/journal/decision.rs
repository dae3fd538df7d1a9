//! The decision about a submission whose entries were read: send, send again, return or refuse. No I/O.

use std::sync::Arc;
use std::time::Duration;

use super::error::UndecidedReason;
use super::fingerprint::Fingerprint;
use super::record::{Facts, Intent};
use super::store::Phase;

/// What to do about a submission whose request was accepted before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reuse {
    /// Return the handle of what was submitted, however it ended. A later submit under the id that was
    /// refused or not sent changes nothing.
    #[default]
    ReturnExisting,
    /// Return the handle of what was submitted, unless it failed, was canceled, was skipped or expired:
    /// then submit again, which is paid for again.
    RetryUnsuccessful,
    /// Do as [`RetryUnsuccessful`](Self::RetryUnsuccessful), and submit another request under the id
    /// where that one failed, was canceled, was skipped or expired.
    ReplaceUnsuccessful,
    /// Continue a submission that a process began which has ended, and which was not acknowledged;
    /// otherwise submit anew. Several submissions can have one id, and their keys are random.
    ContinueAbandoned,
}

/// A submit as the journal sees it.
#[derive(Debug)]
pub(crate) struct JournaledRequest {
    pub(crate) submission_id: Option<String>,
    pub(crate) reuse: Reuse,
    /// The label of the account, empty if the client has none.
    pub(crate) account: Arc<str>,
    /// What is known before it is begun. Its key is a fresh one, or the one that the caller chose.
    pub(crate) facts: Facts,
    pub(crate) fingerprint: Fingerprint,
    /// Whether it creates a job, whose metadata can have the key.
    pub(crate) is_job: bool,
}

#[derive(Debug)]
pub(super) enum Decision {
    /// Begin that generation.
    Begin(u32),
    /// Send the request of the intent again, with its key.
    Resend(Box<Intent>),
    /// Return what was submitted.
    Return(Box<Intent>),
    /// Wait for the receipt, which another process is about to write.
    Wait(Box<Intent>),
    /// The intent belongs to another account.
    AccountChanged(Box<Intent>),
    /// The intent was begun for another request.
    Conflict(Box<Intent>),
    /// It cannot be told whether the request was carried out.
    Undecided(Box<Intent>, UndecidedReason),
}

/// Decides what is done about a submission with these intents, which are in the order of their
/// generations. `is_active` says whether this process is working on an intent.
pub(super) fn decide(
    intents: Vec<Intent>,
    request: &JournaledRequest,
    key_retention: Duration,
    is_active: impl Fn(&Intent) -> bool,
) -> Decision {
    let next = intents.last().map_or(1, |it| it.stored.generation + 1);
    let found = match request.reuse {
        Reuse::ContinueAbandoned => intents.into_iter().find(|intent| {
            let is_finished = intent.progress.is_acknowledged || is_released(intent);
            !is_finished && !intent.has_running_owner() && !is_active(intent)
        }),
        _ => intents.into_iter().rfind(|intent| !is_released(intent)),
    };
    let Some(intent) = found else { return Decision::Begin(next) };
    let intent = Box::new(intent);
    let progress = &intent.progress;
    let Some(facts) = intent.readable_facts() else {
        return Decision::Undecided(intent, UndecidedReason::NewerVersion);
    };
    let is_same_account =
        facts.origin == request.facts.origin && facts.api_key == request.facts.api_key;
    // With a label, base URL and API key do not identify the account.
    if request.account.is_empty() && !is_same_account {
        return Decision::AccountChanged(intent);
    }
    let is_same_request = facts.is_same_request(&request.fingerprint);
    let may_begin = match request.reuse {
        Reuse::RetryUnsuccessful => is_same_request,
        Reuse::ReplaceUnsuccessful => true,
        Reuse::ReturnExisting | Reuse::ContinueAbandoned => false,
    };
    if may_begin && is_unsuccessful(&intent) {
        return Decision::Begin(next);
    }
    if !is_same_request {
        return Decision::Conflict(intent);
    }
    if progress.accepted.is_some() {
        return Decision::Return(intent);
    }
    // A task of this process that adopts orphans does not hold the lock of the submission.
    let is_running = intent.has_running_owner() || is_active(&intent);
    if is_running && !progress.accepted_without_id {
        return Decision::Wait(intent);
    }
    let has_left_open = intent.stored.phase != Phase::Open;
    match undecided_reason(&intent, key_retention) {
        // The store refuses to write another attempt.
        None if has_left_open => Decision::Begin(next),
        Some(UndecidedReason::CallAgain) if has_left_open => {
            Decision::Undecided(intent, UndecidedReason::Closed)
        }
        None | Some(UndecidedReason::CallAgain) => Decision::Resend(intent),
        Some(reason) => Decision::Undecided(intent, reason),
    }
}

/// Returns why it is unknown whether an intent without an id was carried out, or `None` if it is
/// known that it was not.
pub(super) fn undecided_reason(
    intent: &Intent,
    key_retention: Duration,
) -> Option<UndecidedReason> {
    let Some(facts) = intent.readable_facts() else { return Some(UndecidedReason::NewerVersion) };
    if intent.progress.accepted_without_id {
        Some(UndecidedReason::AcceptedWithoutId)
    } else if intent.progress.nothing_ran {
        None
    } else if !facts.is_key_documented {
        Some(UndecidedReason::KeyNotDocumented)
    } else if facts.is_key_permanent || intent.age().is_some_and(|age| age < key_retention) {
        Some(UndecidedReason::CallAgain)
    } else {
        // A clock that was set back says nothing of the age.
        Some(UndecidedReason::KeyExpired)
    }
}

/// Whether nothing was carried out. A receipt counts more: it may arrive after a person settled
/// that there is none.
fn is_released(intent: &Intent) -> bool {
    let is_released = intent.stored.phase == Phase::Released || intent.progress.released.is_some();
    is_released && intent.progress.accepted.is_none()
}

fn is_unsuccessful(intent: &Intent) -> bool {
    let ended = intent.progress.ended.as_ref();
    ended.is_some_and(|ended| {
        matches!(ended.status.as_str(), "failed" | "canceled" | "skipped" | "expired")
    })
}

#[cfg(test)]
#[path = "decision_table.rs"]
mod table;
