//! Jobs.

mod finished;
mod handle;
pub(crate) mod tables;

pub(crate) use finished::FinishedJob;
