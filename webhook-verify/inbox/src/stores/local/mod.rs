//! The store of one process, with its events in memory or in a file.

mod event_log;
mod line;
mod memory_contents;
mod store;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use self::event_log::{EventLog, LineRange};
use self::line::{Delivery, Line};
use self::memory_contents::MemoryContents;
pub use self::store::{FileEventStore, MemoryEventStore};
use super::event_table::{Entry, EventTable, Progress, State, id};
use crate::clock::Clock;
use crate::event::{NewEvent, StoredEvent};
use crate::store::{EventStoreError, InsertOutcome};

/// The size of finished events that a compaction keeps, so that they can be replayed.
const MAX_FINISHED_BYTES: u64 = 64 * 1024 * 1024;

/// The store behind [`FileEventStore`] and [`MemoryEventStore`].
#[derive(Clone, Debug)]
struct LocalStore {
    events: Arc<Mutex<LocalEvents>>,
    changed: Arc<Notify>,
    clock: Clock,
}

#[derive(Debug)]
struct LocalEvents {
    /// The events without headers and bodies, with their places in the file.
    table: EventTable<LineRange>,
    storage: Storage,
}

/// Adds a line to the file, with or without flushing it to the disk.
type Append = fn(&mut EventLog, &Line) -> io::Result<LineRange>;

/// Where the headers and bodies are.
#[derive(Debug)]
enum Storage {
    Memory(MemoryContents),
    File(EventLog),
}

impl LocalStore {
    fn open(path: &Path) -> Result<Self, EventStoreError> {
        let mut table = EventTable::default();
        let log = EventLog::open(path, |line, range| apply(&mut table, &line, range))?;
        // A new process does not wait for the delays of an earlier one.
        for number in table.numbers(|_, entry| entry.due_at() > Some(entry.received_at)) {
            table.update(number, |entry| entry.progress.set(State::Pending, entry.received_at));
        }
        let store = Self::new(table, Storage::File(log));
        let compacted = store.events().compact_if_needed();
        compacted
            .map_err(|error| EventStoreError::unavailable("cannot compact the store", error))?;
        Ok(store)
    }

    fn open_read_only(path: &Path) -> Result<Self, EventStoreError> {
        let mut table = EventTable::default();
        let log = EventLog::open_read_only(path, |line, range| apply(&mut table, &line, range))?;
        Ok(Self::new(table, Storage::File(log)))
    }

    fn new(table: EventTable<LineRange>, storage: Storage) -> Self {
        let events = Arc::new(Mutex::new(LocalEvents { table, storage }));
        Self { events, changed: Arc::default(), clock: Clock::system() }
    }

    fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    fn events(&self) -> MutexGuard<'_, LocalEvents> {
        // A panic would leave the memory without a change that is in the file, never the reverse.
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn add(
        &self,
        event: NewEvent,
        is_handled: bool,
    ) -> Result<InsertOutcome, EventStoreError> {
        let added = self.run(move |events, now| events.add(event, is_handled, now)).await;
        self.changed.notify_one();
        added
    }

    /// Runs a function; with a file on a blocking thread, because writing to the disk takes time.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut LocalEvents, i64) -> Result<T, EventStoreError> + Send + 'static,
    ) -> Result<T, EventStoreError> {
        let now = self.clock.millis();
        let is_in_memory = matches!(self.events().storage, Storage::Memory(_));
        if is_in_memory {
            return work(&mut self.events(), now);
        }
        let store = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&mut store.events(), now)).await;
        done.unwrap_or_else(|error| Err(EventStoreError::unavailable("the store failed", error)))
    }
}

/// Makes the change of a line.
fn apply(table: &mut EventTable<LineRange>, line: &Line, range: LineRange) {
    match line {
        Line::SvcWebhookStore(_) => {}
        Line::Received { id, delivery } => {
            let (key, event_type) = (delivery.key.clone(), delivery.event.clone());
            table.insert(*id, Entry::new(key, event_type, delivery.received_at(), range));
        }
        Line::Claimed { ids } => {
            for id in ids {
                table.update(*id, |entry| entry.progress.count_claim());
            }
        }
        Line::Retried { id, due_at, error } => table.update(*id, |entry| {
            entry.progress.set(State::Pending, *due_at);
            entry.progress.error = Some(error.clone());
        }),
        Line::Forwarded { id, at } => {
            table.update(*id, |entry| entry.progress.set(State::Handled, *at));
        }
        Line::GivenUp { id, at, reason } => table.update(*id, |entry| {
            entry.progress.set(State::Dead, *at);
            entry.progress.error = Some(reason.clone());
        }),
        Line::Replayed { ids, at } => {
            for id in ids {
                table.update(*id, |entry| entry.progress.replay(*at));
            }
        }
        Line::Forgotten { id } => table.forget(*id),
        Line::ForgottenKey { key } => {
            if let Some(key) = key {
                table.forget_evicted(key);
            }
        }
        Line::Purged { ids } => ids.iter().for_each(|id| table.remove(*id)),
        Line::Attempts { id, attempts, claims, due_at, error } => table.update(*id, |entry| {
            let progress = &mut entry.progress;
            (progress.attempts, progress.claims) = (*attempts, *claims);
            progress.error.clone_from(error);
            if let Some(due_at) = *due_at {
                progress.set(State::Pending, due_at);
            }
        }),
        Line::Known { at, key } => {
            let millis = i64::try_from(at.saturating_mul(1000)).unwrap_or(i64::MAX);
            if let Some(key) = key {
                table.add_evicted(key.clone(), millis);
            }
        }
    }
}

