//! A store in NATS JetStream.

mod connect;
mod follower;
mod record;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, PurgeError, Stream};
use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream;
use svc_webhook_verify::DedupeKey;
use tokio::sync::OnceCell;

pub use self::connect::NatsOptions;
use self::connect::{clock_offset, connect, nats_error, open_stream, publish};
use self::follower::Follower;
use self::record::{
    EventRecord, StateName, StateRecord, headers_and_body, key_token, payload, record,
    record_headers,
};
use super::event_table::{State, id, number};
use crate::clock::{Clock, duration_millis};
use crate::event::{EventId, NewEvent, StoredEvent};
use crate::store::{
    ClaimRequest, ClaimedEvent, HandlingOutcome, InsertOutcome, Lease, ListQuery, ReplayFilter,
    Store, StoreError, StoreErrorKind, StoreStats,
};

/// The maximum number of concurrent requests of one call.
const CONCURRENCY: usize = 32;
/// The number of times that a change is tried again because another process was faster.
const MAX_CONFLICTS: u32 = 8;
/// The time after which the message that says that an event was purged is removed.
const PURGED_FOR_MILLIS: i64 = 60 * 60 * 1000;

/// A store in NATS JetStream, of NATS 2.9 or later.
///
/// ```no_run
/// use svc_webhook_inbox::{Inbox, NatsStore};
///
/// # async fn open() -> Result<(), svc_webhook_inbox::StoreError> {
/// let inbox = Inbox::new(NatsStore::connect("nats://127.0.0.1:4222").await?);
/// # Ok(())
/// # }
/// ```
///
/// Any number of receivers and workers can share it. The subject of an event is derived from its
/// deduplication key, and the server accepts one message for each subject, so that an event is
/// stored once however late it is delivered again. Each change names the change before it, and the
/// server rejects it if another one came first. Leases are measured by the clock of the server.
///
/// A process that claims, lists or counts events reads the headers of all events in the stream when
/// it starts, and keeps about 300 bytes of each in memory. Purge finished events
/// ([`Worker::purge_after`](crate::Worker::purge_after)).
///
/// The server acknowledges a message before it is on the disk: an accepted event survives a crash of
/// the server process, but survives a power failure only with [`NatsOptions::replicas`].
#[derive(Clone)]
pub struct NatsStore(Arc<Inner>);

struct Inner {
    client: Client,
    context: Context,
    stream: Stream,
    name: String,
    follower: OnceCell<Follower>,
    /// By how many milliseconds the clock of the server is ahead of the one of this machine.
    clock_offset: AtomicI64,
    clock: Option<Clock>,
}

/// The outcome of a change that another process may have preceded.
enum Change {
    /// It was stored under this sequence number.
    Stored(u64),
    /// Another change came first.
    Conflict,
}

impl NatsStore {
    /// Connects to servers, with addresses such as `nats://127.0.0.1:4222`, separated by commas.
    ///
    /// # Errors
    ///
    /// Returns an error if an address is invalid, if no server can be reached, or if JetStream is
    /// not enabled.
    pub async fn connect(addresses: &str) -> Result<Self, StoreError> {
        Self::from_client(connect(addresses).await?, &NatsOptions::default()).await
    }

    /// Creates a store from a connection, such as one with credentials, and with a stream of another
    /// name.
    ///
    /// # Errors
    ///
    /// Returns an error if the stream cannot be opened.
    pub async fn from_client(client: Client, options: &NatsOptions) -> Result<Self, StoreError> {
        let (context, stream) = open_stream(&client, options).await?;
        let name = options.stream_name.clone();
        let offset = clock_offset(&context, &stream, &name).await?;
        Ok(Self(Arc::new(Inner {
            client,
            context,
            stream,
            name,
            follower: OnceCell::new(),
            clock_offset: AtomicI64::new(offset),
            clock: None,
        })))
    }

    /// Sets the clock, for tests. By default it is the clock of the server.
    ///
    /// The store must not have been used or cloned.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.clock = Some(clock);
        }
        self
    }
}

impl Inner {
    fn now(&self) -> i64 {
        match &self.clock {
            Some(clock) => clock.millis(),
            None => Clock::system().millis() + self.clock_offset.load(Ordering::Relaxed),
        }
    }

