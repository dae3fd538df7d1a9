//! A store in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use svc_webhook_verify::DedupeKey;
use tokio::sync::Notify;

use crate::clock::{Clock, duration_millis, from_millis};
use crate::event::{EventId, EventState, NewEvent, StoredEvent};
use crate::store::{
    ClaimRequest, ClaimedEvent, HandlingOutcome, InsertOutcome, Lease, ListQuery, ReplayFilter,
    Store, StoreError, StoreStats,
};

/// A store in memory, for tests. Its events are lost when the process ends.
#[derive(Debug, Default)]
pub struct MemoryStore {
    clock: Clock,
    events: Mutex<Events>,
    inserted: Notify,
}

#[derive(Debug, Default)]
struct Events {
    by_number: BTreeMap<u64, Entry>,
    by_key: HashMap<DedupeKey, u64>,
    last_number: u64,
}

#[derive(Debug)]
struct Entry {
    event: NewEvent,
    received_at: i64,
    state: State,
    attempts: u32,
    /// The number of claims. Unlike the attempts it is never reset, so that it identifies a lease.
    claims: u64,
    last_error: Option<String>,
}

/// The state of an event, with times in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug)]
enum State {
    Pending { due_at: i64 },
    Leased { until: i64 },
    Handled { at: i64 },
    Dead { at: i64 },
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

    fn events(&self) -> MutexGuard<'_, Events> {
        // No code panics while it holds the lock, so the events are consistent.
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn insert(&self, event: NewEvent) -> Result<InsertOutcome, StoreError> {
        let now = self.clock.millis();
        let mut events = self.events();
        if let Some(key) = &event.dedupe_key
            && events.by_key.contains_key(key)
        {
            return Ok(InsertOutcome::Duplicate);
        }
        events.last_number += 1;
        let number = events.last_number;
        if let Some(key) = event.dedupe_key.clone() {
            events.by_key.insert(key, number);
        }
        let entry = Entry {
            event,
            received_at: now,
            state: State::Pending { due_at: now },
            attempts: 0,
            claims: 0,
            last_error: None,
        };
        events.by_number.insert(number, entry);
        drop(events);
        self.inserted.notify_one();
        Ok(InsertOutcome::Inserted(id(number)))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<ClaimedEvent>, StoreError> {
        let now = self.clock.millis();
        let until = now.saturating_add(duration_millis(request.lease_duration));
        let mut events = self.events();
        let due: Vec<u64> = events
            .by_number
            .iter()
            .filter(|(_, entry)| entry.is_due(now))
            .filter(|(number, entry)| !request.in_order || events.is_first(**number, entry))
            .map(|(number, _)| *number)
            .take(request.limit)
            .collect();
        let mut claimed = Vec::with_capacity(due.len());
        for number in due {
            if let Some(entry) = events.by_number.get_mut(&number) {
                entry.attempts = entry.attempts.saturating_add(1);
                entry.claims += 1;
                entry.state = State::Leased { until };
                let lease = Lease::new(id(number), entry.claims.to_string());
                let event = entry.to_stored(number, now);
                claimed.push(ClaimedEvent { event, lease });
            }
        }
        Ok(claimed)
    }

    async fn extend(&self, lease: &Lease, duration: Duration) -> Result<(), StoreError> {
        let until = self
            .clock
            .millis()
            .saturating_add(duration_millis(duration));
        self.events().leased(lease)?.state = State::Leased { until };
        Ok(())
    }

    async fn finish(&self, lease: &Lease, outcome: HandlingOutcome) -> Result<(), StoreError> {
        let now = self.clock.millis();
        let mut events = self.events();
        let entry = events.leased(lease)?;
        match outcome {
            HandlingOutcome::Handled => entry.state = State::Handled { at: now },
            HandlingOutcome::Retry { after, error } => {
                let due_at = now.saturating_add(duration_millis(after));
                entry.state = State::Pending { due_at };
                entry.last_error = Some(error);
            }
            HandlingOutcome::Dead { reason } => {
                entry.state = State::Dead { at: now };
                entry.last_error = Some(reason);
            }
        }
        drop(events);
        self.inserted.notify_one();
        Ok(())
    }

    async fn forget(&self, key: &DedupeKey) -> Result<bool, StoreError> {
        let mut events = self.events();
        let number = events.by_key.get(key).copied();
        let entry = number.and_then(|number| events.by_number.get_mut(&number));
        let Some(entry) = entry.filter(|entry| entry.finished_at().is_some()) else {
            return Ok(false);
        };
        entry.event.dedupe_key = None;
        events.by_key.remove(key);
        Ok(true)
    }

    async fn get(&self, id: &EventId) -> Result<Option<StoredEvent>, StoreError> {
        let now = self.clock.millis();
        let events = self.events();
        let number = number(id);
        let entry = number.and_then(|number| Some((number, events.by_number.get(&number)?)));
        Ok(entry.map(|(number, entry)| entry.to_stored(number, now)))
    }

    async fn list(&self, query: &ListQuery) -> Result<Vec<StoredEvent>, StoreError> {
        let now = self.clock.millis();
        let before = match &query.before {
            Some(id) => number(id).unwrap_or_default(),
            None => u64::MAX,
        };
        let events = self.events();
        let newest_first = events.by_number.range(..before).rev();
        Ok(newest_first
            .filter(|(_, entry)| query.state.is_none_or(|state| entry.state(now) == state))
            .take(query.limit)
            .map(|(number, entry)| entry.to_stored(*number, now))
            .collect())
    }

    async fn replay(&self, filter: &ReplayFilter) -> Result<u64, StoreError> {
        let now = self.clock.millis();
        let mut count = 0;
        for (number, entry) in &mut self.events().by_number {
            let selected = match filter {
                ReplayFilter::Id(selected) => *selected == id(*number),
                ReplayFilter::Dead => matches!(entry.state, State::Dead { .. }),
                ReplayFilter::ReceivedIn(range) => range.contains(&from_millis(entry.received_at)),
            };
            if selected && entry.finished_at().is_some() {
                entry.state = State::Pending { due_at: now };
                entry.attempts = 0;
                count += 1;
            }
        }
        self.inserted.notify_one();
        Ok(count)
    }

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        let oldest = self.clock.millis().saturating_sub(duration_millis(age));
        let mut events = self.events();
        let Events {
            by_number, by_key, ..
        } = &mut *events;
        let before = by_number.len();
        by_number.retain(|_, entry| {
            let is_kept = entry.finished_at().is_none_or(|at| at >= oldest);
            if let (false, Some(key)) = (is_kept, &entry.event.dedupe_key) {
                by_key.remove(key);
            }
            is_kept
        });
        Ok(u64::try_from(before - by_number.len()).unwrap_or(u64::MAX))
    }

