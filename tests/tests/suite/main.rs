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

use std::sync::Arc;

use svc_mock_server::InProcess;
use svc_sdk::{ApiKey, developer, open};

/// Builds a client of the open surface of a mock in this process.
fn open_client(mock: &InProcess) -> open::ClientBuilder {
    open::Client::builder()
        .base_url(mock.base_url())
        .api_key(ApiKey::new("svc_open_demo").unwrap())
        .transport(Arc::new(mock.clone()))
}

/// Builds a client of the developer surface of a mock in this process.
fn developer_client(mock: &InProcess, key: &str) -> developer::ClientBuilder {
    developer::Client::builder()
        .base_url(mock.developer_base_url())
        .api_key(ApiKey::new(key).unwrap())
        .transport(Arc::new(mock.clone()))
}
