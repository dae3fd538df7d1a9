//! The journal: each submit is written down before it is sent, so that it is paid for once.
//!
//! A submit with a [`submission_id`](crate::Call::submission_id), such as an order number, is paid for
//! once, even if the process crashes and another one runs the same code again: the same call returns
//! the handle of what was submitted, or sends the request again with the same idempotency key, or says
//! that the outcome is unknown ([`JournalError::Undecided`]).
//!
//! ```no_run
//! use svc_sdk::journal::Journal;
//! use svc_sdk::open;
//! use svc_sdk::types::VideoGenerate;
//!
//! # async fn run(order: &str) -> svc_sdk::Result<()> {
//! let client = open::ClientBuilder::from_env()?
//!     .journal(Journal::create("/var/lib/shop/svc").await?)
//!     .build()?;
//! let body = VideoGenerate::new("auto").prompt("a red fox in snow");
//! let job = client.videos().generate(body).submission_id(order).await?;
//! let result = job.wait().await?;
//! // Store the result, then:
//! job.acknowledge().await?;
//! # Ok(())
//! # }
//! ```
//!
//! The same call again returns what was submitted, in this process and in the next one:
//!
//! ```
//! # #[cfg(feature = "testing")]
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> svc_sdk::Result<()> {
//! use svc_sdk::contract::Operation;
//! use svc_sdk::journal::{Journal, JournalError};
//! use svc_sdk::testing::ScriptedService;
//! use svc_sdk::{open, types::VideoGenerate};
//!
//! let job = serde_json::json!({"job": {"id": "job_1", "status": "queued"}});
//! let service = ScriptedService::new().answer(Operation::VideoGenerate, job);
//! let client: open::Client = service.builder()?.journal(Journal::in_memory()).build()?;
//! let submit = |prompt: &str| {
//!     let body = VideoGenerate::new("auto").prompt(prompt);
//!     client.videos().generate(body).submission_id("order-1")
//! };
//!
//! let first = submit("a red fox").await?;
//! let again = submit("a red fox").await?;
//! assert_eq!(again.id(), first.id());
//! assert_eq!(service.requests().len(), 1);
//!
//! // Another request under the same id is a mistake of the application.
//! let error = submit("a blue fox").await.unwrap_err();
//! assert!(matches!(error.journal(), Some(JournalError::SubmissionConflict { .. })));
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "testing"))]
//! # fn main() {}
//! ```
//!
//! # Terms
//!
//! - **Submission**: what the application wants to pay for once, identified by its submission id.
//! - **Intent**: the record of one request for it, written before the request is sent.
//! - **Generation**: 1 for the first intent of a submission, one more for each that submits it anew.
//! - **Receipt**: the service's response with the id of the job, run, queue or top-up.
//! - **Account**: a label that the application sets, such as a tenant
//!   ([`Client::with_account`](crate::Client::with_account)).
//! - **Owner**: the process that works on an intent.
//! - **Released**: nothing was carried out of the intent, so that the submission can be submitted anew.
//! - **Undecided**: the intent has no receipt and its owner is gone, so that it may have been carried out;
//!   [`Journal::settle`] records what was found out.
//! - **Acknowledged**: the application has stored the result, and needs the entry no longer.
//!
//! # What it protects
//!
//! - A process that ends at any moment, a response that is lost, a second process with the same
//!   submission: one job.
//! - Also operations whose idempotency the service does not document: they are not sent again unless
//!   it is certain that nothing ran.
//! - A journal that was lost or restored from a backup: the idempotency key is derived from namespace,
//!   account, submission id and generation, so that the service recognizes it for about a day,
//!   where it documents that ([`RetryClass::Key`](crate::contract::RetryClass::Key)). Elsewhere, and for a
//!   submission that was submitted anew after it was refused, only the journal protects.
//! - A process that is stopped (`SIGSTOP`, a suspended machine) before it sends the first byte of a request,
//!   for so long that another process takes over its submission. When it continues, it sends nothing, and
//!   returns what the other process submitted, or an error if it has no retry left: right before the first
//!   byte, it looks how long ago the journal was written. After a third of the store's [owner
//!   timeout](store::Store::owner_timeout), the journal is written again, which the store refuses if the
//!   process has lost the submission.
//!
//!   A submission is still paid for twice if all of this happens: the process is stopped between that look at
//!   the clock and the system call that sends, for longer than the owner timeout; the service does not document
//!   the idempotency key; and meanwhile a person has [settled](Journal::settle) it as not executed, and it was
//!   submitted again. For a request without a body, and with a [transport](crate::transport::Transport) of the
//!   program or of reqwest, the time that it takes to connect is part of that gap. Before you settle a
//!   submission, wait longer than a process can have been stopped.
//! - With [`Journal::search_jobs`], a job whose receipt was lost for longer than the service keeps keys is
//!   found in the list of jobs.
//!
//! [`Journal::purge`] forgets submissions that ended more than 90 days ago: the same submission id is then
//! a new submit, and is paid for again.
//!
//! A submit without an id is journaled as well, and [recovered](crate::Client::recover) after a crash,
//! but never matched with another one: two customers may want the same picture.
//!
//! An outcome is recorded by a wait, or from a verified webhook event
//! ([`Journal::record_event`]). Protection depends on neither.
//!
//! # Stores
//!
//! [`Journal::create`] and [`Journal::open`] keep the journal in a folder, which several processes of
//! one machine can share. `svc-journal-postgres` keeps it in PostgreSQL, for several machines. Bodies
//! are not stored, only hashes of them. [`store`] is for those who write a store of their own.

