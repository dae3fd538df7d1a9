//! What every store promises. Each test runs on each store.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use svc_webhook_inbox::{
    ClaimRequest, ClaimedEvent, EventId, EventState, HandlingOutcome, InsertOutcome, ListQuery,
    NewEvent, ReplayFilter, Store, StoreErrorKind,
};

use crate::servers::{Server, ServerKind};
use crate::stores::{self, TestStore, event, job_event, key};

const LEASE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// Makes a test of a function for each server.
macro_rules! on_every_server {
    ($function:path) => {
        #[tokio::test]
        async fn postgres() {
            $function(ServerKind::Postgres).await;
        }
        #[tokio::test]
        async fn redis() {
            $function(ServerKind::Redis).await;
        }
        #[tokio::test]
        async fn nats() {
            $function(ServerKind::Nats).await;
        }
    };
}
pub(crate) use on_every_server;

/// Makes a test of each function for each store that needs no server, and one test of all
/// functions for each server.
macro_rules! on_every_store {
    ($($test:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $test() {
                super::$test(super::stores::memory()).await;
            })*
        }
        mod file {
            $(#[tokio::test]
            async fn $test() {
                super::$test(super::stores::file()).await;
            })*
        }
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                super::$test(super::stores::sqlite()).await;
            })*
        }
        async fn on_server(kind: ServerKind) {
            let Some(server) = Server::start(kind) else { return };
            $(
                println!("{}", stringify!($test));
                $test(stores::on_server(&server).await).await;
            )*
        }
        on_every_server!(on_server);
    };
}

on_every_store!(
    an_event_is_stored_once,
    an_event_without_a_key_is_never_a_duplicate,
    events_of_unknown_types_are_told_apart_by_their_bodies,
    a_stored_event_is_returned_unchanged,
    events_are_claimed_oldest_first_and_once,
    simultaneous_inserts_of_one_key_store_one_event,
    simultaneous_claims_never_share_an_event,
    a_retried_event_is_claimed_after_its_delay,
    an_expired_lease_is_claimed_by_another_worker,
    an_extended_lease_does_not_expire,
    a_lost_lease_cannot_finish_the_event,
    a_lease_from_before_a_replay_is_lost,
    events_of_one_resource_are_claimed_in_order,
    a_forgotten_event_is_accepted_again,
    finished_events_are_replayed,
    purged_events_are_gone,
    lists_are_newest_first_and_paged,
    stats_count_states_and_the_oldest_age,
    another_process_sees_the_same_events,
);

async fn insert(store: &dyn Store, event: NewEvent) -> EventId {
    match store.insert(event).await.unwrap() {
        InsertOutcome::Inserted(id) => id,
        InsertOutcome::Duplicate => panic!("unexpected duplicate"),
    }
}

async fn claim_one(store: &dyn Store) -> Option<ClaimedEvent> {
    let claimed = store.claim(&ClaimRequest::new("a", LEASE)).await.unwrap();
    assert!(claimed.len() <= 1);
    claimed.into_iter().next()
}

/// Claims the next event, and records what became of it.
async fn finish_one(store: &dyn Store, outcome: HandlingOutcome) {
    let claimed = claim_one(store).await.unwrap();
    store.finish(&claimed.lease, outcome).await.unwrap();
}

async fn state(store: &dyn Store, id: &EventId) -> EventState {
    store.get(id).await.unwrap().unwrap().state
}

async fn an_event_is_stored_once(test: TestStore) {
    let store = &*test.store;
    let event = job_event("job.completed", "job_1");
    let id = insert(store, event.clone()).await;
    assert_eq!(store.insert(event.clone()).await.unwrap(), InsertOutcome::Duplicate);
    // Another event of the same job is not a duplicate.
    insert(store, job_event("job.failed", "job_1")).await;
    // Neither a lease nor an outcome changes that the event is known.
    let claimed = claim_one(store).await.unwrap();
    assert_eq!(claimed.event.id, id);
    assert_eq!(store.insert(event.clone()).await.unwrap(), InsertOutcome::Duplicate);
    store.finish(&claimed.lease, HandlingOutcome::Handled).await.unwrap();
    assert_eq!(store.insert(event).await.unwrap(), InsertOutcome::Duplicate);
    assert_eq!(store.list(&ListQuery::default()).await.unwrap().len(), 2);
}

