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

pub use local::{FileEventStore, MemoryEventStore};
#[cfg(feature = "nats")]
pub use nats::{NatsEventStore, NatsOptions};
#[cfg(feature = "postgres")]
pub use postgres::PostgresEventStore;
#[cfg(feature = "redis")]
pub use redis::RedisEventStore;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteEventStore;
