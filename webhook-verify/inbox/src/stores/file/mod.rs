//! A store in a file.

mod event_log;
mod line;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use svc_webhook_verify::DedupeKey;
use tokio::sync::Notify;

use self::event_log::{EventLog, LineRange};
use self::line::{Delivery, Line};
use super::event_table::{Entry, EventTable, State, id, number};
use crate::clock::{Clock, duration_millis};
use crate::event::{EventId, NewEvent, StoredEvent};
use crate::store::{
    ClaimRequest, ClaimedEvent, HandlingOutcome, InsertOutcome, Lease, ListQuery, ReplayFilter,
    Store, StoreError, StoreStats,
};

/// The size of finished events that a compaction keeps, so that they can be replayed.
const MAX_FINISHED_BYTES: u64 = 64 * 1024 * 1024;

/// A store in an append-only file, for one process.
///
/// ```no_run
/// use svc_webhook_inbox::{FileStore, Inbox};
///
/// let inbox = Inbox::new(FileStore::open("webhooks.jsonl")?);
/// # Ok::<(), svc_webhook_inbox::StoreError>(())
/// ```
///
/// An accepted event is on the disk. The file has a line for each change, and is rewritten without
/// superfluous lines when it grows. When it is opened, all unfinished events may be claimed at once.
/// The events and their bodies stay in the file; what is needed to find them is in memory. Of handled
/// events, the last 64 MiB are kept for a replay; of older ones only the keys.
#[derive(Clone, Debug)]
pub struct FileStore {
    events: Arc<Mutex<FileEvents>>,
    changed: Arc<Notify>,
    clock: Clock,
}

#[derive(Debug)]
struct FileEvents {
    table: EventTable<LineRange>,
    log: EventLog,
}

impl FileStore {
    /// Opens a file, and creates it if it does not exist. Only one process can use it; the lock is
    /// a second file with the name extension `.lock`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or is not a store, and one of kind
    /// [`Locked`](crate::StoreErrorKind::Locked) if another process uses it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let mut table = EventTable::default();
        let log = EventLog::open(path.as_ref(), |line, range| apply(&mut table, line, range))?;
        // A new process does not wait for the delays of an earlier one.
        for (number, received_at) in table.delayed() {
            let state = State::Pending { due_at: received_at };
            table.update(number, |entry| entry.state = state);
        }
        let mut events = FileEvents { table, log };
        if events.log.needs_compaction() {
            let compacted = events.compact();
            compacted
                .map_err(|error| StoreError::unavailable("cannot compact the store", error))?;
        }
        Ok(Self::new(events))
    }

    /// Opens a file for reading, also while another process uses it. Shows the events of the time
    /// at which it was opened.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or is not a store.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let mut table = EventTable::default();
        let on_line = |line, range| apply(&mut table, line, range);
        let log = EventLog::open_read_only(path.as_ref(), on_line)?;
        Ok(Self::new(FileEvents { table, log }))
    }

    fn new(events: FileEvents) -> Self {
        Self {
            events: Arc::new(Mutex::new(events)),
            changed: Arc::default(),
            clock: Clock::system(),
        }
    }

    /// Sets the clock, for tests.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    async fn add(&self, event: NewEvent, is_handled: bool) -> Result<InsertOutcome, StoreError> {
        let inserted = self.run(move |events, now| {
            let NewEvent { dedupe_key: key, event_type, headers, body } = event;
            if key.as_ref().is_some_and(|key| events.table.is_known(key)) {
                return Ok(InsertOutcome::Duplicate);
            }
            let number = events.table.next_number();
            let delivery = Delivery::new(now, key, &event_type, &headers, &body);
            let received = Line::Received { id: number, delivery };
            if is_handled {
                events.change(received, EventLog::append)?;
                let handled = Line::Forwarded { id: number, at: Some(now) };
                events.change(handled, EventLog::append_durably)?;
                events.compact_if_needed();
            } else {
                events.change(received, EventLog::append_durably)?;
            }
            Ok(InsertOutcome::Inserted(id(number)))
        });
        let inserted = inserted.await;
        self.changed.notify_one();
        inserted
    }

    /// Runs a function on a blocking thread, because writing to the disk takes time.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut FileEvents, i64) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (events, now) = (Arc::clone(&self.events), self.clock.millis());
        let work = move || {
            // A panic would leave the memory without a change that is in the file, never the
            // reverse.
            work(&mut events.lock().unwrap_or_else(PoisonError::into_inner), now)
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| Err(StoreError::unavailable("the store failed", error)))
    }
}

