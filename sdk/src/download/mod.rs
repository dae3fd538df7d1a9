//! Artifacts as files: streamed to disk, checked, resumed where they were cut off, put in their
//! place in one step.
//!
//! No credential goes along: artifact URLs are public. File names are made from identifiers and
//! types, never taken from a server.

mod fetch;
mod name;
mod part;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::contract::JobStatus;
use crate::error::{Error, Kind, Result};
use crate::surface::Surface;
use crate::transport::Transport;
use crate::types::{Artifact, JobResult};
use crate::wait::JobHandle;
use crate::wait::Watched;

/// A file on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Downloaded {
    /// Where it is.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
    /// Bytes that an earlier, cut-off download had left.
    pub resumed_from: u64,
}

/// How far a download is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Which file of the result, from 0.
    pub index: usize,
    /// Bytes on disk.
    pub bytes: u64,
    /// Bytes in all, where the server said so.
    pub total: Option<u64>,
}

/// Told after each piece.
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
    pub async fn download(&self, folder: impl AsRef<Path>) -> Result<Vec<Downloaded>> {
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
    ) -> Result<Vec<Downloaded>> {
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
        let files = Files {
            transport: self.transport(),
            owner: self.id().as_str(),
            artifacts: result.artifacts(),
        };
        let downloaded = files.to_folder(folder.as_ref(), on_progress.as_ref()).await;
        downloaded.map_err(|error| self.owned(error))
    }
}

/// The files of a job or a run.
pub(crate) struct Files<'a> {
    pub(crate) transport: Arc<dyn Transport>,
    /// Whose they are: a file that has no id of its own is named by it.
    pub(crate) owner: &'a str,
    pub(crate) artifacts: &'a [Artifact],
}

impl Files<'_> {
    pub(crate) async fn to_folder(
        &self,
        folder: &Path,
        on_progress: Option<&OnProgress>,
    ) -> Result<Vec<Downloaded>> {
        let mut files = Vec::with_capacity(self.artifacts.len());
        for (index, artifact) in self.artifacts.iter().enumerate() {
            let path = folder.join(self.file_name(artifact, index));
            let fetch = fetch::Fetch {
                transport: Arc::clone(&self.transport),
                artifact,
                index,
                on_progress,
            };
            files.push(fetch.to_file(&path).await?);
        }
        Ok(files)
    }

    fn file_name(&self, artifact: &Artifact, index: usize) -> String {
        let stem = match &artifact.id {
            Some(id) => id.to_string(),
            None => format!("{}-{}", self.owner, index + 1),
        };
        name::file_name(&stem, artifact)
    }
}

#[cfg(test)]
mod tests;
