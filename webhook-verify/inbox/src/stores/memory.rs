//! A store in memory.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::HeaderMap;
use svc_webhook_verify::DedupeKey;
use tokio::sync::Notify;

use super::event_table::{Entry, EventTable, id, number};
use crate::clock::{Clock, duration_millis};
use crate::event::{EventId, NewEvent, StoredEvent};
use crate::store::{
    ClaimRequest, ClaimedEvent, HandlingOutcome, InsertOutcome, Lease, ListQuery, ReplayFilter,
    Store, StoreError, StoreErrorKind, StoreStats,
};

/// A store in memory, for tests and short-lived receivers. Its events are lost when the process
/// ends.
#[derive(Debug, Default)]
pub struct MemoryStore {
    clock: Clock,
    max_bytes: Option<usize>,
    events: Mutex<MemoryEvents>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct MemoryEvents {
    table: EventTable<Payload>,
    /// The size of all headers and bodies.
    bytes: usize,
}

#[derive(Debug)]
struct Payload {
    headers: HeaderMap,
    body: Bytes,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the clock, for tests.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the maximum size of all headers and bodies. By default there is none.
    ///
    /// To make room, the oldest handled events are removed, and only their keys are kept. If
    /// unfinished events alone fill the store, an insertion fails with
    /// [`Full`](StoreErrorKind::Full).
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    fn add(&self, event: NewEvent, is_handled: bool) -> Result<InsertOutcome, StoreError> {
        let now = self.clock.millis();
        let mut events = self.events();
        let key = event.dedupe_key;
        if key.as_ref().is_some_and(|key| events.table.is_known(key)) {
            return Ok(InsertOutcome::Duplicate);
        }
        let payload = Payload { headers: event.headers, body: event.body };
        let size = payload.size();
        if let Some(max_bytes) = self.max_bytes
            && !events.make_room(size, max_bytes)
        {
            let message = "the memory of the store is full of unfinished events";
            return Err(StoreError::new(StoreErrorKind::Full, message));
        }
        events.bytes = events.bytes.saturating_add(size);
        let number = events.table.next_number();
        let entry = Entry::new(key, event.event_type, now, payload);
        events.table.insert(number, entry);
        if is_handled {
            events.table.finish(number, HandlingOutcome::Handled, now);
        }
        drop(events);
        self.changed.notify_one();
        Ok(InsertOutcome::Inserted(id(number)))
    }

    fn events(&self) -> MutexGuard<'_, MemoryEvents> {
        // No code panics while it holds the lock, so the events are consistent.
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryEvents {
    /// Removes the oldest finished events until `bytes` more are within the limit. Returns whether
    /// they are.
    fn make_room(&mut self, bytes: usize, max_bytes: usize) -> bool {
        let excess = |events: &Self| events.bytes.saturating_add(bytes) > max_bytes;
        if excess(self) {
            for number in self.table.finished_before(i64::MAX) {
                if !excess(self) {
                    break;
                }
                if let Some(entry) = self.table.evict(number) {
                    self.bytes = self.bytes.saturating_sub(entry.payload.size());
                }
            }
        }
        !excess(self)
    }

    fn stored(&self, number: u64, now: i64) -> Option<StoredEvent> {
        let entry = self.table.get(number)?;
        let (headers, body) = (entry.payload.headers.clone(), entry.payload.body.clone());
        Some(entry.to_stored(number, now, headers, body))
    }
}

impl Payload {
    fn size(&self) -> usize {
        let headers = self.headers.iter();
        headers.fold(self.body.len(), |sum, (name, value)| sum + name.as_str().len() + value.len())
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn insert(&self, event: NewEvent) -> Result<InsertOutcome, StoreError> {
        self.add(event, false)
    }

    async fn insert_handled(&self, event: NewEvent) -> Result<InsertOutcome, StoreError> {
        self.add(event, true)
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<ClaimedEvent>, StoreError> {
        let now = self.clock.millis();
        let mut events = self.events();
        let leases = events.table.claim(request, now);
        let claimed = leases.into_iter().filter_map(|(number, lease)| {
            let event = events.stored(number, now)?;
            Some(ClaimedEvent { event, lease })
        });
        Ok(claimed.collect())
    }

    async fn extend(&self, lease: &Lease, duration: Duration) -> Result<(), StoreError> {
        let now = self.clock.millis();
        let until = now.saturating_add(duration_millis(duration));
        let mut events = self.events();
        let number = events.table.leased(lease)?;
        events.table.extend(number, until);
        Ok(())
    }

    async fn finish(&self, lease: &Lease, outcome: HandlingOutcome) -> Result<(), StoreError> {
        let now = self.clock.millis();
        let mut events = self.events();
        let number = events.table.leased(lease)?;
        events.table.finish(number, outcome, now);
        drop(events);
        self.changed.notify_one();
        Ok(())
    }

    async fn forget(&self, key: &DedupeKey) -> Result<bool, StoreError> {
        let mut events = self.events();
        if events.table.is_evicted(key) {
            events.table.forget_evicted(key);
            return Ok(true);
        }
        let number = events.table.finished_with_key(key);
        if let Some(number) = number {
            events.table.forget(number);
        }
        Ok(number.is_some())
    }

    async fn get(&self, id: &EventId) -> Result<Option<StoredEvent>, StoreError> {
        let now = self.clock.millis();
        Ok(number(id).and_then(|number| self.events().stored(number, now)))
    }

    async fn list(&self, query: &ListQuery) -> Result<Vec<StoredEvent>, StoreError> {
        let now = self.clock.millis();
        let events = self.events();
        let numbers = events.table.list(query, now).into_iter();
        Ok(numbers.filter_map(|number| events.stored(number, now)).collect())
    }

    async fn replay(&self, filter: &ReplayFilter) -> Result<u64, StoreError> {
        let now = self.clock.millis();
        let mut events = self.events();
        let numbers = events.table.finished(filter);
        for number in &numbers {
            events.table.replay(*number, now);
        }
        drop(events);
        self.changed.notify_one();
        Ok(u64::try_from(numbers.len()).unwrap_or(u64::MAX))
    }

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        let oldest = self.clock.millis().saturating_sub(duration_millis(age));
        let mut events = self.events();
        events.table.remove_evicted_before(oldest);
        let numbers = events.table.finished_before(oldest);
        for number in &numbers {
            if let Some(entry) = events.table.remove(*number) {
                events.bytes = events.bytes.saturating_sub(entry.payload.size());
            }
        }
        Ok(u64::try_from(numbers.len()).unwrap_or(u64::MAX))
    }

    async fn stats(&self) -> Result<StoreStats, StoreError> {
        Ok(self.events().table.stats(self.clock.millis()))
    }

    async fn wait_for_events(&self, timeout: Duration) {
        let timeout = self.events().table.wait_time(self.clock.millis(), timeout);
        let _ = tokio::time::timeout(timeout, self.changed.notified()).await;
    }
}
