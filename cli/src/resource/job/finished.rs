//! Finished jobs.

use serde::Serialize;
use svc_sdk::types::JobResult;

use crate::resource::StoredFile;

/// What a job came to, with its files where they were downloaded.
#[derive(Debug, Serialize)]
pub(crate) struct FinishedJob {
    #[serde(flatten)]
    pub(crate) result: JobResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<StoredFile>>,
}
