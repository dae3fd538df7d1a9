//! What every store holds to, and what only one of them does.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use svc_webhook_verify::{Claim, DedupeKey, DedupeStore, Lease, MemoryStore, SqliteStore};

const NOW: u64 = 1_700_000_000;

fn key(subject: &str) -> DedupeKey {
    DedupeKey::new("job.completed", subject)
}

async fn claimed(store: &impl DedupeStore, subject: &str, now: u64) -> Lease {
    match store.claim(&key(subject), now).await.unwrap() {
        Claim::Acquired(lease) => lease,
        other => panic!("{other:?}"),
    }
}

/// The rules that are the same for all. Leases are 20 s, retention is 7 days.
async fn holds_to_the_rules(store: &impl DedupeStore) {
    // Claimed, then handled.
    let lease = claimed(store, "job:1", NOW).await;
    let again = store.claim(&key("job:1"), NOW + 5).await.unwrap();
    assert_eq!(
        again,
        Claim::InProgress {
            lease_expires_at: NOW + 20
        }
    );
    store.commit(lease, NOW + 6).await.unwrap();
    assert_eq!(
        store.claim(&key("job:1"), NOW + 7).await.unwrap(),
        Claim::AlreadyHandled
    );

    // Another event of the same job is another key.
    let failed = DedupeKey::new("job.failed", "job:1");
    let Claim::Acquired(lease) = store.claim(&failed, NOW).await.unwrap() else {
        panic!("claimed by another event");
    };

    // Given up, then claimed anew.
    store.release(lease.clone()).await.unwrap();
    let Claim::Acquired(second) = store.claim(&failed, NOW).await.unwrap() else {
        panic!("still claimed");
    };
    assert_ne!(lease.token(), second.token());

    // The first holder, who comes back late, does not give up the second's claim.
    store.release(lease).await.unwrap();
    assert!(matches!(
        store.claim(&failed, NOW).await.unwrap(),
        Claim::InProgress { .. }
    ));

    // A killed holder's claim ends with its lease, to the second.
    let lost = claimed(store, "job:2", NOW).await;
    assert!(matches!(
        store.claim(&key("job:2"), NOW + 19).await.unwrap(),
        Claim::InProgress { .. }
    ));
    let taken_over = claimed(store, "job:2", NOW + 20).await;
    // What was handled was handled, whoever did it, and stays so.
    store.commit(lost, NOW + 21).await.unwrap();
    store.release(taken_over).await.unwrap();
    assert_eq!(
        store.claim(&key("job:2"), NOW + 22).await.unwrap(),
        Claim::AlreadyHandled
    );

    // Known for the retention, then forgotten.
    let week = 7 * 24 * 60 * 60;
    assert_eq!(
        store.claim(&key("job:1"), NOW + week + 5).await.unwrap(),
        Claim::AlreadyHandled
    );
    assert!(matches!(
        store.claim(&key("job:1"), NOW + week + 6).await.unwrap(),
        Claim::Acquired(_)
    ));

    // Odd names and the ends of time.
    let odd = DedupeKey::new("", "'; DROP TABLE svc_webhook_event; --\u{202e}\n");
    assert!(matches!(
        store.claim(&odd, u64::MAX).await.unwrap(),
        Claim::Acquired(_)
    ));
    assert!(matches!(
        store.claim(&odd, 0).await.unwrap(),
        Claim::InProgress { .. }
    ));
}

/// Sixty-four claims of one key at once: one is let through.
async fn lets_one_through<S: DedupeStore + 'static>(stores: Vec<Arc<S>>) {
    let mut tasks = tokio::task::JoinSet::new();
    for place in 0..64 {
        let store = stores[place % stores.len()].clone();
        tasks.spawn(async move { store.claim(&key("job:1"), NOW).await.unwrap() });
    }
    let claims = tasks.join_all().await;
    let new = claims
        .iter()
        .filter(|claim| matches!(claim, Claim::Acquired(_)));
    assert_eq!(new.count(), 1);
}

