//! A store in an SQLite database.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Params, Row, TransactionBehavior, params};
use svc_webhook_verify::DedupeKey;

use super::row;
use crate::clock::{Clock, duration_millis, from_millis, to_millis};
use crate::event::{EventId, EventState, NewEvent, StoredEvent};
use crate::headers;
use crate::store::{
    ClaimRequest, ClaimedEvent, EventStore, EventStoreError, EventStoreErrorKind, HandlingOutcome,
    InsertOutcome, Lease, ListQuery, ReplayFilter, StoreStats,
};

/// Times are in milliseconds since the Unix epoch. `due_at` is the end of the lease of a leased
/// event. An event without `resource_id` is never a duplicate.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS svc_webhook_inbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        event_type TEXT NOT NULL,
        resource_id TEXT,
        is_forgotten INTEGER NOT NULL DEFAULT FALSE,
        headers TEXT NOT NULL,
        body BLOB NOT NULL,
        received_at INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('pending', 'leased', 'handled', 'dead')),
        due_at INTEGER,
        attempts INTEGER NOT NULL DEFAULT 0,
        claims INTEGER NOT NULL DEFAULT 0,
        worker TEXT,
        finished_at INTEGER,
        last_error TEXT
    ) STRICT;
    CREATE UNIQUE INDEX IF NOT EXISTS svc_webhook_inbox_key
        ON svc_webhook_inbox (event_type, resource_id) WHERE NOT is_forgotten;
    CREATE INDEX IF NOT EXISTS svc_webhook_inbox_due
        ON svc_webhook_inbox (due_at, id) WHERE due_at IS NOT NULL;
    CREATE INDEX IF NOT EXISTS svc_webhook_inbox_unfinished
        ON svc_webhook_inbox (resource_id, id) WHERE due_at IS NOT NULL;
";

const INSERT: &str = "
    INSERT INTO svc_webhook_inbox (event_type, resource_id, headers, body, received_at, state, due_at)
    VALUES (?1, ?2, ?3, ?4, ?5, 'pending', ?5)
    ON CONFLICT DO NOTHING
    RETURNING id
";

const CLAIM: &str = "
    UPDATE svc_webhook_inbox
    SET state = 'leased', due_at = ?2, attempts = attempts + 1, claims = claims + 1, worker = ?3
    WHERE id IN (
        SELECT id FROM svc_webhook_inbox AS event
        WHERE due_at <= ?1 AND NOT (?5 AND EXISTS (
            SELECT 1 FROM svc_webhook_inbox AS earlier
            WHERE earlier.resource_id = event.resource_id AND earlier.id < event.id
                AND earlier.due_at IS NOT NULL
        ))
        ORDER BY due_at, id LIMIT ?4
    )
    RETURNING *
";

/// The number of claims is never reset, unlike that of the attempts, so it identifies the lease.
const EXTEND: &str = "
    UPDATE svc_webhook_inbox SET due_at = ?3 WHERE id = ?1 AND claims = ?2 AND state = 'leased'
";

const FINISH: &str = "
    UPDATE svc_webhook_inbox
    SET state = ?3, due_at = ?4, finished_at = ?5, last_error = coalesce(?6, last_error), worker = NULL
    WHERE id = ?1 AND claims = ?2 AND state = 'leased'
";

const FORGET: &str = "
    UPDATE svc_webhook_inbox SET is_forgotten = TRUE
    WHERE event_type = ?1 AND resource_id = ?2 AND NOT is_forgotten AND finished_at IS NOT NULL
";

const LIST: &str = "
    SELECT * FROM svc_webhook_inbox
    WHERE id < ?1 AND (?2 IS NULL OR ?2 = CASE
        WHEN state = 'leased' AND due_at > ?3 THEN 'in_progress'
        WHEN state = 'leased' THEN 'pending'
        ELSE state
    END)
    ORDER BY id DESC LIMIT ?4
";

const REPLAY: &str = "
    UPDATE svc_webhook_inbox
    SET state = 'pending', due_at = ?1, attempts = 0, finished_at = NULL
    WHERE finished_at IS NOT NULL AND
";

const STATS: &str = "
    SELECT
        count(*) FILTER (WHERE state = 'pending' OR state = 'leased' AND due_at <= ?1),
        count(*) FILTER (WHERE state = 'leased' AND due_at > ?1),
        count(*) FILTER (WHERE state = 'handled'),
        count(*) FILTER (WHERE state = 'dead'),
        min(received_at) FILTER (WHERE due_at IS NOT NULL)
    FROM svc_webhook_inbox
