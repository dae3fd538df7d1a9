//! A store in a PostgreSQL database.

mod connect;
mod wake_up;

use std::error::Error;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use deadpool_postgres::{Object, Pool};
use svc_webhook_verify::DedupeKey;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use self::wake_up::WakeUp;
use super::row;
use crate::clock::Clock;
use crate::event::{EventId, EventState, NewEvent, StoredEvent};
use crate::headers;
use crate::store::{
    ClaimRequest, ClaimedEvent, EventStore, EventStoreError, HandlingOutcome, InsertOutcome, Lease,
    ListQuery, ReplayFilter, StoreStats,
};

/// The statements that create the table. `due_at` is the end of the lease of a leased event. An
/// event without `resource_id` is never a duplicate.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS svc_webhook_inbox (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        event_type text NOT NULL,
        resource_id text,
        is_forgotten boolean NOT NULL DEFAULT false,
        headers text NOT NULL,
        body bytea NOT NULL,
        received_at timestamptz NOT NULL,
        state text NOT NULL CHECK (state IN ('pending', 'leased', 'handled', 'dead')),
        due_at timestamptz,
        attempts integer NOT NULL DEFAULT 0,
        claims bigint NOT NULL DEFAULT 0,
        worker text,
        finished_at timestamptz,
        last_error text
    );
    CREATE UNIQUE INDEX IF NOT EXISTS svc_webhook_inbox_key
        ON svc_webhook_inbox (event_type, resource_id) WHERE NOT is_forgotten;
    CREATE INDEX IF NOT EXISTS svc_webhook_inbox_due
        ON svc_webhook_inbox (due_at, id) WHERE due_at IS NOT NULL;
    CREATE INDEX IF NOT EXISTS svc_webhook_inbox_unfinished
        ON svc_webhook_inbox (resource_id, id) WHERE due_at IS NOT NULL;
    CREATE INDEX IF NOT EXISTS svc_webhook_inbox_finished
        ON svc_webhook_inbox (finished_at) WHERE finished_at IS NOT NULL;
";

/// The lock under which processes that start at the same time create the table one after another.
/// The number has no meaning.
const LOCK_SCHEMA: &str = "SELECT pg_advisory_xact_lock(7225931544183265)";

const INSERT: &str = "
    INSERT INTO svc_webhook_inbox (event_type, resource_id, headers, body, received_at, state, due_at)
    SELECT $2, $3, $4, $5, now, 'pending', now
    FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) AS clock
    ON CONFLICT (event_type, resource_id) WHERE NOT is_forgotten DO NOTHING
    RETURNING id
";

const CLAIM: &str = "
    WITH due AS (
        SELECT id FROM svc_webhook_inbox AS event
        WHERE due_at <= coalesce($1::timestamptz, clock_timestamp()) AND NOT ($5 AND EXISTS (
            SELECT FROM svc_webhook_inbox AS earlier
            WHERE earlier.resource_id = event.resource_id AND earlier.id < event.id
                AND earlier.due_at IS NOT NULL
        ))
        ORDER BY due_at, id LIMIT $4 FOR UPDATE SKIP LOCKED
    )
    UPDATE svc_webhook_inbox AS event
    SET state = 'leased', attempts = attempts + 1, claims = claims + 1, worker = $3,
        due_at = coalesce($1::timestamptz, clock_timestamp()) + $2 * interval '1 millisecond'
    FROM due WHERE event.id = due.id
    RETURNING event.*, TRUE AS is_leased
";

/// The number of claims is never reset, unlike that of the attempts, so it identifies the lease.
const EXTEND: &str = "
    UPDATE svc_webhook_inbox
    SET due_at = coalesce($1::timestamptz, clock_timestamp()) + $4 * interval '1 millisecond'
    WHERE id = $2 AND claims = $3 AND state = 'leased'
";

