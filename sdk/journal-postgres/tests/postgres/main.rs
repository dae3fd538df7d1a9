//! The store on a real server.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod faults;
mod opening;
mod owners;
#[path = "../../../../webhook-verify/inbox/tests/inbox/proxy.rs"]
#[allow(dead_code, reason = "shared with the tests of the inbox")]
mod proxy;
#[path = "../../../../webhook-verify/inbox/tests/inbox/servers.rs"]
#[allow(dead_code, reason = "shared with the tests of the inbox")]
mod servers;
mod suite;
mod support;
