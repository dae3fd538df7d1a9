//! The tables, and how they are created.

use svc_sdk::journal::StoreError;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::database::{Database, Parameter, database_error};

/// The statements of each version of the tables, from version 1. A version that was released is never
/// edited. `{schema}` is the schema with a dot, or nothing.
///
/// The sums of `svc_journal_budgets` are those of its intents, purged ones included. The phases are
/// numbered in their order, from `Open`, 0, to `Released`, 4. An owner without a row is gone.
const MIGRATIONS: [&str; 2] = [
    "
    CREATE TABLE {schema}svc_journal_intents (
        position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text NOT NULL UNIQUE,
        namespace text NOT NULL,
        account text NOT NULL,
        submission_id text,
        generation bigint NOT NULL,
        is_permanent boolean NOT NULL,
        facts text NOT NULL,
        begun_at timestamptz NOT NULL,
        owner text NOT NULL,
        phase smallint NOT NULL DEFAULT 0 CHECK (phase BETWEEN 0 AND 4),
        was_accepted boolean NOT NULL DEFAULT false,
        records text[] NOT NULL DEFAULT '{}',
        record_times timestamptz[] NOT NULL DEFAULT '{}',
        budget text,
        reserved bigint NOT NULL DEFAULT 0,
        captured bigint NOT NULL DEFAULT 0,
        undecided bigint NOT NULL DEFAULT 0,
        UNIQUE (namespace, account, submission_id, generation)
    );
    CREATE INDEX svc_journal_intents_unfinished
        ON {schema}svc_journal_intents (position) WHERE phase < 3;
    CREATE INDEX svc_journal_intents_purgeable
        ON {schema}svc_journal_intents ((record_times[cardinality(record_times)]))
        WHERE phase >= 2 AND NOT is_permanent;
    CREATE TABLE {schema}svc_journal_budgets (
        namespace text NOT NULL,
        name text NOT NULL,
        reserved bigint NOT NULL,
        captured bigint NOT NULL DEFAULT 0,
        undecided bigint NOT NULL DEFAULT 0,
        is_stopped boolean NOT NULL DEFAULT false,
        PRIMARY KEY (namespace, name)
    );
    CREATE TABLE {schema}svc_journal_owners (
        id text PRIMARY KEY,
        seen_at timestamptz NOT NULL,
        timeout interval NOT NULL
    );
",
    "
    ALTER TABLE {schema}svc_journal_intents ADD COLUMN resource text;
    UPDATE {schema}svc_journal_intents AS intent SET resource = (
        SELECT record::json ->> 'id'
        FROM unnest(intent.records) WITH ORDINALITY AS records (record, number)
        WHERE record::json ->> 'event' = 'accepted'
        ORDER BY number LIMIT 1
    ) WHERE was_accepted;
    CREATE INDEX svc_journal_intents_resource
        ON {schema}svc_journal_intents (resource) WHERE resource IS NOT NULL;
",
];

/// The lock under which processes that start at the same time create the tables one after another,
/// until the end of the transaction. The number has no meaning.
const LOCK: &str = "SELECT pg_advisory_xact_lock(4417095528391764)";

/// Creates the tables, or brings those of an earlier version up to date.
pub(crate) async fn run(database: &Database, schema: &str) -> Result<(), StoreError> {
    let mut connection = database.connection().await?;
    let client: &mut Client = &mut connection;
    let failed = |error| database_error("cannot create the tables of the journal", error);
    let transaction = client.transaction().await.map_err(failed)?;
    transaction.batch_execute(LOCK).await.map_err(failed)?;
    let table = format!("{schema}svc_journal_migrations");
    let sql = "SELECT current_setting('synchronous_commit'), to_regclass($1) IS NOT NULL";
    let parameters: [Parameter<'_>; 1] = [(&table, Type::TEXT)];
    let state = transaction.query_typed_one(sql, &parameters).await;
    let state = state.map_err(failed)?;
    if state.try_get::<_, &str>(0).map_err(failed)? == "off" {
        return Err(StoreError::message(
            "cannot keep a journal in a database with synchronous_commit = off: expected on or local",
        ));
    }
    let version: i64 = if state.try_get(1).map_err(failed)? {
        let sql = format!("SELECT coalesce(max(version), 0) FROM {table}");
        let row = transaction.query_typed_one(&sql, &[]).await;
        row.and_then(|row| row.try_get(0)).map_err(failed)?
    } else {
        let sql = format!(
            "CREATE TABLE {table} (
                version bigint PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now()
            )"
        );
        transaction.batch_execute(&sql).await.map_err(failed)?;
        0
    };
    for (number, migration) in (1_i64..).zip(MIGRATIONS) {
        if number > version {
            let sql = migration.replace("{schema}", schema);
            let sql = format!("{sql} INSERT INTO {table} (version) VALUES ({number})");
            transaction.batch_execute(&sql).await.map_err(failed)?;
        }
    }
    if usize::try_from(version).is_ok_and(|version| version > MIGRATIONS.len()) {
        return Err(StoreError::message(format!(
            "the tables of the journal have version {version}: expected at most {}",
            MIGRATIONS.len()
        )));
    }
    transaction.commit().await.map_err(failed)
}