const FINISH: &str = "
    UPDATE svc_webhook_inbox
    SET state = $4, last_error = coalesce($6, last_error), worker = NULL,
        due_at = coalesce($1::timestamptz, clock_timestamp()) + $5 * interval '1 millisecond',
        finished_at = CASE WHEN $5 IS NULL THEN coalesce($1::timestamptz, clock_timestamp()) END
    WHERE id = $2 AND claims = $3 AND state = 'leased'
";

const FORGET: &str = "
    UPDATE svc_webhook_inbox SET is_forgotten = true
    WHERE event_type = $1 AND resource_id = $2 AND NOT is_forgotten AND finished_at IS NOT NULL
";

const GET: &str = "
    SELECT *, due_at > coalesce($1::timestamptz, clock_timestamp()) AS is_leased
    FROM svc_webhook_inbox WHERE id = $2
";

const LIST: &str = "
    SELECT *, due_at > coalesce($1::timestamptz, clock_timestamp()) AS is_leased
    FROM svc_webhook_inbox
    WHERE id < $2 AND ($3::text IS NULL OR $3 = CASE
        WHEN state = 'leased' AND due_at > coalesce($1::timestamptz, clock_timestamp())
            THEN 'in_progress'
        WHEN state = 'leased' THEN 'pending'
        ELSE state
    END)
    ORDER BY id DESC LIMIT $4
";

const REPLAY: &str = "
    UPDATE svc_webhook_inbox
    SET state = 'pending', due_at = coalesce($1::timestamptz, clock_timestamp()), attempts = 0,
        finished_at = NULL
    WHERE finished_at IS NOT NULL AND
";

const PURGE: &str = "
    DELETE FROM svc_webhook_inbox
    WHERE finished_at < coalesce($1::timestamptz, clock_timestamp()) - $2 * interval '1 millisecond'
";

const STATS: &str = "
    SELECT
        count(*) FILTER (WHERE state = 'pending' OR state = 'leased' AND due_at <= now),
        count(*) FILTER (WHERE state = 'leased' AND due_at > now),
        count(*) FILTER (WHERE state = 'handled'),
        count(*) FILTER (WHERE state = 'dead'),
        (extract(epoch FROM
            max(now) - min(received_at) FILTER (WHERE due_at IS NOT NULL)) * 1000)::bigint
    FROM svc_webhook_inbox, (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) AS clock
";

/// A store in a PostgreSQL database, in the table `svc_webhook_inbox`.
///
/// ```no_run
/// use svc_webhook_inbox::{Inbox, PostgresEventStore};
///
/// # async fn open() -> Result<(), svc_webhook_inbox::EventStoreError> {
/// let inbox = Inbox::new(PostgresEventStore::connect("postgres://app@db.example/app").await?);
/// # Ok(())
/// # }
/// ```
///
/// Any number of receivers and workers can share it. An event is inserted with `ON CONFLICT DO
/// NOTHING` and claimed with `FOR UPDATE SKIP LOCKED`; an idle worker is woken by `NOTIFY`. Leases
/// are measured by the clock of the database, so the clocks of the workers do not matter.
///
/// An accepted event is as durable as a commit of the database: see its setting
/// `synchronous_commit`.
pub struct PostgresEventStore {
    pool: Pool,
    wake_up: WakeUp,
    clock: Option<Clock>,
}

impl PostgresEventStore {
    /// Connects to a database, and creates the table if it does not exist.
    ///
    /// The address is a URL or a connection string of PostgreSQL. Connections to other machines
    /// use TLS, with the operating system's trusted certificates, unless the address says
    /// `sslmode=disable`.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is invalid, or if the database cannot be reached or
    /// written.
    pub async fn connect(address: &str) -> Result<Self, EventStoreError> {
        let connector = connect::Connector::new(address)?;
        let store = Self { pool: connector.pool()?, wake_up: WakeUp::new(connector), clock: None };
        store.create_table().await?;
        Ok(store)
    }

