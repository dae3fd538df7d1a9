//! Signing secrets, sample events, targets and stores, shared by the webhook commands. The receiver itself
//! is in `listen`.

mod samples;
mod secrets;
mod store;
mod target;

pub(crate) use samples::{Sample, SampleFields};
pub(crate) use secrets::{Secrets, Source};
pub(crate) use store::{StoreAddress, store_failure};
pub(crate) use target::Target;
