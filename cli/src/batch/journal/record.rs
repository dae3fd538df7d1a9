//! What the journal says about the items of a batch.

use std::collections::HashMap;
use std::fmt;
use std::iter::Sum;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};
use svc_sdk::contract::{Operation, RunStatus};
use svc_sdk::journal::{self, EntryState, ResourceKind, UndecidedReason};
use svc_sdk::types::{IdempotencyKey, Usd};

use super::{
    BASE_URL, BUDGET, DOWNLOAD_FAILED, HASH, ItemEnd, Journal, KEY_FINGERPRINT, Note, Quota,
    Status, Stored, VERSION,
};
use crate::args::SurfaceChoice;
use crate::error::Result;
use crate::output::values::money;
use crate::resource::ResourceId;
use crate::text::counted;

/// The contents of a journal: records of items, by the hashes of their ids, and write quotas.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) items: HashMap<u128, Record>,
    pub(crate) quotas: HashMap<SurfaceChoice, Quota>,
    /// The intents whose requests were never sent, or proved that nothing ran.
    not_sent: Vec<journal::IntentId>,
    /// Whether a charge was above its estimate while there was a limit.
    pub(crate) is_overcharged: bool,
    pub(crate) names_files_by_id: bool,
    /// The folder that the files of completed items belong into, if they are downloaded.
    folder: Option<PathBuf>,
}

impl Records {
    pub(crate) async fn read(journal: &Journal, folder: Option<&Path>) -> Result<Self> {
        let mut records = Self { folder: folder.map(Path::to_owned), ..Self::default() };
        journal.read(|stored| records.apply(stored)).await?;
        records.is_overcharged |= journal.submissions.budget(BUDGET).await?.is_stopped;
        Ok(records)
    }

    /// Returns the operations that items were submitted with, by the hashes of their ids.
    pub(crate) fn operations(&self) -> HashMap<u128, Operation> {
        let items = self.items.iter();
        items.filter_map(|(id, record)| Some((*id, record.operation?))).collect()
    }

    /// Frees the items whose requests were never carried out, so that their lines may change.
    pub(crate) async fn release_not_sent(&mut self, journal: &Journal) -> Result {
        for id in self.not_sent.drain(..) {
            let settled = journal::Settled::NotExecuted;
            journal.submissions.settle(&id, settled).await?;
        }
        Ok(())
    }

    fn apply(&mut self, stored: Stored) {
        match stored {
            Stored::Note(Note::Outcome(outcome)) => {
                let record = self.items.entry(hash_id(&outcome.id)).or_default();
                record.apply_outcome(&outcome, self.folder.as_deref());
            }
            Stored::Note(Note::Quota(quota)) => {
                if let Some(operation) = Operation::from_name(&quota.operation) {
                    self.quotas.insert(SurfaceChoice::of(operation.surface()), quota);
                }
            }
            Stored::Note(Note::Overcharged {}) => self.is_overcharged = true,
            Stored::Note(Note::Batch { version, .. }) => {
                self.names_files_by_id |= version < VERSION;
            }
            Stored::Note(Note::OverBudget { .. }) => {}
            Stored::Submission(entry) => {
                if entry.state == EntryState::NotSent {
                    self.not_sent.push(entry.id.clone());
                }
                let id = entry.submission_id.as_deref().unwrap_or_default();
                self.items.entry(hash_id(id)).or_default().apply_submission(&entry);
            }
        }
    }
}

/// Returns what stands for the id of an item: the texts of all would take too much memory.
pub(crate) fn hash_id(id: &str) -> u128 {
    let digest = Sha256::digest(id.as_bytes());
    let bytes = digest.first_chunk::<16>().copied().unwrap_or_default();
    u128::from_be_bytes(bytes)
}

