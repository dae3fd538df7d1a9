//! The promises of the inbox, on every store.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod conformance;
mod faults;
mod proxy;
mod receiving;
mod servers;
mod steps;
mod stores;
mod worker;
