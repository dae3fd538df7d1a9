//! Statements on pooled connections.

use deadpool_postgres::{Object, Pool};
use svc_sdk::journal::StoreError;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::statements::Statements;

/// The maximum number of executions of a statement that others make fail.
const MAX_ATTEMPTS: u32 = 5;

/// A parameter of a statement, with its type, as statements are not prepared.
pub(crate) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// A pool of connections to a database, and the statements for it.
pub(crate) struct Database {
    pool: Pool,
    pub(crate) statements: Statements,
}

impl Database {
    pub(crate) fn new(pool: Pool, statements: Statements) -> Self {
        Self { pool, statements }
    }

    /// Returns a connection that was open a moment ago.
    pub(crate) async fn connection(&self) -> Result<Object, StoreError> {
        let connection = self.pool.get().await;
        connection.map_err(|error| StoreError::failed("cannot connect to the database", error))
    }

    /// Executes a statement in a transaction of its own, in one round trip, and reads its rows. `action` is
    /// the message of the error.
    ///
    /// It is executed again only if the server says that it has undone it, because of others: whether a
    /// statement was executed whose response is lost is for the caller to find out.
    pub(crate) async fn query<T>(
        &self,
        action: &'static str,
        sql: &str,
        parameters: &[Parameter<'_>],
        read: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, StoreError> {
        let connection = self.connection().await?;
        let mut attempts = 1;
        loop {
            match connection.query_typed(sql, parameters).await {
                Err(error) if is_conflict(&error) && attempts < MAX_ATTEMPTS => attempts += 1,
                result => {
                    let rows = result.and_then(|rows| rows.iter().map(&read).collect());
                    return rows.map_err(|error| database_error(action, error));
                }
            }
        }
    }

    /// Executes a statement whose result is one row, as [`query`](Self::query) does.
    pub(crate) async fn query_one<T>(
        &self,
        action: &'static str,
        sql: &str,
        parameters: &[Parameter<'_>],
        read: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        let rows = self.query(action, sql, parameters, read).await?;
        rows.into_iter().next().ok_or_else(|| StoreError::message(action))
    }
}

/// Returns whether the server has undone a statement because of another transaction. A row with the
/// same key was inserted after this statement began: executed again, it sees that row.
fn is_conflict(error: &Error) -> bool {
    [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::UNIQUE_VIOLATION,
    ]
    .iter()
    .any(|state| error.code() == Some(state))
}

/// Creates the error of a failed statement. The message of the server is its source.
pub(crate) fn database_error(action: &'static str, error: Error) -> StoreError {
    StoreError::failed(action, error)
}