#[tokio::test]
async fn the_store_in_memory_holds_to_the_rules() {
    holds_to_the_rules(&MemoryStore::new(100)).await;
    holds_to_the_rules(&Arc::new(MemoryStore::new(100))).await;
}

#[tokio::test]
async fn the_store_in_a_file_holds_to_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("events.db")).unwrap();
    holds_to_the_rules(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_claims_at_once_one_is_let_through() {
    lets_one_through(vec![Arc::new(MemoryStore::new(100))]).await;
    // Two connections, as of two processes.
    let folder = tempfile::tempdir().unwrap();
    let open = || Arc::new(SqliteStore::open(folder.path().join("events.db")).unwrap());
    lets_one_through(vec![open(), open()]).await;
}

#[tokio::test]
async fn the_store_in_memory_forgets_the_oldest_and_never_what_is_being_handled() {
    let store = MemoryStore::new(2).lease_duration(Duration::from_secs(60));
    for subject in ["job:1", "job:2"] {
        let lease = claimed(&store, subject, NOW).await;
        store.commit(lease, NOW).await.unwrap();
    }
    let third = claimed(&store, "job:3", NOW).await;
    assert_eq!(
        store.claim(&key("job:2"), NOW).await.unwrap(),
        Claim::AlreadyHandled
    );
    let first = claimed(&store, "job:1", NOW).await; // forgotten: job:2 makes room in turn
    assert!(store.claim(&key("job:2"), NOW).await.is_err());
    assert_eq!(
        format!("{store:?}"),
        "MemoryStore { len: 2, capacity: 2, .. }"
    );
    store.commit(third, NOW).await.unwrap();
    store.commit(first, NOW).await.unwrap();
    assert!(matches!(
        store.claim(&key("job:2"), NOW).await.unwrap(),
        Claim::Acquired(_)
    ));
}

#[tokio::test]
async fn the_store_in_memory_stays_within_its_bound() {
    let store = MemoryStore::new(50);
    for number in 0..1000 {
        let lease = claimed(&store, &format!("job:{number}"), NOW).await;
        store.commit(lease, NOW).await.unwrap();
    }
    assert_eq!(
        format!("{store:?}"),
        "MemoryStore { len: 50, capacity: 50, .. }"
    );
}

#[tokio::test]
async fn the_store_in_a_file_outlives_its_process_and_sweeps_what_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let store = SqliteStore::open(&path)
        .unwrap()
        .retention(Duration::from_secs(60));
    let lease = claimed(&store, "job:1", NOW).await;
    store.commit(lease, NOW).await.unwrap();
    drop(store);

    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(
        store.claim(&key("job:1"), NOW + 30).await.unwrap(),
        Claim::AlreadyHandled
    );
    let day = 24 * 60 * 60;
    let lease = claimed(&store, "job:2", NOW + 61 + day).await;
    store.release(lease).await.unwrap();
    assert_eq!(count(&path), 1);
}

#[test]
fn the_store_in_a_file_needs_no_runtime() {
    let store = SqliteStore::new(rusqlite::Connection::open_in_memory().unwrap()).unwrap();
    let key = key("job:1");
    let claim = store.claim(&key, NOW);
    let mut claim = std::pin::pin!(claim);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(Ok(Claim::Acquired(_))) = claim.as_mut().poll(&mut context) else {
        panic!("not claimed at once");
    };
}

#[tokio::test]
async fn what_is_no_database_is_an_error_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let line = SqliteStore::open(folder.path()).unwrap_err().to_string();
    assert!(line.contains("check its path"), "{line}");
    let path = folder.path().join("text");
    std::fs::write(
        &path,
        "no database, but long enough to have a header".repeat(100),
    )
    .unwrap();
    assert!(SqliteStore::open(&path).is_err());
}

fn count(path: &Path) -> i64 {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT count(*) FROM svc_webhook_event";
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}