    fn state_subject(&self, number: u64) -> String {
        format!("{}.state.{number}", self.name)
    }

    /// Returns the follower, once it has read all that was written before this call.
    async fn follower(&self) -> Result<&Follower, StoreError> {
        let start = async || {
            let (client, stream) = (self.client.clone(), self.stream.clone());
            Follower::start(client, stream, self.name.clone())
        };
        let follower = self.follower.get_or_init(start).await;
        let info = self.stream.get_info().await;
        let info = info.map_err(|error| nats_error("cannot read the stream", error))?;
        follower.catch_up(info.state.last_sequence).await?;
        Ok(follower)
    }

    /// Stores a change of an event, if no other change has come first.
    async fn store_state(
        &self,
        number: u64,
        record: &StateRecord,
        after: u64,
    ) -> Result<Change, StoreError> {
        let message = PublishMessage::build()
            .headers(record_headers(record))
            .expected_last_subject_sequence(after);
        let subject = self.state_subject(number);
        match publish(&self.context, subject, message).await {
            Ok(sequence) => Ok(Change::Stored(sequence)),
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => {
                Ok(Change::Conflict)
            }
            Err(error) => Err(nats_error("cannot write", error)),
        }
    }

    /// Returns the last state of an event in the stream.
    async fn last_state(&self, number: u64) -> Result<Option<(StateRecord, u64)>, StoreError> {
        let subject = self.state_subject(number);
        let message = self.stream.get_last_raw_message_by_subject(&subject).await;
        match message {
            Ok(message) => {
                let state = record(&message.headers);
                Ok(state.map(|state| (state, message.sequence)))
            }
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(nats_error("cannot read the state of an event", error)),
        }
    }

