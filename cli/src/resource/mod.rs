//! The resources that a submit starts and a wait polls: jobs, runs and bulk queues.
//!
//! All three go the same way from a price to a result (`submit`, `wait`). This is what differs: the
//! price, the status, the result, and the commands that resume.

pub(crate) mod job;
pub(crate) mod queue;
#[expect(
    clippy::module_inception,
    reason = "the trait has the name of the folder"
)]
mod resource;
pub(crate) mod run;

pub(crate) use resource::{ReceiptMode, Resource, Stopped, StoredFile};
