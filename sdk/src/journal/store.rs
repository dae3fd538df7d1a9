//! The store of a journal: what a database or a folder of files has to do.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::types::Usd;

/// The future of a [`Store`]'s method.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Where a journal keeps its intents.
///
/// A store only stores: it does not read the JSON of facts and records, and decides nothing but what
/// has to be atomic. `MemoryStore` and `FileStore` implement it; `svc-journal-postgres` does so for PostgreSQL.
///
/// Each instance is one owner, such as a process. An intent belongs to the owner that began or
/// claimed it, until that owner is gone. How a store finds out that an owner is gone is its own
/// affair: files are locked, rows have a heartbeat. Taking a running owner for a gone one is safe: at
/// worst, a request is sent again with the same key, or reported as undecided.
///
/// What a method has written is durable when its future ends. A method whose future is dropped may
/// have written or not.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// Writes a new intent and its reservation in one step, for this owner.
    ///
    /// Refused, without writing anything, if its submission has an intent of the same or of a later
    /// generation, or else if the reservation would exceed the limit of its budget. If an intent with
    /// that id exists, an earlier call has written it: its answer is repeated.
    fn begin<'a>(&'a self, intent: &'a NewIntent) -> StoreFuture<'a, Begun>;

    /// Adds a record to an intent, if [`Change::is_allowed`].
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::not_owner`] if the change is not allowed, and [`StoreError::not_found`] if
    /// the store does not have the intent.
    fn append<'a>(&'a self, id: &'a IntentId, change: &'a Change) -> StoreFuture<'a, ()>;

    /// Returns the intents of a submission that are [`Open`](Phase::Open),
    /// [`Accepted`](Phase::Accepted) or [`Ended`](Phase::Ended), the newest in any case, and the newest
    /// that is not [`Released`](Phase::Released) or was ever changed to [`Accepted`](Phase::Accepted),
    /// by ascending generation.
    fn get<'a>(&'a self, submission: &'a SubmissionKey) -> StoreFuture<'a, Vec<StoredIntent>>;

    /// Makes this owner the owner of an intent whose owner is gone, in whatever phase. Returns the
    /// intent as it is then, or `None` if the store does not have it. Its owner is [`Owner::This`], or
    /// [`Owner::Other`] if that one is not gone.
    fn claim<'a>(&'a self, id: &'a IntentId) -> StoreFuture<'a, Option<StoredIntent>>;

    /// Lists intents in the order in which they were begun.
    fn list<'a>(&'a self, filter: &'a ListFilter) -> StoreFuture<'a, IntentPage>;

    /// Returns the sums of a budget, which are zero if nothing was reserved of it.
    fn budget<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, BudgetTotals>;

    /// Removes the intents in the phases [`Ended`](Phase::Ended), [`Acknowledged`](Phase::Acknowledged)
    /// and [`Released`](Phase::Released) whose last record is older than that time and that are not
    /// permanent. The sums of their budgets stay. Returns how many were removed.
    fn purge(&self, older_than: SystemTime) -> StoreFuture<'_, u64>;

    /// Ends when another owner may have written something, or after a pause of at most a second.
    fn changed(&self) -> StoreFuture<'_, ()>;
}

/// The identifier of an intent: 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IntentId(String);

impl IntentId {
    /// Creates an identifier from a store's text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the identifier as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What identifies a named submission: its id within an account within a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubmissionKey {
    /// The namespace of the journal.
    pub namespace: String,
    /// The label of the account, empty if the client has none.
    pub account: String,
    /// The id that the application gave.
    pub submission_id: String,
}

/// An intent that is about to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIntent {
    /// Its identifier.
    pub id: IntentId,
    /// The namespace of the journal.
    pub namespace: String,
    /// The label of the account, empty if the client has none.
    pub account: String,
    /// The id that the application gave, or `None` for a submit without one.
    pub submission_id: Option<String>,
    /// The generation: one more than that of the newest intent of the submission, from 1.
    pub generation: u32,
    /// Whether it is never purged.
    pub is_permanent: bool,
    /// What the journal knows of the request, as JSON.
    pub facts: String,
    /// What is reserved of a budget.
    pub reservation: Option<Reservation>,
}

impl NewIntent {
    /// Returns what identifies its submission, or `None` if it has no id.
    pub(super) fn submission(&self) -> Option<SubmissionKey> {
        Some(SubmissionKey {
            namespace: self.namespace.clone(),
            account: self.account.clone(),
            submission_id: self.submission_id.clone()?,
        })
    }
}

/// An amount to be reserved of a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The name of the budget, which is one of the intent's namespace.
    pub budget: String,
    /// The amount.
    pub amount: Usd,
    /// What the sums of the budget must not exceed.
    pub limit: Usd,
}

/// The answer to [`Store::begin`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The intent was written, at that time of the store's clock.
    Written(SystemTime),
    /// The submission has an intent of that generation, or of a later one.
    GenerationTaken,
    /// The reservation does not fit, or the budget is stopped.
    OverBudget(BudgetTotals),
}

/// A change of an intent, made by [`Store::append`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What happened, as JSON.
    pub record: String,
    /// The new phase, or `None` if it stays. A store ignores a phase that is earlier than the present
    /// one, in the order of [`Phase`].
    pub phase: Option<Phase>,
    /// What the intent now holds of its budget, or `None` if that stays.
    pub hold: Option<Hold>,
    /// Whether the budget is stopped: nothing can be reserved of it any more.
    pub stops_budget: bool,
}

impl Change {
    /// Returns whether a store may make the change to an intent in that phase. `is_owner` says whether
    /// the owner that makes it has the intent.
    ///
    /// A receipt is never refused, whoever has the intent meanwhile. What says that a request is about to
    /// be sent, or that nothing was carried out, is refused as soon as the intent has another owner or
    /// is not open any more: a process that was taken for a dead one must neither send again nor
    /// release what was accepted.
    #[must_use]
    pub fn is_allowed(&self, phase: Phase, is_owner: bool) -> bool {
        match self.phase {
            Some(Phase::Accepted) => true,
            Some(Phase::Ended | Phase::Acknowledged) => is_owner || phase > Phase::Open,
            None | Some(Phase::Open | Phase::Released) => is_owner && phase == Phase::Open,
        }
    }

    /// Returns what an intent in that phase holds of its budget after the change. A receipt that comes
    /// after the end changes nothing.
    #[must_use]
    pub fn hold_after(&self, phase: Phase, hold: Hold) -> Hold {
        let is_late = self.phase == Some(Phase::Accepted)
            && matches!(phase, Phase::Ended | Phase::Acknowledged);
        self.hold.filter(|_| !is_late).unwrap_or(hold)
    }
}

/// The phase of an intent. The methods of [`Store`] say what it means for ownership, lists and removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It is not known whether the service accepted the request.
    Open,
    /// The service accepted it.
    Accepted,
    /// What was submitted has ended.
    Ended,
    /// The application has acknowledged the outcome.
    Acknowledged,
    /// Nothing was carried out.
    Released,
}

impl Phase {
    /// Returns whether the phase is [`Acknowledged`](Self::Acknowledged) or [`Released`](Self::Released).
    pub(super) fn is_closed(self) -> bool {
        self >= Self::Acknowledged
    }
}

/// Returns the intents of a submission that [`Store::get`] returns. Each comes with its phase and
/// whether it was ever changed to [`Phase::Accepted`], by ascending generation.
pub(super) fn found<T>(intents: Vec<(T, Phase, bool)>) -> Vec<T> {
    let newest = intents.len().checked_sub(1);
    let newest_executed = intents
        .iter()
        .rposition(|(_, phase, was_accepted)| *phase != Phase::Released || *was_accepted);
    let found = (0..).zip(intents).filter(|(index, (_, phase, _))| {
        !phase.is_closed() || Some(*index) == newest || Some(*index) == newest_executed
    });
    found.map(|(_, (intent, ..))| intent).collect()
}

/// What an intent holds of its budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// What it may yet cost.
    pub reserved: Usd,
    /// What it did cost.
    pub captured: Usd,
    /// What it may have cost: it is unknown whether it was carried out.
    pub undecided: Usd,
}

/// The sums of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetTotals {
    /// The sums of what its intents hold.
    pub hold: Hold,
    /// Whether it is stopped, because the service charged more than was reserved.
    pub is_stopped: bool,
}

impl Hold {
    /// Creates what an intent holds when it is begun.
    pub(super) fn of(reservation: Option<&Reservation>) -> Self {
        Self { reserved: reservation.map_or(Usd::ZERO, |it| it.amount), ..Self::default() }
    }
}

impl BudgetTotals {
    /// Changes the sums by what an intent of the budget held before and holds now.
    pub(super) fn replace(&mut self, before: Hold, now: Hold) {
        let change = |sum: &mut Usd, before: Usd, now: Usd| {
            let sum_of_others = sum.as_micros().saturating_sub(before.as_micros());
            *sum = Usd::from_micros(sum_of_others.saturating_add(now.as_micros()));
        };
        let sums = &mut self.hold;
        change(&mut sums.reserved, before.reserved, now.reserved);
        change(&mut sums.captured, before.captured, now.captured);
        change(&mut sums.undecided, before.undecided, now.undecided);
    }

    /// Returns whether the amount can be reserved within the limit.
    #[must_use]
    pub fn fits(&self, reservation: &Reservation) -> bool {
        let Hold { reserved, captured, undecided } = self.hold;
        let sum = reserved
            .checked_add(captured)
            .and_then(|sum| sum.checked_add(undecided))
            .and_then(|sum| sum.checked_add(reservation.amount));
        !self.is_stopped && sum.is_some_and(|sum| sum <= reservation.limit)
    }
}

/// An intent as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredIntent {
    /// Its identifier.
    pub id: IntentId,
    /// The namespace of the journal.
    pub namespace: String,
    /// The label of the account, empty if it has none.
    pub account: String,
    /// The id that the application gave.
    pub submission_id: Option<String>,
    /// The generation.
    pub generation: u32,
    /// What the journal knows of the request, as JSON.
    pub facts: String,
    /// What happened since, oldest first.
    pub records: Vec<StoredRecord>,
    /// When it was begun, by the store's clock.
    pub begun_at: SystemTime,
    /// When it was read, by the same clock.
    pub read_at: SystemTime,
    /// The phase.
    pub phase: Phase,
    /// Who has it.
    pub owner: Owner,
    /// The budget that it has reserved something of.
    pub budget: Option<String>,
    /// What it holds of its budget.
    pub hold: Hold,
}

/// A record of an intent, with the time of the store's clock at which it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// What happened, as JSON.
    pub record: String,
    /// When it was written.
    pub at: SystemTime,
}

/// The owner of an intent, as seen by a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This store.
    This,
    /// Another one, which is running as far as is known.
    Other,
    /// One that is gone.
    Gone,
}

/// Which intents [`list`](Store::list) returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Those of that namespace only.
    pub namespace: Option<String>,
    /// Those in the phases [`Acknowledged`](Phase::Acknowledged) and [`Released`](Phase::Released)
    /// as well.
    pub include_closed: bool,
    /// Those after that position: [`IntentPage::next`] of the page before.
    pub after: Option<String>,
    /// The maximum number of intents in the page.
    pub limit: usize,
}

impl ListFilter {
    /// Returns the position as a number, which is 0 at the start, for a store whose positions are numbers.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not a number.
    pub fn position(&self) -> Result<u64, StoreError> {
        match self.after.as_deref() {
            None => Ok(0),
            Some(text) => text.parse().map_err(|error| {
                StoreError::failed(format!("`{text}` is not a position in a list"), error)
            }),
        }
    }

    /// Returns whether it includes an intent.
    pub(super) fn includes(&self, namespace: &str, phase: Phase) -> bool {
        let is_namespace = self.namespace.as_deref().is_none_or(|it| it == namespace);
        is_namespace && (self.include_closed || !phase.is_closed())
    }
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntentPage {
    /// The intents, in the order in which they were begun.
    pub intents: Vec<StoredIntent>,
    /// The position after the last of them, or `None` on the last page.
    pub next: Option<String>,
}

/// Why a store did not do what it was asked for.
#[derive(Clone, Debug)]
pub struct StoreError(Reason);

#[derive(Clone, Debug)]
enum Reason {
    NotOwner,
    NotFound,
    Locked(String),
    Failed { what: String, source: Option<Arc<dyn StdError + Send + Sync>> },
}

impl StoreError {
    /// Creates the error of a change to an intent that belongs to another owner.
    #[must_use]
    pub fn not_owner() -> Self {
        Self(Reason::NotOwner)
    }

    /// Creates the error of a change to an intent that is not in the store.
    #[must_use]
    pub fn not_found() -> Self {
        Self(Reason::NotFound)
    }

    /// Creates the error of a store that only one process can open, and that another has opened.
    #[must_use]
    pub fn locked(what: impl Into<String>) -> Self {
        Self(Reason::Locked(what.into()))
    }

    /// Creates the error of a store that failed, such as "cannot write to `/var/lib/shop/svc`".
    #[must_use]
    pub fn failed(
        what: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self(Reason::Failed { what: what.into(), source: Some(Arc::from(source.into())) })
    }

    /// Creates the error of a store that failed, without a source.
    #[must_use]
    pub fn message(what: impl Into<String>) -> Self {
        Self(Reason::Failed { what: what.into(), source: None })
    }

    /// Returns whether the intent belongs to another owner.
    #[must_use]
    pub fn is_not_owner(&self) -> bool {
        matches!(self.0, Reason::NotOwner)
    }

    /// Returns whether the intent is not in the store.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self.0, Reason::NotFound)
    }

    /// Returns whether another process has opened a store that only one process can open.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        matches!(self.0, Reason::Locked(_))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::NotOwner => {
                f.write_str("another process works on the intent, or it is not open any more")
            }
            Reason::NotFound => f.write_str("the intent is not in the journal"),
            Reason::Locked(what) | Reason::Failed { what, .. } => f.write_str(what),
        }
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0 {
            Reason::Failed { source: Some(source), .. } => Some(source.as_ref()),
            _ => None,
        }
    }
}
