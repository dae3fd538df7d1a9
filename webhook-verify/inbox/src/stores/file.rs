//! A store in a file.

use std::path::Path;

use super::local::LocalStore;
use crate::clock::Clock;
use crate::store::StoreError;

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
pub struct FileStore(pub(super) LocalStore);

impl FileStore {
    /// Opens a file, and creates it if it does not exist. Only one process can use it; the lock is
    /// a second file with the name extension `.lock`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or is not a store, and one of kind
    /// [`Locked`](crate::StoreErrorKind::Locked) if another process uses it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        LocalStore::open(path.as_ref()).map(Self)
    }

    /// Opens a file for reading, also while another process uses it. Shows the events of the time
    /// at which it was opened.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or is not a store.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        LocalStore::open_read_only(path.as_ref()).map(Self)
    }

    /// Sets the clock, for tests.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self(self.0.with_clock(clock))
    }
}
