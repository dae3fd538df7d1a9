//! Tests of receiving over HTTP: the extractor, the layers and the stores.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod arbitrary_requests;
mod extractor;
mod fixtures;
mod layers;
mod stores;
