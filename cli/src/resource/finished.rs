//! Finished jobs and runs.

use serde::Serialize;
use serde_json::{Map, Value};
use svc_sdk::download::Download;
use svc_sdk::handle::Handle;

use super::{OnProgress, Resource};
use crate::download::{DownloadPlan, StoredFile};
use crate::error::Failure;
use crate::session::Session;

/// The result of a job, or the receipt of a run, with its files if they were downloaded.
#[derive(Debug, Serialize)]
pub(crate) struct Finished<T> {
    #[serde(flatten)]
    pub(crate) result: T,
    /// The other resources that the receipt of the submit names, such as a preview, with their ids.
    #[serde(flatten)]
    pub(crate) created: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<StoredFile>>,
    /// Why not all of its files were downloaded.
    #[serde(skip)]
    pub(crate) failure: Option<Failure>,
}

impl<T> Finished<T> {
    pub(crate) fn new(result: T) -> Self {
        Self {
            result,
            created: Map::new(),
            files: None,
            failure: None,
        }
    }

    /// Downloads the files as planned, and adds them.
    pub(super) async fn download<R: Resource>(
        &mut self,
        download: Download,
        handle: &Handle<R>,
        session: &Session,
        plan: &DownloadPlan,
        on_progress: OnProgress,
    ) {
        let download = download.on_progress(move |progress| on_progress(progress));
        let files = plan.configure(0, download).await;
        let delivery = plan.deliver(session, files).await;
        self.files = delivery.files;
        self.failure = delivery
            .failure
            .map(|failure| super::with_retry_command(failure, handle, session, plan));
    }
}
