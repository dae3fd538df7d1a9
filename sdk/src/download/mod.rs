//! Artifacts as files: streamed to disk, checked, resumed where they were cut off, put in their
//! place in one step.
//!
//! No credential goes along: artifact URLs are public. File names are made from identifiers and
//! types, never taken from a server.

mod fetch;
mod name;
mod part;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::call::CallFuture;
use crate::error::{ResourceRef, Result};
use crate::handle::{Handle, Resource};
use crate::transport::Transport;
use crate::types::{Artifact, IdempotencyKey};

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

pub(crate) type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// A download of the files of a job or a run.
///
/// Returned by the handles' `download` methods. It begins when it is awaited, and returns the files.
/// A download that was cut off leaves a hidden partial file, from which the next one resumes. No file
/// outside the folder is touched.
#[must_use = "a download does nothing unless it is awaited"]
pub struct Download {
    transport: Arc<dyn Transport>,
    owner: String,
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
            owner: handle.id().as_ref().to_owned(),
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

    async fn run(self) -> Result<Vec<Downloaded>> {
        let download = async {
            let files = Files {
                transport: self.transport,
                owner: &self.owner,
                artifacts: &self.artifacts.await?,
            };
            files
                .to_folder(&self.folder, self.on_progress.as_ref())
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
    type Output = Result<Vec<Downloaded>>;
    type IntoFuture = CallFuture<Vec<Downloaded>>;

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