mod active_intent;
mod budget;
mod decision;
mod entry;
pub(crate) mod error;
mod file_store;
mod fingerprint;
mod import;
mod memory_store;
mod record;
mod recovery;
pub(crate) mod settlement;
mod start;
pub mod store;
#[doc(hidden)]
pub mod testing;
mod webhook_event;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::active_intent::ActiveIntent;
pub use self::budget::SpendLimit;
pub(crate) use self::decision::JournaledRequest;
pub use self::decision::Reuse;
pub use self::entry::{Entries, Entry, EntryState, Settled};
pub use self::error::{JournalError, Undecided, UndecidedReason};
pub use self::file_store::FileStore;
pub(crate) use self::fingerprint::{Fingerprint, key_fingerprint};
#[doc(hidden)]
pub use self::import::ImportedSubmission;
pub use self::memory_store::MemoryStore;
pub(crate) use self::record::{Facts, Receipt};
pub use self::record::{ReleaseReason, ResourceKind};
pub use self::recovery::{Recovered, Recovery, Skipped};
pub(crate) use self::start::{CostFuture, ExpectedCost, Start};
use self::store::OwnerCalls;
pub use self::store::{BudgetTotals, Hold, IntentId, Store, StoreError};
use crate::call::deadline::Deadline;
use crate::contract::limits::IDEMPOTENCY_RETENTION;
use crate::error::{Error, Result};
pub(crate) use crate::lock::lock;

/// How long the service is assumed to recognize an idempotency key, less ten minutes for the skew of
/// clocks and the time of retries.
pub(crate) const KEY_RETENTION: Duration =
    IDEMPOTENCY_RETENTION.saturating_sub(Duration::from_secs(600));
const ENTRY_RETENTION: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// How long a store may take to answer: one that hangs must not hold a call for ever.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);

/// A journal of submits. Clones share it.
///
/// See the [module](self) for what it does.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
    namespace: Arc<str>,
    key_retention: Duration,
    searches_jobs: bool,
}

struct Shared {
    store: Box<dyn Store>,
    calls: OwnerCalls,
}

