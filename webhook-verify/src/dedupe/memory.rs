//! A store in memory: for one process, and until it ends.

use core::fmt;
use core::time::Duration;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::dedupe::{Claim, DEFAULT_LEASE, DEFAULT_RETENTION, DedupeStore, Lease};
use crate::event::DedupeKey;

/// Keeps the events handled in memory, at most a given number of them.
///
/// What it knows is gone when the process ends, and other processes do not see it: for
/// anything that costs money when done twice use a store that lasts, such as
/// `SqliteStore` (feature `sqlite`).
///
/// When it is full the event that would expire first is forgotten, to make room. One
/// that is being handled is never forgotten before its lease ends.
pub struct MemoryStore {
    capacity: usize,
    lease: Duration,
    retention: Duration,
    entries: Mutex<Entries>,
}

impl MemoryStore {
    /// Makes a store for so many events, at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            lease: DEFAULT_LEASE,
            retention: DEFAULT_RETENTION,
            entries: Mutex::default(),
        }
    }

    /// Sets how long a claim is good that is neither committed nor released: 20 s.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets how long a handled event is known: 7 days.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // Nothing that holds the lock can panic half-way.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DedupeStore for MemoryStore {
    type Error = MemoryStoreFull;

    async fn claim(&self, key: &DedupeKey, now: u64) -> Result<Claim, MemoryStoreFull> {
        let mut entries = self.entries();
        entries.forget_expired(now);
        if let Some(entry) = entries.by_key.get(key) {
            return Ok(match entry {
                Entry { done: true, .. } => Claim::Done,
                Entry { until, .. } => Claim::InProgress { until: *until },
            });
        }
        entries.make_room(self.capacity)?;
        let until = now.saturating_add(self.lease.as_secs());
        let token = entries.put(key.clone(), until, false);
        Ok(Claim::New(Lease::new(key.clone(), token)))
    }

    async fn commit(&self, lease: Lease, now: u64) -> Result<(), MemoryStoreFull> {
        let mut entries = self.entries();
        entries.remove(lease.key());
        entries.make_room(self.capacity)?;
        let until = now.saturating_add(self.retention.as_secs());
        entries.put(lease.key, until, true);
        Ok(())
    }

    async fn release(&self, lease: Lease) -> Result<(), MemoryStoreFull> {
        let mut entries = self.entries();
        let entry = entries.by_key.get(lease.key());
        if entry.is_some_and(|entry| !entry.done && entry.token == lease.token) {
            entries.remove(lease.key());
        }
        Ok(())
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

/// A [`MemoryStore`] is full of events that are being handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStoreFull;

impl fmt::Display for MemoryStoreFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store is full of events that are being handled: give it a larger capacity")
    }
}

impl core::error::Error for MemoryStoreFull {}

/// Claims and handled events, by key and in the order in which they expire.
#[derive(Default)]
struct Entries {
    by_key: HashMap<DedupeKey, Entry>,
    by_end: BTreeMap<(u64, u64), DedupeKey>,
    last_token: u64,
}

struct Entry {
    until: u64,
    token: u64,
    done: bool,
}

impl Entries {
    fn put(&mut self, key: DedupeKey, until: u64, done: bool) -> u64 {
        self.last_token += 1;
        let token = self.last_token;
        self.by_end.insert((until, token), key.clone());
        self.by_key.insert(key, Entry { until, token, done });
        token
    }

    fn remove(&mut self, key: &DedupeKey) {
        if let Some(entry) = self.by_key.remove(key) {
            self.by_end.remove(&(entry.until, entry.token));
        }
    }

    fn forget_expired(&mut self, now: u64) {
        while let Some(first) = self.by_end.first_entry()
            && first.key().0 <= now
        {
            let key = first.remove();
            self.by_key.remove(&key);
        }
    }

    fn make_room(&mut self, capacity: usize) -> Result<(), MemoryStoreFull> {
        if self.by_key.len() < capacity {
            return Ok(());
        }
        let is_done = |key: &&DedupeKey| self.by_key.get(key).is_some_and(|entry| entry.done);
        let key = self.by_end.values().find(is_done).cloned();
        self.remove(&key.ok_or(MemoryStoreFull)?);
        Ok(())
    }
}
