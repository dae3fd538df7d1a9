//! A deduplication store in an SQLite database.

use core::fmt;
use core::time::Duration;
use std::path::Path;
use std::string::{String, ToString};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use tokio::runtime::Handle;

use crate::dedupe::{
    ClaimResult, DEFAULT_LEASE_DURATION, DEFAULT_RETENTION, DedupeKey, DedupeStore, Lease,
};

/// The column `subject` contains the resource ID of the key. Its name is that of existing
/// databases.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS svc_webhook_event (
        event TEXT NOT NULL,
        subject TEXT NOT NULL,
        token INTEGER NOT NULL,
        until INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('claimed', 'released', 'done')),
        PRIMARY KEY (event, subject)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS svc_webhook_event_until ON svc_webhook_event (until);
";

/// Inserts a row or replaces an expired or released one; otherwise changes nothing. The
/// token grows with each claim, so that an expired lease cannot release a newer one.
const CLAIM: &str = "
    INSERT INTO svc_webhook_event (event, subject, token, until, state)
    VALUES (?1, ?2, 1, ?4, 'claimed')
    ON CONFLICT (event, subject)
    DO UPDATE SET token = token + 1, until = excluded.until, state = 'claimed'
    WHERE until <= ?3 OR state = 'released'
    RETURNING token
";

const COMMIT: &str = "
    INSERT INTO svc_webhook_event (event, subject, token, until, state)
    VALUES (?1, ?2, ?3, ?4, 'done')
    ON CONFLICT (event, subject) DO UPDATE SET until = excluded.until, state = 'done'
";

/// Keeps the row, so that the next claim increments its token.
const RELEASE: &str = "
    UPDATE svc_webhook_event SET state = 'released'
    WHERE event = ?1 AND subject = ?2 AND token = ?3 AND state = 'claimed'
";

/// Keeps the row, as above.
const FORGET: &str = "
    UPDATE svc_webhook_event SET state = 'released'
    WHERE event = ?1 AND subject = ?2 AND state = 'done'
";

/// The time in seconds for which an expired row is kept, so that a late release is still
/// recognized by its token.
const EXPIRED_ROW_RETENTION: i64 = 24 * 60 * 60;

/// A [`DedupeStore`] in an SQLite database, in the table `svc_webhook_event`.
///
/// ```no_run
/// use std::time::Duration;
/// use svc_webhook_verify::SqliteStore;
///
/// let store = SqliteStore::open("webhooks.db")?
///     .retention(Duration::from_secs(30 * 24 * 60 * 60));
/// # Ok::<(), svc_webhook_verify::SqliteStoreError>(())
/// ```
///
/// Several processes can use the same file. Queries run on tokio's blocking threads, or on
/// the calling thread outside of a tokio runtime.
#[derive(Clone)]
pub struct SqliteStore {
    connection: Arc<Mutex<Connection>>,
    lease_duration: Duration,
    retention: Duration,
}

impl SqliteStore {
    /// Opens a database file. Creates the file and the table if they do not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or written, or is not a database.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SqliteStoreError> {
        Self::new(Connection::open(path)?)
    }

    /// Creates a store from a connection. Creates the table if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be written.
    pub fn new(connection: Connection) -> Result<Self, SqliteStoreError> {
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self {
            connection: Arc::new(Mutex::new(connection)),
            lease_duration: DEFAULT_LEASE_DURATION,
            retention: DEFAULT_RETENTION,
        })
    }

    /// Sets the time after which a lease expires. The default is 20 seconds.
    #[must_use]
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.lease_duration = duration;
        self
    }

    /// Sets the time for which a handled event is remembered. The default is 7 days.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    async fn with_connection<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, SqliteStoreError> {
        let connection = self.connection.clone();
        let query = move || {
            // After a panic the connection is still usable: the transaction was rolled back.
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            query(&mut connection).map_err(SqliteStoreError::from)
        };
        match Handle::try_current() {
            Ok(runtime) => match runtime.spawn_blocking(query).await {
                Ok(result) => result,
                Err(join_error) => Err(SqliteStoreError::new(join_error)),
            },
            Err(_) => query(),
        }
    }
}

