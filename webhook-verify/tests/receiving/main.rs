//! Deliveries as a server meets them: the extractor, the layers, the stores.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod delivery;
mod extractor;
mod hostile;
mod layers;
mod pitfalls;
mod stores;
