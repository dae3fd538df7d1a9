//! Deliveries as a server meets them: the extractor, the layers, the stores.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod arbitrary_requests;
mod extractor;
mod fixtures;
mod layers;
mod pitfalls;
mod stores;