impl LocalEvents {
    fn add(
        &mut self,
        event: NewEvent,
        is_handled: bool,
        now: i64,
    ) -> Result<InsertOutcome, EventStoreError> {
        let NewEvent { dedupe_key: key, event_type, headers, body } = event;
        if key.as_ref().is_some_and(|key| self.table.is_known(key)) {
            return Ok(InsertOutcome::Duplicate);
        }
        let number = self.table.next_number();
        if let Storage::Memory(contents) = &mut self.storage {
            contents.add(number, headers, body, &mut self.table)?;
            let entry = Entry::new(key, event_type, now, LineRange::default());
            self.table.insert(number, entry);
        } else {
            let delivery = Delivery::new(now, key, &event_type, &headers, &body);
            let append = if is_handled { EventLog::append } else { EventLog::append_durably };
            self.change(&Line::Received { id: number, delivery }, append)?;
        }
        if is_handled {
            let handled = Line::Forwarded { id: number, at: now };
            self.change(&handled, EventLog::append_durably)?;
            self.try_compact();
        }
        Ok(InsertOutcome::Inserted(id(number)))
    }

    fn stored(&mut self, number: u64, now: i64) -> Result<Option<StoredEvent>, EventStoreError> {
        let Some(entry) = self.table.get(number) else { return Ok(None) };
        let content = match &mut self.storage {
            Storage::Memory(contents) => Ok(contents.get(number)),
            Storage::File(log) => log.content(entry.payload),
        };
        let what = format!("cannot read event {number} from the store");
        let (headers, body) =
            content.map_err(|error| EventStoreError::unavailable(&what, error))?;
        Ok(Some(entry.to_stored(number, now, headers, body)))
    }

    /// Writes a change, and then makes it.
    fn change(&mut self, line: &Line, append: Append) -> Result<(), EventStoreError> {
        let range = self.write(line, append)?;
        apply(&mut self.table, line, range);
        Ok(())
    }

    fn write(&mut self, line: &Line, append: Append) -> Result<LineRange, EventStoreError> {
        match &mut self.storage {
            Storage::Memory(_) => Ok(LineRange::default()),
            Storage::File(log) => append(log, line).map_err(|error| log.write_error(&error)),
        }
    }

    /// Writes a change that the table already contains.
    fn append(&mut self, line: &Line) -> Result<(), EventStoreError> {
        self.write(line, EventLog::append)?;
        self.try_compact();
        Ok(())
    }

    /// Compacts the file if it is large. That may fail for lack of disk space and succeed later.
    fn try_compact(&mut self) {
        if self.compact_if_needed().is_err()
            && let Storage::File(log) = &mut self.storage
        {
            log.defer_compaction();
        }
    }

    fn compact_if_needed(&mut self) -> io::Result<()> {
        match &self.storage {
            Storage::File(log) if log.needs_compaction() => self.compact(),
            _ => Ok(()),
        }
    }

    /// Rewrites the file without superfluous lines, and without the oldest handled events.
    fn compact(&mut self) -> io::Result<()> {
        let Storage::File(log) = &mut self.storage else { return Ok(()) };
        let mut bytes = 0_u64;
        let mut superfluous = Vec::new();
        for (number, entry) in self.table.iter().rev() {
            if entry.progress.state == State::Handled {
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
        let new_ranges = log.rewrite(known, &ranges, states)?;
        for ((_, entry), range) in self.table.iter_mut().zip(new_ranges) {
            entry.payload = range;
        }
        Ok(())
    }
}

/// Returns the lines that restore the state of an event after its `received` line.
fn state_lines((id, entry): (u64, &Entry<LineRange>)) -> impl Iterator<Item = Line> {
    let Progress { state, at, attempts, claims, ref error, .. } = entry.progress;
    let due_at = (state == State::Pending && at != entry.received_at).then_some(at);
    let attempts = (claims > 0 || due_at.is_some()).then(|| {
        let error = error.clone();
        Line::Attempts { id, attempts, claims, due_at, error }
    });
    let finished = match state {
        State::Handled => Some(Line::Forwarded { id, at }),
        State::Dead => Some(Line::GivenUp { id, at, reason: error.clone().unwrap_or_default() }),
        State::Pending | State::Leased | State::Purged => None,
    };
    let forgotten = entry.progress.is_forgotten.then_some(Line::Forgotten { id });
    attempts.into_iter().chain(finished).chain(forgotten)
}

#[cfg(test)]
mod tests;