    async fn stats(&self) -> Result<StoreStats, StoreError> {
        let now = self.clock.millis();
        let mut stats = StoreStats::default();
        for entry in self.events().by_number.values() {
            match entry.state(now) {
                EventState::Pending => stats.pending += 1,
                EventState::InProgress => stats.in_progress += 1,
                EventState::Handled => stats.handled += 1,
                EventState::Dead => stats.dead += 1,
            }
            if entry.finished_at().is_none() && stats.oldest_unfinished_age.is_none() {
                let age = now.saturating_sub(entry.received_at).unsigned_abs();
                stats.oldest_unfinished_age = Some(Duration::from_millis(age));
            }
        }
        Ok(stats)
    }

    async fn wait_for_events(&self, timeout: Duration) {
        let _ = tokio::time::timeout(timeout, self.inserted.notified()).await;
    }
}

impl Events {
    fn leased(&mut self, lease: &Lease) -> Result<&mut Entry, StoreError> {
        let number = number(lease.id());
        let entry = number.and_then(|number| self.by_number.get_mut(&number));
        entry
            .filter(|entry| {
                matches!(entry.state, State::Leased { .. })
                    && entry.claims.to_string() == lease.token()
            })
            .ok_or_else(|| StoreError::lease_lost(lease))
    }

    /// Returns whether no earlier event of the same resource is unfinished.
    fn is_first(&self, number: u64, entry: &Entry) -> bool {
        let Some(resource) = entry.event.dedupe_key.as_ref().map(DedupeKey::resource_id) else {
            return true;
        };
        !self.by_number.range(..number).any(|(_, earlier)| {
            let earlier_resource = earlier
                .event
                .dedupe_key
                .as_ref()
                .map(DedupeKey::resource_id);
            earlier.finished_at().is_none() && earlier_resource == Some(resource)
        })
    }
}

impl Entry {
    fn is_due(&self, now: i64) -> bool {
        match self.state {
            State::Pending { due_at } => due_at <= now,
            State::Leased { until } => until <= now,
            State::Handled { .. } | State::Dead { .. } => false,
        }
    }

    fn finished_at(&self) -> Option<i64> {
        match self.state {
            State::Pending { .. } | State::Leased { .. } => None,
            State::Handled { at } | State::Dead { at } => Some(at),
        }
    }

    fn state(&self, now: i64) -> EventState {
        match self.state {
            State::Leased { until } if until > now => EventState::InProgress,
            State::Pending { .. } | State::Leased { .. } => EventState::Pending,
            State::Handled { .. } => EventState::Handled,
            State::Dead { .. } => EventState::Dead,
        }
    }

    fn to_stored(&self, number: u64, now: i64) -> StoredEvent {
        let due_at = match self.state {
            State::Pending { due_at } => Some(due_at),
            State::Leased { until } => Some(until),
            State::Handled { .. } | State::Dead { .. } => None,
        };
        StoredEvent {
            id: id(number),
            dedupe_key: self.event.dedupe_key.clone(),
            event_type: self.event.event_type.clone(),
            headers: self.event.headers.clone(),
            body: self.event.body.clone(),
            received_at: from_millis(self.received_at),
            state: self.state(now),
            attempts: self.attempts,
            due_at: due_at.map(from_millis),
            finished_at: self.finished_at().map(from_millis),
            last_error: self.last_error.clone(),
        }
    }
}

fn id(number: u64) -> EventId {
    EventId::new(number.to_string())
}

fn number(id: &EventId) -> Option<u64> {
    id.as_str().parse().ok()
}