";

/// A store in an SQLite database, in the table `svc_webhook_inbox`.
///
/// ```no_run
/// use svc_webhook_inbox::{Inbox, SqliteEventStore};
///
/// let inbox = Inbox::new(SqliteEventStore::open("webhooks.db")?);
/// # Ok::<(), svc_webhook_inbox::EventStoreError>(())
/// ```
///
/// Several processes on one machine can use the same file. An accepted event is on the disk: the
/// journal mode is WAL, and each commit is synced.
#[derive(Clone)]
pub struct SqliteEventStore {
    connection: Arc<Mutex<Connection>>,
    clock: Clock,
}

impl SqliteEventStore {
    /// Opens a database file. Creates the file and the table if they do not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or written, or is not a database.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, EventStoreError> {
        let path = path.as_ref();
        Connection::open(path).and_then(Self::prepare).map_err(|error| {
            EventStoreError::unavailable(&format!("cannot open {}", path.display()), error)
        })
    }

    /// Creates a store from a connection. Creates the table if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be written.
    pub fn from_connection(connection: Connection) -> Result<Self, EventStoreError> {
        Self::prepare(connection).map_err(database_error)
    }

    fn prepare(connection: Connection) -> rusqlite::Result<Self> {
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)), clock: Clock::system() })
    }

    /// Sets the clock, for tests.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Runs a transaction on a thread that may block.
    async fn with_transaction<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, EventStoreError> {
        let connection = Arc::clone(&self.connection);
        let run = move || {
            // After a panic the connection is still usable: the transaction was rolled back.
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            // Takes the write lock at once, so that no other process writes in between.
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        match tokio::task::spawn_blocking(run).await {
            Ok(result) => result.map_err(database_error),
            Err(error) => Err(EventStoreError::unavailable("the database query failed", error)),
        }
    }

    /// Runs a statement, and returns how many rows it changed.
    async fn execute(
        &self,
        sql: impl AsRef<str> + Send + 'static,
        values: impl Params + Send + 'static,
    ) -> Result<u64, EventStoreError> {
        let changed =
            self.with_transaction(move |db| db.prepare_cached(sql.as_ref())?.execute(values));
        Ok(u64::try_from(changed.await?).unwrap_or(u64::MAX))
    }
}

