//! The options of a store.

use std::time::Duration;

use svc_sdk::journal::StoreError;

const MIN_OWNER_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_OWNER_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// The options of a [`PostgresStore`](crate::PostgresStore).
///
/// ```
/// use std::time::Duration;
/// use svc_journal_postgres::PostgresOptions;
///
/// let mut options = PostgresOptions::default();
/// options.schema = Some("shop".to_owned());
/// options.owner_timeout = Duration::from_secs(60);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The schema of the tables, which has to exist. `None`, the default, means the first one of the
    /// connection's `search_path`.
    pub schema: Option<String>,
    /// How long this process may be silent before other processes take it for gone: from 1 second to a
    /// day. 30 seconds by default. Each process renews its heartbeat every sixth of this
    /// time.
    ///
    /// If the first byte of a request has not left within a third of this time after its record was written,
    /// for example because it waits for a connection, it is recorded again before it is sent.
    ///
    /// It should be longer than a failover of the database. A restart of the server is not counted:
    /// after it, every process has this time again.
    pub owner_timeout: Duration,
}

impl PostgresOptions {
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if (MIN_OWNER_TIMEOUT..=MAX_OWNER_TIMEOUT).contains(&self.owner_timeout) {
            return Ok(());
        }
        let timeout = self.owner_timeout;
        Err(StoreError::message(format!(
            "invalid owner timeout {timeout:?}: expected 1 second to 1 day"
        )))
    }
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { schema: None, owner_timeout: Duration::from_secs(30) }
    }
}
