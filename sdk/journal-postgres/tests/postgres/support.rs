//! Stores and intents of the tests.

use std::time::Duration;

use deadpool_postgres::{Manager, Pool};
use svc_journal_postgres::{PostgresOptions, PostgresStore};
use svc_sdk::journal::store::{
    Begun, Change, Hold, IntentId, NewIntent, Owner, Phase, Reservation, Store, SubmissionKey,
};
pub(crate) use svc_sdk::journal::testing::intent;
use svc_sdk::types::Usd;
use tokio_postgres::NoTls;

use crate::servers::Server;

pub(crate) fn pool(address: &str) -> Pool {
    let manager = Manager::new(address.parse().unwrap(), NoTls);
    Pool::builder(manager).max_size(8).build().unwrap()
}

/// Creates a schema that no other test uses, and returns the address with it.
pub(crate) async fn new_schema(server: &Server) -> String {
    let name = server.new_name();
    let connection = pool(&server.address()).get().await.unwrap();
    connection.batch_execute(&format!("CREATE SCHEMA {name}")).await.unwrap();
    format!("{} options='-c search_path={name}'", server.address())
}

pub(crate) async fn open(address: &str) -> PostgresStore {
    PostgresStore::new(pool(address)).await.unwrap()
}

/// Opens a store whose owner is gone soon after it was killed.
pub(crate) async fn open_with_short_timeout(address: &str) -> PostgresStore {
    let mut options = PostgresOptions::default();
    options.owner_timeout = Duration::from_secs(3);
    let store = PostgresStore::with_options(pool(address), &options).await;
    store.unwrap()
}

/// An intent that reserves dollars of a budget of 25 dollars.
pub(crate) fn reserving(id: u32, submission: &str, dollars: i64) -> NewIntent {
    let reservation =
        Reservation { budget: "november".to_owned(), amount: usd(dollars), limit: usd(25) };
    NewIntent { reservation: Some(reservation), ..intent(id, submission) }
}

pub(crate) fn usd(dollars: i64) -> Usd {
    Usd::from_cents(dollars * 100).unwrap()
}

/// A record that changes nothing else.
pub(crate) fn record(text: &str) -> Change {
    Change { record: text.to_owned(), ..Change::default() }
}

pub(crate) fn captured(dollars: i64) -> Change {
    let hold = Hold { captured: usd(dollars), ..Hold::default() };
    Change { phase: Some(Phase::Accepted), hold: Some(hold), ..record("accepted") }
}

/// Returns the owner and the texts of the records of a submission's only intent.
pub(crate) async fn get(store: &PostgresStore, submission: &str) -> (Owner, Vec<String>) {
    let key = SubmissionKey {
        namespace: "shop".to_owned(),
        account: String::new(),
        submission_id: submission.to_owned(),
    };
    let mut found = store.get(&key).await.unwrap();
    let intent = found.remove(0);
    assert_eq!(found, []);
    let records = intent.records.into_iter().map(|record| record.record);
    (intent.owner, records.collect())
}

/// Claims an intent, and returns whether the store has it then.
pub(crate) async fn claim(store: &PostgresStore, id: &IntentId) -> bool {
    let intent = store.claim(id).await.unwrap();
    intent.unwrap().owner == Owner::This
}

/// Returns the reserved and the captured dollars of the budget.
pub(crate) async fn sums(store: &PostgresStore) -> (Usd, Usd) {
    let hold = store.budget("shop", "november").await.unwrap().hold;
    (hold.reserved, hold.captured)
}

pub(crate) fn is_written(begun: &Begun) -> bool {
    matches!(begun, Begun::Written(_))
}