impl DedupeStore for SqliteStore {
    type Error = SqliteStoreError;

    async fn claim(&self, key: &DedupeKey, now: u64) -> Result<ClaimResult, SqliteStoreError> {
        let key = key.clone();
        let expires_at = to_sqlite_integer(now.saturating_add(self.lease_duration.as_secs()));
        let now = to_sqlite_integer(now);
        self.with_connection(move |connection| claim(connection, key, now, expires_at))
            .await
    }

    async fn commit(&self, lease: Lease, now: u64) -> Result<(), SqliteStoreError> {
        let expires_at = to_sqlite_integer(now.saturating_add(self.retention.as_secs()));
        self.with_connection(move |connection| {
            let (key, token) = (lease.key(), to_sqlite_integer(lease.token()));
            let row = params![key.event(), key.resource_id(), token, expires_at];
            connection.prepare_cached(COMMIT)?.execute(row).map(drop)
        })
        .await
    }

    async fn release(&self, lease: Lease) -> Result<(), SqliteStoreError> {
        self.with_connection(move |connection| {
            let (key, token) = (lease.key(), to_sqlite_integer(lease.token()));
            let row = params![key.event(), key.resource_id(), token];
            connection.prepare_cached(RELEASE)?.execute(row).map(drop)
        })
        .await
    }

    async fn forget(&self, key: &DedupeKey) -> Result<bool, SqliteStoreError> {
        let key = key.clone();
        self.with_connection(move |connection| {
            let row = [key.event(), key.resource_id()];
            let rows = connection.prepare_cached(FORGET)?.execute(row)?;
            Ok(rows > 0)
        })
        .await
    }
}

fn claim(
    connection: &mut Connection,
    key: DedupeKey,
    now: i64,
    expires_at: i64,
) -> rusqlite::Result<ClaimResult> {
    // Takes the write lock immediately, so that no other process writes in between.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction
        .prepare_cached("DELETE FROM svc_webhook_event WHERE until < ?1")?
        .execute([now.saturating_sub(EXPIRED_ROW_RETENTION)])?;
    let token = transaction
        .prepare_cached(CLAIM)?
        .query_row(
            params![key.event(), key.resource_id(), now, expires_at],
            |row| row.get::<_, i64>(0),
        )
        .optional()?;
    let claim = match token {
        Some(token) => ClaimResult::Acquired(Lease::new(key, token.unsigned_abs())),
        None => transaction
            .prepare_cached("SELECT state = 'done', until FROM svc_webhook_event WHERE event = ?1 AND subject = ?2")?
            .query_row(params![key.event(), key.resource_id()], |row| {
                let lease_expires_at = row.get::<_, i64>(1)?.unsigned_abs();
                Ok(match row.get(0)? {
                    true => ClaimResult::AlreadyHandled,
                    false => ClaimResult::InProgress { lease_expires_at },
                })
            })?,
    };
    transaction.commit()?;
    Ok(claim)
}

/// Converts to SQLite's signed 64-bit integers, with saturation.
fn to_sqlite_integer(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("lease_duration", &self.lease_duration)
            .field("retention", &self.retention)
            .finish_non_exhaustive()
    }
}

/// An error of the database of a [`SqliteStore`].
#[derive(Debug)]
pub struct SqliteStoreError(String);

impl SqliteStoreError {
    fn new(reason: impl ToString) -> Self {
        Self(reason.to_string())
    }
}

impl From<rusqlite::Error> for SqliteStoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(error)
    }
}

impl fmt::Display for SqliteStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "deduplication database failed: {}; \
             check its path, its permissions and the disk space",
            self.0
        )
    }
}

impl core::error::Error for SqliteStoreError {}
