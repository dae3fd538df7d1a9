//! The stores, and the servers that they need.

use std::str::FromStr;
use std::sync::Arc;

use svc_webhook_inbox::{NatsStore, PostgresStore, RedisStore, SqliteStore, Store};

use crate::servers::{Server, ServerKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    Sqlite,
    Postgres,
    Redis,
    Nats,
}

impl StoreKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
            Self::Nats => "nats",
        }
    }

    /// Opens the store, as soon as its server answers.
    pub(crate) async fn open(self, address: &str) -> Arc<dyn Store> {
        loop {
            let opened: Result<Arc<dyn Store>, _> = match self {
                Self::Sqlite => SqliteStore::open(address).map(|store| Arc::new(store) as _),
                Self::Postgres => {
                    PostgresStore::connect(address).await.map(|store| Arc::new(store) as _)
                }
                Self::Redis => RedisStore::connect(address).await.map(|store| Arc::new(store) as _),
                Self::Nats => NatsStore::connect(address).await.map(|store| Arc::new(store) as _),
            };
            match opened {
                Ok(store) => return store,
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
            }
        }
    }
}

impl FromStr for StoreKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kinds = [Self::Sqlite, Self::Postgres, Self::Redis, Self::Nats];
        let kind = kinds.into_iter().find(|kind| kind.name() == text);
        kind.ok_or_else(|| {
            format!("unknown store `{text}`: expected sqlite, postgres, redis or nats")
        })
    }
}

/// Where the events of a store are.
pub(crate) enum StoreServer {
    File(tempfile::TempDir),
    Process(Server),
}

impl StoreServer {
    pub(crate) fn start(kind: StoreKind) -> Option<Self> {
        let kind = match kind {
            StoreKind::Sqlite => return Some(Self::File(tempfile::tempdir().unwrap())),
            StoreKind::Postgres => ServerKind::Postgres,
            StoreKind::Redis => ServerKind::Redis,
            StoreKind::Nats => ServerKind::Nats,
        };
        Server::start(kind).map(Self::Process)
    }

    pub(crate) fn address(&self) -> String {
        match self {
            Self::File(folder) => folder.path().join("inbox.db").display().to_string(),
            Self::Process(server) => server.address(),
        }
    }

    /// Kills the server and starts it again. Returns whether there is one.
    pub(crate) fn restart(&mut self) -> bool {
        match self {
            Self::File(_) => return false,
            Self::Process(server) => server.crash_and_restart(),
        }
        true
    }
}