    /// Returns the message of an event: its record and its payload.
    async fn event_message(
        &self,
        number: u64,
    ) -> Result<Option<(EventRecord, bytes::Bytes)>, StoreError> {
        let message = match self.stream.get_raw_message(number).await {
            Ok(message) => message,
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                return Ok(None);
            }
            Err(error) => return Err(nats_error("cannot read an event", error)),
        };
        let prefix = format!("{}.event.", self.name);
        if !message.subject.starts_with(&prefix) {
            return Ok(None);
        }
        Ok(record(&message.headers).map(|record| (record, message.payload)))
    }

    /// Returns an event of the index with its headers and body.
    async fn stored(
        &self,
        follower: &Follower,
        number: u64,
    ) -> Result<Option<StoredEvent>, StoreError> {
        let Some((_, payload)) = self.event_message(number).await? else {
            return Ok(None);
        };
        let (headers, body) = headers_and_body(&payload);
        let index = follower.index();
        let entry = index.table.get(number);
        Ok(entry.map(|entry| entry.to_stored(number, self.now(), headers, body)))
    }

    /// Returns the sequence number of the last event with a key, if a delivery may replace it: it was
    /// forgotten, or is about to be removed.
    async fn replaceable(&self, subject: &str) -> Result<Option<u64>, StoreError> {
        let message = self.stream.get_last_raw_message_by_subject(subject).await;
        let sequence = match message {
            Ok(message) => message.sequence,
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                return Ok(Some(0));
            }
            Err(error) => return Err(nats_error("cannot read an event", error)),
        };
        let state = self.last_state(sequence).await?;
        let is_replaceable =
            state.is_some_and(|(state, _)| state.is_forgotten || state.state == StateName::Purged);
        Ok(is_replaceable.then_some(sequence))
    }

    /// Changes a leased event.
    async fn change_leased(
        &self,
        lease: &Lease,
        change: impl Fn(&mut StateRecord),
    ) -> Result<(), StoreError> {
        let mut follower = match self.follower.get() {
            Some(follower) => follower,
            None => self.follower().await?,
        };
        let number = number(lease.id()).ok_or_else(|| StoreError::lease_lost(lease))?;
        for _ in 0..MAX_CONFLICTS {
            let record = {
                let index = follower.index();
                let held = index.table.leased(lease).ok();
                let entry = held.and_then(|number| index.table.get(number));
                entry.map(|entry| (StateRecord::new(entry, entry.state), entry.payload.0))
            };
            let Some((mut record, after)) = record else {
                // The claim may be that of another process.
                follower = self.follower().await?;
                follower.index().table.leased(lease)?;
                continue;
            };
            change(&mut record);
            if let Change::Stored(sequence) = self.store_state(number, &record, after).await? {
                follower.index().apply(number, record, sequence);
                follower.changed.notify_one();
                return Ok(());
            }
            follower = self.follower().await?;
        }
        Err(StoreError::lease_lost(lease))
    }

    /// Claims an event. Returns `None` if another process was faster.
    async fn claim_one(
        &self,
        follower: &Follower,
        number: u64,
        request: &ClaimRequest,
    ) -> Result<Option<ClaimedEvent>, StoreError> {
        let until = self
            .now()
            .saturating_add(duration_millis(request.lease_duration));
        let (mut record, after) = {
            let index = follower.index();
            let Some(entry) = index.table.get(number) else {
                return Ok(None);
            };
            let record = StateRecord::new(entry, State::Leased { until });
            (record, entry.payload.0)
        };
        record.attempts = record.attempts.saturating_add(1);
        record.claims = record.claims.saturating_add(1);
        record.worker = Some(request.worker.clone());
        let lease = Lease::new(id(number), record.claims.to_string());
        let Change::Stored(sequence) = self.store_state(number, &record, after).await? else {
            return Ok(None);
        };
        follower.index().apply(number, record, sequence);
        let event = self.stored(follower, number).await?;
        Ok(event.map(|event| ClaimedEvent { event, lease }))
    }

    /// Makes a finished event pending. Returns whether it was finished.
    async fn replay_one(&self, follower: &Follower, number: u64) -> Result<bool, StoreError> {
        let (mut record, after) = {
            let index = follower.index();
            let entry = index.table.get(number);
            let Some(entry) = entry.filter(|entry| entry.finished_at().is_some()) else {
                return Ok(false);
            };
            let due = State::Pending { due_at: self.now() };
            (StateRecord::new(entry, due), entry.payload.0)
        };
        record.attempts = 0;
        match self.store_state(number, &record, after).await? {
            Change::Stored(sequence) => {
                follower.index().apply(number, record, sequence);
                Ok(true)
            }
            // Another process has replayed or purged it.
            Change::Conflict => Ok(false),
        }
    }

    /// Removes a finished event. Returns whether it was removed.
    async fn purge_one(&self, follower: &Follower, number: u64) -> Result<bool, StoreError> {
        let (mut record, after) = {
            let index = follower.index();
            let Some(entry) = index.table.get(number) else {
                return Ok(false);
            };
            (StateRecord::new(entry, entry.state), entry.payload.0)
        };
        (record.state, record.at, record.error) = (StateName::Purged, self.now(), None);
        let Change::Stored(sequence) = self.store_state(number, &record, after).await? else {
            return Ok(false);
        };
        follower.index().apply(number, record, sequence);
        let deleted = self.stream.delete_message(number).await;
        deleted.map_err(|error| nats_error("cannot remove an event", error))?;
        Ok(true)
    }

    /// Removes the message about the state of an event.
    async fn purge_state(&self, number: u64) -> Result<(), PurgeError> {
        let purge = self.stream.purge().filter(self.state_subject(number));
        purge.await.map(drop)
    }

    /// Removes the messages that say that an event was purged, once all followers have read them.
    async fn remove_purge_messages(&self, follower: &Follower) -> Result<(), StoreError> {
        let oldest = self.now().saturating_sub(PURGED_FOR_MILLIS);
        let old: Vec<u64> = {
            let mut index = follower.index();
            let (old, recent) = index.purged.iter().partition(|(_, at)| *at < oldest);
            let old: Vec<(u64, i64)> = old;
            index.purged = recent;
            old.into_iter().map(|(number, _)| number).collect()
        };
        for number in old {
            // A process that was killed in between has left the event.
            let _ = self.stream.delete_message(number).await;
            let purged = self.purge_state(number).await;
            purged.map_err(|error| nats_error("cannot remove an event", error))?;
        }
        Ok(())
    }
}

