//! The stores of this crate.

mod event_table;
mod local;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "postgres", feature = "redis", feature = "sqlite"))]
#[cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    allow(dead_code, reason = "the ids of Redis are texts")
)]
mod row;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use local::{FileStore, MemoryStore};
#[cfg(feature = "nats")]
pub use nats::{NatsOptions, NatsStore};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
#[cfg(feature = "redis")]
pub use redis::RedisStore;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
