//! In the making.

pub mod media;
