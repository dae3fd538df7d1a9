//! A process that was taken for a dead one, and goes on.

use tokio::task::JoinHandle;

use super::observed_store::{Crash, Defect, ObservedStore};
use super::*;
use crate::journal::store::Store;
use crate::journal::{IntentId, lock};

const SECOND: Duration = Duration::from_secs(1);

/// Two processes, and the store of the second one.
fn two_processes_and_a_store() -> (Journal, Journal, MemoryStore) {
    let store = MemoryStore::new();
    let other = store.handle();
    (Journal::with_store(store), Journal::with_store(other.clone()), other)
}

/// Begins a call of one process, which another one takes for a dead one after that time. Returns the call
/// and its intent.
async fn begin_and_take_over<R: Resource>(
    call: Call<Handle<R>>,
    span: Duration,
    other: &Journal,
    store: &MemoryStore,
) -> (JoinHandle<crate::Result<Handle<R>>>, IntentId) {
    let call = tokio::spawn(call.into_future());
    clock::sleep(span).await;
    let id = entry(other).await.id;
    store.take_over(&id);
    (call, id)
}

/// Submits music, and repeats what may be repeated.
fn retry_music(script: &Arc<Script>, journal: &Journal) -> Call<JobHandle<Developer>> {
    submit_music(script, journal).max_retries(5)
}

#[tokio::test(start_paused = true)]
async fn it_returns_what_the_other_has_submitted() {
    let (first, second, store) = two_processes_and_a_store();
    let slow = Script::new([answer(503, BUSY).header("retry-after", 60), receipt("job_1")]);
    let call = retry_music(&slow, &first);
    let (call, _) = begin_and_take_over(call, SECOND, &second, &store).await;

    let script = Script::new([receipt("job_2")]);
    let job = retry_music(&script, &second).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap().id(), job.id());
    assert_eq!((slow.requests().len(), script.requests().len()), (1, 1));
    // Nor does it release what the other one has submitted.
    let entry = entry(&second).await;
    assert_eq!(entry.resource.unwrap().1, job.id().as_str());
    assert!(matches!(entry.state, EntryState::Accepted), "{:?}", entry.state);
}

#[tokio::test(start_paused = true)]
async fn its_receipt_is_kept() {
    let (first, second, store) = two_processes_and_a_store();
    let script = Script::with_latency([receipt("job_1")], Duration::from_secs(5));
    let call = retry_music(&script, &first);
    let (call, id) = begin_and_take_over(call, SECOND, &second, &store).await;
    call.await.unwrap().unwrap();

    let entry = entry(&second).await;
    assert!(matches!(entry.state, EntryState::Accepted), "{:?}", entry.state);
    second.settle(&id, Settled::NotExecuted).await.unwrap_err();
    let nobody_asks = Script::new([]);
    let job = retry_music(&nobody_asks, &second).await.unwrap();
    assert_eq!(job.id().as_str(), "job_1");
}

#[tokio::test(start_paused = true)]
async fn what_it_says_late_changes_no_budget() {
    let (first, second, store) = two_processes_and_a_store();
    let script = Script::with_latency([price("0.2000"), receipt("job_1")], Duration::from_secs(5));
    let client = limited_client(&script, &first, 500_000);
    let call = client.videos().generate(fox()).submission_id("order-1");
    let (call, id) = begin_and_take_over(call, 6 * SECOND, &second, &store).await;
    let charge = Usd::from_micros(150_000);
    second.record_end(&id, "completed", Some(charge)).await.unwrap();
    call.await.unwrap().unwrap();
    let totals = store.budget("", "images").await.unwrap();
    assert_eq!((totals.hold.captured, totals.hold.reserved), (charge, Usd::ZERO));
}

