//! Stores of received events and their addresses.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use svc_webhook_inbox::{
    EventStore, EventStoreError, EventStoreErrorKind, FileEventStore, MemoryEventStore,
};
use url::Url;

use super::control::{Change, ask as ask_listener};
use crate::config::state_dir;
use crate::error::{ClientCode, Failure, Result};
use crate::input::{create_private_dir, parent_dir};
use crate::session::Session;

/// The variable that holds the address of a store, which may contain a password.
const VARIABLE: &str = "SVC_WEBHOOK_STORE";
const MAX_MEMORY_BYTES: usize = 64 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreAddress {
    Memory,
    /// The file that is used if none is named.
    Default(PathBuf),
    /// A file, and the text that named it.
    File(PathBuf, String),
    /// An `SQLite` database, and the text that named it.
    Sqlite(PathBuf, String),
    /// A server, and its URL, which may contain a password.
    Server(Server, String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Postgres,
    Redis,
    Nats,
}

impl FromStr for StoreAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = |rest: &str| PathBuf::from(rest.strip_prefix("//").unwrap_or(rest));
        let address = match text.split_once(':') {
            None if text == "memory" => Self::Memory,
            Some(("file", rest)) => Self::File(path(rest), text.to_owned()),
            Some(("sqlite", rest)) => Self::Sqlite(path(rest), text.to_owned()),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                Self::Server(Server::Postgres, text.to_owned())
            }
            Some(("redis" | "rediss" | "redis+unix" | "unix", rest)) if rest.starts_with("//") => {
                Self::Server(Server::Redis, text.to_owned())
            }
            Some(("nats" | "tls", rest)) if rest.starts_with("//") => {
                Self::Server(Server::Nats, text.to_owned())
            }
            Some((scheme, rest)) if rest.starts_with("//") => {
                return Err(format!(
                    "`{scheme}` is not a kind of store: expected a file, or a URL that begins with sqlite:, postgres://, redis:// or nats://"
                ));
            }
            _ => Self::File(PathBuf::from(text), text.to_owned()),
        };
        match &address {
            Self::File(path, _) | Self::Sqlite(path, _) if path.as_os_str().is_empty() => {
                Err("expected the path of a file".to_owned())
            }
            _ => Ok(address),
        }
    }
}

/// The address as it was given, without a password.
impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Default(path) => path.display().fmt(f),
            Self::File(_, text) | Self::Sqlite(_, text) => f.write_str(text),
            Self::Server(server, text) => match Url::parse(text) {
                Ok(mut url) => {
                    // Some drivers take a password as a parameter, too.
                    url.set_query(None);
                    let has_password = url.password().is_some();
                    if has_password && url.set_password(Some("***")).is_err() {
                        return f.write_str(server.scheme());
                    }
                    url.fmt(f)
                }
                Err(_) => f.write_str(server.scheme()),
            },
        }
    }
}

impl Server {
    const fn scheme(self) -> &'static str {
        match self {
            Self::Postgres => "postgres://",
            Self::Redis => "redis://",
            Self::Nats => "nats://",
        }
    }
}

pub(super) fn folder(session: &Session) -> Result<PathBuf> {
    Ok(state_dir(session.environment())?.join("webhooks"))
}

impl StoreAddress {
    pub(crate) fn resolve(given: Option<Self>, session: &Session) -> Result<Self> {
        if let Some(address) = given {
            return Ok(address);
        }
        match session.environment().get(VARIABLE) {
            _ if session.is_sandbox() => Ok(Self::Memory),
            Some(text) => Self::from_str(text)
                .map_err(|why| Failure::configuration(format!("invalid {VARIABLE}: {why}"))),
            None => Ok(Self::Default(folder(session)?.join("events"))),
        }
    }

    /// Returns the file of the store, if it is one for a single process.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path, _) | Self::Default(path) => Some(path),
            Self::Memory | Self::Sqlite(..) | Self::Server(..) => None,
        }
    }

    /// Opens the store, and creates it if it does not exist.
    pub(crate) async fn open(&self) -> Result<Arc<dyn EventStore>> {
        match self {
            Self::Memory => Ok(shared(MemoryEventStore::new().max_bytes(MAX_MEMORY_BYTES))),
            Self::Default(path) | Self::File(path, _) => {
                if let Self::Default(path) = self {
                    create_private_dir(parent_dir(path))
                        .map_err(|error| Failure::file("cannot create", path, &error))?;
                }
                let store = FileEventStore::open(path);
                store.map(shared).map_err(|error| match error.kind() {
                    EventStoreErrorKind::Locked => in_use(path, &error),
                    _ => open_failure(&error),
                })
            }
            Self::Sqlite(path, _) => open_sqlite(path),
            Self::Server(server, url) => {
                let opened = match server {
                    Server::Postgres => open_postgres(url).await,
                    Server::Redis => open_redis(url).await,
                    Server::Nats => open_nats(url).await,
                };
                opened.map_err(|failure| failure.context(format!("cannot open {self}")))
            }
        }
    }

    /// Returns the number of changed events, and whether a listener forwards the store's events.
    pub(crate) async fn change(&self, change: &Change) -> Result<(u64, bool)> {
        self.check_exists()?;
        if let Some(changed) = self.file().and_then(|path| ask_listener(path, change)) {
            let count = changed.result.map_err(Failure::other)?;
            return Ok((count, changed.is_forwarding));
        }
        let store = self.open().await?;
        Ok((change.apply(&*store).await?, false))
    }

    /// Opens a store that exists for reading, also while another process uses it.
    pub(crate) async fn open_read_only(&self) -> Result<Arc<dyn EventStore>> {
        match self {
            Self::Default(path) if !path.exists() => return Self::Memory.open().await,
            _ => self.check_exists()?,
        }
        match self {
            Self::File(path, _) | Self::Default(path) => {
                let store = FileEventStore::open_read_only(path);
                store.map(shared).map_err(|error| open_failure(&error))
            }
            _ => self.open().await,
        }
    }

    fn check_exists(&self) -> Result {
        match self {
            Self::File(path, _) | Self::Default(path) | Self::Sqlite(path, _) if !path.exists() => {
                Err(Failure::usage(format!("there is no store {self}"))
                    .hint("pass the --store of svc webhook listen"))
            }
            _ => Ok(()),
        }
    }
}

