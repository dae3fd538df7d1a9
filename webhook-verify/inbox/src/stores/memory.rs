//! A store in memory.

use std::collections::HashMap;

use bytes::Bytes;
use http::HeaderMap;

use super::event_table::EventTable;
use super::local::{LocalStore, OneProcessStore, Storage};
use crate::clock::Clock;
use crate::store::{StoreError, StoreErrorKind};

/// A store in memory, for tests and short-lived receivers. Its events are lost when the process
/// ends.
#[derive(Debug)]
pub struct MemoryStore(LocalStore);

impl MemoryStore {
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
    /// [`Full`](crate::StoreErrorKind::Full).
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        if let Storage::Memory(contents) = &mut self.0.events().storage {
            contents.max_bytes = bytes;
        }
        self
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self(LocalStore::new(Storage::Memory(MemoryContents::default())))
    }
}

impl OneProcessStore for MemoryStore {
    fn local(&self) -> &LocalStore {
        &self.0
    }
}

/// The headers and bodies of events by number.
#[derive(Debug)]
pub(super) struct MemoryContents {
    by_number: HashMap<u64, (HeaderMap, Bytes)>,
    /// The size of all of them.
    bytes: usize,
    max_bytes: usize,
}

impl Default for MemoryContents {
    fn default() -> Self {
        Self { by_number: HashMap::new(), bytes: 0, max_bytes: usize::MAX }
    }
}

impl MemoryContents {
    /// Adds the content of an event. To make room, removes the oldest finished events of the table.
    pub(super) fn add<P>(
        &mut self,
        number: u64,
        headers: HeaderMap,
        body: Bytes,
        table: &mut EventTable<P>,
    ) -> Result<(), StoreError> {
        let content = (headers, body);
        let size = size(&content);
        let is_full = |contents: &Self| contents.bytes.saturating_add(size) > contents.max_bytes;
        if is_full(self) {
            for finished in table.finished_before(i64::MAX) {
                if !is_full(self) {
                    break;
                }
                table.evict(finished);
                self.remove(finished);
            }
        }
        if is_full(self) {
            let message = "the memory of the store is full of unfinished events";
            return Err(StoreError::new(StoreErrorKind::Full, message));
        }
        self.bytes += size;
        self.by_number.insert(number, content);
        Ok(())
    }

    pub(super) fn get(&self, number: u64) -> (HeaderMap, Bytes) {
        self.by_number.get(&number).cloned().unwrap_or_default()
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Some(content) = self.by_number.remove(&number) {
            self.bytes -= size(&content);
        }
    }
}

fn size((headers, body): &(HeaderMap, Bytes)) -> usize {
    headers.iter().fold(body.len(), |sum, (name, value)| sum + name.as_str().len() + value.len())
}
