//! Downloads of artifacts to files.
//!
//! A download is streamed to a hidden partial file next to its target, resumed after
//! interruptions, and renamed to the target when it is complete. Requests do not carry credentials,
//! as artifact URLs are public. File names are derived from identifiers and media types and never
//! taken from a server.

mod artifact;
mod file_name;
mod partial_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::contract::JobStatus;
use crate::error::{Error, Kind, Result};
use crate::surface::Surface;
use crate::transport::Transport;
use crate::types::{Artifact, JobResult};
use crate::wait::JobHandle;
use crate::wait::Watched;

/// A downloaded file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DownloadedFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The number of bytes that were already present from an interrupted download.
    pub resumed_from: u64,
}

/// The progress of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The index of the file among the result's artifacts, starting at 0.
    pub index: usize,
    /// The number of bytes written so far.
    pub bytes: u64,
    /// The size of the file in bytes, if the server announced it.
    pub total: Option<u64>,
}

/// A callback that is invoked after each received chunk.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

impl<S: Surface> JobHandle<S> {
    /// Downloads the files of the result into a folder, which is made where it is missing.
    ///
    /// A download that was cut off leaves a hidden partial file; the next one goes on from there.
    /// No file outside the folder is ever touched.
    ///
    /// # Errors
    ///
    /// Where the job has no result, or a file could not be fetched or written; the result itself is
    /// still there, so download it again.
    pub async fn download(&self, folder: impl AsRef<Path>) -> Result<Vec<DownloadedFile>> {
        let result = self.result().await?;
        self.download_result(&result, folder, None).await
    }

    /// Downloads the files of a result that was read already, and tells how far it is.
    ///
    /// # Errors
    ///
    /// As [`download`](Self::download).
    pub async fn download_result(
        &self,
        result: &JobResult,
        folder: impl AsRef<Path>,
        on_progress: Option<OnProgress>,
    ) -> Result<Vec<DownloadedFile>> {
        match &result.status {
            Some(status) if result.artifacts().is_empty() && *status != JobStatus::Completed => {
                let body = result.error.clone().map(Box::new);
                return Err(self.owned(Error::new(Kind::JobEnded {
                    status: status.clone(),
                    body,
                })));
            }
            _ => {}
        }
        let downloader = Downloader {
            transport: self.transport(),
            resource_id: self.id().as_str(),
            artifacts: result.artifacts(),
        };
        let downloaded = downloader
            .download_to(folder.as_ref(), on_progress.as_ref())
            .await;
        downloaded.map_err(|error| self.owned(error))
    }
}

/// Downloads the artifacts of a job or a run.
pub(crate) struct Downloader<'a> {
    pub(crate) transport: Arc<dyn Transport>,
    /// The id of the job or run, which names the files of artifacts that have no id.
    pub(crate) resource_id: &'a str,
    pub(crate) artifacts: &'a [Artifact],
}

impl Downloader<'_> {
    /// Downloads the artifacts one after the other to `directory`.
    pub(crate) async fn download_to(
        &self,
        directory: &Path,
        on_progress: Option<&OnProgress>,
    ) -> Result<Vec<DownloadedFile>> {
        let mut files = Vec::with_capacity(self.artifacts.len());
        for (index, artifact) in self.artifacts.iter().enumerate() {
            let path = directory.join(self.file_name(artifact, index));
            let download = artifact::ArtifactDownload {
                transport: Arc::clone(&self.transport),
                artifact,
                index,
                on_progress,
            };
            files.push(download.save_to(&path).await?);
        }
        Ok(files)
    }

    fn file_name(&self, artifact: &Artifact, index: usize) -> String {
        let stem = match &artifact.id {
            Some(id) => id.to_string(),
            None => format!("{}-{}", self.resource_id, index + 1),
        };
        file_name::file_name(&stem, artifact)
    }
}

#[cfg(test)]
mod tests;
