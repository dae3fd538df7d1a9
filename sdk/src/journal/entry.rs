//! The entries of a journal, and how to find, settle and acknowledge them.

use std::collections::VecDeque;
use std::time::SystemTime;

use serde_json::{Map, Value};

use super::active_intent::{captured, change, released, reserved};
use super::decision::undecided_reason;
use super::error::UndecidedReason;
use super::record::{Ended, Intent, Receipt, Record, ReleaseReason, ResourceKind};
use super::store::{IntentId, ListFilter, Owner, Phase, StoreError, StoredIntent, SubmissionKey};
use super::{Journal, in_time};
use crate::contract::Operation;
use crate::error::Result;
use crate::types::{IdempotencyKey, Usd};

/// A submission, as its journal shows it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The identifier of the intent.
    pub id: IntentId,
    /// The id that the application gave.
    pub submission_id: Option<String>,
    /// The label of the account, empty if it has none.
    pub account: String,
    /// The generation, from 1: how often it was submitted anew under its id.
    pub generation: u32,
    /// The operation, or `None` if this version does not know it.
    pub operation: Option<Operation>,
    /// The percent-encoded path of the request, empty if it is not known.
    pub path: String,
    /// The base URL that it was sent to.
    pub base_url: String,
    /// The fingerprint of the API key that pays.
    pub api_key_fingerprint: Option<String>,
    /// The idempotency key, if it can be read.
    pub idempotency_key: Option<IdempotencyKey>,
    /// What it was expected to cost at most, if that is known.
    pub estimate_usd: Option<Usd>,
    /// What was charged, as far as the receipt or the outcome says so.
    pub charge_usd: Option<Usd>,
    /// The name of the spend limit that it has reserved an amount of.
    pub budget: Option<String>,
    /// When it was begun.
    pub begun_at: SystemTime,
    /// When the last record was written.
    pub updated_at: SystemTime,
    /// What the service made of it, and its id.
    pub resource: Option<(ResourceKind, String)>,
    /// The request that was answered with the receipt.
    pub request_id: Option<String>,
    /// What became of it.
    pub state: EntryState,
    /// Whether the last attempt proved that nothing ran.
    pub nothing_ran: bool,
    /// Whether the application has acknowledged the outcome.
    pub is_acknowledged: bool,
    /// Whether a process is working on it, as far as is known.
    pub is_running: bool,
    /// What the application noted about it.
    pub notes: Map<String, Value>,
}

impl Entry {
    /// Returns what was charged, or else what it was expected to cost.
    #[must_use]
    pub fn price_usd(&self) -> Option<Usd> {
        self.charge_usd.or(self.estimate_usd)
    }
}

/// What became of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryState {
    /// It has no receipt, and the process that submits it is running.
    InProgress,
    /// It has no receipt, and its process is gone.
    Undecided(UndecidedReason),
    /// The last attempt proved that nothing ran, and its process has ended. It can be submitted again.
    NotSent,
    /// The service accepted it.
    Accepted,
    /// It ended with that status, in the service's words.
    Ended(String),
    /// Nothing was carried out, and it can be submitted anew.
    Released(ReleaseReason),
}

/// The outcome of a submission that was unknown, as a person or a program found it out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Settled {
    /// It was not carried out. The submission can be submitted anew.
    NotExecuted,
    /// It was carried out.
    Executed {
        /// What it made.
        kind: ResourceKind,
        /// The id of that.
        id: String,
        /// What the service charged. If it is not known, a spend limit counts what was reserved.
        charge_usd: Option<Usd>,
    },
}

/// The submissions of a journal, oldest first.
#[derive(Debug)]
pub struct Entries(Intents);

impl Entries {
    /// Returns the next entry, or `None` after the last.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn next(&mut self) -> Option<Result<Entry>> {
        let intent = self.0.next().await?;
        Some(intent.map(|intent| self.0.journal.entry(&intent)))
    }
}

const PAGE_SIZE: usize = 500;

/// The intents of a journal's namespace, oldest first.
#[derive(Debug)]
pub(super) struct Intents {
    pub(super) journal: Journal,
    filter: ListFilter,
    page: VecDeque<StoredIntent>,
    is_last: bool,
}

impl Intents {
    /// Creates the intents that are not acknowledged or released and made that resource.
    pub(super) fn of_resource(journal: &Journal, id: &str) -> Self {
        let mut intents = Self::new(journal, false);
        intents.filter.resource = Some(id.to_owned());
        intents
    }