/// A refusal that the other process met may be one that this process does not meet.
#[tokio::test(start_paused = true)]
async fn it_does_not_repeat_what_the_other_has_released() {
    let (first, second, store) = two_processes_and_a_store();
    let slow = Script::new([Step::ConnectionReset, receipt("job_1")]);
    let client = builder::<Open>(&slow, &first).retry(RetryPolicy::default()).build().unwrap();
    let call = client.videos().generate(fox()).submission_id("order-1");
    let (call, _) = begin_and_take_over(call, SECOND / 1_000, &second, &store).await;
    assert_eq!(slow.requests().len(), 1);

    let script = Script::new([refusal(400, "invalid_request"), receipt("job_2")]);
    submit_order(&script, &second).await.unwrap_err();
    let job = submit_order(&script, &second).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap().id(), job.id());
    assert_eq!((slow.requests().len(), script.requests().len()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn journals_on_clones_of_one_store_know_of_each_others_calls() {
    let store = MemoryStore::new();
    let (first, second) = (Journal::with_store(store.clone()), Journal::with_store(store));
    let script = Script::with_latency([receipt("job_1")], Duration::from_secs(5));
    let call = tokio::spawn(retry_music(&script, &first).into_future());
    clock::sleep(Duration::from_secs(1)).await;
    let id = entry(&second).await.id;
    second.settle(&id, Settled::NotExecuted).await.unwrap_err();
    let job = retry_music(&script, &second).await.unwrap();
    assert_eq!(job.id(), call.await.unwrap().unwrap().id());
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_sends_nothing_that_was_settled_and_submitted_while_it_was_stopped() {
    for defect in [Defect::StoppedAfterBegin, Defect::BeginAnsweredLate] {
        let (store, crash) = (MemoryStore::new(), Crash::after(usize::MAX));
        let other = store.handle();
        let first = Journal::with_store(ObservedStore::new(store, &crash, Some(defect)));
        let second = Journal::with_store(other.clone());
        let stopped = Script::new([receipt("job_1")]);
        let call = retry_music(&stopped, &first);
        let (call, id) = begin_and_take_over(call, 4 * SECOND, &second, &other).await;
        second.settle(&id, Settled::NotExecuted).await.unwrap();

        let job = retry_music(&Script::new([receipt("job_2")]), &second).await.unwrap();
        assert_eq!(call.await.unwrap().unwrap().id(), job.id());
        assert_eq!(stopped.requests().len(), 0, "{defect:?}");
    }
}

/// What it could not write says that nothing was sent, which is true of its own request only.
#[tokio::test(start_paused = true)]
async fn it_does_not_release_what_the_other_has_sent_and_left() {
    let (store, crash) = (MemoryStore::new(), Crash::after(usize::MAX));
    let other = store.handle();
    let stopped = ObservedStore::new(store, &crash, Some(Defect::StoppedAfterBegin));
    let first = Journal::with_store(stopped);
    let second = Journal::with_store(other.clone());
    let script = Script::new([receipt("job_1")]);
    let call = submit_order(&script, &first).timeout(3 * SECOND);
    let (call, _) = begin_and_take_over(call, SECOND, &second, &other).await;
    let lost = Script::new([Step::ConnectionReset]);
    assert!(submit_order(&lost, &second).await.unwrap_err().is_ambiguous());
    drop((second, other));
    assert!(!call.await.unwrap().unwrap_err().may_have_been_sent());

    let mut recovery = open_client(&script, &first).recover();
    while let Some(recovered) = recovery.next().await {
        recovered.unwrap();
    }
    submit_order(&script, &first).await.unwrap();
    assert_eq!(keys(&script), keys(&lost));
}

#[tokio::test(start_paused = true)]
async fn only_what_was_stopped_is_written_again_before_it_is_sent() {
    for (defect, records) in [(Defect::KilledTakenForRunning, 1), (Defect::StoppedAfterBegin, 2)] {
        let (store, writes) = ObservedStore::with_writes(Some(defect));
        let script = Script::new([receipt("job_1")]);
        retry_music(&script, &Journal::with_store(store)).await.unwrap();
        assert_eq!(lock(&writes.appended).len(), records, "{defect:?}");
        assert_eq!(script.requests().len(), 1);
    }
}

/// The store refuses to record another attempt of an acknowledged intent.
#[tokio::test(start_paused = true)]
async fn what_was_acknowledged_without_a_receipt_is_not_sent_again() {
    let journal = Journal::in_memory();
    let script = Script::new([Step::ConnectionReset, receipt("job_1")]);
    submit_order(&script, &journal).await.unwrap_err();
    let id = entry(&journal).await.id;
    journal.acknowledge(&id).await.unwrap();
    let error = submit_order(&script, &journal).await.unwrap_err();
    assert_eq!(undecided(&error), Some(UndecidedReason::Closed), "{error}");
    assert_eq!(script.requests().len(), 1);
}
