//! What a download reports: its progress, and the files that it stored.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::types::ArtifactId;

/// The progress of the download of one artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DownloadProgress {
    /// The position of the artifact in the result, starting at 0.
    pub index: usize,
    /// The number of artifacts that are downloaded together.
    pub count: usize,
    /// The artifact's identifier.
    pub artifact_id: Option<ArtifactId>,
    /// What happened.
    pub event: DownloadEvent,
}

/// An event in the download of one artifact.
///
/// An artifact that is requested starts once and ends with [`Finished`](Self::Finished) or
/// [`Failed`](Self::Failed). One that cannot be requested only fails, and one whose file is skipped
/// only finishes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DownloadEvent {
    /// The server began to send the content.
    #[non_exhaustive]
    Started {
        /// The number of bytes that are already present from an interrupted download.
        bytes: u64,
        /// The size in bytes, if the server announced it.
        total: Option<u64>,
    },
    /// More of the content was received.
    #[non_exhaustive]
    Advanced {
        /// The number of bytes received so far. It decreases if the content has to be downloaded
        /// again from the beginning.
        bytes: u64,
        /// The size in bytes, if the server announced it.
        total: Option<u64>,
    },
    /// An attempt failed, and another follows.
    #[non_exhaustive]
    Retrying {
        /// Why the attempt failed.
        reason: String,
        /// The time until the next attempt.
        delay: Duration,
    },
    /// The content is complete.
    #[non_exhaustive]
    Finished {
        /// The size in bytes.
        bytes: u64,
    },
    /// The artifact could not be downloaded.
    #[non_exhaustive]
    Failed {
        /// Why it failed.
        reason: String,
    },
}

/// A downloaded file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DownloadedFile {
    /// The position of its artifact in the result, starting at 0.
    pub index: usize,
    /// The path of the file.
    pub path: PathBuf,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The number of bytes that were already present from an interrupted download.
    pub resumed_from: u64,
    /// What happened to the file.
    pub status: FileStatus,
}

/// What a download did to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileStatus {
    /// The file is new.
    Created,
    /// The file is new, and has another name than intended, as another file has that one.
    Renamed,
    /// The file replaced one with another content ([`IfExists::Overwrite`](super::IfExists)).
    Replaced,
    /// A file with the same content was already there. It was not changed.
    Unchanged,
    /// A file was already there, so nothing was downloaded ([`IfExists::Skip`](super::IfExists)).
    Skipped,
}

pub(super) type OnProgress = Arc<dyn Fn(DownloadProgress) + Send + Sync>;

/// Reports the events of one artifact.
#[derive(Clone)]
pub(super) struct Reporter {
    pub(super) on_progress: Option<OnProgress>,
    pub(super) index: usize,
    pub(super) count: usize,
    pub(super) artifact_id: Option<ArtifactId>,
}

impl Reporter {
    pub(super) fn report(&self, event: DownloadEvent) {
        if let Some(on_progress) = &self.on_progress {
            on_progress(DownloadProgress {
                index: self.index,
                count: self.count,
                artifact_id: self.artifact_id.clone(),
                event,
            });
        }
    }

    /// Reports how the download of a file has ended, and returns it.
    pub(super) fn end<E: fmt::Display>(
        &self,
        result: Result<DownloadedFile, E>,
    ) -> Result<DownloadedFile, E> {
        match &result {
            Ok(file) => self.report(DownloadEvent::Finished { bytes: file.bytes }),
            Err(error) => self.failed(error),
        }
        result
    }

    pub(super) fn retrying(&self, error: &impl fmt::Display, delay: Duration) {
        self.report(DownloadEvent::Retrying { reason: error.to_string(), delay });
    }

    pub(super) fn failed(&self, error: &impl fmt::Display) {
        self.report(DownloadEvent::Failed { reason: error.to_string() });
    }
}
