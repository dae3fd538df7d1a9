//! Faults of servers: a response that is lost after the commit, and a full disk.

use std::sync::Arc;
use std::time::Duration;

use svc_webhook_inbox::{EventStore, InsertOutcome};

use crate::conformance::on_every_server;
use crate::proxy::Proxy;
use crate::servers::{Server, ServerFolder, ServerKind};
use crate::stores::{connect, job_event};

const ROUNDS: usize = 5;

/// Inserts events whose first response is lost. Each is stored once: the event may or may not have
/// been stored before the error, and the redelivery finds out.
async fn lose_responses(proxy: &Proxy, store: &dyn EventStore, direct: &dyn EventStore) {
    for round in 0..ROUNDS {
        let event = job_event("job.completed", &format!("job_{round}"));
        proxy.lose_responses(true);
        let lost = store.insert(event.clone()).await;
        assert!(!matches!(lost, Ok(InsertOutcome::Inserted(_))), "{lost:?}");
        proxy.lose_responses(false);
        insert_until_answered(store, &format!("job_{round}")).await;
        let stats = direct.stats().await.unwrap();
        assert_eq!(stats.pending, u64::try_from(round).unwrap() + 1);
    }
}

/// Delivers an event again until it is answered, as the service does.
async fn insert_until_answered(store: &dyn EventStore, job: &str) {
    for _ in 0..200 {
        if store.insert(job_event("job.completed", job)).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{job} cannot be stored");
}

on_every_server!(lost_responses_are_found_out);

async fn lost_responses_are_found_out(kind: ServerKind) {
    let Some(server) = Server::start(kind) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (proxy, address) = match kind {
        ServerKind::Nats => {
            let (proxy, port) = Proxy::tcp(server.port()).await;
            (proxy, format!("nats://127.0.0.1:{port}"))
        }
        _ => {
            let is_postgres = kind == ServerKind::Postgres;
            let socket = if is_postgres { ".s.PGSQL.5432" } else { "socket" };
            let proxied = server.folder().path().join(socket);
            let proxy = Proxy::unix(&folder.path().join(socket), proxied);
            (proxy, server.address_in(folder.path()))
        }
    };
    let store = connect(kind, &address).await;
    let direct = connect(kind, &server.address()).await;
    lose_responses(&proxy, &*store, &*direct).await;
}

/// Inserts large events with numbers from the given one on, until one is rejected. Returns its number.
async fn insert_until_rejected(store: &dyn EventStore, first: usize) -> usize {
    for number in first..2000 {
        let mut event = job_event("job.completed", &format!("job_{number}"));
        event.body = vec![b' '; 4096].into();
        if store.insert(event).await.is_err() {
            return number;
        }
    }
    panic!("the disk is not full");
}

/// After there is room again, what was accepted is there, and new events are accepted.
async fn recover(store: Arc<dyn EventStore>, accepted: usize) {
    insert_until_answered(&*store, "job_after").await;
    let stats = store.stats().await.unwrap();
    let pending = usize::try_from(stats.pending).unwrap();
    // The event that was answered with an error may have been stored nevertheless.
    assert!((accepted + 1..=accepted + 2).contains(&pending), "{accepted} {pending}");
    for number in 0..accepted {
        let again = store.insert(job_event("job.completed", &format!("job_{number}"))).await;
        assert_eq!(again.unwrap(), InsertOutcome::Duplicate);
    }
}

on_every_server!(a_full_disk_is_answered_with_errors);

async fn a_full_disk_is_answered_with_errors(kind: ServerKind) {
    let megabytes = if kind == ServerKind::Postgres { 96 } else { 16 };
    let Some(folder) = ServerFolder::on_small_disk(megabytes) else { return };
    let Some(mut server) = Server::start_in(kind, folder) else { return };
    let mut store = connect(kind, &server.address()).await;
    for number in 0..10 {
        insert_until_answered(&*store, &format!("job_{number}")).await;
    }
    server.folder().fill();
    let accepted = insert_until_rejected(&*store, 10).await;
    server.folder().free();
    server.crash_and_restart();
    if kind == ServerKind::Nats {
        store = connect(kind, &server.address()).await;
    }
    recover(store, accepted).await;
}

/// A page limit of the database has the effect of a full disk.
#[tokio::test]
async fn sqlite_on_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.db");
    drop(svc_webhook_inbox::SqliteEventStore::open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "max_page_count", 60).unwrap();
    let store = svc_webhook_inbox::SqliteEventStore::from_connection(connection).unwrap();
    let accepted = insert_until_rejected(&store, 0).await;
    assert!(accepted > 0);
    drop(store);
    recover(Arc::new(svc_webhook_inbox::SqliteEventStore::open(path).unwrap()), accepted).await;
}
