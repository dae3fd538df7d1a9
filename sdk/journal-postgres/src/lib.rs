//! A store for the journal of `svc-sdk` in a PostgreSQL database, for several machines.
//!
//! ```no_run
//! use deadpool_postgres::{Manager, Pool};
//! use svc_journal_postgres::PostgresStore;
//! use svc_sdk::journal::Journal;
//! use svc_sdk::{ApiKey, open};
//! use tokio_postgres::NoTls;
//!
//! # async fn open() -> Result<(), Box<dyn std::error::Error>> {
//! let config = "host=db.example user=shop dbname=shop".parse()?;
//! let pool = Pool::builder(Manager::new(config, NoTls)).max_size(16).build()?;
//! let journal = Journal::with_store(PostgresStore::new(pool).await?).namespace("shop-prod");
//! let client = open::ClientBuilder::from_env()?.journal(journal).build()?;
//!
//! // A client for each tenant, on the same connections.
//! let tenant = client.with_api_key(ApiKey::new("svc_open_…")?)?.with_account("tenant-1");
//! # let _ = tenant;
//! # Ok(())
//! # }
//! ```
//!
//! The pool is one of `deadpool-postgres` 0.14, so TLS, time limits and the number of connections are the
//! program's choice. Set `tcp_user_timeout` to notice a server that has disappeared from the network.
//!
//! # Tables
//!
//! [`PostgresStore::new`] creates the tables `svc_journal_intents`, `svc_journal_budgets`,
//! `svc_journal_owners` and `svc_journal_migrations`. If they exist, the role does not need the privilege
//! `CREATE`: it reads and writes rows. PostgreSQL 13 or newer is needed, with its default isolation level: at a stricter
//! one, reservations of one budget fail when many are made at once.
//!
//! # Guarantees
//!
//! - **One statement is one transaction.** An intent and its reservation are written together, and the sums
//!   of a budget are changed by a condition on their row: however many machines reserve at once, the sums
//!   stay within the limit.
//! - **As durable as a commit.** A database that is configured with `synchronous_commit = off` is refused.
//! - **Time is the database's.** The clocks of the machines do not matter.
//! - **No session state.** No prepared statements, session locks or notifications: the store works behind
//!   pgbouncer in transaction mode.
//! - **Owners have a heartbeat.** A process that exits normally releases its intents at once. Those of one that
//!   was killed are released after [`owner_timeout`](PostgresOptions::owner_timeout), for which
//!   [`Client::recover`](svc_sdk::Client::recover) waits. A process records that it is about to send only if
//!   its last heartbeat is less than half of this time old. Otherwise it renews the heartbeat first.
//! - **A webhook event is one row.** The id that the service gave is indexed.

#![forbid(unsafe_code)]

mod database;
mod heartbeat;
mod migrations;
mod options;
mod statements;
mod store;

pub use self::options::PostgresOptions;
pub use self::store::PostgresStore;
