//! The row that says that this process is running.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use svc_sdk::journal::StoreError;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_postgres::types::Type;

use crate::database::{Database, Parameter};

const WRITE: &str = "cannot write the owner of the journal to the database";

/// The number of heartbeats within the time after which an owner without one counts as gone.
const WRITES_PER_TIMEOUT: u32 = 6;

/// An owner and the task that writes its row. Dropping it ends the task, which removes the row.
pub(crate) struct Heartbeat {
    row: Arc<OwnerRow>,
    _task: oneshot::Sender<Infallible>,
}

impl Heartbeat {
    /// Adds an owner, and starts its task on the present runtime.
    pub(crate) async fn start(
        database: Arc<Database>,
        owner_timeout: Duration,
    ) -> Result<Self, StoreError> {
        let millis = owner_timeout.as_secs_f64() * 1000.0;
        let sql = &database.statements.add_owner;
        let parameters: [Parameter<'_>; 1] = [(&millis, Type::FLOAT8)];
        let owner = database.query_one(WRITE, sql, &parameters, |row| row.try_get(0)).await?;
        let (task, dropped) = oneshot::channel();
        let row = Arc::new(OwnerRow { database, owner, millis });
        let pause = owner_timeout / WRITES_PER_TIMEOUT;
        tokio::spawn(refresh_until(Arc::clone(&row), dropped, pause));
        Ok(Self { row, _task: task })
    }

    /// Returns the id of the owner.
    pub(crate) fn owner(&self) -> &str {
        &self.row.owner
    }

    /// Writes the row now.
    pub(crate) async fn refresh(&self) -> Result<(), StoreError> {
        self.row.refresh().await
    }
}

struct OwnerRow {
    database: Arc<Database>,
    owner: String,
    millis: f64,
}

async fn refresh_until(
    row: Arc<OwnerRow>,
    mut dropped: oneshot::Receiver<Infallible>,
    pause: Duration,
) {
    while timeout(pause, &mut dropped).await.is_err() {
        // A connection that hangs must not keep the next one from being tried.
        match timeout(pause, row.refresh()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn(&error),
            Err(elapsed) => warn(&elapsed),
        }
    }
    if let Err(error) = row.remove().await {
        warn(&error);
    }
}

impl OwnerRow {
    async fn refresh(&self) -> Result<(), StoreError> {
        let sql = &self.database.statements.refresh_owner;
        let parameters: [Parameter<'_>; 2] =
            [(&self.millis, Type::FLOAT8), (&self.owner, Type::TEXT)];
        self.database.query(WRITE, sql, &parameters, |_| Ok(())).await.map(drop)
    }

    async fn remove(&self) -> Result<(), StoreError> {
        let sql = &self.database.statements.remove_owner;
        self.database.query(WRITE, sql, &[(&self.owner, Type::TEXT)], |_| Ok(())).await.map(drop)
    }
}

fn warn(error: &(dyn Error + 'static)) {
    tracing::warn!(error, "{WRITE}");
}
