//! Records that could not be written when they were due.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;

use super::super::store::{
    Begun, BudgetTotals, Change, IntentId, IntentPage, ListFilter, NewIntent, Store, StoreError,
    StoreFuture, StoredIntent, SubmissionKey,
};
use super::super::{EntryState, Journal, MemoryStore, lock};
use super::{builder, clock, fox, open_client, receipt};
use crate::error::ErrorKind;
use crate::observe::{JournalFailure, Observer};
use crate::surface::Open;
use crate::transport::scripted::Script;

/// A store that adds so many records, slowly, and fails after them.
#[derive(Clone, Debug, Default)]
struct LimitedStore {
    store: MemoryStore,
    appends_left: Arc<AtomicUsize>,
    /// Whether it writes nothing and does not answer.
    hangs: Arc<AtomicBool>,
    /// The intents of the records that were added.
    appended: Arc<Mutex<Vec<IntentId>>>,
}

impl LimitedStore {
    fn new(appends_left: usize) -> Self {
        let appends_left = Arc::new(AtomicUsize::new(appends_left));
        Self { appends_left, ..Self::default() }
    }

    fn set_hanging(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::Relaxed);
    }

    async fn answer(&self) {
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    async fn append_slowly(&self, id: &IntentId, change: &Change) -> Result<(), StoreError> {
        self.answer().await;
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
        Box::pin(async {
            self.answer().await;
            self.store.begin(intent).await
        })
    }

    fn append<'a>(&'a self, id: &'a IntentId, change: &'a Change) -> StoreFuture<'a, ()> {
        Box::pin(self.append_slowly(id, change))
    }

    fn get<'a>(&'a self, key: &'a SubmissionKey) -> StoreFuture<'a, Vec<StoredIntent>> {
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
    let store = LimitedStore::new(0);
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

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_holds_no_call_longer_than_its_time_limit() {
    let store = LimitedStore::new(usize::MAX);
    let journal = Journal::with_store(store.clone());
    let script = Script::new([receipt("job_1")]);
    let client = builder::<Open>(&script, &journal).max_in_flight(1).build().unwrap();
    store.set_hanging(true);
    for _ in 0..3 {
        let call = client.videos().generate(fox()).timeout(Duration::from_secs(5));
        let error = call.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(!error.may_have_been_sent());
        // Only what may have been written is remembered: the others wrote nothing before it.
        assert_eq!(lock(&journal.shared.unwritten).len(), 1);
    }
    assert!(script.requests().is_empty());
    store.set_hanging(false);
    client.videos().generate(fox()).await.unwrap();
    assert_eq!(script.requests().len(), 1);
}

/// Follows what could not be written.
#[derive(Clone, Default)]
struct Failures(Arc<Mutex<Vec<String>>>);

impl Observer for Failures {
    fn on_journal_failure(&self, failure: &JournalFailure<'_>) {
        lock(&self.0).push(format!(
            "{} {}",
            failure.id,
            failure.submission_id.unwrap_or("unnamed")
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn a_receipt_reaches_the_caller_of_a_store_that_hangs() {
    let store = LimitedStore::new(usize::MAX);
    let journal = Journal::with_store(store.clone());
    let script = Script::with_latency([receipt("job_1")], Duration::from_secs(5));
    let failures = Failures::default();
    let client = builder::<Open>(&script, &journal).observer(failures.clone()).build().unwrap();
    let call = client.videos().generate(fox()).submission_id("order-1");
    let call = tokio::spawn(call.into_future());
    clock::sleep(Duration::from_secs(1)).await;
    store.set_hanging(true);
    let job = call.await.unwrap().unwrap();
    assert_eq!(job.id().as_str(), "job_1");
    assert_eq!(*lock(&failures.0), [format!("{} order-1", job.intent_id().unwrap())]);
    store.set_hanging(false);
    journal.write_unwritten().await.unwrap();
    let entry = journal.find("", "order-1").await.unwrap().unwrap();
    assert_eq!(entry.state, EntryState::Accepted);
}