    /// Creates the intents that are not acknowledged or released, or with `include_closed` all of them.
    pub(super) fn new(journal: &Journal, include_closed: bool) -> Self {
        Self {
            journal: journal.clone(),
            filter: ListFilter {
                namespace: Some(journal.namespace.to_string()),
                include_closed,
                limit: PAGE_SIZE,
                ..ListFilter::default()
            },
            page: VecDeque::new(),
            is_last: false,
        }
    }

    pub(super) async fn next(&mut self) -> Option<Result<Intent>> {
        while self.page.is_empty() && !self.is_last {
            match in_time(self.journal.shared.store.list(&self.filter)).await {
                Ok(page) => {
                    self.is_last = page.next.is_none();
                    self.filter.after = page.next;
                    self.page = page.intents.into();
                }
                Err(error) => {
                    self.is_last = true;
                    return Some(Err(error.into()));
                }
            }
        }
        self.page.pop_front().map(|it| Ok(Intent::read(it)))
    }
}

impl Journal {
    /// Returns the submissions of the namespace, oldest first.
    #[must_use]
    pub fn entries(&self) -> Entries {
        Entries(Intents::new(self, true))
    }

    /// Returns those of them that are neither acknowledged nor released, oldest first.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> svc_sdk::Result<()> {
    /// use svc_sdk::journal::{EntryState, Journal};
    ///
    /// let journal = Journal::in_memory();
    /// let mut entries = journal.unacknowledged_entries();
    /// while let Some(entry) = entries.next().await {
    ///     let entry = entry?;
    ///     if let EntryState::Undecided(reason) = &entry.state {
    ///         println!("{:?}: {reason:?}", entry.submission_id);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn unacknowledged_entries(&self) -> Entries {
        Entries(Intents::new(self, false))
    }

    /// Returns the newest submission under an id, of the account with that label (empty for none).
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn find(&self, account: &str, submission_id: &str) -> Result<Option<Entry>> {
        let key = self.key(account, submission_id);
        let found = in_time(self.shared.store.get(&key)).await?;
        let newest = found.into_iter().last();
        Ok(newest.map(|intent| self.entry(&Intent::read(intent))))
    }

    /// Makes this process the one that works on a submission, and returns whether it is: another process
    /// may have taken it over.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn claim(&self, id: &IntentId) -> Result<bool> {
        let intent = self.claim_stored(id).await?;
        Ok(intent.is_some_and(|intent| intent.owner == Owner::This))
    }

    /// Claims an intent if its owner is gone, and returns it as it is then.
    ///
    /// What could not be written before is written first, or refused: another process may have had the
    /// intent since, and sent what this one never sent.
    pub(super) async fn claim_stored(
        &self,
        id: &IntentId,
    ) -> Result<Option<StoredIntent>, StoreError> {
        self.write_unwritten().await?;
        in_time(self.shared.store.claim(id)).await
    }

    /// Claims an intent if its owner is gone, and reads it.
    pub(super) async fn claimed(&self, id: &IntentId) -> Result<Intent, StoreError> {
        let intent = self.claim_stored(id).await?;
        intent.map(Intent::read).ok_or_else(StoreError::not_found)
    }

    /// Records what became of a submission whose outcome was unknown, as a person or a program found it
    /// out.
    ///
    /// ```
    /// # #[cfg(feature = "testing")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> svc_sdk::Result<()> {
    /// use svc_sdk::contract::Operation;
    /// use svc_sdk::journal::{Journal, JournalError, Settled};
    /// use svc_sdk::testing::{Answer, ScriptedService};
    /// use svc_sdk::{developer, types::Music1Generate};
    ///
    /// let job = serde_json::json!({"job": {"id": "job_1", "status": "queued"}});
    /// let service = ScriptedService::new()
    ///     .answer(Operation::Music1Generate, Answer::connection_reset())
    ///     .answer(Operation::Music1Generate, job);
    /// let journal = Journal::in_memory();
    /// let client: developer::Client = service.builder()?.journal(journal.clone()).build()?;
    /// let submit = || client.music().generate(Music1Generate::new("jazz")).submission_id("order-1");
    ///
    /// // The answer was lost, and the service does not document that it recognizes the key.
    /// assert!(submit().await.unwrap_err().is_ambiguous());
    /// let error = submit().await.unwrap_err();
    /// let Some(JournalError::Undecided(undecided)) = error.journal() else { panic!("{error}") };
    ///
    /// // A look at the list of jobs shows that there is none.
    /// journal.settle(&undecided.id, Settled::NotExecuted).await?;
    /// assert_eq!(submit().await?.id().as_str(), "job_1");
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "testing"))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails, if this or another process is working on the submission, or
    /// if its outcome is known by now.
    pub async fn settle(&self, id: &IntentId, settled: Settled) -> Result<()> {
        let intent = self.claimed(id).await?;
        let stored = &intent.stored;
        if stored.owner != Owner::This || stored.phase != Phase::Open || self.is_active(id) {
            return Err(StoreError::not_owner().into());
        }
        let change = match settled {
            Settled::NotExecuted => released(ReleaseReason::Settled, None),
            Settled::Executed { kind, id, charge_usd } => {
                let accepted =
                    Record::Accepted(Receipt { kind, id, request_id: None, price_usd: charge_usd });
                captured(&accepted, reserved(&intent), charge_usd)
            }
        };
        Ok(in_time(self.shared.store.append(id, &change)).await?)
    }

    /// Records how what was submitted ended, as a webhook event or another process says. `charge_usd`
    /// is what it cost, if that is known.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails, or if another process is working on the submission and has
    /// no receipt yet.
    pub async fn record_end(
        &self,
        id: &IntentId,
        status: &str,
        charge_usd: Option<Usd>,
    ) -> Result<()> {
        let ended = Record::Ended(Ended { status: status.to_owned(), charge_usd });
        let intent = self.claimed(id).await?;
        let change = captured(&ended, reserved(&intent), charge_usd);
        Ok(in_time(self.shared.store.append(id, &change)).await?)
    }

    /// Acknowledges the outcome of a submission: it is not [recovered](crate::Client::recover) any
    /// more.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails, or if the outcome is not known and another process is
    /// working on the submission.
    pub async fn acknowledge(&self, id: &IntentId) -> Result<()> {
        self.claim_stored(id).await?;
        let change = change(&Record::Acknowledged);
        Ok(in_time(self.shared.store.append(id, &change)).await?)
    }

    pub(super) fn key(&self, account: &str, submission_id: &str) -> SubmissionKey {
        SubmissionKey {
            namespace: self.namespace.to_string(),
            account: account.to_owned(),
            submission_id: submission_id.to_owned(),
        }
    }

    pub(super) fn entry(&self, intent: &Intent) -> Entry {
        let stored = &intent.stored;
        let facts = intent.facts.as_ref();
        let progress = &intent.progress;
        let accepted = progress.accepted.as_ref();
        let price = accepted.and_then(|it| it.price_usd);
        let charge = progress.ended.as_ref().and_then(|it| it.charge_usd);
        let updated_at = stored.records.last().map_or(stored.begun_at, |it| it.at);
        Entry {
            id: stored.id.clone(),
            submission_id: stored.submission_id.clone(),
            account: stored.account.clone(),
            generation: stored.generation,
            operation: intent.operation(),
            path: facts.map(|it| it.path.clone()).unwrap_or_default(),
            base_url: facts.map(|it| it.origin.clone()).unwrap_or_default(),
            api_key_fingerprint: facts.and_then(|it| it.api_key.clone()),
            idempotency_key: facts.map(|it| it.idempotency_key.clone()),
            estimate_usd: facts.and_then(|it| it.price_usd),
            charge_usd: charge.or(price),
            budget: stored.budget.clone(),
            begun_at: intent.begun_at(),
            updated_at,
            resource: accepted.map(|it| (it.kind, it.id.clone())),
            request_id: accepted.and_then(|it| it.request_id.clone()),
            state: self.state(intent),
            nothing_ran: progress.nothing_ran,
            is_acknowledged: progress.is_acknowledged,
            is_running: intent.has_running_owner() || self.is_active(&stored.id),
            notes: facts.map(|it| it.notes.clone()).unwrap_or_default(),
        }
    }

    fn state(&self, intent: &Intent) -> EntryState {
        let progress = &intent.progress;
        if let Some(released) = &progress.released
            && progress.accepted.is_none()
        {
            return EntryState::Released(released.reason);
        }
        if let Some(ended) = &progress.ended {
            return EntryState::Ended(ended.status.clone());
        }
        if progress.accepted.is_some() {
            return EntryState::Accepted;
        }
        let is_running = intent.has_running_owner() || self.is_active(&intent.stored.id);
        match undecided_reason(intent, self.key_retention) {
            Some(UndecidedReason::AcceptedWithoutId) => {
                EntryState::Undecided(UndecidedReason::AcceptedWithoutId)
            }
            _ if is_running && intent.stored.phase == Phase::Open => EntryState::InProgress,
            Some(reason) => EntryState::Undecided(reason),
            None => EntryState::NotSent,
        }
    }
}
