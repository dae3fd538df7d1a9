//! Submits through a journal, on a scripted service.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{
    EntryState, Journal, JournalError, MemoryStore, Recovered, ReleaseReason, Reuse, Settled,
    SpendLimit, UndecidedReason,
};
use crate::call::clock;
use crate::client::ClientBuilder;
use crate::error::Error;
use crate::surface::{Developer, Open};
use crate::transport::scripted::{Script, ScriptedTransport, Step, json as answer};
use crate::types::{Music1Generate, Usd, VideoGenerate};
use crate::{ApiKey, Client, RetryPolicy};

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

fn builder<S: crate::surface::ClientSurface>(
    script: &Arc<Script>,
    journal: &Journal,
) -> ClientBuilder<S> {
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

fn fox() -> VideoGenerate {
    VideoGenerate::new("video-f").prompt("a red fox")
}

fn keys(script: &Script) -> Vec<String> {
    let requests = script.requests();
    let keys = requests
        .iter()
        .filter_map(|it| it.header("idempotency-key"));
    keys.map(str::to_owned).collect()
}

fn undecided(error: &Error) -> Option<UndecidedReason> {
    match error.journal()? {
        JournalError::Undecided(undecided) => Some(undecided.reason),
        _ => None,
    }
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
    let journal = Journal::with_store(MemoryStore::new());
    let client = open_client(&script, &journal);
    let first = client
        .videos()
        .generate(fox())
        .submission_id("order-1")
        .await
        .unwrap();
    let second = client
        .videos()
        .generate(fox())
        .submission_id("order-1")
        .await
        .unwrap();
    assert_eq!(first.id().as_str(), "job_1");
    assert_eq!(second.id(), first.id());
    assert_eq!(second.submission_id(), Some("order-1"));
    assert!(second.is_resumed() && !first.is_resumed());
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
        let journal = Journal::with_store(MemoryStore::new()).namespace(namespace);
        let client: Client<Open> = builder(&script, &journal)
            .build()
            .unwrap()
            .with_account(account);
        client
            .videos()
            .generate(fox())
            .submission_id(id)
            .await
            .unwrap();
        all.extend(keys(&script));
    }
    assert_eq!(all[0], all[1]);
    let distinct: std::collections::HashSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), 5, "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn another_request_under_the_same_id_is_a_conflict() {
    let script = Script::new([receipt("job_1")]);
    let journal = Journal::with_store(MemoryStore::new());
    let client = open_client(&script, &journal);
    client
        .videos()
        .generate(fox())
        .submission_id("order-1")
        .await
        .unwrap();
    let other = fox().duration(8);
    let error = client
        .videos()
        .generate(other)
        .submission_id("order-1")
        .await
        .unwrap_err();
    assert!(
        matches!(
            error.journal(),
            Some(JournalError::SubmissionConflict { .. })
        ),
        "{error}"
    );
    assert!(!error.is_ambiguous() && !error.may_have_been_sent());
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn another_key_is_another_account_unless_it_is_named() {
    for (account, expected) in [("", false), ("tenant-1", true)] {
        let script = Script::new([receipt("job_1")]);
        let journal = Journal::with_store(MemoryStore::new());
        let client = |key: &str| {
            let key = ApiKey::new(key).unwrap();
            builder::<Open>(&script, &journal)
                .api_key(key)
                .build()
                .unwrap()
                .with_account(account)
        };
        let submit = |key: &str| {
            client(key)
                .videos()
                .generate(fox())
                .submission_id("order-1")
        };
        submit("first").await.unwrap();
        let again = submit("second").await;
        assert_eq!(again.is_ok(), expected);
        if let Err(error) = again {
            assert!(
                matches!(error.journal(), Some(JournalError::AccountChanged { .. })),
                "{error}"
            );
        }
        assert_eq!(script.requests().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_is_found_out_with_the_same_key() {
    let (first, second) = two_processes();
    let script = Script::new([Step::ConnectionReset, receipt("job_1")]);
    let submit = |journal: &Journal| {
        open_client(&script, journal)
            .videos()
            .generate(fox())
            .submission_id("order-1")
    };
    let error = submit(&first).await.unwrap_err();
    assert!(error.is_ambiguous());
    drop(first);
    let job = submit(&second).await.unwrap();
    assert_eq!(job.id().as_str(), "job_1");
    let keys = keys(&script);
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_without_a_documented_key_is_not_sent_again() {
    let (first, second) = two_processes();
    let script = Script::new([Step::ConnectionReset, receipt("job_1")]);
    let submit = |journal: &Journal| {
        let body = Music1Generate::new("jazz");
        developer_client(&script, journal)
            .music()
            .generate(body)
            .submission_id("order-1")
    };
    assert!(submit(&first).await.unwrap_err().is_ambiguous());
    drop(first);
    let error = submit(&second).await.unwrap_err();
    assert_eq!(undecided(&error), Some(UndecidedReason::KeyNotDocumented));
    assert!(error.is_ambiguous() && error.idempotency_key().is_some());
    assert_eq!(script.requests().len(), 1);

    // A person found out that it was not carried out: the submission is free again.
    let Some(JournalError::Undecided(open)) = error.journal() else {
        panic!("{error}")
    };
    second.settle(&open.id, Settled::NotExecuted).await.unwrap();
    assert_eq!(submit(&second).await.unwrap().id().as_str(), "job_1");
    let keys = keys(&script);
    assert_ne!(keys[0], keys[1], "another generation");
}

#[tokio::test(start_paused = true)]
async fn what_a_person_finds_is_returned() {
    let journal = Journal::with_store(MemoryStore::new());
    let script = Script::new([Step::ConnectionReset]);
    let submit = || {
        let body = Music1Generate::new("jazz");
        developer_client(&script, &journal)
            .music()
            .generate(body)
            .submission_id("order-1")
    };
    submit().await.unwrap_err();
    let entry = journal.find("", "order-1").await.unwrap().unwrap();
    let executed = Settled::Executed {
        kind: super::ResourceKind::Job,
        id: "job_9".to_owned(),
        charge_usd: None,
    };
    journal.settle(&entry.id, executed).await.unwrap();
    assert_eq!(submit().await.unwrap().id().as_str(), "job_9");
}

#[tokio::test(start_paused = true)]
async fn an_expired_key_is_not_used_again() {
    let (first, second) = two_processes();
    let script = Script::new([Step::ConnectionReset, receipt("job_1")]);
    let submit = |journal: &Journal| {
        open_client(&script, journal)
            .videos()
            .generate(fox())
            .submission_id("order-1")
    };
    submit(&first).await.unwrap_err();
    drop(first);
    clock::sleep_computer(Duration::from_secs(24 * 60 * 60));
    let error = submit(&second).await.unwrap_err();
    assert_eq!(undecided(&error), Some(UndecidedReason::KeyExpired));
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_crash_in_a_pause_after_nothing_ran_leaves_nothing_open() {
    let (first, second) = two_processes();
    let script = Script::new([answer(503, BUSY).header("retry-after", 5), receipt("job_1")]);
    let submit = |journal: &Journal| {
        let body = Music1Generate::new("jazz");
        let client: Client<Developer> = builder(&script, journal)
            .retry(RetryPolicy::default())
            .build()
            .unwrap();
        client.music().generate(body).submission_id("order-1")
    };
    let group = crate::call::task::TaskGroup::default();
    let body = Music1Generate::new("jazz");
    let client: Client<Developer> = builder(&script, &first)
        .retry(RetryPolicy::default())
        .task_group(&group)
        .build()
        .unwrap();
    let call = tokio::spawn(client.music().generate(body).submission_id("order-1"));
    clock::sleep(Duration::from_secs(1)).await;
    assert_eq!(script.requests().len(), 1);
    group.end();
    call.await.unwrap().unwrap_err();
    drop((first, client));
    let job = submit(&second).await.unwrap();
    assert_eq!(job.id().as_str(), "job_1");
    let keys = keys(&script);
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test(start_paused = true)]
async fn a_running_process_is_waited_for() {
    let (first, second) = two_processes();
    let script = Script::with_latency([receipt("job_1")], Duration::from_secs(5));
    let submit = |journal: &Journal| {
        open_client(&script, journal)
            .videos()
            .generate(fox())
            .submission_id("order-1")
    };
    let call = tokio::spawn(submit(&first));
    clock::sleep(Duration::from_secs(1)).await;
    let error = submit(&second)
        .timeout(Duration::from_secs(2))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error.journal(),
            Some(JournalError::SubmissionInProgress { .. })
        ),
        "{error}"
    );
    let second = submit(&second).await.unwrap();
    assert_eq!(second.id(), call.await.unwrap().unwrap().id());
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn two_tasks_of_one_process_submit_once() {
    let script = Script::with_latency([receipt("job_1")], Duration::from_secs(5));
    let journal = Journal::with_store(MemoryStore::new());
    let submit = || {
        open_client(&script, &journal)
            .videos()
            .generate(fox())
            .submission_id("order-1")
    };
    let jobs = futures_util::future::join_all([submit(), submit(), submit()]).await;
    assert!(
        jobs.iter()
            .all(|job| job.as_ref().is_ok_and(|job| job.id().as_str() == "job_1"))
    );
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_accepted_submit_without_an_id_is_never_sent_again() {
    let journal = Journal::with_store(MemoryStore::new());
    let script = Script::new([answer(202, r#"{"data": {}}"#), receipt("job_1")]);
    let submit = || {
        open_client(&script, &journal)
            .videos()
            .generate(fox())
            .submission_id("order-1")
    };
    submit().await.unwrap_err();
    let error = submit().await.unwrap_err();
    assert_eq!(undecided(&error), Some(UndecidedReason::AcceptedWithoutId));
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_submission_can_be_submitted_anew() {
    let journal = Journal::with_store(MemoryStore::new());
    let script = Script::new([refusal(402, "insufficient_funds"), receipt("job_1")]);
    let submit = || {
        open_client(&script, &journal)
            .videos()
            .generate(fox())
            .submission_id("order-1")
    };
    assert!(submit().await.unwrap_err().is_insufficient_funds());
    let entry = journal.find("", "order-1").await.unwrap().unwrap();
    assert_eq!(entry.state, EntryState::Released(ReleaseReason::Refused));
    assert_eq!(submit().await.unwrap().id().as_str(), "job_1");
    let keys = keys(&script);
    assert_ne!(keys[0], keys[1]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_says_nothing_of_an_earlier_attempt() {
    let (first, second) = two_processes();
    let steps = [
        Step::ConnectionReset,
        refusal(402, "insufficient_funds"),
        receipt("job_1"),
    ];
    let script = Script::new(steps);
    let submit = |journal: &Journal| {
        open_client(&script, journal)
            .videos()
            .generate(fox())
            .submission_id("order-1")
    };
    submit(&first).await.unwrap_err();
    drop(first);
    let error = submit(&second).await.unwrap_err();
    assert!(error.is_insufficient_funds() && error.has_unsettled_attempt());
    assert!(error.is_ambiguous());
    submit(&second).await.unwrap();
    let keys = keys(&script);
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

#[tokio::test(start_paused = true)]
async fn an_unsuccessful_submission_is_retried_if_asked_for() {
    let journal = Journal::with_store(MemoryStore::new());
    let script = Script::new([receipt("job_1"), receipt("job_2")]);
    let submit = |reuse| {
        let call = open_client(&script, &journal).videos().generate(fox());
        call.submission_id("order-1").reuse(reuse)
    };
    let job = submit(Reuse::RetryUnsuccessful).await.unwrap();
    assert_eq!(
        submit(Reuse::RetryUnsuccessful).await.unwrap().id(),
        job.id()
    );
    journal
        .record_end(job.intent_id().unwrap(), "failed", None)
        .await
        .unwrap();
    assert_eq!(submit(Reuse::ReturnExisting).await.unwrap().id(), job.id());
    assert_eq!(
        submit(Reuse::RetryUnsuccessful)
            .await
            .unwrap()
            .id()
            .as_str(),
        "job_2"
    );
}

#[tokio::test(start_paused = true)]
async fn a_refused_retry_leaves_what_was_submitted_before() {
    for is_acknowledged in [false, true] {
        let journal = Journal::with_store(MemoryStore::new());
        let refused = || refusal(402, "insufficient_funds");
        let script = Script::new([receipt("job_1"), refused(), refused(), receipt("job_2")]);
        let submit = |reuse| {
            let call = open_client(&script, &journal).videos().generate(fox());
            call.submission_id("order-1").reuse(reuse)
        };
        let job = submit(Reuse::ReturnExisting).await.unwrap();
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
        call.submission_id("hash").reuse(Reuse::AdoptOrphan)
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
    client
        .videos()
        .generate(fox())
        .submission_id("order-2")
        .await
        .unwrap_err();
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
async fn a_dropped_submit_goes_on_to_its_receipt() {
    let journal = Journal::with_store(MemoryStore::new());
    let script = Script::with_latency([receipt("job_1")], Duration::from_secs(5));
    let client = open_client(&script, &journal);
    let call = client.videos().generate(fox()).submission_id("order-1");
    assert!(
        clock::before(clock::after(Duration::from_secs(1)), call)
            .await
            .is_none()
    );
    client.drain().await;
    let entry = journal.find("", "order-1").await.unwrap().unwrap();
    assert_eq!(entry.state, EntryState::Accepted);
}

#[tokio::test(start_paused = true)]
async fn reservations_never_exceed_the_limit() {
    let journal = Journal::with_store(MemoryStore::new());
    let limit = SpendLimit::new("images", Usd::from_micros(500_000));
    let script = Script::new([price("0.2000"), receipt("job_1")]);
    let client: Client<Open> = builder(&script, &journal)
        .spend_limit(limit)
        .build()
        .unwrap();
    let submit = |id: &str| client.videos().generate(fox()).submission_id(id);
    submit("1").await.unwrap();
    submit("2").await.unwrap();
    let error = submit("3").await.unwrap_err();
    assert!(
        matches!(error.journal(), Some(JournalError::OverBudget { .. })),
        "{error}"
    );
    assert_eq!(script.requests().len(), 3, "one estimate and two submits");
    let totals = journal.budget("images").await.unwrap();
    assert_eq!(totals.hold.reserved, Usd::from_micros(400_000));

    // A failed job is refunded, which makes room.
    let first = journal.find("", "1").await.unwrap().unwrap();
    journal
        .record_end(&first.id, "failed", Some(Usd::ZERO))
        .await
        .unwrap();
    submit("3").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_charge_above_the_reservation_stops_the_budget() {
    let journal = Journal::with_store(MemoryStore::new());
    let limit = SpendLimit::new("images", Usd::from_micros(10_000_000));
    let script = Script::new([price("0.1000"), receipt("job_1")]);
    let client: Client<Open> = builder(&script, &journal)
        .spend_limit(limit)
        .build()
        .unwrap();
    client
        .videos()
        .generate(fox())
        .submission_id("1")
        .await
        .unwrap();
    let error = client
        .videos()
        .generate(fox())
        .submission_id("2")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("stopped"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_charge_that_is_recorded_later_stops_the_budget_too() {
    for (charge, is_stopped) in [("0.2000", false), ("0.2001", true)] {
        for is_settled in [false, true] {
            let journal = Journal::with_store(MemoryStore::new());
            let answer = match is_settled {
                true => answer(202, r#"{"data": {}}"#),
                false => receipt("job_1"),
            };
            let script = Script::new([price("0.2000"), answer]);
            let limit = SpendLimit::new("images", Usd::from_micros(10_000_000));
            let client: Client<Open> = builder(&script, &journal)
                .spend_limit(limit)
                .build()
                .unwrap();
            let _ = client.videos().generate(fox()).submission_id("1").await;
            let id = journal.find("", "1").await.unwrap().unwrap().id;
            let charge: Usd = charge.parse().unwrap();
            let charge_usd = Some(charge);
            let recorded = match is_settled {
                true => {
                    let executed = Settled::Executed {
                        kind: super::ResourceKind::Job,
                        id: "job_1".to_owned(),
                        charge_usd,
                    };
                    journal.settle(&id, executed).await
                }
                false => journal.record_end(&id, "completed", charge_usd).await,
            };
            recorded.unwrap();
            let totals = journal.budget("images").await.unwrap();
            assert_eq!(totals.hold.captured, charge);
            assert_eq!(totals.is_stopped, is_stopped, "{charge}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_recovery_cannot_decide_is_undecided_in_its_budget() {
    let (first, second) = two_processes();
    let steps = [price("0.2000"), receipt("job_1")];
    let script = Script::with_latency(steps, Duration::from_secs(5));
    let client = |journal: &Journal| {
        let limit = SpendLimit::new("images", Usd::from_micros(10_000_000));
        builder::<Open>(&script, journal).spend_limit(limit)
    };
    let group = crate::call::task::TaskGroup::default();
    let crashing = client(&first).task_group(&group).build().unwrap();
    let call = crashing.videos().generate(fox()).submission_id("1");
    let call = tokio::spawn(call.into_future());
    clock::sleep(Duration::from_secs(7)).await;
    group.end();
    call.await.unwrap().unwrap_err();
    drop((first, crashing));
    let client = client(&second).build().unwrap();
    let held = async || second.budget("images").await.unwrap().hold;
    assert_eq!(held().await.reserved, Usd::from_micros(200_000));
    let recovered = client.recover().next().await;
    assert!(matches!(recovered, Some(Ok(Recovered::Undecided(_)))));
    assert_eq!(held().await.undecided, Usd::from_micros(200_000));
    let again = client.videos().generate(fox()).submission_id("1");
    again.await.unwrap();
    let hold = held().await;
    assert_eq!(hold.reserved, Usd::from_micros(200_000));
    assert_eq!(hold.undecided, Usd::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_estimate_is_used_again_for_a_minute() {
    let journal = Journal::with_store(MemoryStore::new());
    let steps = [price("0.2000"), receipt("1"), receipt("2"), price("0.3000")];
    let script = Script::new(steps);
    let client = open_client(&script, &journal);
    let at_most = Usd::from_micros(250_000);
    let submit = || client.videos().generate(fox()).at_most(at_most);
    submit().await.unwrap();
    clock::sleep(Duration::from_secs(59)).await;
    submit().await.unwrap();
    assert_eq!(script.requests().len(), 3, "one estimate and two submits");
    clock::sleep(Duration::from_secs(2)).await;
    let error = submit().await.unwrap_err();
    let is_too_expensive = matches!(error.journal(), Some(JournalError::TooExpensive { .. }));
    assert!(is_too_expensive, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_estimate_names_the_field_of_the_body() {
    let journal = Journal::with_store(MemoryStore::new());
    let refused = json!({"error": {
        "code": "invalid_request",
        "message": "`input.duration` must be at most 15",
        "details": {"field": "input.duration"},
    }});
    let script = Script::new([answer(400, &refused.to_string())]);
    let call = open_client(&script, &journal).videos().generate(fox());
    let error = call.at_most(Usd::from_micros(1)).await.unwrap_err();
    let body = error.body().unwrap();
    assert_eq!(body.details().field.as_deref(), Some("duration"));
    assert_eq!(body.message, "`duration` must be at most 15");
}

#[tokio::test(start_paused = true)]
async fn what_has_no_price_is_not_sent_under_a_limit() {
    let journal = Journal::with_store(MemoryStore::new());
    let limit = SpendLimit::new("images", Usd::from_micros(10_000_000));
    let script = Script::new([receipt("job_1")]);
    let client: Client<Developer> = builder(&script, &journal)
        .spend_limit(limit)
        .build()
        .unwrap();
    let error = client
        .music()
        .generate(Music1Generate::new("jazz"))
        .await
        .unwrap_err();
    assert!(
        matches!(error.journal(), Some(JournalError::NoPrice { .. })),
        "{error}"
    );
    assert!(script.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_a_journal_a_submission_id_is_an_error() {
    let script = Script::new([receipt("job_1")]);
    let client = crate::transport::scripted::open_client(&script);
    let error = client
        .videos()
        .generate(fox())
        .submission_id("1")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("journal"), "{error}");
    assert!(script.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_was_captured_stays_so_when_it_is_seen_again() {
    let journal = Journal::with_store(MemoryStore::new());
    let limit = SpendLimit::new("images", Usd::from_micros(10_000_000));
    let result =
        r#"{"data": {"status": "completed", "job": {"id": "job_1", "status": "completed"}}}"#;
    let no_id = answer(202, r#"{"data": {}}"#);
    let script = Script::new([
        price("0.2000"),
        receipt("job_1"),
        answer(200, result),
        answer(200, result),
        answer(200, result),
        answer(200, result),
        no_id,
    ]);
    let client: Client<Open> = builder(&script, &journal)
        .spend_limit(limit)
        .build()
        .unwrap();
    let submit = |id: &str| client.videos().generate(fox()).submission_id(id);
    let captured = async || {
        let totals = journal.budget("images").await.unwrap();
        assert!(!totals.is_stopped && totals.hold.reserved == Usd::ZERO);
        totals.hold.captured.as_micros() + totals.hold.undecided.as_micros()
    };
    // A second wait for the same job records the same charge.
    for _ in 0..2 {
        submit("1").await.unwrap().wait().await.unwrap();
        assert_eq!(captured().await, 200_000);
    }
    // So does a second submit of what has no readable receipt, and a person who knows no charge.
    submit("2").await.unwrap_err();
    for _ in 0..2 {
        assert_eq!(captured().await, 400_000);
        let error = submit("2").await.unwrap_err();
        assert_eq!(undecided(&error), Some(UndecidedReason::AcceptedWithoutId));
    }
    let entry = journal.find("", "2").await.unwrap().unwrap();
    let executed = Settled::Executed {
        kind: super::ResourceKind::Job,
        id: "job_2".to_owned(),
        charge_usd: None,
    };
    journal.settle(&entry.id, executed).await.unwrap();
    assert_eq!(captured().await, 400_000);
}

mod crashes;
mod identity;
mod unwritten;
mod webhook_events;
