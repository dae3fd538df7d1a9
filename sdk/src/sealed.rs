//! What lets only this crate implement a public trait, so that the trait can grow.

pub trait Sealed {}
