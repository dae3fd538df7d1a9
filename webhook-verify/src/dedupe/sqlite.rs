//! A store in an SQLite file: it outlives the process, and processes can share it.

use core::fmt;
use core::time::Duration;
use std::path::Path;
use std::string::ToString;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use tokio::runtime::Handle;

use crate::dedupe::{Claim, DEFAULT_LEASE, DEFAULT_RETENTION, DedupeStore, Lease};
use crate::event::DedupeKey;

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

/// Takes the place of nothing, or of what has expired, or does nothing at all. The token
/// grows with each claim, so that the holder of an older one cannot release a newer.
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

/// The row stays, for the sake of its token.
const RELEASE: &str = "
    UPDATE svc_webhook_event SET state = 'released'
    WHERE event = ?1 AND subject = ?2 AND token = ?3 AND state = 'claimed'
";

/// A claim's row is kept past its end by this much, and its token with it: nobody comes
/// back that late to release one.
const FORGET_AFTER: i64 = 24 * 60 * 60;

/// Keeps the events handled in an SQLite database, in the table `svc_webhook_event`.
///
/// Several processes may use the same file. Inside a tokio runtime the work is done on
/// its blocking threads, elsewhere on the calling one.
#[derive(Clone)]
pub struct SqliteStore {
    connection: Arc<Mutex<Connection>>,
    lease: Duration,
    retention: Duration,
}

impl SqliteStore {
    /// Opens a database file, and makes it and the table where they are missing.
    ///
    /// # Errors
    ///
    /// [`SqliteError`] when the file cannot be opened or written, or is no database.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SqliteError> {
        Self::new(Connection::open(path)?)
    }

    /// Takes over a connection, and makes the table where it is missing.
    ///
    /// # Errors
    ///
    /// [`SqliteError`] when the database cannot be written.
    pub fn new(connection: Connection) -> Result<Self, SqliteError> {
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self {
            connection: Arc::new(Mutex::new(connection)),
            lease: DEFAULT_LEASE,
            retention: DEFAULT_RETENTION,
        })
    }

    /// Sets how long a claim is good that is neither committed nor released: 20 s.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets how long a handled event is known: 7 days.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    async fn on_connection<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, SqliteError> {
        let connection = self.connection.clone();
        let work = move || {
            // A panic elsewhere left no transaction open: they roll back when dropped.
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut connection).map_err(SqliteError::from)
        };
        match Handle::try_current() {
            Ok(runtime) => match runtime.spawn_blocking(work).await {
                Ok(outcome) => outcome,
                Err(stopped) => Err(SqliteError::new(stopped)),
            },
            Err(_) => work(),
        }
    }
}

impl DedupeStore for SqliteStore {
    type Error = SqliteError;

    async fn claim(&self, key: &DedupeKey, now: u64) -> Result<Claim, SqliteError> {
        let key = key.clone();
        let until = seconds(now.saturating_add(self.lease.as_secs()));
        let now = seconds(now);
        self.on_connection(move |connection| claim(connection, key, now, until))
            .await
    }

    async fn commit(&self, lease: Lease, now: u64) -> Result<(), SqliteError> {
        let until = seconds(now.saturating_add(self.retention.as_secs()));
        self.on_connection(move |connection| {
            let (key, token) = (lease.key(), seconds(lease.token()));
            let row = params![key.event(), key.subject(), token, until];
            connection.prepare_cached(COMMIT)?.execute(row).map(drop)
        })
        .await
    }

    async fn release(&self, lease: Lease) -> Result<(), SqliteError> {
        self.on_connection(move |connection| {
            let (key, token) = (lease.key(), seconds(lease.token()));
            let row = params![key.event(), key.subject(), token];
            connection.prepare_cached(RELEASE)?.execute(row).map(drop)
        })
        .await
    }
}

fn claim(
    connection: &mut Connection,
    key: DedupeKey,
    now: i64,
    until: i64,
) -> rusqlite::Result<Claim> {
    // Takes the write lock at once: no other process comes between the statements.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction
        .prepare_cached("DELETE FROM svc_webhook_event WHERE until < ?1")?
        .execute([now.saturating_sub(FORGET_AFTER)])?;
    let token = transaction
        .prepare_cached(CLAIM)?
        .query_row(params![key.event(), key.subject(), now, until], |row| {
            row.get::<_, i64>(0)
        })
        .optional()?;
    let claim = match token {
        Some(token) => Claim::New(Lease::new(key, token.unsigned_abs())),
        None => transaction
            .prepare_cached("SELECT state = 'done', until FROM svc_webhook_event WHERE event = ?1 AND subject = ?2")?
            .query_row(params![key.event(), key.subject()], |row| {
                let until = row.get::<_, i64>(1)?.unsigned_abs();
                Ok(match row.get(0)? {
                    true => Claim::Done,
                    false => Claim::InProgress { until },
                })
            })?,
    };
    transaction.commit()?;
    Ok(claim)
}

/// SQLite's numbers end at 63 bits.
fn seconds(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("lease", &self.lease)
            .field("retention", &self.retention)
            .finish_non_exhaustive()
    }
}

/// The database of a [`SqliteStore`] could not be used.
#[derive(Debug)]
pub struct SqliteError(std::string::String);

impl SqliteError {
    fn new(reason: impl ToString) -> Self {
        Self(reason.to_string())
    }
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(error)
    }
}

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the database of handled events cannot be used ({}): \
             check its path, its permissions and the disk",
            self.0
        )
    }
}

impl core::error::Error for SqliteError {}
