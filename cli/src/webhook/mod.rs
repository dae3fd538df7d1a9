//! Signing secrets, sample events and targets, shared by the webhook commands. The receiver itself
//! is in `listen`.

mod samples;
mod secrets;
mod target;

pub(crate) use samples::{Sample, SampleFields};
pub(crate) use secrets::{Secrets, Source};
pub(crate) use target::Target;
