//! What every store promises. The scripts and most tests run on every store, the crash of a server on servers.

use std::collections::HashSet;
use std::time::Duration;

use svc_test_script::{Variables, run_script, scripts_of};
use svc_webhook_inbox::{
    ClaimRequest, EventId, EventState, EventStore, HandlingOutcome, InsertOutcome, NewEvent,
};

use crate::servers::{Server, ServerKind};
use crate::steps::StoreSteps;
use crate::stores::{self, TestStore, job_event};

const LEASE: Duration = Duration::from_secs(60);

/// Makes a test of a function for each server.
macro_rules! on_every_server {
    ($function:ident) => {
        mod $function {
            use crate::servers::ServerKind;

            #[tokio::test]
            async fn postgres() {
                super::$function(ServerKind::Postgres).await;
            }
            #[tokio::test]
            async fn redis() {
                super::$function(ServerKind::Redis).await;
            }
            #[tokio::test]
            async fn nats() {
                super::$function(ServerKind::Nats).await;
            }
        }
    };
}
pub(crate) use on_every_server;

/// Runs the scripts and the tests with a store each, which `open` opens.
#[allow(clippy::print_stdout, reason = "names the script that fails")]
async fn on_store(open: impl AsyncFn() -> TestStore) {
    for (title, script) in scripts_of(include_str!("conformance.txt")) {
        println!("{title}");
        run_script(&StoreSteps::new(open().await).await, Variables::new(), script).await;
    }
    a_stored_event_is_returned_unchanged(open().await).await;
    simultaneous_inserts_of_one_key_store_one_event(open().await).await;
    simultaneous_claims_never_share_an_event(open().await).await;
}

#[tokio::test]
async fn memory() {
    on_store(async || stores::memory()).await;
}

#[tokio::test]
async fn file() {
    on_store(async || stores::file()).await;
}

#[tokio::test]
async fn sqlite() {
    on_store(async || stores::sqlite()).await;
}

on_every_server!(on_server);

async fn on_server(kind: ServerKind) {
    let Some(server) = Server::start(kind) else { return };
    on_store(async || stores::on_server(&server).await).await;
}

/// Inserts an event that is new.
async fn insert(store: &dyn EventStore, event: NewEvent) -> EventId {
    match store.insert(event).await.unwrap() {
        InsertOutcome::Inserted(id) => id,
        InsertOutcome::Duplicate => panic!("unexpected duplicate"),
    }
}

async fn is_duplicate(store: &dyn EventStore, event_type: &str, job: &str) -> bool {
    store.insert(job_event(event_type, job)).await.unwrap() == InsertOutcome::Duplicate
}

async fn a_stored_event_is_returned_unchanged(test: TestStore) {
    for body in [&b"\x00\xff not UTF-8 \n"[..], b"{\"a\": \"\\u00e9 \xc3\xa9\"}", b""] {
        let mut new = job_event("job.completed", &format!("job_{}", body.len()));
        new.body = bytes::Bytes::from_static(body);
        for value in [&b"\xff\x80"[..], b"b"] {
            new.headers.append("x-odd", http::HeaderValue::from_bytes(value).unwrap());
        }
        check_stored(&test, new).await;
    }
    assert!(test.store().get(&EventId::new("no such event")).await.unwrap().is_none());
}

async fn check_stored(test: &TestStore, new: NewEvent) {
    let id = insert(test.store(), new.clone()).await;
    let stored = test.store().get(&id).await.unwrap().unwrap();
    assert_eq!((stored.id, stored.dedupe_key), (id, new.dedupe_key));
    assert_eq!(
        (stored.event_type, stored.headers, stored.body),
        (new.event_type, new.headers, new.body)
    );
    assert_eq!((stored.state, stored.attempts), (EventState::Pending, 0));
    assert_eq!((stored.received_at, stored.last_error), (test.now(), None));
}

async fn simultaneous_inserts_of_one_key_store_one_event(test: TestStore) {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..32 {
        let store = match number % 2 {
            0 => test.shared(),
            _ => test.open_again().await,
        };
        tasks.spawn(async move { is_duplicate(&*store, "job.completed", "job_1").await });
    }
    let duplicates = tasks.join_all().await;
    assert_eq!(duplicates.iter().filter(|is_duplicate| !**is_duplicate).count(), 1);
}

async fn simultaneous_claims_never_share_an_event(test: TestStore) {
    for number in 0..60 {
        insert(test.store(), job_event("job.completed", &format!("job_{number}"))).await;
    }
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..6 {
        let store = test.open_again().await;
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

on_every_server!(a_crash_of_the_server_loses_nothing);

async fn a_crash_of_the_server_loses_nothing(kind: ServerKind) {
    let Some(mut server) = Server::start(kind) else { return };
    let test = stores::on_server(&server).await;
    let store = test.store();
    for number in 0..20 {
        insert(store, job_event("job.completed", &format!("job_{number}"))).await;
    }
    let claimed = store.claim(&ClaimRequest::new("a", LEASE)).await.unwrap();
    store.finish(&claimed[0].lease, HandlingOutcome::Handled).await.unwrap();
    server.crash_and_restart();
    // The old connections are broken: an error is allowed, a hang is not.
    for _ in 0..20 {
        if store.stats().await.is_ok() {
            break;
        }
    }
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.handled, stats.pending), (1, 19));
    assert!(is_duplicate(store, "job.completed", "job_7").await);
}