async fn an_event_without_a_key_is_never_a_duplicate(test: TestStore) {
    let ping = event(r#"{"event":"webhook.test"}"#);
    insert(&*test.store, ping.clone()).await;
    insert(&*test.store, ping).await;
}

async fn events_of_unknown_types_are_told_apart_by_their_bodies(test: TestStore) {
    let body =
        |progress: u32| format!(r#"{{"event":"job.moved","job_id":"job_1","n":{progress}}}"#);
    insert(&*test.store, event(&body(1))).await;
    insert(&*test.store, event(&body(2))).await;
    let again = test.store.insert(event(&body(1))).await.unwrap();
    assert_eq!(again, InsertOutcome::Duplicate);
}

async fn a_stored_event_is_returned_unchanged(test: TestStore) {
    let mut new = job_event("job.completed", "job_1");
    new.body = bytes::Bytes::from_static(b"\x00\xff not UTF-8 \n");
    new.headers.append("x-odd", http::HeaderValue::from_bytes(b"\xff\x80").unwrap());
    let id = insert(&*test.store, new.clone()).await;
    let stored = test.store.get(&id).await.unwrap().unwrap();
    assert_eq!((stored.id, stored.dedupe_key), (id, new.dedupe_key));
    assert_eq!(
        (stored.event_type, stored.headers, stored.body),
        (new.event_type, new.headers, new.body)
    );
    assert_eq!((stored.state, stored.attempts), (EventState::Pending, 0));
    assert_eq!((stored.received_at, stored.last_error), (test.now(), None));
    assert!(test.store.get(&EventId::new("no such event")).await.unwrap().is_none());
}

async fn events_are_claimed_oldest_first_and_once(test: TestStore) {
    let store = &*test.store;
    for job in ["job_1", "job_2", "job_3"] {
        insert(store, job_event("job.completed", job)).await;
        test.advance(SECOND);
    }
    let first = store.claim(&ClaimRequest::new("a", LEASE).limit(2)).await.unwrap();
    let second = store.claim(&ClaimRequest::new("b", LEASE).limit(2)).await.unwrap();
    let jobs = |claimed: &[ClaimedEvent]| -> Vec<String> {
        let keys = claimed.iter().map(|claimed| claimed.event.dedupe_key.as_ref().unwrap());
        keys.map(|key| key.resource_id().to_owned()).collect()
    };
    assert_eq!(jobs(&first), ["job:job_1", "job:job_2"]);
    assert_eq!(jobs(&second), ["job:job_3"]);
    assert!(claim_one(store).await.is_none());
    assert!(first.iter().all(|claimed| claimed.event.attempts == 1));
    assert!(first.iter().all(|claimed| claimed.event.state == EventState::InProgress));
}

async fn simultaneous_inserts_of_one_key_store_one_event(test: TestStore) {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..32 {
        let store = match number % 2 {
            0 => Arc::clone(&test.store),
            _ => test.open_again().await.unwrap_or_else(|| Arc::clone(&test.store)),
        };
        tasks
            .spawn(async move { store.insert(job_event("job.completed", "job_1")).await.unwrap() });
    }
    let inserted = tasks.join_all().await;
    let new = inserted.iter().filter(|inserted| matches!(inserted, InsertOutcome::Inserted(_)));
    assert_eq!(new.count(), 1);
}

async fn simultaneous_claims_never_share_an_event(test: TestStore) {
    for number in 0..60 {
        insert(&*test.store, job_event("job.completed", &format!("job_{number}"))).await;
    }
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..6 {
        let store = test.open_again().await.unwrap_or_else(|| Arc::clone(&test.store));
        tasks.spawn(async move {
            let request = ClaimRequest::new(format!("worker {worker}"), LEASE).limit(3);
            let mut ids = Vec::new();
            loop {
                let claimed = store.claim(&request).await.unwrap();
                if claimed.is_empty() {
                    return ids;
                }
                ids.extend(claimed.into_iter().map(|claimed| claimed.event.id));
            }
        });
    }
    let ids: Vec<EventId> = tasks.join_all().await.into_iter().flatten().collect();
    assert_eq!(ids.len(), 60);
    assert_eq!(ids.into_iter().collect::<HashSet<_>>().len(), 60);
}

async fn a_retried_event_is_claimed_after_its_delay(test: TestStore) {
    let store = &*test.store;
    let id = insert(store, job_event("job.completed", "job_1")).await;
    let outcome = HandlingOutcome::Retry { after: Duration::from_secs(30), error: "busy".into() };
    finish_one(store, outcome).await;
    assert_eq!(state(store, &id).await, EventState::Pending);
    assert!(claim_one(store).await.is_none());
    test.advance(Duration::from_secs(30));
    let again = claim_one(store).await.unwrap();
    assert_eq!(again.event.attempts, 2);
    assert_eq!(again.event.last_error.as_deref(), Some("busy"));
}

async fn an_expired_lease_is_claimed_by_another_worker(test: TestStore) {
    let store = &*test.store;
    let id = insert(store, job_event("job.completed", "job_1")).await;
    claim_one(store).await.unwrap();
    test.advance(LEASE - SECOND);
    assert_eq!(state(store, &id).await, EventState::InProgress);
    assert!(claim_one(store).await.is_none());
    test.advance(SECOND);
    assert_eq!(state(store, &id).await, EventState::Pending);
    assert_eq!(claim_one(store).await.unwrap().event.attempts, 2);
}

async fn an_extended_lease_does_not_expire(test: TestStore) {
    let store = &*test.store;
    insert(store, job_event("job.completed", "job_1")).await;
    let claimed = claim_one(store).await.unwrap();
    test.advance(LEASE - SECOND);
    store.extend(&claimed.lease, LEASE).await.unwrap();
    test.advance(LEASE - SECOND);
    assert!(claim_one(store).await.is_none());
    store.finish(&claimed.lease, HandlingOutcome::Handled).await.unwrap();
}

async fn a_lost_lease_cannot_finish_the_event(test: TestStore) {
    let store = &*test.store;
    let id = insert(store, job_event("job.completed", "job_1")).await;
    let lost = claim_one(store).await.unwrap().lease;
    test.advance(LEASE);
    let held = claim_one(store).await.unwrap().lease;
    let error = store.finish(&lost, HandlingOutcome::Handled).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::LeaseLost);
    let error = store.extend(&lost, LEASE).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::LeaseLost);
    assert_eq!(state(store, &id).await, EventState::InProgress);
    store.finish(&held, HandlingOutcome::Handled).await.unwrap();
    let error = store.finish(&held, HandlingOutcome::Handled).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::LeaseLost);
    assert_eq!(state(store, &id).await, EventState::Handled);
}