/// An item in the journal. Its outcome is applied before its submissions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    noted: Option<Noted>,
    /// The generation of the latest submission, or 0 if there is none.
    pub(crate) generation: u32,
    /// The latest submission, unless it is finished or was not carried out.
    pub(crate) attempt: Option<Box<Attempt>>,
    /// Whether the job or run ended with a status that this version does not know.
    pub(crate) has_unknown_status: bool,
    /// Whether the latest submission is known to have ended without a charge.
    is_free: bool,
    pub(crate) hash: Option<u64>,
    /// The operation of the latest submission.
    pub(crate) operation: Option<Operation>,
    /// What is spent by all submissions. A finished run whose spend cannot be read counts with its cap.
    pub(crate) spent: Spent,
    pub(crate) committed: Usd,
    /// The part of it that the budget does not know, as there was no limit.
    pub(crate) outside_budget: Usd,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Noted {
    status: Status,
    generation: u32,
    is_correctable: bool,
    has_missing_files: bool,
    /// Whether it completed, and its files are to be downloaded now.
    lacks_files: bool,
    /// Whether it failed, and was to be submitted again, which it was not.
    is_unsent_retry: bool,
}

/// A submission whose outcome is unknown, or whose job or run has not ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attempt {
    pub(crate) key: IdempotencyKey,
    pub(crate) base_url: String,
    pub(crate) key_fingerprint: String,
    /// Its part of [`Record::spent`].
    pub(crate) spent: Spent,
    /// What was submitted, once it is known.
    pub(crate) resource: Option<ResourceId>,
    /// Whether the service recognizes the key, so that the request can be sent again.
    pub(crate) is_repeatable: bool,
}

impl Record {
    /// Returns whether the outcome is that of a retry that was not sent, which changes nothing.
    pub(crate) fn apply_outcome(&mut self, outcome: &ItemEnd, folder: Option<&Path>) -> bool {
        let result = &outcome.result;
        let before = self.noted.filter(|noted| noted.generation == outcome.generation);
        let has_failed =
            before.is_some_and(|noted| noted.is_unsent_retry || noted.status.has_failed());
        let is_unsent_retry = result.status == Status::NotSubmitted && has_failed;
        self.noted = Some(Noted {
            is_unsent_retry,
            status: result.status,
            generation: outcome.generation,
            is_correctable: result.status == Status::Failed && result.is_rejection(),
            has_missing_files: result.error_text("code") == Some(DOWNLOAD_FAILED),
            lacks_files: folder.is_some_and(|folder| result.lacks_files_in(folder)),
        });
        is_unsent_retry
    }

    pub(crate) fn apply_submission(&mut self, entry: &journal::Entry) {
        self.generation = entry.generation;
        self.has_unknown_status = has_unknown_status(entry);
        let has_ended = matches!(entry.state, EntryState::Ended(_)) && entry.resource.is_some();
        self.is_free = has_ended && entry.charge_usd == Some(Usd::ZERO);
        if is_not_executed(&entry.state) {
            (self.attempt, self.hash) = (None, None);
            return;
        }
        let text = |name| entry.notes.get(name).and_then(Value::as_str);
        self.hash = text(HASH).and_then(|hash| u64::from_str_radix(hash, 16).ok());
        self.operation = entry.operation;
        let known = entry.price_usd().unwrap_or_default();
        let spent = spent_by(entry);
        self.spent.replace(Spent::default(), spent);
        add(&mut self.committed, known);
        if entry.budget.is_none() {
            add(&mut self.outside_budget, known);
        }
        if entry.resource.is_some()
            && let Some(noted) = &mut self.noted
        {
            // The request itself was accepted.
            noted.is_correctable &= noted.generation != entry.generation;
        }
        let is_finished = self.current().is_some_and(|noted| {
            let is_terminal = noted.status == Status::Completed || noted.status.has_failed();
            let is_complete = !noted.has_missing_files && !noted.lacks_files;
            noted.is_unsent_retry || (is_terminal && is_complete)
        });
        self.attempt = entry.idempotency_key.clone().filter(|_| !is_finished).map(|key| {
            Box::new(Attempt {
                key,
                base_url: text(BASE_URL).unwrap_or_default().to_owned(),
                key_fingerprint: text(KEY_FINGERPRINT).unwrap_or_default().to_owned(),
                spent,
                resource: resource_id(entry),
                is_repeatable: matches!(
                    entry.state,
                    EntryState::Undecided(UndecidedReason::CallAgain)
                ),
            })
        });
    }

