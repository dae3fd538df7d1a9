//! Sealing of public traits: only this crate implements them, so they can grow.

pub trait Sealed {}
