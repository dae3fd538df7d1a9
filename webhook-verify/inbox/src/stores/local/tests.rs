use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use svc_webhook_verify::DedupeKey;

use super::*;
use crate::event::{EventId, EventState};
use crate::store::{
    ClaimRequest, ClaimedEvent, EventStore, EventStoreErrorKind, HandlingOutcome, ListQuery,
};
use crate::{FileEventStore, MemoryEventStore};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("store")
    }

    fn open(&self) -> FileEventStore {
        FileEventStore::open(self.path()).unwrap()
    }
}

fn event(job: &str, body: &str) -> NewEvent {
    NewEvent {
        dedupe_key: Some(DedupeKey::new("job.completed", format!("job:{job}"))),
        event_type: "job.completed".to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}

async fn insert(store: &FileEventStore, job: &str) -> InsertOutcome {
    store.insert(event(job, job)).await.unwrap()
}

async fn claim(store: &FileEventStore) -> Option<ClaimedEvent> {
    let request = ClaimRequest::new("a worker", Duration::from_secs(60));
    store.claim(&request).await.unwrap().pop()
}

async fn handle(store: &FileEventStore) {
    let lease = claim(store).await.unwrap().lease;
    store.finish(&lease, HandlingOutcome::Handled).await.unwrap();
}

async fn compact(store: &FileEventStore) {
    let compacted = store.0.run(|events, _| {
        let compacted = events.compact();
        compacted.map_err(|error| EventStoreError::unavailable("cannot compact", error))
    });
    compacted.await.unwrap();
}

async fn body(store: &FileEventStore, id: &str) -> Bytes {
    store.get(&EventId::new(id)).await.unwrap().unwrap().body
}

#[tokio::test]
async fn all_states_survive_a_restart_and_a_compaction() {
    let folder = Folder::new();
    let store = folder.open();
    for job in ["handled", "dead", "retried", "leased", "pending", "forgotten"] {
        insert(&store, job).await;
    }
    handle(&store).await;
    let dead = HandlingOutcome::Dead { reason: "broken".to_owned() };
    store.finish(&claim(&store).await.unwrap().lease, dead).await.unwrap();
    let retry =
        HandlingOutcome::Retry { after: Duration::from_secs(3600), error: "busy".to_owned() };
    store.finish(&claim(&store).await.unwrap().lease, retry).await.unwrap();
    claim(&store).await.unwrap();
    let forgotten = DedupeKey::new("job.completed", "job:handled");
    assert!(store.forget(&forgotten).await.unwrap());
    let show = async |store: &FileEventStore| -> Vec<String> {
        let events = store.list(&ListQuery::default()).await.unwrap();
        let shown = events.iter().map(|event| {
            // The lease of a process that has ended is given up.
            let state = match event.state {
                EventState::InProgress => EventState::Pending,
                state => state,
            };
            let (error, attempts) = (&event.last_error, event.attempts);
            format!("{} {state} {attempts} {error:?} {:?}", event.id, event.body)
        });
        shown.collect()
    };
    let before = show(&store).await;
    drop(store);
    let store = folder.open();
    assert_eq!(show(&store).await, before);
    compact(&store).await;
    assert_eq!(show(&store).await, before);
    drop(store);
    let store = folder.open();
    assert_eq!(show(&store).await, before);
    assert_eq!(insert(&store, "dead").await, InsertOutcome::Duplicate);
    assert_ne!(insert(&store, "handled").await, InsertOutcome::Duplicate);
    // The retried event and the leased one are due at once, and count their attempts.
    for id in ["3", "4"] {
        let event = claim(&store).await.unwrap().event;
        assert_eq!((event.id.as_str(), event.attempts), (id, 2));
    }
}

#[tokio::test]
async fn an_incomplete_last_line_is_removed() {
    let folder = Folder::new();
    insert(&folder.open(), "job_1").await;
    let whole = fs::read(folder.path()).unwrap();
    for partial in ["{\"received\":{\"id\":2,\"deliv", "\0\0\0\0", "{"] {
        let mut file = OpenOptions::new().append(true).open(folder.path()).unwrap();
        file.write_all(partial.as_bytes()).unwrap();
        let reader = FileEventStore::open_read_only(folder.path()).unwrap();
        assert_eq!(reader.stats().await.unwrap().pending, 1);
        assert_eq!(folder.open().stats().await.unwrap().pending, 1);
        assert_eq!(fs::read(folder.path()).unwrap(), whole);
    }
    fs::write(folder.path(), "{\"svc_webh").unwrap();
    assert_eq!(insert(&folder.open(), "job_1").await, InsertOutcome::Inserted(id(1)));
}

#[test]
fn a_file_of_another_program_is_left_unchanged() {
    let folder = Folder::new();
    for text in ["a letter", "a letter\n", "{\"known\":{\"at\":1}}\n", "\n", "{}\n"] {
        fs::write(folder.path(), text).unwrap();
        let error = FileEventStore::open(folder.path()).unwrap_err();
        assert_eq!(error.kind(), EventStoreErrorKind::Invalid);
        assert!(error.to_string().contains("is not a store"), "{error}");
        assert_eq!(fs::read_to_string(folder.path()).unwrap(), text);
    }
}

#[tokio::test]
async fn a_second_process_can_only_read() {
    let folder = Folder::new();
    let first = folder.open();
    insert(&first, "job_1").await;
    let error = FileEventStore::open(folder.path()).unwrap_err();
    assert_eq!(error.kind(), EventStoreErrorKind::Locked);
    let reader = FileEventStore::open_read_only(folder.path()).unwrap();
    assert_eq!(body(&reader, "1").await, "job_1");
    assert!(reader.insert(event("job_2", "")).await.is_err());
    drop(first);
    folder.open();
}

#[tokio::test]
async fn old_handled_events_leave_only_their_keys() {
    let folder = Folder::new();
    let store = folder.open();
    let large = "x".repeat(1024 * 1024);
    for number in 0..160 {
        store.insert(event(&format!("job_{number}"), &large)).await.unwrap();
        handle(&store).await;
    }
    insert(&store, "stays").await;
    let length = fs::metadata(folder.path()).unwrap().len();
    assert!(length < 150 * 1024 * 1024, "{length}");
    for store in [store, FileEventStore::open_read_only(folder.path()).unwrap()] {
        assert!(store.get(&id(1)).await.unwrap().is_none());
        assert_eq!(insert(&store, "job_1").await, InsertOutcome::Duplicate);
        assert_eq!(insert(&store, "job_159").await, InsertOutcome::Duplicate);
        assert_eq!(body(&store, "161").await, "stays");
    }
}

#[tokio::test]
async fn a_change_is_in_the_file_that_it_led_to_compact() {
    let folder = Folder::new();
    let store = folder.open();
    insert(&store, "forgotten").await;
    handle(&store).await;
    let large = "x".repeat(1024 * 1024);
    for number in 0..17 {
        store.insert(event(&format!("job_{number}"), &large)).await.unwrap();
    }
    let key = DedupeKey::new("job.completed", "job:forgotten");
    assert!(store.forget(&key).await.unwrap());
    drop(store);
    assert_ne!(insert(&folder.open(), "forgotten").await, InsertOutcome::Duplicate);
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    let store = folder.open();
    insert(&store, "job_1").await;
    for _ in 0..2 {
        let mode = fs::metadata(folder.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        compact(&store).await;
    }
}

#[tokio::test]
async fn what_is_stored_as_handled_is_not_claimed() {
    let folder = Folder::new();
    let stores: [Box<dyn EventStore>; 2] =
        [Box::new(folder.open()), Box::new(MemoryEventStore::new())];
    for store in stores {
        let new = |job| event(job, job);
        let inserted = InsertOutcome::Inserted(EventId::new("1"));
        assert_eq!(store.insert_handled(new("a")).await.unwrap(), inserted);
        assert_eq!(store.insert_handled(new("a")).await.unwrap(), InsertOutcome::Duplicate);
        let request = ClaimRequest::new("a worker", Duration::from_secs(60));
        assert!(store.claim(&request).await.unwrap().is_empty());
        assert_eq!(store.stats().await.unwrap().handled, 1);
    }
    let stats = folder.open().stats().await.unwrap();
    assert_eq!((stats.handled, stats.pending), (1, 0));
}
