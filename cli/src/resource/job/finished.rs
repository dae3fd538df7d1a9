//! Finished jobs.

use serde::Serialize;
use svc_sdk::types::JobResult;

use crate::download::{Delivery, StoredFile};
use crate::error::Failure;

/// The result of a job, with its files if they were downloaded.
#[derive(Debug, Serialize)]
pub(crate) struct FinishedJob {
    #[serde(flatten)]
    pub(crate) result: JobResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<StoredFile>>,
    /// Why not all of its files were downloaded.
    #[serde(skip)]
    pub(crate) failure: Option<Failure>,
}

impl FinishedJob {
    pub(crate) fn new(result: JobResult) -> Self {
        Self {
            result,
            files: None,
            failure: None,
        }
    }

    /// Adds what was downloaded.
    pub(super) fn set_delivery(&mut self, delivery: Delivery) {
        self.files = delivery.files;
        self.failure = delivery.failure;
    }
}
