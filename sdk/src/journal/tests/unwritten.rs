//! Records that could not be written when they were due.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;

use super::super::{EntryState, Journal, lock};
use super::observed_store::ObservedStore;
use super::{builder, clock, fox, open_client, receipt};
use crate::error::ErrorKind;
use crate::observe::{JournalFailure, Observer};
use crate::surface::Open;
use crate::transport::scripted::Script;

#[tokio::test(start_paused = true)]
async fn records_that_could_not_be_written_are_written_once_and_in_order() {
    let (store, writes) = ObservedStore::with_writes(None);
    *lock(&writes.appends_left) = Some(0);
    let journal = Journal::with_store(store);
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
    assert_eq!(*lock(&writes.appended), []);

    // What is left after another failure is still written, by whoever comes first, and once.
    *lock(&writes.appends_left) = Some(1);
    journal.write_unwritten().await.unwrap_err();
    assert_eq!(*lock(&writes.appended), ids[..1]);
    *lock(&writes.appends_left) = None;
    let written = join_all([(); 3].map(|()| journal.write_unwritten())).await;
    assert!(written.iter().all(Result::is_ok));
    assert_eq!(*lock(&writes.appended), ids);

    // Those of several intents are written at once.
    assert_eq!(writes.most_at_once.load(Ordering::Relaxed), 3);

    // A submit writes them before its intent.
    *lock(&writes.appends_left) = Some(0);
    let last = submit("4").await;
    let entry = async || journal.find("", "4").await.unwrap().unwrap();
    assert_ne!(entry().await.state, EntryState::Accepted);
    client.videos().generate(fox()).await.unwrap_err();
    *lock(&writes.appends_left) = None;
    client.videos().generate(fox()).await.unwrap();
    assert_eq!(entry().await.state, EntryState::Accepted);
    assert_eq!(lock(&writes.appended)[3], last);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_holds_no_call_longer_than_its_time_limit() {
    let (store, writes) = ObservedStore::with_writes(None);
    let journal = Journal::with_store(store);
    let script = Script::new([receipt("job_1")]);
    let client = builder::<Open>(&script, &journal).max_in_flight(1).build().unwrap();
    writes.set_hanging(true);
    for _ in 0..3 {
        let call = client.videos().generate(fox()).timeout(Duration::from_secs(5));
        let error = call.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(!error.may_have_been_sent());
        // Only what may have been written is remembered: the others wrote nothing before it.
        assert_eq!(journal.shared.calls.unwritten_count(), 1);
    }
    assert!(script.requests().is_empty());
    writes.set_hanging(false);
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
    let (store, writes) = ObservedStore::with_writes(None);
    let journal = Journal::with_store(store);
    let script = Script::with_latency([receipt("job_1")], Duration::from_secs(5));
    let failures = Failures::default();
    let client = builder::<Open>(&script, &journal).observer(failures.clone()).build().unwrap();
    let call = client.videos().generate(fox()).submission_id("order-1");
    let call = tokio::spawn(call.into_future());
    clock::sleep(Duration::from_secs(1)).await;
    writes.set_hanging(true);
    let job = call.await.unwrap().unwrap();
    assert_eq!(job.id().as_str(), "job_1");
    assert_eq!(*lock(&failures.0), [format!("{} order-1", job.intent_id().unwrap())]);
    writes.set_hanging(false);
    journal.write_unwritten().await.unwrap();
    let entry = journal.find("", "order-1").await.unwrap().unwrap();
    assert_eq!(entry.state, EntryState::Accepted);
}