    /// Sets the clock, for tests. By default it is the clock of the database.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    async fn create_table(&self) -> Result<(), EventStoreError> {
        let mut connection = self.connection().await?;
        let create = async {
            let transaction = connection.transaction().await?;
            transaction.execute(LOCK_SCHEMA, &[]).await?;
            transaction.batch_execute(SCHEMA).await?;
            transaction.commit().await
        };
        create.await.map_err(query_error)
    }

    async fn connection(&self) -> Result<Object, EventStoreError> {
        self.pool.get().await.map_err(|error| {
            // The messages of the pool and of the driver do not contain the reason.
            let mut cause: &dyn Error = &error;
            while let Some(source) = cause.source() {
                cause = source;
            }
            EventStoreError::unavailable("cannot connect to the database", cause)
        })
    }

    /// Runs a statement whose first parameter is the time, or `NULL` for that of the database.
    async fn query(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, EventStoreError> {
        let now = self.clock.as_ref().map(Clock::now);
        let connection = self.connection().await?;
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&now];
        parameters.extend(values);
        let query = async {
            let statement = connection.prepare_cached(sql).await?;
            connection.query(&statement, &parameters).await
        };
        query.await.map_err(query_error)
    }

    /// As [`query`](Self::query), and returns the number of rows.
    async fn execute(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, EventStoreError> {
        let now = self.clock.as_ref().map(Clock::now);
        let connection = self.connection().await?;
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&now];
        parameters.extend(values);
        let execute = async {
            let statement = connection.prepare_cached(sql).await?;
            connection.execute(&statement, &parameters).await
        };
        execute.await.map_err(query_error)
    }
}

#[async_trait]
impl EventStore for PostgresEventStore {
    async fn insert(&self, event: NewEvent) -> Result<InsertOutcome, EventStoreError> {
        let resource = event.dedupe_key.as_ref().map(DedupeKey::resource_id);
        let headers = headers::to_json(&event.headers);
        let body: &[u8] = &event.body;
        let values: [&(dyn ToSql + Sync); 4] = [&event.event_type, &resource, &headers, &body];
        let rows = self.query(INSERT, &values).await?;
        let Some(row) = rows.first() else { return Ok(InsertOutcome::Duplicate) };
        let id = row::event_id(row.try_get(0).map_err(query_error)?);
        // The event is stored: a worker that is not woken finds it at its next look.
        if self.wake_up.is_due()
            && let Ok(connection) = self.pool.get().await
        {
            let _ = connection.batch_execute(wake_up::NOTIFY).await;
        }
        Ok(InsertOutcome::Inserted(id))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<ClaimedEvent>, EventStoreError> {
        let lease = milliseconds(request.lease_duration);
        let limit = row::count(request.limit);
        let values: [&(dyn ToSql + Sync); 4] = [&lease, &request.worker, &limit, &request.in_order];
        let mut claimed = Vec::new();
        for row in self.query(CLAIM, &values).await? {
            let event = stored_event(&row).map_err(query_error)?;
            claimed
                .push(row::claimed(event, row.try_get::<_, i64>("claims").map_err(query_error)?));
        }
        row::sort(&mut claimed);
        Ok(claimed)
    }

    async fn extend(&self, lease: &Lease, duration: Duration) -> Result<(), EventStoreError> {
        let (id, claim) = row::lease_numbers(lease)?;
        let duration = milliseconds(duration);
        let extended = self.execute(EXTEND, &[&id, &claim, &duration]).await?;
        row::check_held(extended > 0, lease)
    }

    async fn finish(&self, lease: &Lease, outcome: HandlingOutcome) -> Result<(), EventStoreError> {
        let (id, claim) = row::lease_numbers(lease)?;
        let (state, after, error) = row::finished(outcome);
        let after = after.map(milliseconds);
        let finished = self.execute(FINISH, &[&id, &claim, &state, &after, &error]).await?;
        row::check_held(finished > 0, lease)
    }

    async fn forget(&self, key: &DedupeKey) -> Result<bool, EventStoreError> {
        let connection = self.connection().await?;
        let values: [&(dyn ToSql + Sync); 2] = [&key.event(), &key.resource_id()];
        let rows = connection.execute(FORGET, &values).await;
        Ok(rows.map_err(query_error)? > 0)
    }

    async fn get(&self, id: &EventId) -> Result<Option<StoredEvent>, EventStoreError> {
        let Some(id) = row::number(id) else { return Ok(None) };
        let rows = self.query(GET, &[&id]).await?;
        rows.first().map(stored_event).transpose().map_err(query_error)
    }

    async fn list(&self, query: &ListQuery) -> Result<Vec<StoredEvent>, EventStoreError> {
        let (before, limit) = row::list_bounds(query);
        let state = query.state.map(EventState::as_str);
        let rows = self.query(LIST, &[&before, &state, &limit]).await?;
        let events = rows.iter().map(stored_event);
        events.collect::<Result<_, _>>().map_err(query_error)
    }

    async fn replay(&self, filter: &ReplayFilter) -> Result<u64, EventStoreError> {
        match filter {
            ReplayFilter::Id(id) => {
                let Some(id) = row::number(id) else { return Ok(0) };
                self.execute(&format!("{REPLAY} id = $2"), &[&id]).await
            }
            ReplayFilter::Dead => self.execute(&format!("{REPLAY} state = 'dead'"), &[]).await,
            ReplayFilter::ReceivedIn(range) => {
                let sql = format!("{REPLAY} received_at >= $2 AND received_at < $3");
                self.execute(&sql, &[&range.start, &range.end]).await
            }
        }
    }

    async fn purge(&self, age: Duration) -> Result<u64, EventStoreError> {
        self.execute(PURGE, &[&milliseconds(age)]).await
    }

    async fn stats(&self) -> Result<StoreStats, EventStoreError> {
        let rows = self.query(STATS, &[]).await?;
        let Some(row) = rows.first() else { return Ok(StoreStats::default()) };
        let stats = || -> Result<StoreStats, tokio_postgres::Error> {
            let counts = [row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?];
            Ok(row::stats(counts, row.try_get(4)?))
        };
        stats().map_err(query_error)
    }

    async fn wait_for_events(&self, timeout: Duration) {
        self.wake_up.wait(timeout).await;
    }
}

impl fmt::Debug for PostgresEventStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may contain a password.
        f.debug_struct("PostgresEventStore").finish_non_exhaustive()
    }
}

