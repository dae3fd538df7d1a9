//! What the webhook commands have in common: the signing secrets, and events as the service makes
//! them. Receiving is in `listen`.

mod samples;
mod secrets;
mod target;

pub(crate) use samples::{Sample, SampleFields};
pub(crate) use secrets::{Secrets, Source};
pub(crate) use target::Target;