fn shared(store: impl EventStore + 'static) -> Arc<dyn EventStore> {
    Arc::new(store)
}

fn open_failure(error: &EventStoreError) -> Failure {
    let message = error.to_string();
    match error.kind() {
        EventStoreErrorKind::Invalid => Failure::usage(message)
            .hint("pass another file to --store; it is created if it is missing"),
        _ => Failure::other(message).with_client_code(ClientCode::IO),
    }
}

fn in_use(path: &Path, error: &EventStoreError) -> Failure {
    let why = match ask_listener(path, &Change::None) {
        Some(listener) => {
            format!("process {} listens with the store {}", listener.process, path.display())
        }
        None => error.to_string(),
    };
    Failure::usage(why)
        .hint("pass another file to --store, or stop the other process")
        .hint("or share an SQLite database or a server between several processes")
}

impl From<EventStoreError> for Failure {
    fn from(error: EventStoreError) -> Self {
        match error.kind() {
            EventStoreErrorKind::Invalid => Self::usage(error.to_string()),
            _ => Self::other(error.to_string()).with_client_code(ClientCode::IO),
        }
    }
}

#[cfg(feature = "sqlite")]
fn open_sqlite(path: &Path) -> Result<Arc<dyn EventStore>> {
    let store = svc_webhook_inbox::SqliteEventStore::open(path);
    store.map(shared).map_err(|error| open_failure(&error))
}

#[cfg(not(feature = "sqlite"))]
fn open_sqlite(_: &Path) -> Result<Arc<dyn EventStore>> {
    Err(not_supported("SQLite", "sqlite"))
}

/// Defines the function that connects to a kind of server, if this build supports it.
macro_rules! open_server {
    ($open:ident, $Store:ident, $name:literal, $feature:literal) => {
        #[cfg(feature = $feature)]
        async fn $open(url: &str) -> Result<Arc<dyn EventStore>> {
            let store = svc_webhook_inbox::$Store::connect(url).await;
            store.map(shared).map_err(|error| connect_failure(&error))
        }

        #[cfg(not(feature = $feature))]
        #[allow(clippy::unused_async, reason = "the signature of the other builds")]
        async fn $open(_: &str) -> Result<Arc<dyn EventStore>> {
            Err(not_supported($name, $feature))
        }
    };
}
open_server!(open_postgres, PostgresEventStore, "PostgreSQL", "postgres");
open_server!(open_redis, RedisEventStore, "Redis", "redis");
open_server!(open_nats, NatsEventStore, "NATS", "nats");

#[cfg(any(feature = "nats", feature = "postgres", feature = "redis"))]
fn connect_failure(error: &EventStoreError) -> Failure {
    match error.kind() {
        EventStoreErrorKind::Invalid => Failure::usage(error.to_string()),
        _ => Failure::other(error.to_string()).with_client_code(ClientCode::CONNECTION_FAILED),
    }
}

#[allow(dead_code, reason = "not used if this build supports all stores")]
fn not_supported(store: &str, feature: &str) -> Failure {
    Failure::configuration(format!("this build of svc does not support stores in {store}"))
        .hint(format!("install one that does: cargo install --locked svc-cli --features {feature}"))
        .hint("or pass a file to --store")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_paths_or_urls() {
        let file = |path: &str, text: &str| Ok(StoreAddress::File(path.into(), text.to_owned()));
        assert_eq!("events.jsonl".parse(), file("events.jsonl", "events.jsonl"));
        assert_eq!("file:a/b".parse(), file("a/b", "file:a/b"));
        assert_eq!("file:///a/b".parse(), file("/a/b", "file:///a/b"));
        assert_eq!("C:\\events".parse(), file("C:\\events", "C:\\events"));
        let address: StoreAddress = "sqlite:inbox.db".parse().unwrap();
        assert!(matches!(address, StoreAddress::Sqlite(path, _) if path == Path::new("inbox.db")));
        for (text, server) in [
            ("postgres://a/b", Server::Postgres),
            ("postgresql://a/b", Server::Postgres),
            ("redis://a", Server::Redis),
            ("rediss://a", Server::Redis),
            ("nats://a", Server::Nats),
        ] {
            let address = StoreAddress::Server(server, text.to_owned());
            assert_eq!(text.parse(), Ok(address));
        }
        for wrong in ["", "file:", "sqlite:", "mysql://user:canary@host/db"] {
            let message = wrong.parse::<StoreAddress>().unwrap_err();
            assert!(message.contains("expected") && !message.contains("canary"), "{message}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            ("postgres://u:canary@h/db?password=canary", "postgres://u:***@h/db"),
            ("redis://:canary@h:1/0", "redis://:***@h:1/0"),
            ("nats://h:4222", "nats://h:4222"),
            ("redis://[broken:canary@", "redis://"),
        ] {
            assert_eq!(text.parse::<StoreAddress>().unwrap().to_string(), shown);
        }
    }
}
