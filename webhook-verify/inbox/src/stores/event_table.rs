//! The events of a local store, or those in NATS as a process knows them: states, leases and keys, in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use svc_webhook_verify::DedupeKey;

use crate::clock::{duration_millis, from_millis};
use crate::event::{EventId, EventState, StoredEvent};
use crate::store::{ClaimRequest, EventStoreError, Lease, ListQuery, ReplayFilter, StoreStats};

/// The maximum number of keys of evicted events, to bound the memory.
const MAX_EVICTED_KEYS: usize = 1_000_000;

/// The time in which an event that may be claimed is expected to be claimed.
const MAX_CLAIM_DELAY_MILLIS: i64 = 100;
/// The minimum time to wait for an event.
const MIN_WAIT_MILLIS: i64 = 10;

/// Events by number, with a payload each: the headers and the body, or where they are.
///
/// Times are in milliseconds since the Unix epoch.
#[derive(Debug)]
pub(super) struct EventTable<P> {
    by_number: BTreeMap<u64, Entry<P>>,
    by_key: HashMap<DedupeKey, u64>,
    /// The unfinished events by the time at which they may be claimed.
    due: BTreeSet<(i64, u64)>,
    /// The unfinished events of each resource.
    unfinished: HashMap<String, BTreeSet<u64>>,
    evicted: EvictedKeys,
    last_number: u64,
}

/// An event without its headers and body.
#[derive(Debug)]
pub(super) struct Entry<P> {
    pub(super) key: Option<DedupeKey>,
    pub(super) event_type: String,
    pub(super) received_at: i64,
    pub(super) progress: Progress,
    pub(super) payload: P,
}

/// What has become of an event, in memory and in messages of NATS.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) state: State,
    /// When the event may be claimed, the lease expires, or the event was finished or purged.
    pub(super) at: i64,
    #[serde(default)]
    pub(super) attempts: u32,
    /// The number of claims. Unlike the attempts it is never reset, so that it identifies a lease.
    #[serde(default)]
    pub(super) claims: u64,
    /// Whether the next delivery of the event counts as new.
    #[serde(default)]
    pub(super) is_forgotten: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// The worker that holds the lease, for an operator who looks at the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) worker: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    Pending,
    Leased,
    Handled,
    Dead,
    /// About to be removed, of which other processes are told. No event of a table is in this state.
    Purged,
}

/// The keys of handled events that were evicted, in the order of their eviction.
#[derive(Debug, Default)]
struct EvictedKeys {
    finished_at: HashMap<DedupeKey, i64>,
    order: VecDeque<(i64, DedupeKey)>,
}

impl<P> Default for EventTable<P> {
    fn default() -> Self {
        Self {
            by_number: BTreeMap::new(),
            by_key: HashMap::new(),
            due: BTreeSet::new(),
            unfinished: HashMap::new(),
            evicted: EvictedKeys::default(),
            last_number: 0,
        }
    }
}

impl<P> EventTable<P> {
    pub(super) fn next_number(&self) -> u64 {
        self.last_number.saturating_add(1)
    }

    /// Returns whether a delivery with this key is a duplicate.
    pub(super) fn is_known(&self, key: &DedupeKey) -> bool {
        self.by_key.contains_key(key) || self.is_evicted(key)
    }

    /// Adds an event. Its number must be higher than all others.
    pub(super) fn insert(&mut self, number: u64, entry: Entry<P>) {
        self.last_number = self.last_number.max(number);
        if let Some(key) = entry.key.as_ref().filter(|_| !entry.progress.is_forgotten) {
            self.by_key.insert(key.clone(), number);
        }
        self.by_number.insert(number, entry);
        self.index(number);
    }

    pub(super) fn get(&self, number: u64) -> Option<&Entry<P>> {
        self.by_number.get(&number)
    }

