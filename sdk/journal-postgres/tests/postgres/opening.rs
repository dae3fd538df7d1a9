//! Opening a store: its tables, its options, and what it leaves in a session.

use std::time::Duration;

use deadpool_postgres::Pool;
use futures_util::future::join_all;
use svc_journal_postgres::{PostgresOptions, PostgresStore};
use svc_sdk::journal::Store;
use svc_sdk::journal::store::{Change, ListFilter};

use crate::servers::{Server, ServerKind};
use crate::support::{captured, get, is_written, new_schema, pool, reserving};

async fn execute(pool: &Pool, sql: &str) {
    let connection = pool.get().await.unwrap();
    connection.batch_execute(sql).await.unwrap();
}

async fn refusal(pool: &Pool) -> String {
    let store = PostgresStore::new(pool.clone()).await;
    store.unwrap_err().to_string()
}

#[tokio::test]
async fn a_store_is_opened() {
    let Some(server) = Server::start(ServerKind::Postgres) else { return };
    let open = PostgresStore::new(pool(&new_schema(&server).await));
    drop(open.await.unwrap());
    many_create_the_tables_at_once(&server).await;
    the_tables_are_in_the_schema_of_the_options(&server).await;
    existing_tables_need_no_right_to_create(&server).await;
    newer_tables_and_loss_of_commits_are_refused(&server).await;
    no_state_is_left_in_a_session(&server).await;
    tables_of_the_first_version_are_brought_up_to_date(&server).await;
    a_resource_is_found_by_an_index(&server).await;
}

async fn many_create_the_tables_at_once(server: &Server) {
    let address = new_schema(server).await;
    let stores = join_all((0..8).map(|_| PostgresStore::new(pool(&address)))).await;
    assert!(stores.iter().all(Result::is_ok), "{stores:?}");
}

