//! A store in NATS JetStream.

mod connect;
mod follower;
mod inner;
mod record;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream;
use svc_webhook_verify::DedupeKey;
use tokio::sync::OnceCell;

pub use self::connect::NatsOptions;
use self::connect::{clock_offset, connect, nats_error, open_stream, publish};
use self::inner::{Inner, MAX_CONFLICTS};
use self::record::{
    EventRecord, ProgressSequence, headers_and_body, key_token, payload, record_headers,
};
use super::event_table::{Entry, Progress, State, id, number};
use crate::clock::{Clock, duration_millis};
use crate::event::{EventId, NewEvent, StoredEvent};
use crate::store::{
    ClaimRequest, ClaimedEvent, EventStore, EventStoreError, EventStoreErrorKind, HandlingOutcome,
    InsertOutcome, Lease, ListQuery, ReplayFilter, StoreStats,
};

/// The maximum number of concurrent requests of one call.
const CONCURRENCY: usize = 32;

/// A store in NATS JetStream, of NATS 2.9 or later.
///
/// ```no_run
/// use svc_webhook_inbox::{Inbox, NatsEventStore};
///
/// # async fn open() -> Result<(), svc_webhook_inbox::EventStoreError> {
/// let inbox = Inbox::new(NatsEventStore::connect("nats://127.0.0.1:4222").await?);
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
pub struct NatsEventStore(Arc<Inner>);

impl NatsEventStore {
    /// Connects to servers, with addresses such as `nats://127.0.0.1:4222`, separated by commas.
    ///
    /// # Errors
    ///
    /// Returns an error if an address is invalid, if no server can be reached, or if JetStream is
    /// not enabled.
    pub async fn connect(addresses: &str) -> Result<Self, EventStoreError> {
        Self::from_client(connect(addresses).await?, &NatsOptions::default()).await
    }

    /// Creates a store from a connection, such as one with credentials, and with a stream of another
    /// name.
    ///
    /// # Errors
    ///
    /// Returns an error if the stream cannot be opened.
    pub async fn from_client(
        client: Client,
        options: &NatsOptions,
    ) -> Result<Self, EventStoreError> {
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

#[async_trait]
impl EventStore for NatsEventStore {
    async fn insert(&self, event: NewEvent) -> Result<InsertOutcome, EventStoreError> {
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
                    return Err(EventStoreError::new(EventStoreErrorKind::Unavailable, message));
                }
                Err(error) => return Err(nats_error("cannot store an event", error)),
            }
        }
        let message = "other processes change the same event";
        Err(nats_error("cannot store an event", message))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<ClaimedEvent>, EventStoreError> {
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
                let sum: usize = request.worker.bytes().map(usize::from).sum();
                let part = sum % parts;
                let start = (part * missing).min(numbers.len() - missing);
                numbers = numbers.into_iter().skip(start).take(missing).collect();
            }
            if numbers.is_empty() {
                break;
            }
            let claims = numbers.iter().map(|number| inner.claim_one(follower, *number, request));
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

    async fn extend(&self, lease: &Lease, duration: Duration) -> Result<(), EventStoreError> {
        let inner = &*self.0;
        let until = inner.now().saturating_add(duration_millis(duration));
        inner.change_leased(lease, |progress| progress.at = until).await
    }

    async fn finish(&self, lease: &Lease, outcome: HandlingOutcome) -> Result<(), EventStoreError> {
        let inner = &*self.0;
        let now = inner.now();
        let (state, at, error) = match outcome {
            HandlingOutcome::Handled => (State::Handled, now, None),
            HandlingOutcome::Retry { after, error } => {
                let due_at = now.saturating_add(duration_millis(after));
                (State::Pending, due_at, Some(error))
            }
            HandlingOutcome::Dead { reason } => (State::Dead, now, Some(reason)),
        };
        let change = |progress: &mut Progress| {
            progress.set(state, at);
            if error.is_some() {
                progress.error.clone_from(&error);
            }
        };
        inner.change_leased(lease, change).await
    }

    async fn forget(&self, key: &DedupeKey) -> Result<bool, EventStoreError> {
        let inner = &*self.0;
        for _ in 0..MAX_CONFLICTS {
            let follower = inner.follower().await?;
            let number = follower.index().table.finished_with_key(key);
            let Some(number) = number else { return Ok(false) };
            let forget = |entry: &Entry<ProgressSequence>| {
                Some(Progress { is_forgotten: true, ..entry.progress.clone() })
            };
            if inner.change(follower, number, forget).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn get(&self, id: &EventId) -> Result<Option<StoredEvent>, EventStoreError> {
        let inner = &*self.0;
        let Some(number) = number(id) else { return Ok(None) };
        let Some((event, payload)) = inner.event_message(number).await? else { return Ok(None) };
        let mut entry = event.into_entry();
        if let Some(progress) = inner.progress(number).await? {
            if progress.state == State::Purged {
                return Ok(None);
            }
            entry.progress = progress;
        }
        let (headers, body) = headers_and_body(&payload);
        Ok(Some(entry.to_stored(number, inner.now(), headers, body)))
    }

    async fn list(&self, query: &ListQuery) -> Result<Vec<StoredEvent>, EventStoreError> {
        let inner = &*self.0;
        let follower = inner.follower().await?;
        let numbers = follower.index().table.list(query, inner.now());
        let events = stream::iter(numbers)
            .map(|number| inner.stored(follower, number))
            .buffered(CONCURRENCY);
        let events: Vec<_> = events.collect().await;
        events.into_iter().filter_map(Result::transpose).collect()
    }

    async fn replay(&self, filter: &ReplayFilter) -> Result<u64, EventStoreError> {
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

    async fn purge(&self, age: Duration) -> Result<u64, EventStoreError> {
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

    async fn stats(&self) -> Result<StoreStats, EventStoreError> {
        let inner = &*self.0;
        let follower = inner.follower().await?;
        let stats = follower.index().table.stats(inner.now());
        Ok(stats)
    }

    async fn wait_for_events(&self, timeout: Duration) {
        let inner = &*self.0;
        let Some(follower) = inner.follower.get() else { return tokio::time::sleep(timeout).await };
        let timeout = follower.index().table.wait_time(inner.now(), timeout);
        let _ = tokio::time::timeout(timeout, follower.changed.notified()).await;
    }
}

impl fmt::Debug for NatsEventStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may contain a password.
        f.debug_struct("NatsEventStore").field("stream", &self.0.name).finish_non_exhaustive()
    }
}

fn count(results: Vec<Result<bool, EventStoreError>>) -> Result<u64, EventStoreError> {
    results.into_iter().map(|is_changed| is_changed.map(u64::from)).sum()
}
