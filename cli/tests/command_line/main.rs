//! The real binary against a mock of the service in this process: what users see on good days and
//! on bad ones.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod accounts;
mod bulk;
mod developer;
mod environment;
mod errors;
mod format;
mod listen;
#[cfg(feature = "mcp")]
mod mcp;
mod output;
mod run;
mod schema;
mod submits;
#[cfg(target_os = "linux")]
mod terminal;
mod test_env;
mod transfers;
mod usage;
mod waiting;
mod webhook;