async fn a_lease_from_before_a_replay_is_lost(test: TestStore) {
    let store = &*test.store;
    let id = insert(store, job_event("job.completed", "job_1")).await;
    let lost = claim_one(store).await.unwrap().lease;
    test.advance(LEASE);
    let second = claim_one(store).await.unwrap().lease;
    store.finish(&second, HandlingOutcome::Handled).await.unwrap();
    assert_eq!(store.replay(&ReplayFilter::Id(id.clone())).await.unwrap(), 1);
    claim_one(store).await.unwrap();
    assert!(store.finish(&lost, HandlingOutcome::Handled).await.is_err());
    assert_eq!(state(store, &id).await, EventState::InProgress);
}

async fn events_of_one_resource_are_claimed_in_order(test: TestStore) {
    let store = &*test.store;
    insert(store, job_event("job.failed", "job_1")).await;
    test.advance(SECOND);
    insert(store, job_event("job.completed", "job_1")).await;
    insert(store, job_event("job.completed", "job_2")).await;
    let request = ClaimRequest::new("a", LEASE).limit(9).in_order(true);
    let first = store.claim(&request).await.unwrap();
    assert_eq!(first.len(), 2, "the second event of job_1 waits");
    assert!(store.claim(&request).await.unwrap().is_empty());
    for claimed in first {
        let outcome = HandlingOutcome::Dead { reason: "broken".into() };
        store.finish(&claimed.lease, outcome).await.unwrap();
    }
    let second = store.claim(&request).await.unwrap();
    assert_eq!(second[0].event.dedupe_key, Some(key("job.completed", "job_1")));
}

async fn a_forgotten_event_is_accepted_again(test: TestStore) {
    let store = &*test.store;
    let key = key("job.completed", "job_1");
    assert!(!store.forget(&key).await.unwrap());
    insert(store, job_event("job.completed", "job_1")).await;
    assert!(!store.forget(&key).await.unwrap(), "it is still to be handled");
    let claimed = claim_one(store).await.unwrap();
    assert!(!store.forget(&key).await.unwrap(), "it is being handled");
    store.finish(&claimed.lease, HandlingOutcome::Handled).await.unwrap();
    assert!(store.forget(&key).await.unwrap());
    assert!(!store.forget(&key).await.unwrap());
    let id = insert(store, job_event("job.completed", "job_1")).await;
    assert_eq!(claim_one(store).await.unwrap().event.id, id);
}

async fn finished_events_are_replayed(test: TestStore) {
    let store = &*test.store;
    let mut ids = Vec::new();
    for (job, outcome) in [
        ("job_1", HandlingOutcome::Handled),
        ("job_2", HandlingOutcome::Dead { reason: "broken".into() }),
        ("job_3", HandlingOutcome::Dead { reason: "broken".into() }),
    ] {
        ids.push(insert(store, job_event("job.completed", job)).await);
        finish_one(store, outcome).await;
        test.advance(SECOND);
    }
    let pending = insert(store, job_event("job.completed", "job_4")).await;
    assert_eq!(store.replay(&ReplayFilter::Id(pending)).await.unwrap(), 0);
    assert_eq!(store.replay(&ReplayFilter::Id(ids[1].clone())).await.unwrap(), 1);
    let replayed = store.get(&ids[1]).await.unwrap().unwrap();
    assert_eq!((replayed.state, replayed.attempts), (EventState::Pending, 0));
    assert_eq!(store.replay(&ReplayFilter::Dead).await.unwrap(), 1);
    assert_eq!(state(store, &ids[2]).await, EventState::Pending);
    let start = test.now() - SECOND * 3;
    let range = start..start + SECOND;
    assert_eq!(store.replay(&ReplayFilter::ReceivedIn(range)).await.unwrap(), 1);
    assert_eq!(state(store, &ids[0]).await, EventState::Pending);
    // A replayed event is still known.
    let duplicate = store.insert(job_event("job.completed", "job_1")).await.unwrap();
    assert_eq!(duplicate, InsertOutcome::Duplicate);
}

