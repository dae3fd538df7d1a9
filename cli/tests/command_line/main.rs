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
mod batch_journal;
mod batch_messages;
mod bulk;
mod completion;
mod developer;
mod doctor;
mod environment;
mod errors;
mod examples;
mod files;
mod format;
mod inbox;
mod incomplete_answers;
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
#[cfg(unix)]
mod pty;
mod run;

mod sandbox;
mod schema;
#[cfg(unix)]
mod screens;
mod submits;
#[cfg(unix)]
mod svg;
#[cfg(unix)]
mod terminal;
mod test_env;
#[cfg(unix)]
mod tour;
mod transfers;
mod unexpected_answers;
mod unknown_outcomes;
mod usage;
mod waiting;
mod webhook;