/// Repeats the change of a line.
fn apply(table: &mut EventTable<LineRange>, line: Line, range: LineRange) {
    let received_at = |table: &EventTable<LineRange>, id| {
        table.get(id).map_or(0, |entry: &Entry<_>| entry.received_at)
    };
    match line {
        Line::SvcWebhookStore(_) => {}
        Line::Received { id, delivery } => {
            let event_type = delivery.event_type().to_owned();
            let received_at = delivery.received_at();
            table.insert(id, Entry::new(delivery.key, event_type, received_at, range));
        }
        Line::Claimed { ids } => {
            for id in ids {
                table.update(id, |entry| {
                    entry.attempts = entry.attempts.saturating_add(1);
                    entry.claims = entry.claims.saturating_add(1);
                });
            }
        }
        Line::Retried { id, due_at, error } => table.update(id, |entry| {
            entry.state = State::Pending { due_at };
            entry.last_error = Some(error);
        }),
        Line::Forwarded { id, at } => {
            let at = at.unwrap_or_else(|| received_at(table, id));
            table.update(id, |entry| entry.state = State::Handled { at });
        }
        Line::GivenUp { id, at, reason } => {
            let is_earlier_version = at.is_none();
            let at = at.unwrap_or_else(|| received_at(table, id));
            table.update(id, |entry| {
                entry.state = State::Dead { at };
                entry.last_error = reason.or_else(|| entry.last_error.take());
            });
            if is_earlier_version {
                table.forget(id);
            }
        }
        Line::Replayed { ids, at } => ids.into_iter().for_each(|id| table.replay(id, at)),
        Line::Forgotten { id } => table.forget(id),
        Line::ForgottenKey { key } => {
            if let Some(key) = key {
                table.forget_evicted(&key);
            }
        }
        Line::Purged { ids } => ids.into_iter().for_each(|id| drop(table.remove(id))),
        Line::Attempts { id, attempts, claims, due_at, error } => table.update(id, |entry| {
            (entry.attempts, entry.claims, entry.last_error) = (attempts, claims, error);
            if let Some(due_at) = due_at {
                entry.state = State::Pending { due_at };
            }
        }),
        Line::Known { at, key } => {
            let millis = i64::try_from(at.saturating_mul(1000)).unwrap_or(i64::MAX);
            if let Some(key) = key {
                table.add_evicted(key, millis);
            }
        }
    }
}

impl FileEvents {
    fn stored(&mut self, number: u64, now: i64) -> Result<Option<StoredEvent>, StoreError> {
        let Some(entry) = self.table.get(number) else { return Ok(None) };
        let read = self.log.delivery(entry.payload).and_then(|delivery| {
            let body = delivery.body();
            let body = body.ok_or_else(|| io::Error::other("the stored body is damaged"))?;
            Ok((delivery.headers(), body))
        });
        let what = format!("cannot read event {number} from the store");
        let (headers, body) = read.map_err(|error| StoreError::unavailable(&what, error))?;
        Ok(Some(entry.to_stored(number, now, headers, body)))
    }

    /// Writes a change with a function of the log, and then changes the table.
    fn change(
        &mut self,
        line: Line,
        append: impl FnOnce(&mut EventLog, &Line) -> io::Result<LineRange>,
    ) -> Result<(), StoreError> {
        let range = append(&mut self.log, &line);
        let range = range.map_err(|error| self.log.write_error(&error))?;
        apply(&mut self.table, line, range);
        Ok(())
    }

    /// Writes a change that the table already contains.
    fn append(&mut self, line: &Line) -> Result<(), StoreError> {
        let appended = self.log.append(line).map(drop);
        appended.map_err(|error| self.log.write_error(&error))?;
        self.compact_if_needed();
        Ok(())
    }

    fn compact_if_needed(&mut self) {
        // Compaction may fail for lack of disk space and succeed later.
        if self.log.needs_compaction() && self.compact().is_err() {
            self.log.defer_compaction();
        }
    }

    /// Rewrites the file without superfluous lines, and without the oldest handled events.
    fn compact(&mut self) -> io::Result<()> {
        let mut bytes = 0_u64;
        let mut superfluous = Vec::new();
        for (number, entry) in self.table.iter().rev() {
            if matches!(entry.state, State::Handled { .. }) {
                bytes = bytes.saturating_add(entry.payload.length);
                if bytes > MAX_FINISHED_BYTES {
                    superfluous.push(number);
                }
            }
        }
        for number in superfluous.into_iter().rev() {
            self.table.evict(number);
        }
        let known = self
            .table
            .evicted()
            .map(|(key, at)| Line::Known { at: at.unsigned_abs() / 1000, key: Some(key.clone()) });
        let ranges: Vec<LineRange> = self.table.iter().map(|(_, entry)| entry.payload).collect();
        let states = self.table.iter().flat_map(state_lines);
        let new_ranges = self.log.rewrite(known, &ranges, states)?;
        for ((_, entry), range) in self.table.iter_mut().zip(new_ranges) {
            entry.payload = range;
        }
        Ok(())
    }
}

