//! The stores of one process, which delegate to their [`LocalStore`].

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use svc_webhook_verify::DedupeKey;

use super::event_log::{EventLog, LineRange};
use super::line::Line;
use super::{LocalStore, MemoryContents, Storage, apply};
use crate::clock::{Clock, duration_millis};
use crate::event::{EventId, NewEvent, StoredEvent};
use crate::store::{
    ClaimRequest, ClaimedEvent, EventStore, EventStoreError, HandlingOutcome, InsertOutcome, Lease,
    ListQuery, ReplayFilter, StoreStats,
};
use crate::stores::event_table::{EventTable, State, number};

/// A store in an append-only file, for one process.
///
/// ```no_run
/// use svc_webhook_inbox::{FileEventStore, Inbox};
///
/// let inbox = Inbox::new(FileEventStore::open("webhooks.jsonl")?);
/// # Ok::<(), svc_webhook_inbox::EventStoreError>(())
/// ```
///
/// An accepted event is on the disk. The file has a line for each change, and is rewritten without
/// superfluous lines when it grows. When it is opened, all unfinished events may be claimed at once.
/// The events and their bodies stay in the file; what is needed to find them is in memory. Of handled
/// events, the last 64 MiB are kept for a replay; of older ones only the keys.
#[derive(Clone, Debug)]
pub struct FileEventStore(pub(super) LocalStore);

impl FileEventStore {
    /// Opens a file, and creates it if it does not exist. Only one process can use it; the lock is
    /// a second file with the name extension `.lock`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or is not a store, and one of kind
    /// [`Locked`](crate::EventStoreErrorKind::Locked) if another process uses it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, EventStoreError> {
        LocalStore::open(path.as_ref()).map(Self)
    }

    /// Opens a file for reading, also while another process uses it. Shows the events of the time
    /// at which it was opened.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or is not a store.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, EventStoreError> {
        LocalStore::open_read_only(path.as_ref()).map(Self)
    }

    /// Sets the clock, for tests.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self(self.0.with_clock(clock))
    }
}

/// A store in memory, for tests and short-lived receivers. Its events are lost when the process
/// ends.
#[derive(Debug)]
pub struct MemoryEventStore(pub(super) LocalStore);

impl MemoryEventStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the clock, for tests.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self(self.0.with_clock(clock))
    }

    /// Sets the maximum size of all headers and bodies. By default there is none.
    ///
    /// To make room, the oldest handled events are removed, and only their keys are kept. If
    /// unfinished events alone fill the store, an insertion fails with
    /// [`Full`](crate::EventStoreErrorKind::Full).
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        if let Storage::Memory(contents) = &mut self.0.events().storage {
            contents.max_bytes = bytes;
        }
        self
    }
}

impl Default for MemoryEventStore {
    fn default() -> Self {
        Self(LocalStore::new(EventTable::default(), Storage::Memory(MemoryContents::default())))
    }
}

