//! Tests of the `svc` binary against a mock of the service in this process.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic fails the test"
)]

mod accounts;
mod batch;
mod bulk;
mod completion;
mod developer;
mod doctor;
mod environment;
mod errors;
mod files;
mod format;
mod init;
mod listen;
mod listen_env;
mod lists;
mod logs;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(unix)]
mod mock_exec;
mod output;
mod run;

mod sandbox;
mod schema;
mod submits;
#[cfg(target_os = "linux")]
mod terminal;
mod test_env;
mod transfers;
mod unexpected_answers;
mod unknown_outcomes;
mod usage;
mod waiting;
mod webhook;