/// Returns the lines that restore the state of an event after its `received` line.
fn state_lines((id, entry): (u64, &Entry<LineRange>)) -> impl Iterator<Item = Line> {
    let due_at = match entry.state {
        State::Pending { due_at } if due_at != entry.received_at => Some(due_at),
        _ => None,
    };
    let attempts = (entry.claims > 0 || due_at.is_some()).then(|| Line::Attempts {
        id,
        attempts: entry.attempts,
        claims: entry.claims,
        due_at,
        error: entry.last_error.clone(),
    });
    let finished = match entry.state {
        State::Pending { .. } | State::Leased { .. } => None,
        State::Handled { at } => Some(Line::Forwarded { id, at: Some(at) }),
        State::Dead { at } => {
            Some(Line::GivenUp { id, at: Some(at), reason: entry.last_error.clone() })
        }
    };
    let forgotten = entry.is_forgotten.then_some(Line::Forgotten { id });
    attempts.into_iter().chain(finished).chain(forgotten)
}

#[async_trait]
impl Store for FileStore {
    async fn insert(&self, event: NewEvent) -> Result<InsertOutcome, StoreError> {
        self.add(event, false).await
    }

    async fn insert_handled(&self, event: NewEvent) -> Result<InsertOutcome, StoreError> {
        self.add(event, true).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<ClaimedEvent>, StoreError> {
        let request = request.clone();
        self.run(move |events, now| {
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

    async fn extend(&self, lease: &Lease, duration: Duration) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.run(move |events, now| {
            let number = events.table.leased(&lease)?;
            let until = now.saturating_add(duration_millis(duration));
            events.table.extend(number, until);
            Ok(())
        })
        .await
    }

    /// The line is not flushed: in a crash of the machine, the event is handled once more.
    async fn finish(&self, lease: &Lease, outcome: HandlingOutcome) -> Result<(), StoreError> {
        let lease = lease.clone();
        let finished = self.run(move |events, now| {
            let id = events.table.leased(&lease)?;
            let line = match outcome.clone() {
                HandlingOutcome::Handled => Line::Forwarded { id, at: Some(now) },
                HandlingOutcome::Retry { after, error } => {
                    Line::Retried { id, due_at: now.saturating_add(duration_millis(after)), error }
                }
                HandlingOutcome::Dead { reason } => {
                    Line::GivenUp { id, at: Some(now), reason: Some(reason) }
                }
            };
            // If the line cannot be written, only the next process handles the event again.
            events.table.finish(id, outcome, now);
            events.append(&line)
        });
        let finished = finished.await;
        self.changed.notify_one();
        finished
    }

    async fn forget(&self, key: &DedupeKey) -> Result<bool, StoreError> {
        let key = key.clone();
        self.run(move |events, _| {
            let line = if events.table.is_evicted(&key) {
                Line::ForgottenKey { key: Some(key) }
            } else {
                let Some(id) = events.table.finished_with_key(&key) else { return Ok(false) };
                Line::Forgotten { id }
            };
            events.change(line, EventLog::append)?;
            events.compact_if_needed();
            Ok(true)
        })
        .await
    }

    async fn get(&self, id: &EventId) -> Result<Option<StoredEvent>, StoreError> {
        let Some(number) = number(id) else { return Ok(None) };
        self.run(move |events, now| events.stored(number, now)).await
    }

    async fn list(&self, query: &ListQuery) -> Result<Vec<StoredEvent>, StoreError> {
        let query = query.clone();
        self.run(move |events, now| {
            let numbers = events.table.list(&query, now).into_iter();
            numbers.filter_map(|number| events.stored(number, now).transpose()).collect()
        })
        .await
    }

    async fn replay(&self, filter: &ReplayFilter) -> Result<u64, StoreError> {
        let filter = filter.clone();
        let replayed = self.run(move |events, now| {
            let ids = events.table.finished(&filter);
            if ids.is_empty() {
                return Ok(0);
            }
            let count = u64::try_from(ids.len()).unwrap_or(u64::MAX);
            events.change(Line::Replayed { ids, at: now }, EventLog::append_durably)?;
            Ok(count)
        });
        let replayed = replayed.await;
        self.changed.notify_one();
        replayed
    }

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        self.run(move |events, now| {
            let oldest = now.saturating_sub(duration_millis(age));
            events.table.remove_evicted_before(oldest);
            let ids = events.table.finished_before(oldest);
            if ids.is_empty() {
                return Ok(0);
            }
            let count = u64::try_from(ids.len()).unwrap_or(u64::MAX);
            events.change(Line::Purged { ids }, EventLog::append)?;
            events.compact_if_needed();
            Ok(count)
        })
        .await
    }

    async fn stats(&self) -> Result<StoreStats, StoreError> {
        self.run(|events, now| Ok(events.table.stats(now))).await
    }

    async fn wait_for_events(&self, timeout: Duration) {
        let timeout = {
            let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            events.table.wait_time(self.clock.millis(), timeout)
        };
        let _ = tokio::time::timeout(timeout, self.changed.notified()).await;
    }
}

#[cfg(test)]
mod tests;
