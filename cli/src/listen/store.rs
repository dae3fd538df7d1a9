//! The store of received deliveries: pending ones to forward, and the keys of those seen before.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use svc_webhook_verify::DedupeKey;

use super::delivery::Delivery;
use super::event_log::{EventLog, Line, LineRange};
use super::seen_events::SeenEvents;
use crate::error::Failure;

/// The maximum size of pending deliveries in memory.
const MAX_MEMORY_BYTES: usize = 64 * 1024 * 1024;

/// A store that is shared by the receiver and the forwarder.
pub(super) type Shared = Arc<Mutex<Store>>;

/// The received deliveries.
#[derive(Debug)]
pub(super) struct Store {
    seen: SeenEvents,
    pending: BTreeMap<u64, Pending>,
    next_id: u64,
    storage: Storage,
}

/// The result of inserting a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insert {
    /// It was stored under this id.
    New(u64),
    /// It was received before.
    Duplicate,
}

/// The reason why a delivery was not stored. The service retries it.
#[derive(Debug)]
pub(super) enum StoreError {
    /// The memory is full.
    Full,
    /// Writing to the file failed, but may succeed later.
    WriteFailed(io::Error),
    /// The file can no longer be written.
    Broken(io::Error),
}

#[derive(Debug)]
enum Storage {
    /// In memory. Deliveries are only stored if they are to be forwarded.
    Memory {
        stored: usize,
        forwarding: bool,
    },
    File(Box<EventLog>),
}

/// A delivery that is to be forwarded.
#[derive(Debug)]
struct Pending {
    key: Option<DedupeKey>,
    stored: StoredDelivery,
}

#[derive(Debug)]
enum StoredDelivery {
    Memory(Delivery),
    File(LineRange),
}

impl Store {
    /// Creates a store in memory.
    pub(super) fn in_memory(forwarding: bool) -> Self {
        Self {
            seen: SeenEvents::default(),
            pending: BTreeMap::new(),
            next_id: 1,
            storage: Storage::Memory {
                stored: 0,
                forwarding,
            },
        }
    }

    /// The store in a file, as the run before left it.
    pub(super) fn open(path: &Path, now: u64) -> Result<Self, Failure> {
        let mut seen = SeenEvents::default();
        let mut pending: BTreeMap<u64, Pending> = BTreeMap::new();
        let (mut next_id, mut has_settled) = (1, false);
        let log = EventLog::open(path, |line, range| match line {
            Line::SvcWebhookStore(_) => {}
            Line::Received { id, delivery } => {
                let (key, stored) = (delivery.key, StoredDelivery::File(range));
                seen.add(key.clone(), delivery.at);
                pending.insert(id, Pending { key, stored });
                next_id = next_id.max(id.saturating_add(1));
            }
            Line::Forwarded { id } => has_settled |= pending.remove(&id).is_some(),
            Line::GivenUp { id } => {
                has_settled = true;
                seen.remove(pending.remove(&id).and_then(|pending| pending.key));
            }
            Line::Known { at, key } => seen.add(key, at),
        })?;
        let mut store = Self {
            seen,
            pending,
            next_id,
            storage: Storage::File(Box::new(log)),
        };
        if has_settled {
            store
                .compact(now)
                .map_err(|error| Failure::file("cannot rewrite the store", path, &error))?;
        }
        Ok(store)
    }

    /// Stores a delivery, unless it was received before.
    ///
    /// # Errors
    ///
    /// Returns an error if the delivery cannot be stored.
    pub(super) fn insert(&mut self, delivery: Delivery) -> Result<Insert, StoreError> {
        self.seen.expire(delivery.at);
        let key = delivery.key.clone();
        if key.as_ref().is_some_and(|key| self.seen.contains(key)) {
            return Ok(Insert::Duplicate);
        }
        let (id, at) = (self.next_id, delivery.at);
        let stored = match &mut self.storage {
            Storage::Memory {
                forwarding: false, ..
            } => None,
            Storage::Memory { stored, .. } => {
                let size = delivery.size();
                if *stored + size > MAX_MEMORY_BYTES {
                    return Err(StoreError::Full);
                }
                *stored += size;
                Some(StoredDelivery::Memory(delivery))
            }
            Storage::File(log) => {
                let line = Line::Received { id, delivery };
                let range = log
                    .append_durably(&line)
                    .map_err(|error| match log.is_broken() {
                        true => StoreError::Broken(error),
                        false => StoreError::WriteFailed(error),
                    })?;
                Some(StoredDelivery::File(range))
            }
        };
        self.seen.add(key.clone(), at);
        if let Some(stored) = stored {
            self.pending.insert(id, Pending { key, stored });
        }
        self.next_id += 1;
        Ok(Insert::New(id))
    }