/// Implements `EventStore` for the types around a [`LocalStore`]. A generic implementation would be one of a private
/// trait in the documentation.
macro_rules! implement_store {
    ($($store:ty),+) => {
        $(
            #[async_trait]
            impl EventStore for $store {
                async fn insert(&self, event: NewEvent) -> Result<InsertOutcome, EventStoreError> {
                    self.0.add(event, false).await
                }

                async fn insert_handled(&self, event: NewEvent) -> Result<InsertOutcome, EventStoreError> {
                    self.0.add(event, true).await
                }

                async fn claim(&self, request: &ClaimRequest) -> Result<Vec<ClaimedEvent>, EventStoreError> {
                    let request = request.clone();
                    self.0
                        .run(move |events, now| {
                            let leases = events.table.claim(&request, now);
                            if !leases.is_empty() {
                                let ids = leases.iter().map(|(number, _)| *number).collect();
                                // Without this line, attempts are not counted after a restart. On a full disk, the
                                // events are handled nevertheless.
                                let _ = events.append(&Line::Claimed { ids });
                            }
                            let mut claimed = Vec::with_capacity(leases.len());
                            for (number, lease) in leases {
                                match events.stored(number, now) {
                                    Ok(Some(event)) => claimed.push(ClaimedEvent { event, lease }),
                                    Ok(None) => {}
                                    // It is claimed again when the lease has expired.
                                    Err(error) => tracing::error!("{error}"),
                                }
                            }
                            Ok(claimed)
                        })
                        .await
                }

                async fn extend(&self, lease: &Lease, duration: Duration) -> Result<(), EventStoreError> {
                    let lease = lease.clone();
                    self.0
                        .run(move |events, now| {
                            let number = events.table.leased(&lease)?;
                            let until = now.saturating_add(duration_millis(duration));
                            events.table.update(number, |entry| entry.progress.set(State::Leased, until));
                            Ok(())
                        })
                        .await
                }

                /// The line is not flushed: in a crash of the machine, the event is handled once more.
                async fn finish(&self, lease: &Lease, outcome: HandlingOutcome) -> Result<(), EventStoreError> {
                    let lease = lease.clone();
                    let finished = self.0.run(move |events, now| {
                        let id = events.table.leased(&lease)?;
                        let line = match outcome {
                            HandlingOutcome::Handled => Line::Forwarded { id, at: now },
                            HandlingOutcome::Retry { after, error } => {
                                Line::Retried { id, due_at: now.saturating_add(duration_millis(after)), error }
                            }
                            HandlingOutcome::Dead { reason } => Line::GivenUp { id, at: now, reason },
                        };
                        // If the line cannot be written, only the next process handles the event again.
                        apply(&mut events.table, &line, LineRange::default());
                        events.append(&line)
                    });
                    let finished = finished.await;
                    self.0.changed.notify_one();
                    finished
                }

                async fn forget(&self, key: &DedupeKey) -> Result<bool, EventStoreError> {
                    let key = key.clone();
                    self.0
                        .run(move |events, _| {
                            let line = if events.table.is_evicted(&key) {
                                Line::ForgottenKey { key: Some(key) }
                            } else {
                                let Some(id) = events.table.finished_with_key(&key) else { return Ok(false) };
                                Line::Forgotten { id }
                            };
                            events.change(&line, EventLog::append)?;
                            events.try_compact();
                            Ok(true)
                        })
                        .await
                }

                async fn get(&self, id: &EventId) -> Result<Option<StoredEvent>, EventStoreError> {
                    let Some(number) = number(id) else { return Ok(None) };
                    self.0.run(move |events, now| events.stored(number, now)).await
                }

                async fn list(&self, query: &ListQuery) -> Result<Vec<StoredEvent>, EventStoreError> {
                    let query = query.clone();
                    self.0
                        .run(move |events, now| {
                            let numbers = events.table.list(&query, now).into_iter();
                            numbers.filter_map(|number| events.stored(number, now).transpose()).collect()
                        })
                        .await
                }

                async fn replay(&self, filter: &ReplayFilter) -> Result<u64, EventStoreError> {
                    let filter = filter.clone();
                    let replayed = self.0.run(move |events, now| {
                        let ids = events.table.finished(&filter);
                        let count = ids.len();
                        if count > 0 {
                            events.change(&Line::Replayed { ids, at: now }, EventLog::append_durably)?;
                        }
                        Ok(u64::try_from(count).unwrap_or(u64::MAX))
                    });
                    let replayed = replayed.await;
                    self.0.changed.notify_one();
                    replayed
                }

                async fn purge(&self, age: Duration) -> Result<u64, EventStoreError> {
                    self.0
                        .run(move |events, now| {
                            let oldest = now.saturating_sub(duration_millis(age));
                            events.table.remove_evicted_before(oldest);
                            let ids = events.table.finished_before(oldest);
                            let count = ids.len();
                            if let Storage::Memory(contents) = &mut events.storage {
                                ids.iter().for_each(|number| contents.remove(*number));
                            }
                            if count > 0 {
                                events.change(&Line::Purged { ids }, EventLog::append)?;
                                events.try_compact();
                            }
                            Ok(u64::try_from(count).unwrap_or(u64::MAX))
                        })
                        .await
                }

                async fn stats(&self) -> Result<StoreStats, EventStoreError> {
                    self.0.run(|events, now| Ok(events.table.stats(now))).await
                }

                async fn wait_for_events(&self, timeout: Duration) {
                    let LocalStore { changed, clock, .. } = &self.0;
                    let timeout = self.0.events().table.wait_time(clock.millis(), timeout);
                    let _ = tokio::time::timeout(timeout, changed.notified()).await;
                }
            }
        )+
    };
}

implement_store!(FileEventStore, MemoryEventStore);
