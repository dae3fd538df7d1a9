//! Tests of the deduplication stores.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use svc_webhook_verify::{ClaimResult, DedupeKey, DedupeStore, Lease, MemoryStore, SqliteStore};

const NOW: u64 = 1_700_000_000;

fn key(resource_id: &str) -> DedupeKey {
    DedupeKey::new("job.completed", resource_id)
}

async fn acquire(store: &impl DedupeStore, resource_id: &str, now: u64) -> Lease {
    match store.claim(&key(resource_id), now).await.unwrap() {
        ClaimResult::Acquired(lease) => lease,
        other => panic!("{other:?}"),
    }
}

/// Tests the behaviour that all stores share, with the default durations of 20 s and 7 days.
async fn check_store(store: &impl DedupeStore) {
    // A lease that is committed.
    let lease = acquire(store, "job:1", NOW).await;
    let again = store.claim(&key("job:1"), NOW + 5).await.unwrap();
    assert_eq!(
        again,
        ClaimResult::InProgress {
            lease_expires_at: NOW + 20
        }
    );
    store.commit(lease, NOW + 6).await.unwrap();
    assert_eq!(
        store.claim(&key("job:1"), NOW + 7).await.unwrap(),
        ClaimResult::AlreadyHandled
    );

    // Another event of the same job has a different key.
    let failed = DedupeKey::new("job.failed", "job:1");
    let ClaimResult::Acquired(lease) = store.claim(&failed, NOW).await.unwrap() else {
        panic!("blocked by another event");
    };

    // A released event can be claimed again.
    store.release(lease.clone()).await.unwrap();
    let ClaimResult::Acquired(second) = store.claim(&failed, NOW).await.unwrap() else {
        panic!("not released");
    };
    assert_ne!(lease.token(), second.token());

    // Releasing the first lease again does not release the second.
    store.release(lease).await.unwrap();
    assert!(matches!(
        store.claim(&failed, NOW).await.unwrap(),
        ClaimResult::InProgress { .. }
    ));

    // A lease expires to the second.
    let lost = acquire(store, "job:2", NOW).await;
    assert!(matches!(
        store.claim(&key("job:2"), NOW + 19).await.unwrap(),
        ClaimResult::InProgress { .. }
    ));
    let second = acquire(store, "job:2", NOW + 20).await;
    // Committing an expired lease is effective and cannot be undone by the second lease.
    store.commit(lost, NOW + 21).await.unwrap();
    store.release(second).await.unwrap();
    assert_eq!(
        store.claim(&key("job:2"), NOW + 22).await.unwrap(),
        ClaimResult::AlreadyHandled
    );

    // A handled event is forgotten after the retention time.
    let week = 7 * 24 * 60 * 60;
    assert_eq!(
        store.claim(&key("job:1"), NOW + week + 5).await.unwrap(),
        ClaimResult::AlreadyHandled
    );
    assert!(matches!(
        store.claim(&key("job:1"), NOW + week + 6).await.unwrap(),
        ClaimResult::Acquired(_)
    ));

    // A forgotten event can be claimed again. An event that is being handled cannot be forgotten.
    let first = acquire(store, "job:3", NOW).await;
    assert!(!store.forget(&key("job:3")).await.unwrap());
    store.commit(first.clone(), NOW).await.unwrap();
    assert!(!store.forget(&key("job:4")).await.unwrap());
    assert!(store.forget(&key("job:3")).await.unwrap());
    assert!(!store.forget(&key("job:3")).await.unwrap());
    let second = acquire(store, "job:3", NOW).await;
    assert_ne!(first.token(), second.token());
    store.commit(second, NOW).await.unwrap();
    assert_eq!(
        store.claim(&key("job:3"), NOW).await.unwrap(),
        ClaimResult::AlreadyHandled
    );

    // Unusual names and extreme times.
    let unusual = DedupeKey::new("", "'; DROP TABLE svc_webhook_event; --\u{202e}\n");
    assert!(matches!(
        store.claim(&unusual, u64::MAX).await.unwrap(),
        ClaimResult::Acquired(_)
    ));
    assert!(matches!(
        store.claim(&unusual, 0).await.unwrap(),
        ClaimResult::InProgress { .. }
    ));
}

