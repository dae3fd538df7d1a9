//! Tests that span several crates: wire fixtures, conformance of the mock server on its three frontends,
//! coverage of all operations, simulations of bad networks, agent runs, batches, and redaction of keys.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed assertion ends the test"
)]

mod agent;
mod batch;
mod conformance;
mod control_page;
mod coverage;
mod deterministic_simulation;
mod fixtures;
mod security;
mod shared_key;
mod simulation;
