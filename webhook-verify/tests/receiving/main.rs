//! Tests of receiving over HTTP: the extractor, the layer and secret rotations.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "test code")]

mod arbitrary_requests;
mod extractor;
mod fixtures;
mod layers;
mod rotation;