async fn purged_events_are_gone(test: TestStore) {
    let store = &*test.store;
    let old = insert(store, job_event("job.completed", "job_1")).await;
    finish_one(store, HandlingOutcome::Handled).await;
    let unfinished = insert(store, job_event("job.completed", "job_2")).await;
    test.advance(Duration::from_secs(3600));
    assert_eq!(store.purge(Duration::from_secs(3601)).await.unwrap(), 0);
    assert_eq!(store.purge(Duration::from_secs(3599)).await.unwrap(), 1);
    assert!(store.get(&old).await.unwrap().is_none());
    assert_eq!(state(store, &unfinished).await, EventState::Pending);
    insert(store, job_event("job.completed", "job_1")).await;
}

async fn lists_are_newest_first_and_paged(test: TestStore) {
    let store = &*test.store;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(insert(store, job_event("job.completed", &format!("job_{number}"))).await);
    }
    ids.reverse();
    let mut query = ListQuery::default();
    query.limit = 3;
    let page = store.list(&query).await.unwrap();
    query.before = Some(page[2].id.clone());
    let rest = store.list(&query).await.unwrap();
    let listed: Vec<EventId> = page.into_iter().chain(rest).map(|event| event.id).collect();
    assert_eq!(listed, ids);
    claim_one(store).await.unwrap();
    let mut query = ListQuery::default();
    query.state = Some(EventState::InProgress);
    assert_eq!(store.list(&query).await.unwrap().len(), 1);
    query.state = Some(EventState::Pending);
    assert_eq!(store.list(&query).await.unwrap().len(), 4);
}

async fn stats_count_states_and_the_oldest_age(test: TestStore) {
    let store = &*test.store;
    assert_eq!(store.stats().await.unwrap(), svc_webhook_inbox::StoreStats::default());
    let dead = HandlingOutcome::Dead { reason: "broken".into() };
    for (job, outcome) in [("job_1", HandlingOutcome::Handled), ("job_2", dead)] {
        insert(store, job_event("job.completed", job)).await;
        finish_one(store, outcome).await;
    }
    insert(store, job_event("job.completed", "job_3")).await;
    claim_one(store).await.unwrap();
    test.advance(Duration::from_secs(10));
    insert(store, job_event("job.completed", "job_4")).await;
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.pending, stats.in_progress, stats.handled, stats.dead), (1, 1, 1, 1));
    assert_eq!(stats.oldest_unfinished_age, Some(Duration::from_secs(10)));
    test.advance(LEASE);
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.pending, stats.in_progress), (2, 0));
}

async fn another_process_sees_the_same_events(test: TestStore) {
    let id = insert(&*test.store, job_event("job.completed", "job_1")).await;
    let Some(other) = test.open_again().await else { return };
    let duplicate = other.insert(job_event("job.completed", "job_1")).await.unwrap();
    assert_eq!(duplicate, InsertOutcome::Duplicate);
    let claimed = claim_one(&*other).await.unwrap();
    assert_eq!(state(&*test.store, &id).await, EventState::InProgress);
    test.store.finish(&claimed.lease, HandlingOutcome::Handled).await.unwrap();
    assert_eq!(state(&*other, &id).await, EventState::Handled);
}

/// What a crash of the server must not lose.
mod crashes {
    use super::*;

    on_every_server!(a_crash);

    async fn a_crash(kind: ServerKind) {
        let Some(mut server) = Server::start(kind) else { return };
        let test = stores::on_server(&server).await;
        for number in 0..20 {
            let event = job_event("job.completed", &format!("job_{number}"));
            insert(&*test.store, event).await;
        }
        finish_one(&*test.store, HandlingOutcome::Handled).await;
        server.crash_and_restart();
        // The old connections are broken: an error is allowed, a hang is not.
        for _ in 0..20 {
            if test.store.stats().await.is_ok() {
                break;
            }
        }
        let stats = test.store.stats().await.unwrap();
        assert_eq!((stats.handled, stats.pending), (1, 19));
        let event = job_event("job.completed", "job_7");
        assert_eq!(test.store.insert(event).await.unwrap(), InsertOutcome::Duplicate);
    }
}
