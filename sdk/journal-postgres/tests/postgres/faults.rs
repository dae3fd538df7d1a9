//! Lost responses, and a server that is killed.

use svc_sdk::journal::store::{Begun, NewIntent, Owner, Store};

use crate::proxy::Proxy;
use crate::servers::{Server, ServerKind};
use crate::support::{get, is_written, new_schema, open, pool, record, reserving, sums, usd};

/// Repeats a call that failed, as the journal does.
async fn begin_until_answered(store: &impl Store, intent: &NewIntent) -> Begun {
    loop {
        match store.begin(intent).await {
            Ok(begun) => return begun,
            Err(_) => store.changed().await.unwrap(),
        }
    }
}

#[tokio::test]
async fn a_begin_whose_response_is_lost_is_repeated() {
    let Some(server) = Server::start(ServerKind::Postgres) else { return };
    let folder = tempfile::tempdir().unwrap();
    let socket = ".s.PGSQL.5432";
    let proxy = Proxy::unix(&folder.path().join(socket), server.folder().path().join(socket));
    let address = format!("host={} user=postgres dbname=postgres", folder.path().display());
    let store = open(&address).await;
    let direct = open(&server.address()).await;
    for round in 1..=5 {
        let intent = reserving(round, &format!("order-{round}"), 5);
        proxy.lose_responses(true);
        store.begin(&intent).await.unwrap_err();
        proxy.lose_responses(false);
        let begun = begin_until_answered(&store, &intent).await;
        assert!(is_written(&begun), "{begun:?}");
        assert_eq!(direct.begin(&intent).await.unwrap(), begun);
        assert_eq!(sums(&direct).await, (usd(5 * i64::from(round)), usd(0)));
    }
    let refused = begin_until_answered(&store, &reserving(6, "order-6", 1)).await;
    assert!(matches!(refused, Begun::OverBudget(_)), "{refused:?}");
}

#[tokio::test]
async fn intents_and_owners_survive_a_restart_of_the_server() {
    let Some(mut server) = Server::start(ServerKind::Postgres) else { return };
    let address = new_schema(&server).await;
    let (store, other) = tokio::join!(open(&address), open(&address));
    let intent = reserving(1, "order", 5);
    let begun = store.begin(&intent).await.unwrap();
    store.append(&intent.id, &record("sent")).await.unwrap();
    server.crash_and_restart();
    // As after a long outage, in which no owner could write.
    let connection = pool(&address).get().await.unwrap();
    let outage = "UPDATE svc_journal_owners SET seen_at = seen_at - interval '1 hour'";
    connection.batch_execute(outage).await.unwrap();
    assert_eq!(begin_until_answered(&store, &intent).await, begun);
    let (owner, records) = get(&store, "order").await;
    assert_eq!((owner, records), (Owner::This, vec!["sent".to_owned()]));
    assert_eq!(begin_until_answered(&other, &intent).await, begun);
    assert_eq!(sums(&other).await, (usd(5), usd(0)));
    assert_eq!(get(&other, "order").await.0, Owner::Other);
}
