//! Request bodies, made of flags and checked before they are sent.

mod builder;
pub(crate) mod run;

pub(crate) use builder::RequestBody;
