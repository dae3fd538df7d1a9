//! The stores under test, with a clock that tests can move.

use std::future::ready;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use svc_webhook_inbox::{
    Clock, EventStore, FileEventStore, MemoryEventStore, NatsEventStore, NatsOptions, NewEvent,
    PostgresEventStore, RedisEventStore, SqliteEventStore,
};
use svc_webhook_verify::{DedupeKey, Event};

use crate::servers::{Server, ServerKind};

type Opening = Pin<Box<dyn Future<Output = Arc<dyn EventStore>> + Send>>;
type Reopen = Box<dyn Fn() -> Opening + Send + Sync>;

/// A store, and what it takes to move its time and to open it again.
pub(crate) struct TestStore {
    store: Arc<dyn EventStore>,
    millis: Arc<AtomicU64>,
    /// `None` for a store that only one process can open.
    reopen: Option<Reopen>,
    _folder: Option<tempfile::TempDir>,
}

impl TestStore {
    pub(crate) fn store(&self) -> &dyn EventStore {
        &*self.store
    }

    pub(crate) fn shared(&self) -> Arc<dyn EventStore> {
        Arc::clone(&self.store)
    }

    pub(crate) fn advance(&self, duration: Duration) {
        let millis = u64::try_from(duration.as_millis()).unwrap();
        self.millis.fetch_add(millis, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }

    /// Opens the store a second time, as another process would, if that is possible.
    pub(crate) async fn open_again(&self) -> Arc<dyn EventStore> {
        match &self.reopen {
            Some(reopen) => reopen().await,
            None => self.shared(),
        }
    }
}

fn test_clock() -> (Clock, Arc<AtomicU64>) {
    let millis = Arc::new(AtomicU64::new(1_700_000_000_007));
    let read = Arc::clone(&millis);
    let now = move || UNIX_EPOCH + Duration::from_millis(read.load(Ordering::Relaxed));
    (Clock::new(now), millis)
}

pub(crate) fn memory() -> TestStore {
    in_folder(false, |_, clock| Arc::new(MemoryEventStore::new().clock(clock)))
}

pub(crate) fn file() -> TestStore {
    in_folder(false, |path, clock| Arc::new(FileEventStore::open(path).unwrap().clock(clock)))
}

pub(crate) fn sqlite() -> TestStore {
    in_folder(true, |path, clock| Arc::new(SqliteEventStore::open(path).unwrap().clock(clock)))
}

/// A store in a folder of its own, which several processes can open if it is shared.
fn in_folder(is_shared: bool, open: fn(PathBuf, Clock) -> Arc<dyn EventStore>) -> TestStore {
    let (clock, millis) = test_clock();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox");
    let store = open(path.clone(), clock.clone());
    let reopen: Reopen =
        Box::new(move || -> Opening { Box::pin(ready(open(path.clone(), clock.clone()))) });
    let reopen = is_shared.then_some(reopen);
    TestStore { store, millis, reopen, _folder: Some(folder) }
}

/// A store on a server, apart from the other stores on it: in a schema, with a prefix or in a stream of
/// its own.
pub(crate) async fn on_server(server: &Server) -> TestStore {
    let (kind, name, mut address) = (server.kind(), server.new_name(), server.address());
    if kind == ServerKind::Postgres {
        let (client, connection) =
            tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(&format!("CREATE SCHEMA {name}")).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
        address = format!("{address} options='-c search_path={name}'");
    }
    let (clock, millis) = test_clock();
    let open = move || -> Opening {
        let (address, name, clock) = (address.clone(), name.clone(), clock.clone());
        Box::pin(async move {
            let store: Arc<dyn EventStore> = match kind {
                ServerKind::Postgres => {
                    Arc::new(PostgresEventStore::connect(&address).await.unwrap().clock(clock))
                }
                ServerKind::Redis => {
                    let store = RedisEventStore::connect(&address).await.unwrap();
                    Arc::new(store.prefix(name).clock(clock))
                }
                ServerKind::Nats => {
                    let client = async_nats::connect(address).await.unwrap();
                    let mut options = NatsOptions::default();
                    options.stream_name = name;
                    let store = NatsEventStore::from_client(client, &options).await.unwrap();
                    Arc::new(store.clock(clock))
                }
            };
            store
        })
    };
    TestStore { store: open().await, millis, reopen: Some(Box::new(open)), _folder: None }
}

/// Connects to a server, or to a proxy of it, with the clock of the system.
pub(crate) async fn connect(kind: ServerKind, address: &str) -> Arc<dyn EventStore> {
    match kind {
        ServerKind::Postgres => Arc::new(PostgresEventStore::connect(address).await.unwrap()),
        ServerKind::Redis => Arc::new(RedisEventStore::connect(address).await.unwrap()),
        ServerKind::Nats => Arc::new(NatsEventStore::connect(address).await.unwrap()),
    }
}

/// An event of a job, with a body of its own.
pub(crate) fn job_event(event_type: &str, job: &str) -> NewEvent {
    let body = format!(r#"{{"event":"{event_type}","job_id":"{job}"}}"#);
    event(&body)
}

/// An event with the given body.
pub(crate) fn event(body: &str) -> NewEvent {
    let mut headers = http::HeaderMap::new();
    headers.insert("content-type", http::HeaderValue::from_static("application/json"));
    NewEvent::new(&Event::parse(body).unwrap(), headers, body.to_owned().into())
}

pub(crate) fn key(event_type: &str, job: &str) -> DedupeKey {
    DedupeKey::new(event_type, format!("job:{job}"))
}