fn stored_event(row: &Row) -> Result<StoredEvent, tokio_postgres::Error> {
    let event_type: String = row.try_get("event_type")?;
    let resource_id: Option<String> = row.try_get("resource_id")?;
    let is_forgotten: bool = row.try_get("is_forgotten")?;
    let is_leased: Option<bool> = row.try_get("is_leased")?;
    let headers: String = row.try_get("headers")?;
    let body: Vec<u8> = row.try_get("body")?;
    let attempts: i32 = row.try_get("attempts")?;
    let state: String = row.try_get("state")?;
    let resource_id = resource_id.filter(|_| !is_forgotten);
    Ok(StoredEvent {
        id: row::event_id(row.try_get("id")?),
        dedupe_key: resource_id.map(|resource_id| DedupeKey::new(&event_type, resource_id)),
        event_type,
        headers: headers::from_json(&headers),
        body: Bytes::from(body),
        received_at: row.try_get("received_at")?,
        state: row::state(&state, is_leased == Some(true)),
        attempts: attempts.unsigned_abs(),
        due_at: row.try_get("due_at")?,
        finished_at: row.try_get("finished_at")?,
        last_error: row.try_get("last_error")?,
    })
}

/// Returns a duration as the factor of an interval of one millisecond, at most a hundred years.
fn milliseconds(duration: Duration) -> f64 {
    const HUNDRED_YEARS: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    duration.min(HUNDRED_YEARS).as_secs_f64() * 1000.0
}

fn query_error(error: tokio_postgres::Error) -> EventStoreError {
    // The message of the server is in the source, not in the error itself.
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    EventStoreError::unavailable("the database failed", cause.unwrap_or_else(|| error.to_string()))
}
