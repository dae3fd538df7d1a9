//! Jobs.

mod handle;
pub(crate) mod tables;

/// A finished job.
pub(crate) type FinishedJob = crate::resource::Finished<svc_sdk::types::JobResult>;
