//! Finished jobs.

use serde::Serialize;
use svc_sdk::types::JobResult;

use crate::resource::StoredFile;

/// The result of a job, with its files if they were downloaded.
#[derive(Debug, Serialize)]
pub(crate) struct FinishedJob {
    #[serde(flatten)]
    pub(crate) result: JobResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<StoredFile>>,
}
