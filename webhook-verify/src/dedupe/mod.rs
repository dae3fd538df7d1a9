//! Which events were handled already: claim, then commit or release.
//!
//! A delivery is claimed before it is handled, in one step that lets only one of two
//! simultaneous deliveries through. Once it is handled the claim is committed, and the
//! event is known for as long as the store's retention; if handling failed the claim is
//! released, and the next delivery is as good as the first.
//!
//! A claim whose holder was killed expires by itself after the store's lease. The lease
//! has to be longer than handling takes: a second delivery that comes after it is let
//! through. And a receiver that is killed after it stored an event, and before it committed,
//! will see that event again: once a claim has ended, "at least once" is what is left.

mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;

use core::error::Error;
use core::time::Duration;
use std::sync::Arc;

pub use memory::{MemoryStore, MemoryStoreFull};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteError, SqliteStore};

use crate::event::DedupeKey;

/// Twice the time that the service waits for an answer, and less than its pause before
/// the first repetition, 30 s: that one finds the claim of a killed receiver expired.
pub(crate) const DEFAULT_LEASE: Duration = Duration::from_secs(20);

/// The service repeats for some hours, and a person may have an event redelivered later.
pub(crate) const DEFAULT_RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Where it is kept which events were handled. Times are Unix seconds.
///
/// ```
/// use svc_webhook_verify::{Claim, DedupeKey, DedupeStore, MemoryStore};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = MemoryStore::new(10_000);
/// let key = DedupeKey::new("job.completed", "job:job_1");
///
/// let Claim::New(lease) = store.claim(&key, 1_700_000_000).await? else {
///     return Ok(()); // handled already, or being handled elsewhere
/// };
/// // … store the event …
/// store.commit(lease, 1_700_000_001).await?;
///
/// assert_eq!(store.claim(&key, 1_700_000_030).await?, Claim::Done);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).map_err(|error| error.to_string())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An implementation has to make `claim` one atomic step: a look-up that is followed by
/// an insert lets two deliveries through.
pub trait DedupeStore: Send + Sync {
    /// Why the store could not answer.
    type Error: Error + Send + Sync + 'static;

    /// Claims an event, unless it is claimed or handled already.
    fn claim(
        &self,
        key: &DedupeKey,
        now: u64,
    ) -> impl Future<Output = Result<Claim, Self::Error>> + Send;

    /// Notes that a claimed event was handled. It holds even if the lease has expired.
    fn commit(
        &self,
        lease: Lease,
        now: u64,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Gives a claim up. Nothing happens if another has it by now.
    fn release(&self, lease: Lease) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is the caller's: handle the event, then commit or release.
    New(Lease),
    /// Another delivery of the event is being handled. Answer so that it is sent again:
    /// the other one may yet fail.
    InProgress {
        /// When its lease ends, in Unix seconds.
        until: u64,
    },
    /// The event was handled. Answer `2xx`.
    Done,
}

/// The right to handle one event, until the lease ends.
#[must_use = "a claim that is neither committed nor released blocks the event until its lease ends"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    key: DedupeKey,
    token: u64,
}

impl Lease {
    /// Makes a lease; the token is different at each claim of the same key, so that
    /// [`release`](DedupeStore::release) can tell whose claim it is.
    pub fn new(key: DedupeKey, token: u64) -> Self {
        Self { key, token }
    }

    /// What was claimed.
    #[must_use]
    pub fn key(&self) -> &DedupeKey {
        &self.key
    }

    /// Which claim it is.
    #[must_use]
    pub fn token(&self) -> u64 {
        self.token
    }
}

impl<T: DedupeStore> DedupeStore for Arc<T> {
    type Error = T::Error;

    async fn claim(&self, key: &DedupeKey, now: u64) -> Result<Claim, Self::Error> {
        T::claim(self, key, now).await
    }

    async fn commit(&self, lease: Lease, now: u64) -> Result<(), Self::Error> {
        T::commit(self, lease, now).await
    }

    async fn release(&self, lease: Lease) -> Result<(), Self::Error> {
        T::release(self, lease).await
    }
}