    /// Returns whether the latest job or run has failed, or was canceled, and is not charged.
    pub(crate) fn is_replaceable(&self) -> bool {
        let has_failed = self.current().is_some_and(|noted| {
            noted.is_unsent_retry || matches!(noted.status, Status::Failed | Status::Canceled)
        });
        has_failed && self.is_free && !self.has_unknown_status
    }

    pub(crate) fn status(&self) -> Option<Status> {
        self.current().map(|noted| noted.status)
    }

    pub(crate) fn needs_correction(&self) -> bool {
        self.current().is_some_and(|noted| noted.is_correctable)
    }

    pub(crate) fn has_missing_files(&self) -> bool {
        self.current().is_some_and(|noted| noted.has_missing_files)
    }

    fn current(&self) -> Option<&Noted> {
        let noted = self.noted.as_ref();
        noted.filter(|noted| noted.generation == self.generation)
    }
}

pub(crate) fn is_not_executed(state: &EntryState) -> bool {
    matches!(state, EntryState::Released(_) | EntryState::NotSent)
}

/// It may have been a success, so the request is not sent again.
pub(crate) fn has_unknown_status(entry: &journal::Entry) -> bool {
    match &entry.state {
        EntryState::Ended(status) => {
            matches!(RunStatus::from(status.as_str()), RunStatus::Other(_))
        }
        _ => false,
    }
}

pub(crate) fn spent_by(entry: &journal::Entry) -> Spent {
    let cost = match &entry.state {
        state if is_not_executed(state) || entry.nothing_ran => Some(Usd::ZERO),
        EntryState::Ended(_) => entry.price_usd(),
        _ => entry.charge_usd,
    };
    cost.into()
}

/// Returns what was submitted, if that is known.
pub(crate) fn resource_id(entry: &journal::Entry) -> Option<ResourceId> {
    let (kind, id) = entry.resource.as_ref()?;
    Some(match kind {
        ResourceKind::Job => ResourceId::Job(id.clone()),
        _ => ResourceId::Run(id.clone()),
    })
}

fn add(sum: &mut Usd, amount: Usd) {
    *sum = sum.checked_add(amount).unwrap_or(*sum);
}

/// What was spent, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub(crate) usd: Usd,
    /// The number of submissions whose cost is not known.
    unknown: u32,
}

impl Spent {
    /// Returns the amount, unless nothing of it is known.
    pub(crate) fn known(self) -> Option<Usd> {
        (self.usd != Usd::ZERO || self.unknown == 0).then_some(self.usd)
    }

    /// Puts what is known now of a submission in the place of what was known before.
    pub(crate) fn replace(&mut self, before: Self, now: Self) {
        let usd = self.usd.checked_add(now.usd).and_then(|usd| usd.checked_sub(before.usd));
        self.usd = usd.unwrap_or(self.usd);
        self.unknown = self.unknown.saturating_add(now.unknown).saturating_sub(before.unknown);
    }
}

impl From<Option<Usd>> for Spent {
    fn from(cost: Option<Usd>) -> Self {
        Self { usd: cost.unwrap_or_default(), unknown: u32::from(cost.is_none()) }
    }
}

impl Sum for Spent {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let mut sum = Self::default();
        all.for_each(|spent| sum.replace(Self::default(), spent));
        sum
    }
}

/// `$0.15`, or `$0.15 and an unknown amount for 2 items`.
impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(usd) = self.known() {
            f.write_str(&money(usd))?;
        }
        if self.unknown > 0 {
            let and = if self.known().is_some() { " and " } else { "" };
            let items = counted(usize::try_from(self.unknown).unwrap_or_default(), "item");
            write!(f, "{and}an unknown amount for {items}")?;
        }
        Ok(())
    }
}