    /// Returns all events, oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &Entry<P>)> {
        self.by_number.iter().map(|(number, entry)| (*number, entry))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut Entry<P>)> {
        let entries = self.by_number.iter_mut();
        entries.map(|(number, entry)| (*number, entry))
    }

    /// Changes an event, if it exists.
    pub(super) fn update(&mut self, number: u64, change: impl FnOnce(&mut Entry<P>)) {
        self.unindex(number);
        if let Some(entry) = self.by_number.get_mut(&number) {
            change(entry);
        }
        self.index(number);
    }

    /// Returns the events that may be claimed, oldest first.
    pub(super) fn claimable(&self, request: &ClaimRequest, now: i64) -> Vec<u64> {
        let due = self.due.range(..=(now, u64::MAX)).map(|(_, number)| *number);
        due.filter(|number| !request.in_order || self.is_first(*number))
            .take(request.limit)
            .collect()
    }

    /// Leases the events that may be claimed, oldest first, and returns them with their leases.
    pub(super) fn claim(&mut self, request: &ClaimRequest, now: i64) -> Vec<(u64, Lease)> {
        let until = now.saturating_add(duration_millis(request.lease_duration));
        let claimable = self.claimable(request, now);
        let lease = |number: u64| {
            let mut token = String::new();
            self.update(number, |entry| {
                entry.progress.claim(&request.worker, until);
                token = entry.progress.claims.to_string();
            });
            (number, Lease::new(id(number), token))
        };
        claimable.into_iter().map(lease).collect()
    }

    /// Returns the number of the event that a lease holds.
    pub(super) fn leased(&self, lease: &Lease) -> Result<u64, EventStoreError> {
        let number = number(lease.id());
        let held = number
            .filter(|number| self.get(*number).is_some_and(|entry| entry.is_leased_by(lease)));
        held.ok_or_else(|| EventStoreError::lease_lost(lease))
    }

    pub(super) fn finished_with_key(&self, key: &DedupeKey) -> Option<u64> {
        let number = self.by_key.get(key).copied()?;
        self.get(number)?.finished_at().map(|_| number)
    }

    /// Makes the next delivery of an event count as new.
    pub(super) fn forget(&mut self, number: u64) {
        if let Some(entry) = self.by_number.get_mut(&number) {
            entry.progress.is_forgotten = true;
            if let Some(key) = &entry.key
                && self.by_key.get(key) == Some(&number)
            {
                self.by_key.remove(key);
            }
        }
    }

    pub(super) fn is_evicted(&self, key: &DedupeKey) -> bool {
        self.evicted.finished_at.contains_key(key)
    }

    /// Makes the next delivery of an evicted event count as new.
    pub(super) fn forget_evicted(&mut self, key: &DedupeKey) {
        self.evicted.finished_at.remove(key);
    }

    /// Returns the events that a query selects, newest first.
    pub(super) fn list(&self, query: &ListQuery, now: i64) -> Vec<u64> {
        let before = match &query.before {
            Some(id) => number(id).unwrap_or_default(),
            None => u64::MAX,
        };
        let newest_first = self.by_number.range(..before).rev();
        newest_first
            .filter(|(_, entry)| query.state.is_none_or(|state| entry.state(now) == state))
            .take(query.limit)
            .map(|(number, _)| *number)
            .collect()
    }

    /// Returns the finished events that are to be replayed.
    pub(super) fn finished(&self, filter: &ReplayFilter) -> Vec<u64> {
        self.numbers(|number, entry| {
            entry.finished_at().is_some()
                && match filter {
                    ReplayFilter::Id(selected) => *selected == id(number),
                    ReplayFilter::Dead => entry.progress.state == State::Dead,
                    ReplayFilter::ReceivedIn(range) => {
                        range.contains(&from_millis(entry.received_at))
                    }
                }
        })
    }

    pub(super) fn finished_before(&self, time: i64) -> Vec<u64> {
        self.numbers(|_, entry| entry.finished_at().is_some_and(|at| at < time))
    }

    /// Returns the events that a condition holds for, oldest first.
    pub(super) fn numbers(&self, is_selected: impl Fn(u64, &Entry<P>) -> bool) -> Vec<u64> {
        let selected = self.iter().filter(|(number, entry)| is_selected(*number, entry));
        selected.map(|(number, _)| number).collect()
    }

    pub(super) fn remove(&mut self, number: u64) {
        self.forget(number);
        self.unindex(number);
        self.by_number.remove(&number);
    }

    /// Removes an event, but keeps its key, so that further deliveries are duplicates.
    pub(super) fn evict(&mut self, number: u64) {
        let Some(entry) = self.get(number) else { return };
        let key = entry.key.clone().filter(|_| !entry.progress.is_forgotten);
        let finished_at = entry.finished_at();
        self.remove(number);
        if let (Some(at), Some(key)) = (finished_at, key) {
            self.add_evicted(key, at);
        }
    }

    pub(super) fn add_evicted(&mut self, key: DedupeKey, finished_at: i64) {
        self.evicted.finished_at.insert(key.clone(), finished_at);
        self.evicted.order.push_back((finished_at, key));
        while self.evicted.order.len() > MAX_EVICTED_KEYS {
            self.evicted.remove_first();
        }
    }

    /// Returns the keys of evicted events, and when the events were finished.
    pub(super) fn evicted(&self) -> impl Iterator<Item = (&DedupeKey, i64)> {
        let known = &self.evicted.finished_at;
        let order = self.evicted.order.iter();
        order.filter(|(at, key)| known.get(key) == Some(at)).map(|(at, key)| (key, *at))
    }

    /// Removes the keys of events that were finished before a time.
    pub(super) fn remove_evicted_before(&mut self, time: i64) {
        while self.evicted.order.front().is_some_and(|(at, _)| *at < time) {
            self.evicted.remove_first();
        }
    }

    pub(super) fn stats(&self, now: i64) -> StoreStats {
        let mut stats = StoreStats::default();
        for (_, entry) in self.iter() {
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
        stats
    }

    /// Returns how long to wait until an event may be claimed: at most the given time. An event that
    /// could have been claimed some time ago is left out: it waits for an earlier one of its resource.
    pub(super) fn wait_time(&self, now: i64, at_most: Duration) -> Duration {
        let recently = now.saturating_sub(MAX_CLAIM_DELAY_MILLIS);
        let Some((due_at, _)) = self.due.range((recently, 0)..).next() else { return at_most };
        let millis = due_at.saturating_sub(now).max(MIN_WAIT_MILLIS);
        at_most.min(Duration::from_millis(millis.unsigned_abs()))
    }

    /// Returns whether no earlier event of the same resource is unfinished.
    fn is_first(&self, number: u64) -> bool {
        let resource = self.get(number).and_then(Entry::resource_id);
        let unfinished = resource.and_then(|resource| self.unfinished.get(resource));
        unfinished.is_none_or(|numbers| numbers.first() == Some(&number))
    }

    fn index(&mut self, number: u64) {
        let Some(entry) = self.by_number.get(&number) else { return };
        if let Some(due_at) = entry.due_at() {
            self.due.insert((due_at, number));
            if let Some(resource) = entry.resource_id() {
                let numbers = self.unfinished.entry(resource.to_owned());
                numbers.or_default().insert(number);
            }
        }
    }

    fn unindex(&mut self, number: u64) {
        let Some(entry) = self.by_number.get(&number) else { return };
        if let Some(due_at) = entry.due_at() {
            self.due.remove(&(due_at, number));
        }
        if let Some(resource) = entry.resource_id()
            && let Some(numbers) = self.unfinished.get_mut(resource)
        {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.unfinished.remove(resource);
            }
        }
    }
}

