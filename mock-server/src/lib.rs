//! In the making.

mod api;
pub mod engine;
pub mod media;
