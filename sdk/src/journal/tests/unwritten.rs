//! Records that could not be written when they were due.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;

use super::super::store::{
    Begun, BudgetTotals, Change, IntentId, IntentPage, ListFilter, NewIntent, Store, StoreError,
    StoreFuture, StoredIntent, SubmissionIntents, SubmissionKey,
};
use super::super::{EntryState, Journal, MemoryStore, lock};
use super::{clock, fox, open_client, receipt};
use crate::transport::scripted::Script;

/// A store that adds so many records, slowly, and fails after them.
#[derive(Clone, Debug)]
struct LimitedStore {
    store: MemoryStore,
    appends_left: Arc<AtomicUsize>,
    /// The intents of the records that were added.
    appended: Arc<Mutex<Vec<IntentId>>>,
}

impl LimitedStore {
    async fn append_slowly(&self, id: &IntentId, change: &Change) -> Result<(), StoreError> {
        clock::sleep(Duration::from_millis(10)).await;
        let left = self.appends_left.load(Ordering::Relaxed);
        let left = left.checked_sub(1);
        let left = left.ok_or_else(|| StoreError::message("the disk is full"))?;
        self.appends_left.store(left, Ordering::Relaxed);
        lock(&self.appended).push(id.clone());
        self.store.append(id, change).await
    }
}

impl Store for LimitedStore {
    fn begin<'a>(&'a self, intent: &'a NewIntent) -> StoreFuture<'a, Begun> {
        self.store.begin(intent)
    }

    fn append<'a>(&'a self, id: &'a IntentId, change: &'a Change) -> StoreFuture<'a, ()> {
        Box::pin(self.append_slowly(id, change))
    }

    fn get<'a>(&'a self, key: &'a SubmissionKey) -> StoreFuture<'a, SubmissionIntents> {
        self.store.get(key)
    }

    fn claim<'a>(&'a self, id: &'a IntentId) -> StoreFuture<'a, Option<StoredIntent>> {
        self.store.claim(id)
    }

    fn list<'a>(&'a self, filter: &'a ListFilter) -> StoreFuture<'a, IntentPage> {
        self.store.list(filter)
    }

    fn budget<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, BudgetTotals> {
        self.store.budget(namespace, name)
    }

    fn purge(&self, older_than: SystemTime) -> StoreFuture<'_, u64> {
        self.store.purge(older_than)
    }

    fn changed(&self) -> StoreFuture<'_, ()> {
        self.store.changed()
    }
}

#[tokio::test(start_paused = true)]
async fn records_that_could_not_be_written_are_written_once_and_in_order() {
    let store = LimitedStore {
        store: MemoryStore::new(),
        appends_left: Arc::default(),
        appended: Arc::default(),
    };
    let journal = Journal::with_store(store.clone());
    let steps = ["1", "2", "3", "4"].map(receipt);
    let script = Script::with_latency(steps, Duration::from_secs(5));
    let client = open_client(&script, &journal);
    let submit = async |id: &str| {
        let delay = Duration::from_millis(100 * id.parse::<u64>().unwrap());
        clock::sleep(delay).await;
        let job = client.videos().generate(fox()).submission_id(id).await;
        job.unwrap().intent_id().unwrap().clone()
    };
    let ids = join_all(["1", "2", "3"].map(submit)).await;
    assert_eq!(*lock(&store.appended), []);

    // What is left after another failure is still written, by whoever comes first, and once.
    store.appends_left.store(1, Ordering::Relaxed);
    journal.write_unwritten().await.unwrap_err();
    assert_eq!(*lock(&store.appended), ids[..1]);
    store.appends_left.store(usize::MAX, Ordering::Relaxed);
    let written = join_all([(); 3].map(|()| journal.write_unwritten())).await;
    assert!(written.iter().all(Result::is_ok));
    assert_eq!(*lock(&store.appended), ids);

    // A submit writes them before its intent.
    store.appends_left.store(0, Ordering::Relaxed);
    let last = submit("4").await;
    let entry = async || journal.find("", "4").await.unwrap().unwrap();
    assert_ne!(entry().await.state, EntryState::Accepted);
    client.videos().generate(fox()).await.unwrap_err();
    store.appends_left.store(usize::MAX, Ordering::Relaxed);
    client.videos().generate(fox()).await.unwrap();
    assert_eq!(entry().await.state, EntryState::Accepted);
    assert_eq!(lock(&store.appended)[3], last);
}
