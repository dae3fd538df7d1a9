//! Tests of the `svc` binary against a mock of the service in this process.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic fails the test"
)]

mod deliveries;
mod environment;
mod examples;
mod logs;
#[cfg(feature = "mcp")]
mod mcp;
mod output;
#[cfg(unix)]
mod pty;
#[cfg(unix)]
mod screens;
mod script;
mod submits;
#[cfg(unix)]
mod svg;
mod test_env;
#[cfg(unix)]
mod tour;
