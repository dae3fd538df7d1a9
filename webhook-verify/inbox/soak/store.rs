//! The stores, and the servers that they need.

use std::str::FromStr;
use std::sync::Arc;

use svc_webhook_inbox::{NatsStore, PostgresStore, RedisStore, SqliteStore, Store};

use crate::servers::{Nats, Postgres, Redis};

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

/// A running server.
pub(crate) enum Server {
    Sqlite(tempfile::TempDir),
    Postgres(Postgres),
    Redis(Redis),
    Nats(Nats),
}

impl Server {
    pub(crate) fn start(kind: StoreKind) -> Option<Self> {
        match kind {
            StoreKind::Sqlite => Some(Self::Sqlite(tempfile::tempdir().unwrap())),
            StoreKind::Postgres => Postgres::start().map(Self::Postgres),
            StoreKind::Redis => Redis::start().map(Self::Redis),
            StoreKind::Nats => Nats::start().map(Self::Nats),
        }
    }

    pub(crate) fn address(&self) -> String {
        match self {
            Self::Sqlite(folder) => folder.path().join("inbox.db").display().to_string(),
            Self::Postgres(server) => server.address(),
            Self::Redis(server) => server.address(),
            Self::Nats(server) => server.address(),
        }
    }

    /// Kills the server and starts it again. Returns whether there is one.
    pub(crate) fn restart(&mut self) -> bool {
        match self {
            Self::Sqlite(_) => return false,
            Self::Postgres(server) => server.crash_and_restart(),
            Self::Redis(server) => server.crash_and_restart(),
            Self::Nats(server) => server.crash_and_restart(),
        }
        true
    }
}