#[async_trait]
impl Store for NatsStore {
    async fn insert(&self, event: NewEvent) -> Result<InsertOutcome, StoreError> {
        let inner = &*self.0;
        let token = match &event.dedupe_key {
            Some(key) => key_token(key),
            // A subject of its own.
            None => inner.client.new_inbox().replace(['.', '_'], ""),
        };
        let subject = format!("{}.event.{token}", inner.name);
        let payload = payload(&event);
        let mut after = 0;
        for _ in 0..MAX_CONFLICTS {
            let resource_id = event.dedupe_key.as_ref().map(DedupeKey::resource_id);
            let record = EventRecord {
                event_type: event.event_type.clone(),
                resource_id: resource_id.map(str::to_owned),
                received_at: inner.now(),
                replaces: Some(after).filter(|after| *after > 0),
            };
            let message = PublishMessage::build()
                .headers(record_headers(&record))
                .payload(payload.clone())
                .expected_last_subject_sequence(after);
            match publish(&inner.context, subject.clone(), message).await {
                Ok(sequence) => {
                    if after > 0 {
                        // What had become of the event that was replaced.
                        let _ = inner.purge_state(after).await;
                    }
                    return Ok(InsertOutcome::Inserted(id(sequence)));
                }
                Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => {
                    match inner.replaceable(&subject).await? {
                        Some(sequence) => after = sequence,
                        None => return Ok(InsertOutcome::Duplicate),
                    }
                }
                Err(error) if error.kind() == PublishErrorKind::MaxPayloadExceeded => {
                    let max = inner.client.server_info().max_payload;
                    let bytes = payload.len();
                    let message = format!(
                        "the event has {bytes} bytes, but the NATS server accepts {max}: raise its max_payload"
                    );
                    return Err(StoreError::new(StoreErrorKind::Unavailable, message));
                }
                Err(error) => return Err(nats_error("cannot store an event", error)),
            }
        }
        let message = "other processes change the same event";
        Err(nats_error("cannot store an event", message))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<ClaimedEvent>, StoreError> {
        let inner = &*self.0;
        let mut claimed = Vec::new();
        for round in 0..MAX_CONFLICTS {
            let follower = inner.follower().await?;
            let missing = request.limit.saturating_sub(claimed.len());
            // After a conflict, workers choose from different parts of what is due.
            let parts = if round == 0 { 1 } else { 8 };
            let wanted = request.clone().limit(missing.saturating_mul(parts));
            let mut numbers = follower.index().table.claimable(&wanted, inner.now());
            if numbers.len() > missing {
                let part = part_of(&request.worker, parts);
                let start = (part * missing).min(numbers.len() - missing);
                numbers = numbers.into_iter().skip(start).take(missing).collect();
            }
            if numbers.is_empty() {
                break;
            }
            let claims = numbers
                .iter()
                .map(|number| inner.claim_one(follower, *number, request));
            let results = join_all(claims).await;
            let mut conflicts = 0;
            for result in results {
                match result {
                    Ok(Some(event)) => claimed.push(event),
                    Ok(None) => conflicts += 1,
                    Err(error) if claimed.is_empty() => return Err(error),
                    // The lease of an event that could not be read expires.
                    Err(error) => tracing::warn!("cannot claim a webhook event: {error}"),
                }
            }
            if conflicts == 0 || !claimed.is_empty() {
                break;
            }
        }
        Ok(claimed)
    }

    async fn extend(&self, lease: &Lease, duration: Duration) -> Result<(), StoreError> {
        let inner = &*self.0;
        let until = inner.now().saturating_add(duration_millis(duration));
        inner.change_leased(lease, |record| record.at = until).await
    }

    async fn finish(&self, lease: &Lease, outcome: HandlingOutcome) -> Result<(), StoreError> {
        let inner = &*self.0;
        let now = inner.now();
        let (state, at, error) = match outcome {
            HandlingOutcome::Handled => (StateName::Handled, now, None),
            HandlingOutcome::Retry { after, error } => {
                let due_at = now.saturating_add(duration_millis(after));
                (StateName::Pending, due_at, Some(error))
            }
            HandlingOutcome::Dead { reason } => (StateName::Dead, now, Some(reason)),
        };
        let change = |record: &mut StateRecord| {
            (record.state, record.at) = (state, at);
            if error.is_some() {
                record.error.clone_from(&error);
            }
        };
        inner.change_leased(lease, change).await
    }

    async fn forget(&self, key: &DedupeKey) -> Result<bool, StoreError> {
        let inner = &*self.0;
        for _ in 0..MAX_CONFLICTS {
            let follower = inner.follower().await?;
            let change = {
                let index = follower.index();
                let number = index.table.finished_with_key(key);
                number.and_then(|number| {
                    let entry = index.table.get(number)?;
                    let mut record = StateRecord::new(entry, entry.state);
                    record.is_forgotten = true;
                    Some((number, record, entry.payload.0))
                })
            };
            let Some((number, record, after)) = change else {
                return Ok(false);
            };
            if let Change::Stored(sequence) = inner.store_state(number, &record, after).await? {
                follower.index().apply(number, record, sequence);
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn get(&self, id: &EventId) -> Result<Option<StoredEvent>, StoreError> {
        let inner = &*self.0;
        let Some(number) = number(id) else {
            return Ok(None);
        };
        let Some((event, payload)) = inner.event_message(number).await? else {
            return Ok(None);
        };
        let mut entry = event.into_entry();
        if let Some((state, sequence)) = inner.last_state(number).await? {
            if state.state == StateName::Purged {
                return Ok(None);
            }
            state.apply_to(&mut entry, sequence);
        }
        let (headers, body) = headers_and_body(&payload);
        Ok(Some(entry.to_stored(number, inner.now(), headers, body)))
    }

    async fn list(&self, query: &ListQuery) -> Result<Vec<StoredEvent>, StoreError> {
        let inner = &*self.0;
        let follower = inner.follower().await?;
        let numbers = follower.index().table.list(query, inner.now());
        let events = stream::iter(numbers)
            .map(|number| inner.stored(follower, number))
            .buffered(CONCURRENCY);
        let events: Vec<_> = events.collect().await;
        events.into_iter().filter_map(Result::transpose).collect()
    }

    async fn replay(&self, filter: &ReplayFilter) -> Result<u64, StoreError> {
        let inner = &*self.0;
        let follower = inner.follower().await?;
        let numbers = follower.index().table.finished(filter);
        let replayed = stream::iter(numbers)
            .map(|number| inner.replay_one(follower, number))
            .buffer_unordered(CONCURRENCY);
        let replayed: Vec<_> = replayed.collect().await;
        follower.changed.notify_one();
        count(replayed)
    }

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        let inner = &*self.0;
        let follower = inner.follower().await?;
        inner.remove_purge_messages(follower).await?;
        let oldest = inner.now().saturating_sub(duration_millis(age));
        let numbers = follower.index().table.finished_before(oldest);
        let purged = stream::iter(numbers)
            .map(|number| inner.purge_one(follower, number))
            .buffer_unordered(CONCURRENCY);
        let purged: Vec<_> = purged.collect().await;
        // Clocks drift, and this is called once an hour.
        if inner.clock.is_none() {
            let offset = clock_offset(&inner.context, &inner.stream, &inner.name).await?;
            inner.clock_offset.store(offset, Ordering::Relaxed);
        }
        count(purged)
    }

    async fn stats(&self) -> Result<StoreStats, StoreError> {
        let inner = &*self.0;
        let follower = inner.follower().await?;
        let stats = follower.index().table.stats(inner.now());
        Ok(stats)
    }

    async fn wait_for_events(&self, timeout: Duration) {
        let inner = &*self.0;
        let Some(follower) = inner.follower.get() else {
            return tokio::time::sleep(timeout).await;
        };
        let until_due = follower.index().table.time_until_due(inner.now());
        let timeout = until_due.map_or(timeout, |due| due.min(timeout));
        let _ = tokio::time::timeout(timeout, follower.changed.notified()).await;
    }
}

impl fmt::Debug for NatsStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may contain a password.
        f.debug_struct("NatsStore")
            .field("stream", &self.0.name)
            .finish_non_exhaustive()
    }
}

/// Returns the part of the events from which a worker chooses.
fn part_of(worker: &str, parts: usize) -> usize {
    let sum: usize = worker.bytes().map(usize::from).sum();
    sum % parts
}

fn count(results: Vec<Result<bool, StoreError>>) -> Result<u64, StoreError> {
    let mut count = 0;
    for result in results {
        count += u64::from(result?);
    }
    Ok(count)
}
