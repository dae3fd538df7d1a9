//! Owners that are gone.

use svc_sdk::journal::store::{Owner, Store};
use tokio::runtime::Runtime;

use crate::servers::{Server, ServerKind};
use crate::support::{
    claim, get, intent, is_written, new_schema, open, open_with_short_timeout, pool, record,
    reserving,
};

/// Begins an intent in a process that is killed at once: a runtime whose tasks end where they are.
fn begin_and_be_killed(address: String) {
    let thread = std::thread::spawn(move || {
        let runtime = Runtime::new().unwrap();
        runtime.block_on(async {
            let store = open_with_short_timeout(&address).await;
            store.begin(&intent(1, "killed")).await.unwrap();
            std::mem::forget(store);
        });
    });
    thread.join().unwrap();
}

#[tokio::test]
async fn intents_of_a_killed_owner_are_claimed_once() {
    let Some(server) = Server::start(ServerKind::Postgres) else { return };
    let address = new_schema(&server).await;
    let (running, first, second) = tokio::join!(
        open_with_short_timeout(&address),
        open_with_short_timeout(&address),
        open_with_short_timeout(&address)
    );
    running.begin(&intent(2, "running")).await.unwrap();
    begin_and_be_killed(address);
    let killed = intent(1, "killed").id;
    assert!(!claim(&first, &killed).await);
    while get(&first, "killed").await.0 == Owner::Other {
        first.changed().await.unwrap();
    }
    let (by_first, by_second) = tokio::join!(claim(&first, &killed), claim(&second, &killed));
    assert!(by_first != by_second);
    let (winner, loser) = if by_first { (&first, &second) } else { (&second, &first) };
    assert!(claim(winner, &killed).await);
    assert!(!claim(loser, &killed).await);
    assert_eq!(get(winner, "killed").await.0, Owner::This);
    assert_eq!(get(loser, "killed").await.0, Owner::Other);
    let refused = loser.append(&killed, &record("sent")).await;
    assert!(refused.unwrap_err().is_not_owner());
    winner.append(&killed, &record("sent")).await.unwrap();

    // The running one has outlived the timeout.
    assert_eq!(get(&first, "running").await.0, Owner::Other);
    assert!(!claim(&first, &intent(2, "running").id).await);
}

/// Another process could take over what it is about to send.
#[tokio::test]
async fn an_owner_whose_heartbeat_is_late_writes_after_another_one() {
    let Some(server) = Server::start(ServerKind::Postgres) else { return };
    let address = new_schema(&server).await;
    let (late, other) = tokio::join!(open(&address), open(&address));
    let connection = pool(&address).get().await.unwrap();
    let execute = async |sql: &str| connection.batch_execute(sql).await.unwrap();
    let has_fresh = async || {
        let sql =
            "SELECT bool_or(seen_at + timeout / 2 > clock_timestamp()) FROM svc_journal_owners";
        connection.query_one(sql, &[]).await.unwrap().get::<_, bool>(0)
    };
    let intent = reserving(1, "order", 5);
    for is_removed in [false, true] {
        let make_late = match is_removed {
            true => "DELETE FROM svc_journal_owners",
            false => "UPDATE svc_journal_owners SET seen_at = seen_at - interval '20 seconds'",
        };
        execute(make_late).await;
        let intent = reserving(2 + u32::from(is_removed), &format!("{is_removed}"), 1);
        assert!(is_written(&late.begin(&intent).await.unwrap()));
        assert!(has_fresh().await);
        execute(make_late).await;
        late.append(&intent.id, &record("sending")).await.unwrap();
        assert!(has_fresh().await);
    }
    late.begin(&intent).await.unwrap();
    execute("DELETE FROM svc_journal_owners").await;
    assert!(claim(&other, &intent.id).await);
    assert!(late.append(&intent.id, &record("sending")).await.unwrap_err().is_not_owner());
}

#[tokio::test]
async fn an_owner_ends_with_its_last_clone() {
    let Some(server) = Server::start(ServerKind::Postgres) else { return };
    let address = new_schema(&server).await;
    let (ending, other) = tokio::join!(open(&address), open(&address));
    ending.begin(&intent(1, "order")).await.unwrap();
    let clone = ending.clone();
    drop(ending);
    assert_eq!(get(&clone, "order").await.0, Owner::This);
    assert_eq!(get(&other, "order").await.0, Owner::Other);
    drop(clone);
    while !claim(&other, &intent(1, "order").id).await {
        other.changed().await.unwrap();
    }
    assert_eq!(get(&other, "order").await.0, Owner::This);
}