    /// Returns a pending delivery.
    pub(super) fn delivery(&mut self, id: u64) -> io::Result<Option<Delivery>> {
        let stored = self.pending.get(&id).map(|pending| &pending.stored);
        match (stored, &mut self.storage) {
            (Some(StoredDelivery::Memory(delivery)), _) => Ok(Some(delivery.clone())),
            (Some(StoredDelivery::File(range)), Storage::File(log)) => {
                log.delivery(*range).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Records that a delivery was forwarded or given up. The file is not flushed: in a crash, the
    /// delivery is forwarded once more. A delivery that was given up is not a duplicate when the
    /// service redelivers it.
    pub(super) fn settle(&mut self, id: u64, forwarded: bool, now: u64) -> io::Result<()> {
        let Some(Pending { key, stored }) = self.pending.remove(&id) else {
            return Ok(());
        };
        if !forwarded {
            self.seen.remove(key);
        }
        match (stored, &mut self.storage) {
            (StoredDelivery::Memory(delivery), Storage::Memory { stored, .. }) => {
                *stored = stored.saturating_sub(delivery.size());
                Ok(())
            }
            (StoredDelivery::File(_), Storage::File(log)) => {
                log.append(&match forwarded {
                    true => Line::Forwarded { id },
                    false => Line::GivenUp { id },
                })?;
                let needs_compaction = log.needs_compaction();
                // Compaction may fail for lack of disk space and succeed later.
                if needs_compaction
                    && self.compact(now).is_err()
                    && let Storage::File(log) = &mut self.storage
                {
                    log.defer_compaction();
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns the ids of the pending deliveries, oldest first.
    pub(super) fn pending(&self) -> Vec<u64> {
        self.pending.keys().copied().collect()
    }

    /// Rewrites the file without the bodies of settled deliveries.
    fn compact(&mut self, now: u64) -> io::Result<()> {
        self.seen.expire(now);
        let Storage::File(log) = &mut self.storage else {
            return Ok(());
        };
        let seen = self.seen.iter().map(|(at, key)| Line::Known {
            at,
            key: Some(key.clone()),
        });
        let ranges = self.pending.values().filter_map(Pending::range);
        let new_ranges = log.rewrite(seen, &ranges.collect::<Vec<_>>())?;
        for (pending, range) in self.pending.values_mut().zip(new_ranges) {
            pending.stored = StoredDelivery::File(range);
        }
        Ok(())
    }
}

impl Pending {
    fn range(&self) -> Option<LineRange> {
        match self.stored {
            StoredDelivery::File(range) => Some(range),
            StoredDelivery::Memory(_) => None,
        }
    }
}

/// Makes a store shareable.
pub(super) fn shared(store: Store) -> Shared {
    Arc::new(Mutex::new(store))
}

/// Locks the store. A panic of another thread leaves no partial change, so poisoning is ignored.
pub(super) fn lock(store: &Shared) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::seen_events::SEEN_FOR_SECONDS;
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::path::PathBuf;

    use bytes::Bytes;
    use http::HeaderMap;

    use super::*;

    const NOW: u64 = 1_700_000_000;

    fn delivery(subject: Option<&str>, body: &str) -> Delivery {
        let key = subject.map(|subject| DedupeKey::new("job.completed", subject));
        let body = Bytes::copy_from_slice(body.as_bytes());
        Delivery::new(NOW, key, "a test".into(), &HeaderMap::new(), &body)
    }

    fn insert(store: &mut Store, subject: &str) -> Insert {
        store.insert(delivery(Some(subject), subject)).unwrap()
    }

    fn body(store: &mut Store, id: u64) -> Bytes {
        store.delivery(id).unwrap().unwrap().body().unwrap()
    }

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("store")
        }

        fn open(&self) -> Store {
            Store::open(&self.path(), NOW).unwrap()
        }
    }

    #[test]
    fn duplicates_are_detected_after_a_restart() {
        let folder = Folder::new();
        let mut store = folder.open();
        assert_eq!(insert(&mut store, "job:1"), Insert::New(1));
        assert_eq!(insert(&mut store, "job:1"), Insert::Duplicate);
        assert_eq!(insert(&mut store, "job:2"), Insert::New(2));
        store.settle(1, true, NOW).unwrap();
        drop(store);
        for _ in 0..2 {
            let mut store = folder.open();
            assert_eq!(store.pending(), [2]);
            assert_eq!(insert(&mut store, "job:1"), Insert::Duplicate);
            assert_eq!(insert(&mut store, "job:2"), Insert::Duplicate);
            assert_eq!(body(&mut store, 2), "job:2");
        }
        let mut store = folder.open();
        assert_eq!(insert(&mut store, "job:3"), Insert::New(3));
        assert_eq!(body(&mut store, 3), "job:3");
    }

    #[test]
    fn test_deliveries_and_deliveries_that_were_given_up_are_not_duplicates() {
        let folder = Folder::new();
        for mut store in [folder.open(), Store::in_memory(true)] {
            for id in 1..=2 {
                assert_eq!(store.insert(delivery(None, "{}")).unwrap(), Insert::New(id));
            }
            assert_eq!(insert(&mut store, "job:1"), Insert::New(3));
            store.settle(3, false, NOW).unwrap();
            assert_eq!(insert(&mut store, "job:1"), Insert::New(4));
            store.settle(4, false, NOW).unwrap();
        }
        let mut store = folder.open();
        assert_eq!(store.pending(), [1, 2]);
        assert!(matches!(insert(&mut store, "job:1"), Insert::New(_)));
    }

    #[test]
    fn an_incomplete_last_line_is_removed() {
        let folder = Folder::new();
        insert(&mut folder.open(), "job:1");
        let whole = fs::read(folder.path()).unwrap();
        for partial in ["{\"received\":{\"id\":2,\"deliv", "\0\0\0\0", "{"] {
            let mut file = OpenOptions::new().append(true).open(folder.path()).unwrap();
            file.write_all(partial.as_bytes()).unwrap();
            assert_eq!(folder.open().pending(), [1]);
            assert_eq!(fs::read(folder.path()).unwrap(), whole);
        }
        fs::write(folder.path(), "{\"svc_webh").unwrap();
        assert_eq!(insert(&mut folder.open(), "job:1"), Insert::New(1));
    }

    #[test]
    fn a_file_of_another_program_is_left_unchanged() {
        let folder = Folder::new();
        for text in [
            "a letter",
            "a letter\n",
            "{\"known\":{\"at\":1}}\n",
            "\n",
            "{}\n",
        ] {
            fs::write(folder.path(), text).unwrap();
            let failure = Store::open(&folder.path(), NOW).unwrap_err();
            assert!(failure.headline().contains("is not a store"), "{failure:?}");
            assert_eq!(fs::read_to_string(folder.path()).unwrap(), text);
        }
    }

    #[test]
    fn a_second_listener_cannot_open_the_store() {
        let folder = Folder::new();
        let first = folder.open();
        let failure = Store::open(&folder.path(), NOW).unwrap_err();
        assert!(failure.headline().contains("another"), "{failure:?}");
        drop(first);
        folder.open();
    }

    #[test]
    fn settled_deliveries_are_removed_from_the_file() {
        let folder = Folder::new();
        let mut store = folder.open();
        let large = "x".repeat(1024 * 1024);
        insert(&mut store, "job:stays");
        for number in 0..40 {
            let delivery = delivery(Some(&format!("job:{number}")), &large);
            let Insert::New(id) = store.insert(delivery).unwrap() else {
                panic!("{number} is a duplicate");
            };
            store.settle(id, true, NOW).unwrap();
        }
        let length = fs::metadata(folder.path()).unwrap().len();
        assert!(length < 24 * 1024 * 1024, "{length}");
        assert_eq!(body(&mut store, 1), "job:stays");
        assert_eq!(insert(&mut store, "job:7"), Insert::Duplicate);
        drop(store);
        let mut store = folder.open();
        assert!(fs::metadata(folder.path()).unwrap().len() < 64 * 1024);
        assert_eq!(insert(&mut store, "job:7"), Insert::Duplicate);
        assert_eq!(body(&mut store, 1), "job:stays");
    }

    #[test]
    fn deliveries_are_readable_after_a_compaction() {
        let folder = Folder::new();
        let mut store = folder.open();
        insert(&mut store, "job:1");
        insert(&mut store, "job:2");
        store.settle(1, true, NOW).unwrap();
        store.compact(NOW).unwrap();
        assert_eq!(insert(&mut store, "job:3"), Insert::New(3));
        assert_eq!(body(&mut store, 2), "job:2");
        assert_eq!(body(&mut store, 3), "job:3");
        drop(store);
        let mut store = folder.open();
        assert_eq!(store.pending(), [2, 3]);
        assert_eq!(body(&mut store, 3), "job:3");
        assert_eq!(insert(&mut store, "job:1"), Insert::Duplicate);
    }

    #[test]
    fn keys_expire_after_a_week() {
        let mut store = Store::in_memory(false);
        insert(&mut store, "job:1");
        let mut later = delivery(Some("job:1"), "");
        later.at = NOW + SEEN_FOR_SECONDS - 1;
        assert_eq!(store.insert(later.clone()).unwrap(), Insert::Duplicate);
        later.at = NOW + SEEN_FOR_SECONDS;
        assert!(matches!(store.insert(later).unwrap(), Insert::New(_)));
    }

    #[test]
    fn memory_is_limited_and_unused_without_forwarding() {
        let large = "x".repeat(2 * 1024 * 1024);
        let mut store = Store::in_memory(true);
        let stored = (0..100).take_while(|_| store.insert(delivery(None, &large)).is_ok());
        assert_eq!(stored.count(), MAX_MEMORY_BYTES / large.len());
        store.settle(1, true, NOW).unwrap();
        assert!(store.insert(delivery(None, &large)).is_ok());
        let mut store = Store::in_memory(false);
        for _ in 0..100 {
            store.insert(delivery(None, &large)).unwrap();
        }
        assert!(store.pending().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_the_file() {
        use std::os::unix::fs::PermissionsExt;

        let folder = Folder::new();
        let mut store = folder.open();
        insert(&mut store, "job:1");
        store.settle(1, true, NOW).unwrap();
        for _ in 0..2 {
            let mode = fs::metadata(folder.path()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            drop(store);
            store = folder.open();
        }
    }
}