async fn the_tables_are_in_the_schema_of_the_options(server: &Server) {
    let pool = pool(&server.address());
    execute(&pool, r#"CREATE SCHEMA "the ""shop""""#).await;
    let mut options = PostgresOptions::default();
    options.schema = Some(r#"the "shop""#.to_owned());
    let store = PostgresStore::with_options(pool.clone(), &options).await.unwrap();
    let intent = reserving(1, "order", 1);
    assert!(is_written(&store.begin(&intent).await.unwrap()));
    execute(&pool, r#"SELECT FROM "the ""shop""".svc_journal_intents"#).await;

    options.owner_timeout = Duration::ZERO;
    let invalid = PostgresStore::with_options(pool, &options).await.unwrap_err();
    assert_eq!(invalid.to_string(), "invalid owner timeout 0ns: expected 1 second to 1 day");
}

async fn existing_tables_need_no_right_to_create(server: &Server) {
    let address = new_schema(server).await;
    drop(PostgresStore::new(pool(&address)).await.unwrap());
    let connection = pool(&address).get().await.unwrap();
    let schema = connection.query_one("SELECT current_schema()::text", &[]).await.unwrap();
    let schema: String = schema.get(0);
    let grant = format!(
        "CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA {schema} TO clerk;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO clerk"
    );
    connection.batch_execute(&grant).await.unwrap();
    let address = address.replace("user=postgres", "user=clerk");
    let store = PostgresStore::new(pool(&address)).await.unwrap();
    let intent = reserving(1, "order", 1);
    assert!(is_written(&store.begin(&intent).await.unwrap()));
}

async fn newer_tables_and_loss_of_commits_are_refused(server: &Server) {
    let address = new_schema(server).await;
    let pool = pool(&address);
    drop(PostgresStore::new(pool.clone()).await.unwrap());
    execute(&pool, "INSERT INTO svc_journal_migrations (version) VALUES (7)").await;
    assert_eq!(
        refusal(&pool).await,
        "the tables of the journal have version 7: expected at most 2"
    );
    let address = address.replace("options='", "options='-c synchronous_commit=off ");
    assert_eq!(
        refusal(&crate::support::pool(&address)).await,
        "cannot keep a journal in a database with synchronous_commit = off: expected on or local"
    );
}

/// Returns how many intents made a resource.
async fn count_of_resource(store: &PostgresStore, id: &str) -> usize {
    let filter = ListFilter {
        namespace: Some("shop".to_owned()),
        resource: Some(id.to_owned()),
        limit: 500,
        ..ListFilter::default()
    };
    store.list(&filter).await.unwrap().intents.len()
}

async fn tables_of_the_first_version_are_brought_up_to_date(server: &Server) {
    let pool = pool(&new_schema(server).await);
    let store = PostgresStore::new(pool.clone()).await.unwrap();
    for (number, record) in (1..).zip([
        r#"{"v":1,"event":"unknown"}"#,
        r#"{"v":1,"event":"accepted","kind":"job","id":"job_2"}"#,
        r#"{"v":1,"event":"accepted","kind":"job","id":"job_3"}"#,
    ]) {
        let intent = reserving(number, &number.to_string(), 1);
        store.begin(&intent).await.unwrap();
        let change = Change { record: record.to_owned(), ..captured(1) };
        store.append(&intent.id, &change).await.unwrap();
    }
    let first_version = "ALTER TABLE svc_journal_intents DROP COLUMN resource;
        DELETE FROM svc_journal_migrations WHERE version = 2";
    execute(&pool, first_version).await;
    let store = PostgresStore::new(pool).await.unwrap();
    for (id, count) in [("job_1", 0), ("job_2", 1), ("job_3", 1)] {
        assert_eq!(count_of_resource(&store, id).await, count, "{id}");
    }
}

async fn a_resource_is_found_by_an_index(server: &Server) {
    let address = new_schema(server).await.parse().unwrap();
    let manager = deadpool_postgres::Manager::new(address, tokio_postgres::NoTls);
    let pool = Pool::builder(manager).max_size(1).build().unwrap();
    let store = PostgresStore::new(pool.clone()).await.unwrap();
    let many = "INSERT INTO svc_journal_intents (
            id, namespace, account, generation, is_permanent, facts, begun_at, owner, phase, resource
        ) SELECT n, 'shop', '', 1, false, '{}', now(), 'gone', 1, 'job_' || n
        FROM generate_series(1, 20000) AS n;
        ANALYZE svc_journal_intents";
    execute(&pool, many).await;
    assert_eq!(count_of_resource(&store, "job_7").await, 1);
    let connection = pool.get().await.unwrap();
    connection.batch_execute("SELECT pg_stat_force_next_flush()").await.unwrap();
    let sql = "SELECT idx_scan FROM pg_stat_user_indexes
        WHERE schemaname = current_schema AND indexrelname = 'svc_journal_intents_resource'";
    let scans: i64 = connection.query_one(sql, &[]).await.unwrap().get(0);
    assert_eq!(scans, 1);
}

/// Behind pgbouncer, the next statement of a session is that of another client.
async fn no_state_is_left_in_a_session(server: &Server) {
    let manager = deadpool_postgres::Manager::new(
        new_schema(server).await.parse().unwrap(),
        tokio_postgres::NoTls,
    );
    let pool = Pool::builder(manager).max_size(1).build().unwrap();
    let store = PostgresStore::new(pool.clone()).await.unwrap();
    let intent = reserving(1, "order", 1);
    store.begin(&intent).await.unwrap();
    store.append(&intent.id, &captured(1)).await.unwrap();
    store.claim(&intent.id).await.unwrap();
    get(&store, "order").await;
    let connection = pool.get().await.unwrap();
    let state = connection
        .simple_query(
            "SELECT (SELECT count(*) FROM pg_prepared_statements)
                + (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')
                + (SELECT count(*) FROM pg_listening_channels())",
        )
        .await
        .unwrap();
    let count = state.iter().find_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    assert_eq!(count, Some("0"));
}