#[async_trait]
impl EventStore for SqliteEventStore {
    async fn insert(&self, event: NewEvent) -> Result<InsertOutcome, EventStoreError> {
        let now = self.clock.millis();
        let id = self
            .with_transaction(move |db| {
                let resource = event.dedupe_key.as_ref().map(DedupeKey::resource_id);
                let headers = headers::to_json(&event.headers);
                let row = params![event.event_type, resource, headers, &event.body[..], now];
                let mut insert = db.prepare_cached(INSERT)?;
                insert.query_row(row, |row| row.get::<_, i64>(0)).optional()
            })
            .await?;
        Ok(id.map_or(InsertOutcome::Duplicate, |id| InsertOutcome::Inserted(row::event_id(id))))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<ClaimedEvent>, EventStoreError> {
        let now = self.clock.millis();
        let until = now.saturating_add(duration_millis(request.lease_duration));
        let limit = row::count(request.limit);
        let (worker, in_order) = (request.worker.clone(), request.in_order);
        let mut claimed = self
            .with_transaction(move |db| {
                let mut claim = db.prepare_cached(CLAIM)?;
                let rows = claim
                    .query_map(params![now, until, worker, limit, in_order], |row| {
                        Ok(row::claimed(stored_event(row, now)?, row.get::<_, i64>("claims")?))
                    })?;
                rows.collect::<rusqlite::Result<Vec<_>>>()
            })
            .await?;
        row::sort(&mut claimed);
        Ok(claimed)
    }

    async fn extend(&self, lease: &Lease, duration: Duration) -> Result<(), EventStoreError> {
        let (id, claim) = row::lease_numbers(lease)?;
        let until = self.clock.millis().saturating_add(duration_millis(duration));
        row::check_held(self.execute(EXTEND, (id, claim, until)).await? > 0, lease)
    }

    async fn finish(&self, lease: &Lease, outcome: HandlingOutcome) -> Result<(), EventStoreError> {
        let (id, claim) = row::lease_numbers(lease)?;
        let now = self.clock.millis();
        let (state, after, error) = row::finished(outcome);
        let due_at = after.map(|after| now.saturating_add(duration_millis(after)));
        let finished_at = due_at.is_none().then_some(now);
        let values = (id, claim, state, due_at, finished_at, error);
        row::check_held(self.execute(FINISH, values).await? > 0, lease)
    }

    async fn forget(&self, key: &DedupeKey) -> Result<bool, EventStoreError> {
        let values = [key.event().to_owned(), key.resource_id().to_owned()];
        Ok(self.execute(FORGET, values).await? > 0)
    }

    async fn get(&self, id: &EventId) -> Result<Option<StoredEvent>, EventStoreError> {
        let now = self.clock.millis();
        let Some(id) = row::number(id) else { return Ok(None) };
        self.with_transaction(move |db| {
            let mut get = db.prepare_cached("SELECT * FROM svc_webhook_inbox WHERE id = ?1")?;
            get.query_row([id], |row| stored_event(row, now)).optional()
        })
        .await
    }

    async fn list(&self, query: &ListQuery) -> Result<Vec<StoredEvent>, EventStoreError> {
        let now = self.clock.millis();
        let (before, limit) = row::list_bounds(query);
        let state = query.state.map(EventState::as_str);
        self.with_transaction(move |db| {
            let mut list = db.prepare_cached(LIST)?;
            let rows =
                list.query_map(params![before, state, now, limit], |row| stored_event(row, now))?;
            rows.collect()
        })
        .await
    }

    async fn replay(&self, filter: &ReplayFilter) -> Result<u64, EventStoreError> {
        let now = self.clock.millis();
        let (condition, from, to) = match filter {
            ReplayFilter::Id(id) => ("id = ?2", row::number(id).unwrap_or_default(), 0),
            ReplayFilter::Dead => ("state = 'dead'", 0, 0),
            ReplayFilter::ReceivedIn(range) => (
                "received_at >= ?2 AND received_at < ?3",
                to_millis(range.start),
                to_millis(range.end),
            ),
        };
        let sql = format!("{REPLAY} {condition} AND ?2 IS NOT NULL AND ?3 IS NOT NULL");
        self.execute(sql, [now, from, to]).await
    }

    async fn purge(&self, age: Duration) -> Result<u64, EventStoreError> {
        let oldest = self.clock.millis().saturating_sub(duration_millis(age));
        self.execute("DELETE FROM svc_webhook_inbox WHERE finished_at < ?1", [oldest]).await
    }

    async fn stats(&self) -> Result<StoreStats, EventStoreError> {
        let now = self.clock.millis();
        self.with_transaction(move |db| {
            db.prepare_cached(STATS)?.query_row([now], |row| {
                let counts = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
                let oldest: Option<i64> = row.get(4)?;
                Ok(row::stats(counts, oldest.map(|at| now.saturating_sub(at))))
            })
        })
        .await
    }
}

impl fmt::Debug for SqliteEventStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteEventStore").finish_non_exhaustive()
    }
}

fn stored_event(row: &Row<'_>, now: i64) -> rusqlite::Result<StoredEvent> {
    let event_type: String = row.get("event_type")?;
    let resource_id: Option<String> = row.get("resource_id")?;
    let is_forgotten: bool = row.get("is_forgotten")?;
    let headers: String = row.get("headers")?;
    let body: Vec<u8> = row.get("body")?;
    let due_at: Option<i64> = row.get("due_at")?;
    let finished_at: Option<i64> = row.get("finished_at")?;
    let state: String = row.get("state")?;
    let resource_id = resource_id.filter(|_| !is_forgotten);
    Ok(StoredEvent {
        id: row::event_id(row.get("id")?),
        dedupe_key: resource_id.map(|resource_id| DedupeKey::new(&event_type, resource_id)),
        event_type,
        headers: headers::from_json(&headers),
        body: body.into(),
        received_at: from_millis(row.get("received_at")?),
        state: row::state(&state, due_at.is_some_and(|until| until > now)),
        attempts: row.get("attempts")?,
        due_at: due_at.map(from_millis),
        finished_at: finished_at.map(from_millis),
        last_error: row.get("last_error")?,
    })
}

fn database_error(error: rusqlite::Error) -> EventStoreError {
    let is_damaged = matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt)
    );
    match is_damaged {
        true => EventStoreError::new(
            EventStoreErrorKind::Invalid,
            format!("not a valid database: {error}"),
        ),
        false => EventStoreError::unavailable("the database failed", error),
    }
}