impl Journal {
    /// Creates a journal in that store.
    pub fn with_store(store: impl Store) -> Self {
        let calls = store.owner_calls();
        Self {
            shared: Arc::new(Shared { store: Box::new(store), calls }),
            namespace: Arc::from(""),
            key_retention: KEY_RETENTION,
            searches_jobs: false,
        }
    }

    /// Opens the journal in a folder.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder does not exist, or if it cannot be read and written.
    pub async fn open(folder: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::with_store(FileStore::open(folder.as_ref()).await?))
    }

    /// Opens the journal in a folder, which is created if it is missing.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be created, read and written.
    pub async fn create(folder: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::with_store(FileStore::create(folder.as_ref()).await?))
    }

    /// Creates a journal in memory, for tests: it protects against nothing that ends the process.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::with_store(MemoryStore::new())
    }

    /// Sets the namespace of submission ids and budgets, such as the name of the application and its
    /// environment. The default is empty.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Arc::from(namespace.into());
        self
    }

    /// Sets for how long the service is assumed to recognize an idempotency key, from the first
    /// attempt on. The default is 24 hours less ten minutes, which the service's documentation
    /// suggests but does not promise.
    #[must_use]
    pub fn key_retention(mut self, retention: Duration) -> Self {
        self.key_retention = retention;
        self
    }

    /// Adds the idempotency key of each job to its `metadata`, as `svc_idempotency_key`, and looks for it
    /// in the list of jobs where it would be unknown whether a job was submitted: the same call, or
    /// [recovery](crate::Client::recover), then returns its handle. Jobs that were submitted without this
    /// setting are not found.
    ///
    /// The list is read from its start to the job, with a request for each page. If the job is not there,
    /// or the list cannot be read, the outcome stays unknown.
    #[must_use]
    pub fn search_jobs(mut self) -> Self {
        self.searches_jobs = true;
        self
    }

    pub(crate) fn searches_jobs(&self) -> bool {
        self.searches_jobs
    }

    /// Removes submissions that ended more than 90 days ago, or more than the
    /// [`key_retention`](Self::key_retention) if that is longer. A submission whose outcome is not known,
    /// and one whose key never expires (top-ups), is never removed. Returns how many were removed.
    ///
    /// The id of a removed submission is free again: a submit with that id is a new one, and is paid for.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn purge(&self) -> Result<u64> {
        let older_than = crate::call::clock::wall()
            .checked_sub(ENTRY_RETENTION.max(self.key_retention))
            .unwrap_or(std::time::UNIX_EPOCH);
        Ok(self.shared.store.purge(older_than).await?)
    }

    /// Returns the sums of a [`SpendLimit`].
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn budget(&self, name: &str) -> Result<BudgetTotals> {
        Ok(in_time(self.shared.store.budget(&self.namespace, name)).await?)
    }

    /// Returns for how long after the beginning of a write no other process can take the intent over,
    /// with a margin for clocks that run at different speeds. `None` means for as long as this process lives.
    fn send_span(&self) -> Option<Duration> {
        let timeout = self.shared.store.owner_timeout();
        (!timeout.is_zero()).then(|| timeout / 3)
    }

    /// Returns whether this process works on an intent, or holds a handle of it.
    fn is_active(&self, id: &IntentId) -> bool {
        self.shared.calls.is_active(id)
    }
}

/// Returns the answer of a store, or an error if it takes too long.
async fn in_time<T>(answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let answer = Deadline::after(STORE_TIMEOUT).before(answer).await;
    answer.unwrap_or_else(|| Err(StoreError::message("the journal's store does not answer")))
}

/// Returns what the store answers before the time limit of a call passes.
async fn before<T, E: Into<Error>>(
    deadline: &Deadline,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T> {
    match deadline.before(answer).await {
        Some(answer) => answer.map_err(Into::into),
        None => Err(deadline.passed_before_sending()),
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        JournalError::Store(error).into()
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("store", &self.shared.store)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
