//! Bulk queues of Format runs.

mod finished;
mod handle;
mod summary;
pub(crate) mod tables;
