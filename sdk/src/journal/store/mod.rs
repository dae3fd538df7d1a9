//! What a store of a journal has to do, for those who write one.
//!
//! An application needs none of this: it names a store in [`Journal`](super::Journal), such as a folder.
//! `MemoryStore`, `FileStore` and `svc-journal-postgres` are examples.

mod budget;
mod change;
mod error;
mod intent;
mod owner_calls;

use std::fmt;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

pub use self::budget::{BudgetTotals, Hold, Reservation};
pub use self::change::{Change, Phase};
pub use self::error::StoreError;
pub(super) use self::intent::found;
pub use self::intent::{
    IntentId, IntentPage, ListFilter, NewIntent, Owner, StoredIntent, StoredRecord, SubmissionKey,
};
pub use self::owner_calls::OwnerCalls;
pub(super) use self::owner_calls::may_succeed_later;

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

    /// Returns what is known of this owner's calls in its process, which is the same for all clones of the
    /// store. A store without clones needs none of its own.
    fn owner_calls(&self) -> OwnerCalls {
        OwnerCalls::default()
    }

    /// Returns for how long an owner that was killed is [`Owner::Other`] before it is [`Owner::Gone`]. The
    /// default is zero: its end is noticed at once, and a running owner is never reported as gone.
    ///
    /// Otherwise an owner that was stopped can be taken for a gone one. [`begin`](Self::begin), and an
    /// [`append`](Self::append) that only the owner may do, then succeed only if the owner cannot become
    /// [`Owner::Gone`] for at least half of this time. A request must leave within a third of this time;
    /// otherwise it is written again before it is sent.
    fn owner_timeout(&self) -> Duration {
        Duration::ZERO
    }
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
