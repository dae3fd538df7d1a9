//! The headers and bodies of events in memory.

use std::collections::HashMap;

use bytes::Bytes;
use http::HeaderMap;

use super::super::event_table::EventTable;
use crate::store::{EventStoreError, EventStoreErrorKind};

/// The headers and bodies of events by number.
#[derive(Debug)]
pub(super) struct MemoryContents {
    by_number: HashMap<u64, (HeaderMap, Bytes)>,
    /// The size of all of them.
    bytes: usize,
    pub(super) max_bytes: usize,
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
    ) -> Result<(), EventStoreError> {
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
            return Err(EventStoreError::new(EventStoreErrorKind::Full, message));
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
