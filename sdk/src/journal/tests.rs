//! Submits through a journal, on a scripted service.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{
    Entry, EntryState, Journal, JournalError, MemoryStore, Recovered, ReleaseReason, ResourceKind,
    Reuse, Settled, Skipped, SpendLimit, UndecidedReason,
};
use crate::call::clock;
use crate::call::task::TaskGroup;
use crate::client::ClientBuilder;
use crate::error::Error;
use crate::handle::{Handle, Resource};
use crate::surface::{ClientSurface, Developer, Open};
use crate::transport::scripted::{Script, ScriptedTransport, Step, json as answer};
use crate::types::{Music1Generate, Usd, VideoGenerate};
use crate::{ApiKey, Call, Client, JobHandle, RetryPolicy};

const BUSY: &str = r#"{"error": {"code": "database_busy", "message": "busy"}}"#;

fn receipt(id: &str) -> Step {
    let body = json!({"data": {"job": {"id": id, "status": "queued", "price_usd": "0.2000"}}});
    answer(202, &body.to_string())
}

fn price(usd: &str) -> Step {
    let body = json!({"data": {"model": "video-f", "price_usd": usd, "currency": "USD"}});
    answer(200, &body.to_string())
}

fn refusal(status: u16, code: &str) -> Step {
    let body = json!({"error": {"code": code, "message": "refused"}});
    answer(status, &body.to_string())
}

fn builder<S: ClientSurface>(script: &Arc<Script>, journal: &Journal) -> ClientBuilder<S> {
    Client::<S>::builder()
        .base_url("https://api.example")
        .api_key(ApiKey::new("canary-key").unwrap())
        .transport(Arc::new(ScriptedTransport(Arc::clone(script))))
        .retry(RetryPolicy::none())
        .journal(journal.clone())
}

fn open_client(script: &Arc<Script>, journal: &Journal) -> Client<Open> {
    builder(script, journal).build().unwrap()
}

fn developer_client(script: &Arc<Script>, journal: &Journal) -> Client<Developer> {
    builder(script, journal).build().unwrap()
}

/// Submits `order-1` through a client of its own.
fn submit_order(script: &Arc<Script>, journal: &Journal) -> Call<JobHandle<Open>> {
    let call = open_client(script, journal).videos().generate(fox());
    call.submission_id("order-1")
}

/// Submits `order-1` of an operation whose idempotency is not documented.
fn submit_music(script: &Arc<Script>, journal: &Journal) -> Call<JobHandle<Developer>> {
    let body = Music1Generate::new("jazz");
    developer_client(script, journal).music().generate(body).submission_id("order-1")
}

/// Submits through a client whose process ends after that time.
async fn submit_and_end<S: ClientSurface, R: Resource>(
    client: ClientBuilder<S>,
    submit: impl FnOnce(&Client<S>) -> Call<Handle<R>>,
    span: Duration,
) {
    let group = TaskGroup::default();
    let client = client.task_group(&group).build().unwrap();
    let call = tokio::spawn(submit(&client).into_future());
    clock::sleep(span).await;
    group.end();
    call.await.unwrap().unwrap_err();
}

/// Returns a client with the spend limit `images`.
fn limited_client(script: &Arc<Script>, journal: &Journal, limit: i64) -> Client<Open> {
    let limit = SpendLimit::new("images", Usd::from_micros(limit));
    builder(script, journal).spend_limit(limit).build().unwrap()
}

fn fox() -> VideoGenerate {
    VideoGenerate::new("video-f").prompt("a red fox")
}

/// Returns what the journal has of `order-1`.
async fn entry(journal: &Journal) -> Entry {
    journal.find("", "order-1").await.unwrap().unwrap()
}

fn keys(script: &Script) -> Vec<String> {
    let requests = script.requests();
    let keys = requests.iter().filter_map(|it| it.header("idempotency-key"));
    keys.map(str::to_owned).collect()
}

fn undecided(error: &Error) -> Option<UndecidedReason> {
    match error.journal()? {
        JournalError::Undecided(undecided) => Some(undecided.reason),
        _ => None,
    }
}

fn is_undecided(error: &Error) -> bool {
    undecided(error).is_some()
}

