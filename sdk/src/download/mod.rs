//! Downloads of artifacts to files.
//!
//! A download is streamed to a hidden partial file next to its target, resumed after
//! interruptions, and renamed to the target when it is complete. Requests do not carry credentials,
//! as artifact URLs are public. File names are derived from identifiers and media types and never
//! taken from a server.

mod artifact;
mod file_name;
mod partial_file;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::call::CallFuture;
use crate::error::{ResourceRef, Result};
use crate::handle::{Handle, Resource};
use crate::transport::Transport;
use crate::types::{Artifact, IdempotencyKey};

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

pub(crate) type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// A download of the files of a job or a run.
///
/// Returned by the handles' `download` methods. It begins when it is awaited, and returns the files.
/// A download that was cut off leaves a hidden partial file, from which the next one resumes. No file
/// outside the folder is touched.
#[must_use = "a download does nothing unless it is awaited"]
pub struct Download {
    transport: Arc<dyn Transport>,
    resource_id: String,
    resource: ResourceRef,
    idempotency_key: Option<IdempotencyKey>,
    folder: PathBuf,
    artifacts: CallFuture<Vec<Artifact>>,
    on_progress: Option<OnProgress>,
}

impl Download {
    pub(crate) fn new<R: Resource>(
        handle: &Handle<R>,
        folder: &Path,
        artifacts: impl Future<Output = Result<Vec<Artifact>>> + Send + 'static,
    ) -> Self {
        Self {
            transport: Arc::clone(&handle.core.transport),
            resource_id: handle.id().as_ref().to_owned(),
            resource: handle.resource_ref(),
            idempotency_key: handle.idempotency_key().cloned(),
            folder: folder.to_owned(),
            artifacts: CallFuture::new(artifacts),
            on_progress: None,
        }
    }

    /// Calls a function with the progress, after each piece of a file.
    pub fn on_progress(mut self, on_progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(on_progress));
        self
    }

    async fn run(self) -> Result<Vec<DownloadedFile>> {
        let download = async {
            let downloader = Downloader {
                transport: self.transport,
                resource_id: self.resource_id.as_ref(),
                artifacts: &self.artifacts.await?,
            };
            downloader
                .download_to(&self.folder, self.on_progress.as_ref())
                .await
        };
        download.await.map_err(|error| {
            error
                .with_resource(self.resource)
                .with_key(self.idempotency_key.as_ref())
        })
    }
}

impl IntoFuture for Download {
    type Output = Result<Vec<DownloadedFile>>;
    type IntoFuture = CallFuture<Vec<DownloadedFile>>;

    fn into_future(self) -> Self::IntoFuture {
        CallFuture::new(self.run())
    }
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Download")
            .field("folder", &self.folder)
            .field("resource", &self.resource)
            .finish_non_exhaustive()
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
