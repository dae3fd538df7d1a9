//! What crosses crates, in one binary: the wire fixtures, the conformance of the mock server on its
//! three faces, the table of operations walked, the SDK on bad networks, and where keys must not be.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on says why and stops"
)]

mod agent;
mod conformance;
mod coverage;
mod fixtures;
mod security;
mod simulation;