/// A journal in two processes, of which the first one can end.
fn two_processes() -> (Journal, Journal) {
    let store = MemoryStore::new();
    let other = store.handle();
    (Journal::with_store(store), Journal::with_store(other))
}

#[tokio::test(start_paused = true)]
async fn a_submission_is_sent_once() {
    let script = Script::new([receipt("job_1"), refusal(500, "must_not_be_asked")]);
    let journal = Journal::in_memory();
    let first = submit_order(&script, &journal).await.unwrap();
    let second = submit_order(&script, &journal).await.unwrap();
    assert_eq!(first.id().as_str(), "job_1");
    assert_eq!(second.id(), first.id());
    assert_eq!(second.submission_id(), Some("order-1"));
    assert!(second.is_resumed() && !first.is_resumed());

    let other = open_client(&script, &journal).videos().generate(fox().duration(8));
    let error = other.submission_id("order-1").await.unwrap_err();
    let is_conflict = matches!(error.journal(), Some(JournalError::SubmissionConflict { .. }));
    assert!(is_conflict, "{error}");
    assert!(!error.is_ambiguous() && !error.may_have_been_sent());
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_key_of_a_submission_is_the_same_without_its_journal() {
    let mut all = Vec::new();
    for (namespace, account, id) in [
        ("shop", "a", "order-1"),
        ("shop", "a", "order-1"),
        ("shop", "b", "order-1"),
        ("other", "a", "order-1"),
        ("shop", "a", "order-2"),
        ("shop", "aorder-1", ""),
    ] {
        let script = Script::new([receipt("job_1")]);
        let journal = Journal::in_memory().namespace(namespace);
        let client: Client<Open> =
            builder(&script, &journal).build().unwrap().with_account(account);
        client.videos().generate(fox()).submission_id(id).await.unwrap();
        all.extend(keys(&script));
    }
    assert_eq!(all[0], all[1]);
    let distinct: std::collections::HashSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), 5, "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_without_a_documented_key_is_not_sent_again() {
    let (kind, id) = (ResourceKind::Job, "job_9".to_owned());
    let found = Settled::Executed { kind, id, charge_usd: None };
    for (settled, job) in [(Settled::NotExecuted, "job_1"), (found, "job_9")] {
        let (first, second) = two_processes();
        let script = Script::new([Step::ConnectionReset, receipt("job_1")]);
        assert!(submit_music(&script, &first).await.unwrap_err().is_ambiguous());
        drop(first);
        let error = submit_music(&script, &second).await.unwrap_err();
        assert_eq!(undecided(&error), Some(UndecidedReason::KeyNotDocumented));
        assert!(error.is_ambiguous() && error.idempotency_key().is_some());
        assert_eq!(script.requests().len(), 1);

        // A person finds out: what was not carried out is submitted anew.
        let Some(JournalError::Undecided(open)) = error.journal() else { panic!("{error}") };
        second.settle(&open.id, settled).await.unwrap();
        assert_eq!(submit_music(&script, &second).await.unwrap().id().as_str(), job);
        let keys = keys(&script);
        assert!(keys.len() == 1 || keys[0] != keys[1], "another generation");
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_in_a_pause_after_nothing_ran_leaves_nothing_open() {
    let (first, second) = two_processes();
    let script = Script::new([answer(503, BUSY).header("retry-after", 5), receipt("job_1")]);
    let submit = |client: &Client<Developer>| {
        client.music().generate(Music1Generate::new("jazz")).submission_id("order-1")
    };
    let crashing = builder(&script, &first).retry(RetryPolicy::default());
    submit_and_end(crashing, submit, Duration::from_secs(1)).await;
    drop(first);
    assert_eq!(script.requests().len(), 1);
    let job = submit(&developer_client(&script, &second)).await.unwrap();
    assert_eq!(job.id().as_str(), "job_1");
    let keys = keys(&script);
    assert_eq!(keys[0], keys[1]);
}

/// A request that is sent again waits for its turn, and its key may be forgotten meanwhile.
#[tokio::test(start_paused = true)]
async fn a_key_that_is_forgotten_while_a_submit_waits_is_not_sent_again() {
    let (first, second) = two_processes();
    let lost = Script::new([Step::ConnectionReset]);
    submit_order(&lost, &first).await.unwrap_err();
    drop(first);
    clock::sleep_computer(Duration::from_secs(23 * 60 * 60));
    let script = Script::with_latency([receipt("job_1")], Duration::from_secs(60));
    let client = builder::<Open>(&script, &second).max_in_flight(1).build().unwrap();
    let other = tokio::spawn(client.videos().generate(fox()).into_future());
    clock::sleep(Duration::from_secs(1)).await;
    let resumed = client.videos().generate(fox()).submission_id("order-1");
    let resumed = tokio::spawn(resumed.into_future());
    clock::sleep(Duration::from_secs(1)).await;
    clock::sleep_computer(Duration::from_secs(60 * 60));
    let _ = other.await.unwrap();
    let error = resumed.await.unwrap().unwrap_err();
    assert_eq!(undecided(&error), Some(UndecidedReason::KeyExpired));
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_running_process_is_waited_for() {
    let (first, second) = two_processes();
    let script = Script::with_latency([receipt("job_1")], Duration::from_secs(5));
    let call = tokio::spawn(submit_order(&script, &first));
    clock::sleep(Duration::from_secs(1)).await;
    let error = submit_order(&script, &second).timeout(Duration::from_secs(2)).await.unwrap_err();
    assert!(matches!(error.journal(), Some(JournalError::SubmissionInProgress { .. })), "{error}");
    let second = submit_order(&script, &second).await.unwrap();
    assert_eq!(second.id(), call.await.unwrap().unwrap().id());
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn two_tasks_of_one_process_submit_once() {
    let script = Script::with_latency([receipt("job_1")], Duration::from_secs(5));
    let journal = Journal::with_store(MemoryStore::new());
    let submit = || submit_order(&script, &journal);
    let jobs = futures_util::future::join_all([submit(), submit(), submit()]).await;
    assert!(jobs.iter().all(|job| job.as_ref().is_ok_and(|job| job.id().as_str() == "job_1")));
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_submission_can_be_submitted_anew() {
    let journal = Journal::in_memory();
    let script = Script::new([refusal(402, "insufficient_funds"), receipt("job_1")]);
    let submit = || submit_order(&script, &journal);
    assert!(submit().await.unwrap_err().is_insufficient_funds());
    let entry = entry(&journal).await;
    assert_eq!(entry.state, EntryState::Released(ReleaseReason::Refused));
    assert_eq!(submit().await.unwrap().id().as_str(), "job_1");
    let keys = keys(&script);
    assert_ne!(keys[0], keys[1]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_says_nothing_of_an_earlier_attempt() {
    let (first, second) = two_processes();
    let steps = [Step::ConnectionReset, refusal(402, "insufficient_funds"), receipt("job_1")];
    let script = Script::new(steps);
    submit_order(&script, &first).await.unwrap_err();
    drop(first);
    let error = submit_order(&script, &second).await.unwrap_err();
    assert!(error.is_insufficient_funds() && error.has_unsettled_attempt());
    assert!(error.is_ambiguous());
    submit_order(&script, &second).await.unwrap();
    let keys = keys(&script);
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_retry_leaves_what_was_submitted_before() {
    for is_acknowledged in [false, true] {
        let journal = Journal::in_memory();
        let refused = || refusal(402, "insufficient_funds");
        let script = Script::new([receipt("job_1"), refused(), refused(), receipt("job_2")]);
        let submit = |reuse| submit_order(&script, &journal).reuse(reuse);
        let job = submit(Reuse::RetryUnsuccessful).await.unwrap();
        assert_eq!(submit(Reuse::RetryUnsuccessful).await.unwrap().id(), job.id());
        let id = job.intent_id().unwrap();
        journal.record_end(id, "failed", None).await.unwrap();
        if is_acknowledged {
            job.acknowledge().await.unwrap();
        }
        for _ in 0..2 {
            submit(Reuse::RetryUnsuccessful).await.unwrap_err();
        }
        let existing = submit(Reuse::ReturnExisting).await.unwrap();
        assert_eq!(existing.id(), job.id());
        assert_eq!(script.requests().len(), 3);
        // The policy that asks for it still submits anew.
        let retried = submit(Reuse::RetryUnsuccessful).await.unwrap();
        assert_eq!(retried.id().as_str(), "job_2");
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_a_gone_process_left_is_adopted() {
    let (first, second) = two_processes();
    let script = Script::new([receipt("job_1"), receipt("job_2"), receipt("job_3")]);
    let submit = |journal: &Journal| {
        let call = open_client(&script, journal).videos().generate(fox());
        call.submission_id("hash").reuse(Reuse::ContinueAbandoned)
    };
    let one = submit(&first).await.unwrap();
    let two = submit(&second).await.unwrap();
    assert_eq!((one.id().as_str(), two.id().as_str()), ("job_1", "job_2"));
    drop((first, one));
    let adopted = submit(&second).await.unwrap();
    assert_eq!(adopted.id().as_str(), "job_1");
    adopted.acknowledge().await.unwrap();
    two.acknowledge().await.unwrap();
    assert_eq!(submit(&second).await.unwrap().id().as_str(), "job_3");
    let keys = keys(&script);
    assert!(keys[0] != keys[1] && keys[1] != keys[2], "{keys:?}");
}

#[tokio::test(start_paused = true)]
async fn what_was_not_acknowledged_is_recovered_once() {
    let (first, second) = two_processes();
    let script = Script::new([receipt("job_1"), Step::ConnectionReset]);
    let client = open_client(&script, &first);
    client.videos().generate(fox()).await.unwrap();
    client.videos().generate(fox()).submission_id("order-2").await.unwrap_err();
    drop((first, client));
    let client = open_client(&script, &second);
    let mut recovery = client.recover();
    let Some(Ok(Recovered::Job(job))) = recovery.next().await else {
        panic!("the job was not recovered")
    };
    assert_eq!((job.id().as_str(), job.submission_id()), ("job_1", None));
    let Some(Ok(Recovered::Undecided(open))) = recovery.next().await else {
        panic!("the open submission was not recovered")
    };
    assert_eq!(open.reason, UndecidedReason::CallAgain);
    assert_eq!(open.submission_id.as_deref(), Some("order-2"));
    assert!(recovery.next().await.is_none());
    assert!(client.recover().next().await.is_none(), "each entry once");
}

#[tokio::test(start_paused = true)]
async fn a_client_recovers_what_its_account_submitted() {
    let nobody_asks = Script::new([]);
    let key = || ApiKey::new("another-key").unwrap();
    for (account, is_recovered) in [("", false), ("tenant-1", true)] {
        let (first, journal) = two_processes();
        let script = Script::new([receipt("job_1")]);
        let client = open_client(&script, &first).with_account(account);
        client.videos().generate(fox()).submission_id("order-1").await.unwrap();
        drop((first, client));
        let stranger = open_client(&nobody_asks, &journal).with_account("stranger");
        let mut recovery = stranger.recover();
        assert!(recovery.next().await.is_none());
        assert_eq!(recovery.skipped(), Skipped::default());
        // A label says that it is the same account, whatever its key and its base URL.
        let client = builder::<Open>(&nobody_asks, &journal).base_url("https://moved.example");
        let client = client.build().unwrap().with_api_key(key()).unwrap().with_account(account);
        let mut recovery = client.recover();
        assert_eq!(recovery.next().await.is_some(), is_recovered, "{account:?}");
        assert_eq!(recovery.skipped().account_changed, usize::from(!is_recovered));
        let developer = developer_client(&nobody_asks, &journal).with_account(account);
        assert!(developer.recover().next().await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_journal_a_submission_id_is_an_error() {
    let script = Script::new([receipt("job_1")]);
    let client = crate::transport::scripted::open_client(&script);
    let error = client.videos().generate(fox()).submission_id("1").await.unwrap_err();
    assert!(error.to_string().contains("journal"), "{error}");
    assert!(script.requests().is_empty());
}

mod budgets;
mod crashes;
mod identity;
mod job_search;
mod observed_store;
mod processes;
mod takeover;
mod unwritten;
mod webhook_events;
