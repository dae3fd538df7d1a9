//! Several machines at once.

use std::collections::HashSet;

use futures_util::future::join_all;
use svc_journal_postgres::PostgresStore;
use svc_sdk::journal::store::{Begun, Change, NewIntent, Phase, Store};

use crate::servers::{Server, ServerKind};
use crate::support::{
    captured, get, intent, is_written, new_schema, open, record, reserving, sums, usd,
};

/// Begins intents at the same time, on three machines in turn.
async fn begin_all(machines: &[PostgresStore; 3], intents: &[NewIntent]) -> Vec<Begun> {
    let stores = machines.iter().cycle();
    let begun = join_all(stores.zip(intents).map(|(store, intent)| store.begin(intent)));
    begun.await.into_iter().map(Result::unwrap).collect()
}

async fn three_machines(server: &Server) -> [PostgresStore; 3] {
    let address = new_schema(server).await;
    let (first, second, third) = tokio::join!(open(&address), open(&address), open(&address));
    [first, second, third]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn machines_share_submissions_and_budgets() {
    let Some(server) = Server::start(ServerKind::Postgres) else { return };
    reservations_stay_within_the_limit(three_machines(&server).await).await;
    one_of_many_begins_a_generation(three_machines(&server).await).await;
    repeated_begins_are_one(three_machines(&server).await).await;
    parallel_records_are_all_written(three_machines(&server).await).await;
}

async fn reservations_stay_within_the_limit(machines: [PostgresStore; 3]) {
    let intents: Vec<_> = (0..90).map(|id| reserving(id, &format!("order-{id}"), 1)).collect();
    let begun = begin_all(&machines, &intents).await;
    let is_over = |begun: &&Begun| matches!(begun, Begun::OverBudget(totals) if totals.hold.reserved == usd(25));
    assert_eq!(begun.iter().filter(|begun| is_written(begun)).count(), 25);
    assert_eq!(begun.iter().filter(is_over).count(), 65);
    assert_eq!(sums(&machines[0]).await, (usd(25), usd(0)));

    // Those that were written cost two dollars each, which makes fifty.
    let change = captured(2);
    let machine = machines.iter().cycle();
    let written =
        machine.zip(intents.iter().zip(&begun)).filter(|(_, (_, begun))| is_written(begun));
    let appended = join_all(written.map(|(store, (intent, _))| store.append(&intent.id, &change)));
    assert!(appended.await.iter().all(Result::is_ok));
    assert_eq!(sums(&machines[2]).await, (usd(0), usd(50)));
}

async fn one_of_many_begins_a_generation(machines: [PostgresStore; 3]) {
    let intents: Vec<_> = (0..30).map(|id| reserving(id, "order", 1)).collect();
    let begun = begin_all(&machines, &intents).await;
    assert_eq!(begun.iter().filter(|begun| is_written(begun)).count(), 1);
    let is_taken = |begun: &&Begun| **begun == Begun::GenerationTaken;
    assert_eq!(begun.iter().filter(is_taken).count(), 29);
    assert_eq!(sums(&machines[0]).await, (usd(1), usd(0)));
}

async fn repeated_begins_are_one(machines: [PostgresStore; 3]) {
    let intents = vec![reserving(1, "order", 10); 30];
    let begun = begin_all(&machines, &intents).await;
    assert!(begun.iter().all(is_written));
    assert!(begun.iter().all(|other| *other == begun[0]));
    assert_eq!(sums(&machines[0]).await, (usd(10), usd(0)));
}

async fn parallel_records_are_all_written(machines: [PostgresStore; 3]) {
    let intent = intent(1, "order");
    machines[0].begin(&intent).await.unwrap();
    let in_phase = |phase, text: &str| Change { phase: Some(phase), ..record(text) };
    let accepted = in_phase(Phase::Accepted, "accepted");
    machines[0].append(&intent.id, &accepted).await.unwrap();
    let changes: Vec<_> =
        (0..30).map(|number| in_phase(Phase::Ended, &number.to_string())).collect();
    let stores = machines.iter().cycle();
    let appended =
        join_all(stores.zip(&changes).map(|(store, change)| store.append(&intent.id, change)));
    assert!(appended.await.iter().all(Result::is_ok));
    let (_, records) = get(&machines[0], "order").await;
    assert_eq!(records[0], "accepted");
    assert_eq!(records.iter().collect::<HashSet<_>>().len(), 31);
}