impl<P> Entry<P> {
    /// Creates the entry of a new event.
    pub(super) fn new(
        key: Option<DedupeKey>,
        event_type: String,
        received_at: i64,
        payload: P,
    ) -> Self {
        Self {
            key,
            event_type,
            received_at,
            progress: Progress {
                state: State::Pending,
                at: received_at,
                attempts: 0,
                claims: 0,
                is_forgotten: false,
                error: None,
                worker: None,
            },
            payload,
        }
    }

    /// Returns the time at which the event was handled or given up.
    pub(super) fn finished_at(&self) -> Option<i64> {
        let Progress { state, at, .. } = self.progress;
        matches!(state, State::Handled | State::Dead).then_some(at)
    }

    /// Returns the time at which an unfinished event may be claimed.
    pub(super) fn due_at(&self) -> Option<i64> {
        let Progress { state, at, .. } = self.progress;
        matches!(state, State::Pending | State::Leased).then_some(at)
    }

    pub(super) fn is_leased_by(&self, lease: &Lease) -> bool {
        let Progress { state, claims, .. } = self.progress;
        state == State::Leased && claims.to_string() == lease.token()
    }

    fn resource_id(&self) -> Option<&str> {
        self.key.as_ref().map(DedupeKey::resource_id)
    }

    fn state(&self, now: i64) -> EventState {
        match self.progress.state {
            State::Leased if self.progress.at > now => EventState::InProgress,
            State::Pending | State::Leased => EventState::Pending,
            State::Handled => EventState::Handled,
            State::Dead | State::Purged => EventState::Dead,
        }
    }

    pub(super) fn to_stored(
        &self,
        number: u64,
        now: i64,
        headers: HeaderMap,
        body: Bytes,
    ) -> StoredEvent {
        StoredEvent {
            id: id(number),
            dedupe_key: self.key.clone(),
            event_type: self.event_type.clone(),
            headers,
            body,
            received_at: from_millis(self.received_at),
            state: self.state(now),
            attempts: self.progress.attempts,
            due_at: self.due_at().map(from_millis),
            finished_at: self.finished_at().map(from_millis),
            last_error: self.progress.error.clone(),
        }
    }
}

impl Progress {
    pub(super) fn set(&mut self, state: State, at: i64) {
        (self.state, self.at) = (state, at);
        if state != State::Leased {
            self.worker = None;
        }
    }

    pub(super) fn count_claim(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
        self.claims = self.claims.saturating_add(1);
    }

    /// Leases the event to a worker.
    pub(super) fn claim(&mut self, worker: &str, until: i64) {
        self.count_claim();
        self.set(State::Leased, until);
        self.worker = Some(worker.to_owned());
    }

    /// Makes the event pending, with no attempts.
    pub(super) fn replay(&mut self, now: i64) {
        self.set(State::Pending, now);
        self.attempts = 0;
    }
}

impl EvictedKeys {
    fn remove_first(&mut self) {
        if let Some((at, key)) = self.order.pop_front()
            && self.finished_at.get(&key) == Some(&at)
        {
            self.finished_at.remove(&key);
        }
    }
}

pub(super) fn id(number: u64) -> EventId {
    EventId::new(number.to_string())
}

pub(super) fn number(id: &EventId) -> Option<u64> {
    id.as_str().parse().ok()
}
