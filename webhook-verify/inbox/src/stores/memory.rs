//! A store in memory.

use super::local::{LocalStore, MemoryContents, Storage};
use crate::clock::Clock;

/// A store in memory, for tests and short-lived receivers. Its events are lost when the process
/// ends.
#[derive(Debug)]
pub struct MemoryStore(pub(super) LocalStore);

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
