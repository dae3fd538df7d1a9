//! A deduplication store in memory.

use core::fmt;
use core::time::Duration;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::dedupe::{
    ClaimResult, DEFAULT_LEASE_DURATION, DEFAULT_RETENTION, DedupeKey, DedupeStore, Lease,
};

/// A [`DedupeStore`] in memory with a maximum number of events.
///
/// Its content is lost when the process ends and is not shared with other processes. If
/// handling an event twice is harmful, use a persistent store such as `SqliteStore`
/// (feature `sqlite`).
///
/// When the store is full, the handled event that expires first is removed. An event that
/// is being handled is never removed before its lease expires.
pub struct MemoryStore {
    capacity: usize,
    lease_duration: Duration,
    retention: Duration,
    entries: Mutex<Entries>,
}

impl MemoryStore {
    /// Creates a store with a maximum number of events, at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            lease_duration: DEFAULT_LEASE_DURATION,
            retention: DEFAULT_RETENTION,
            entries: Mutex::default(),
        }
    }

    /// Sets the time after which a lease expires. The default is 20 seconds.
    #[must_use]
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.lease_duration = duration;
        self
    }

    /// Sets the time for which a handled event is remembered. The default is 7 days.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // No code panics while it holds the lock, so the entries are consistent.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DedupeStore for MemoryStore {
    type Error = MemoryStoreFull;

    async fn claim(&self, key: &DedupeKey, now: u64) -> Result<ClaimResult, MemoryStoreFull> {
        let mut entries = self.entries();
        entries.remove_expired(now);
        if let Some(entry) = entries.by_key.get(key) {
            return Ok(match entry {
                Entry { handled: true, .. } => ClaimResult::AlreadyHandled,
                Entry { expires_at, .. } => ClaimResult::InProgress {
                    lease_expires_at: *expires_at,
                },
            });
        }
        entries.evict_if_full(self.capacity)?;
        let expires_at = now.saturating_add(self.lease_duration.as_secs());
        let token = entries.insert(key.clone(), expires_at, false);
        Ok(ClaimResult::Acquired(Lease::new(key.clone(), token)))
    }

    async fn commit(&self, lease: Lease, now: u64) -> Result<(), MemoryStoreFull> {
        let mut entries = self.entries();
        entries.remove(lease.key());
        entries.evict_if_full(self.capacity)?;
        let expires_at = now.saturating_add(self.retention.as_secs());
        entries.insert(lease.key, expires_at, true);
        Ok(())
    }

    async fn release(&self, lease: Lease) -> Result<(), MemoryStoreFull> {
        let mut entries = self.entries();
        let entry = entries.by_key.get(lease.key());
        if entry.is_some_and(|entry| !entry.handled && entry.token == lease.token) {
            entries.remove(lease.key());
        }
        Ok(())
    }

    async fn forget(&self, key: &DedupeKey) -> Result<bool, MemoryStoreFull> {
        let mut entries = self.entries();
        let was_handled = entries.by_key.get(key).is_some_and(|entry| entry.handled);
        if was_handled {
            entries.remove(key);
        }
        Ok(was_handled)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("len", &self.entries().by_key.len())
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

/// The error of a full [`MemoryStore`] in which every event is being handled, so that none
/// can be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStoreFull;

impl fmt::Display for MemoryStoreFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deduplication store full: all events are being handled; increase the capacity")
    }
}

impl core::error::Error for MemoryStoreFull {}

/// Leases and handled events, by key and in the order in which they expire.
#[derive(Default)]
struct Entries {
    by_key: HashMap<DedupeKey, Entry>,
    by_expiry: BTreeMap<(u64, u64), DedupeKey>,
    last_token: u64,
}

struct Entry {
    expires_at: u64,
    token: u64,
    handled: bool,
}

impl Entries {
    fn insert(&mut self, key: DedupeKey, expires_at: u64, handled: bool) -> u64 {
        self.last_token += 1;
        let token = self.last_token;
        self.by_expiry.insert((expires_at, token), key.clone());
        self.by_key.insert(
            key,
            Entry {
                expires_at,
                token,
                handled,
            },
        );
        token
    }

    fn remove(&mut self, key: &DedupeKey) {
        if let Some(entry) = self.by_key.remove(key) {
            self.by_expiry.remove(&(entry.expires_at, entry.token));
        }
    }

    fn remove_expired(&mut self, now: u64) {
        while let Some(first) = self.by_expiry.first_entry()
            && first.key().0 <= now
        {
            let key = first.remove();
            self.by_key.remove(&key);
        }
    }

    fn evict_if_full(&mut self, capacity: usize) -> Result<(), MemoryStoreFull> {
        if self.by_key.len() < capacity {
            return Ok(());
        }
        let is_handled = |key: &&DedupeKey| self.by_key.get(key).is_some_and(|entry| entry.handled);
        let key = self.by_expiry.values().find(is_handled).cloned();
        self.remove(&key.ok_or(MemoryStoreFull)?);
        Ok(())
    }
}