/// Claims one key 64 times concurrently and checks that one claim is successful.
async fn check_concurrent_claims<S: DedupeStore + 'static>(stores: Vec<Arc<S>>) {
    let mut tasks = tokio::task::JoinSet::new();
    for index in 0..64 {
        let store = stores[index % stores.len()].clone();
        tasks.spawn(async move { store.claim(&key("job:1"), NOW).await.unwrap() });
    }
    let claims = tasks.join_all().await;
    let acquired = claims
        .iter()
        .filter(|claim| matches!(claim, ClaimResult::Acquired(_)));
    assert_eq!(acquired.count(), 1);
}

#[tokio::test]
async fn memory_store_behaves_as_specified() {
    check_store(&MemoryStore::new(100)).await;
    check_store(&Arc::new(MemoryStore::new(100))).await;
}

#[tokio::test]
async fn sqlite_store_behaves_as_specified() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("events.db")).unwrap();
    check_store(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_concurrent_claims_one_is_successful() {
    check_concurrent_claims(vec![Arc::new(MemoryStore::new(100))]).await;
    // Two connections, as in two processes.
    let folder = tempfile::tempdir().unwrap();
    let open = || Arc::new(SqliteStore::open(folder.path().join("events.db")).unwrap());
    check_concurrent_claims(vec![open(), open()]).await;
}

#[tokio::test]
async fn memory_store_evicts_the_oldest_handled_event_but_no_leases() {
    let store = MemoryStore::new(2).lease_duration(Duration::from_secs(60));
    for resource_id in ["job:1", "job:2"] {
        let lease = acquire(&store, resource_id, NOW).await;
        store.commit(lease, NOW).await.unwrap();
    }
    let third = acquire(&store, "job:3", NOW).await;
    assert_eq!(
        store.claim(&key("job:2"), NOW).await.unwrap(),
        ClaimResult::AlreadyHandled
    );
    let first = acquire(&store, "job:1", NOW).await; // was evicted; now job:2 is evicted
    assert!(store.claim(&key("job:2"), NOW).await.is_err());
    assert_eq!(
        format!("{store:?}"),
        "MemoryStore { len: 2, capacity: 2, .. }"
    );
    store.commit(third, NOW).await.unwrap();
    store.commit(first, NOW).await.unwrap();
    assert!(matches!(
        store.claim(&key("job:2"), NOW).await.unwrap(),
        ClaimResult::Acquired(_)
    ));
}

#[tokio::test]
async fn memory_store_never_exceeds_its_capacity() {
    let store = MemoryStore::new(50);
    for number in 0..1000 {
        let lease = acquire(&store, &format!("job:{number}"), NOW).await;
        store.commit(lease, NOW).await.unwrap();
    }
    assert_eq!(
        format!("{store:?}"),
        "MemoryStore { len: 50, capacity: 50, .. }"
    );
}

#[tokio::test]
async fn sqlite_store_is_persistent_and_deletes_expired_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let store = SqliteStore::open(&path)
        .unwrap()
        .retention(Duration::from_secs(60));
    let lease = acquire(&store, "job:1", NOW).await;
    store.commit(lease, NOW).await.unwrap();
    drop(store);

    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(
        store.claim(&key("job:1"), NOW + 30).await.unwrap(),
        ClaimResult::AlreadyHandled
    );
    let day = 24 * 60 * 60;
    let lease = acquire(&store, "job:2", NOW + 61 + day).await;
    store.release(lease).await.unwrap();
    assert_eq!(count_rows(&path), 1);
}

#[test]
fn sqlite_store_works_without_a_runtime() {
    let store = SqliteStore::new(rusqlite::Connection::open_in_memory().unwrap()).unwrap();
    let key = key("job:1");
    let claim = store.claim(&key, NOW);
    let mut claim = std::pin::pin!(claim);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(Ok(ClaimResult::Acquired(_))) = claim.as_mut().poll(&mut context)
    else {
        panic!("the claim was not ready immediately");
    };
}

#[tokio::test]
async fn sqlite_store_rejects_files_that_are_not_databases() {
    let folder = tempfile::tempdir().unwrap();
    let message = SqliteStore::open(folder.path()).unwrap_err().to_string();
    assert!(message.contains("check its path"), "{message}");
    let path = folder.path().join("text");
    std::fs::write(
        &path,
        "not a database, but long enough to have a header".repeat(100),
    )
    .unwrap();
    assert!(SqliteStore::open(&path).is_err());
}

fn count_rows(path: &Path) -> i64 {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT count(*) FROM svc_webhook_event";
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}
