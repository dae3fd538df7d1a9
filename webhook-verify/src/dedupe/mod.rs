//! Stores that record which events have been handled.
//!
//! A delivery is claimed before it is handled. Claiming is atomic: of two simultaneous
//! deliveries of an event, only one acquires the lease. When the event has been handled,
//! the lease is committed, and the store remembers the event for its retention time. If
//! handling fails, the lease is released, and the next delivery can acquire it.
//!
//! A lease that is neither committed nor released, because the process was killed,
//! expires after the store's lease duration. The duration must be longer than handling
//! takes, as a second delivery after that time acquires the lease again. A receiver that
//! is killed between storing an event and committing the lease receives the event again,
//! so the guarantee is "at least once".
//!
//! A handled event can be forgotten, so that a requested redelivery is handled again.

mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;

use core::error::Error;
use core::time::Duration;
use std::string::String;
use std::sync::Arc;

pub use memory::{MemoryStore, MemoryStoreFull};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteStore, SqliteStoreError};

/// Twice the service's timeout for a response, and less than the 30 seconds before its
/// first retry, so that the retry finds the lease of a killed receiver expired.
pub(crate) const DEFAULT_LEASE_DURATION: Duration = Duration::from_secs(20);

/// The service retries for several hours, and users can request a redelivery later.
pub(crate) const DEFAULT_RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A store that records which events are being handled or have been handled.
///
/// ```
/// use svc_webhook_verify::{ClaimResult, DedupeKey, DedupeStore, MemoryStore};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = MemoryStore::new(10_000);
/// let key = DedupeKey::new("job.completed", "job:job_1");
///
/// let ClaimResult::Acquired(lease) = store.claim(&key, 1_700_000_000).await? else {
///     return Ok(()); // already handled, or being handled by another process
/// };
/// // … store the event …
/// store.commit(lease, 1_700_000_001).await?;
///
/// assert_eq!(store.claim(&key, 1_700_000_030).await?, ClaimResult::AlreadyHandled);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).map_err(|error| error.to_string())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Implementations must make `claim` atomic. A lookup followed by a separate insert lets
/// two simultaneous deliveries through. All times are in Unix seconds.
pub trait DedupeStore: Send + Sync {
    /// The error type of the store.
    type Error: Error + Send + Sync + 'static;

    /// Claims an event, unless it is being handled or has been handled.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read or written.
    fn claim(
        &self,
        key: &DedupeKey,
        now: u64,
    ) -> impl Future<Output = Result<ClaimResult, Self::Error>> + Send;

    /// Marks a claimed event as handled, even if the lease has expired.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written.
    fn commit(
        &self,
        lease: Lease,
        now: u64,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Gives up a lease, so that the event can be claimed again. Does nothing if the lease
    /// has expired and the event has been claimed again.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written.
    fn release(&self, lease: Lease) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Removes a handled event, so that its next delivery is handled again.
    ///
    /// Returns `true` if the event was recorded as handled. An event that is still being
    /// handled is not affected.
    ///
    /// A redelivery that a user requests from the service has the same key as the first
    /// delivery, and nothing in it says that it is a redelivery. To have it handled, forget
    /// the event first:
    ///
    /// ```
    /// use svc_webhook_verify::{DedupeKey, DedupeStore, MemoryStore};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let store = MemoryStore::new(10_000);
    /// let key = DedupeKey::new("job.completed", "job:job_1");
    /// if store.forget(&key).await? {
    ///     println!("now request the redelivery of job_1");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).map_err(|error| error.to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written.
    fn forget(&self, key: &DedupeKey) -> impl Future<Output = Result<bool, Self::Error>> + Send;
}

/// The result of claiming an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimResult {
    /// The caller acquired the lease. Handle the event, then commit or release the lease.
    Acquired(Lease),
    /// Another delivery of the event is being handled and may still fail. Answer so that
    /// the sender retries.
    InProgress {
        /// The time at which the lease of the other delivery expires, in Unix seconds.
        lease_expires_at: u64,
    },
    /// The event has been handled. Answer `2xx`.
    AlreadyHandled,
}

/// The exclusive right to handle an event until the lease expires.
#[must_use = "a lease that is neither committed nor released blocks the event until it expires"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    key: DedupeKey,
    token: u64,
}

impl Lease {
    /// Creates a lease.
    ///
    /// The token must be different for each lease of the same key, so that
    /// [`release`](DedupeStore::release) can detect that the lease has been replaced.
    pub fn new(key: DedupeKey, token: u64) -> Self {
        Self { key, token }
    }

    /// Returns the key of the claimed event.
    #[must_use]
    pub fn key(&self) -> &DedupeKey {
        &self.key
    }

    /// Returns the token that distinguishes this lease from others of the same key.
    #[must_use]
    pub fn token(&self) -> u64 {
        self.token
    }
}

/// The identity of an event. Deliveries with equal keys report the same event.
///
/// It is usually obtained from [`Event::dedupe_key`](crate::Event::dedupe_key).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DedupeKey {
    event: String,
    resource_id: String,
}

impl DedupeKey {
    /// Creates a key from the name of an event and the ID of the resource that it reports.
    ///
    /// The ID is preceded by its kind: `job:job_1`, `run:run_1`, or, for an event without
    /// these IDs, `result:` and a URL or `request:` and the ID of a request.
    pub fn new(event: impl Into<String>, resource_id: impl Into<String>) -> Self {
        Self {
            event: event.into(),
            resource_id: resource_id.into(),
        }
    }

    /// Returns the name of the event, such as `job.completed`.
    #[must_use]
    pub fn event(&self) -> &str {
        &self.event
    }

    /// Returns the ID of the job, run, receipt or request, such as `job:job_1`.
    #[must_use]
    pub fn resource_id(&self) -> &str {
        &self.resource_id
    }
}

impl<T: DedupeStore> DedupeStore for Arc<T> {
    type Error = T::Error;

    async fn claim(&self, key: &DedupeKey, now: u64) -> Result<ClaimResult, Self::Error> {
        T::claim(self, key, now).await
    }

    async fn commit(&self, lease: Lease, now: u64) -> Result<(), Self::Error> {
        T::commit(self, lease, now).await
    }

    async fn release(&self, lease: Lease) -> Result<(), Self::Error> {
        T::release(self, lease).await
    }

    async fn forget(&self, key: &DedupeKey) -> Result<bool, Self::Error> {
        T::forget(self, key).await
    }
}
