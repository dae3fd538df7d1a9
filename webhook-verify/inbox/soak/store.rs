//! The stores, and the servers that they need.

use std::sync::Arc;

use svc_webhook_inbox::{
    EventStore, NatsEventStore, PostgresEventStore, RedisEventStore, SqliteEventStore,
};

use crate::servers::{Server, ServerKind};

/// A store by its name.
#[derive(Clone, Copy)]
pub(crate) struct StoreKind {
    pub(crate) name: &'static str,
    server: Option<ServerKind>,
}

const STORES: [StoreKind; 4] = [
    StoreKind { name: "sqlite", server: None },
    StoreKind { name: "postgres", server: Some(ServerKind::Postgres) },
    StoreKind { name: "redis", server: Some(ServerKind::Redis) },
    StoreKind { name: "nats", server: Some(ServerKind::Nats) },
];

impl StoreKind {
    pub(crate) fn find(name: &str) -> Result<Self, String> {
        let kind = STORES.into_iter().find(|kind| kind.name == name);
        kind.ok_or_else(|| {
            format!("unknown store `{name}`: expected sqlite, postgres, redis or nats")
        })
    }

    /// Opens the store, as soon as its server answers.
    pub(crate) async fn open(self, address: &str) -> Arc<dyn EventStore> {
        fn boxed(store: impl EventStore + 'static) -> Arc<dyn EventStore> {
            Arc::new(store)
        }
        loop {
            let opened = match self.server {
                None => SqliteEventStore::open(address).map(boxed),
                Some(ServerKind::Postgres) => PostgresEventStore::connect(address).await.map(boxed),
                Some(ServerKind::Redis) => RedisEventStore::connect(address).await.map(boxed),
                Some(ServerKind::Nats) => NatsEventStore::connect(address).await.map(boxed),
            };
            match opened {
                Ok(store) => return store,
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
            }
        }
    }
}

/// Where the events of a store are: in a file, or in a server.
pub(crate) enum StoreServer {
    File(tempfile::TempDir),
    Process(Server),
}

impl StoreServer {
    pub(crate) fn start(kind: StoreKind) -> Option<Self> {
        match kind.server {
            None => Some(Self::File(tempfile::tempdir().unwrap())),
            Some(kind) => Server::start(kind).map(Self::Process),
        }
    }

    pub(crate) fn address(&self) -> String {
        match self {
            Self::File(folder) => folder.path().join("inbox.db").display().to_string(),
            Self::Process(server) => server.address(),
        }
    }

    /// Kills the server, if there is one, and starts it again. Returns whether there is one.
    pub(crate) fn restart(&mut self) -> bool {
        if let Self::Process(server) = self {
            server.crash_and_restart();
        }
        matches!(self, Self::Process(_))
    }
}
