//! Downloads of artifacts to files.
//!
//! A download is streamed to a hidden partial file next to its target, resumed after
//! interruptions, and renamed to the target when it is complete. Other files are not replaced. Requests
//! do not carry credentials, as artifact URLs are public. File names are derived from identifiers and
//! media types and never taken from a server.

mod artifact;
mod artifact_list;
mod disk;
pub(crate) mod downloaded_file;
mod file_name;
mod host;
mod partial_file;
mod target;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::artifact_list::ArtifactList;
pub use self::downloaded_file::DownloadedFile;
use self::target::Targets;
use crate::call::clock::{self, Instant};
use crate::call::{CallFuture, Core};
use crate::error::{Error, Kind, ResourceRef, Result};
use crate::types::{Artifact, IdempotencyKey};

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

/// The default time limit of a download.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// A download of the files of a job or a run.
///
/// Returned by the handles' `download` methods. It begins when it is awaited, and returns the files
/// in the order of the result's artifacts. No file outside the folder is touched.
///
/// A download that was interrupted leaves a hidden partial file, from which the next one resumes. An
/// existing file with the same content is kept. If its content differs, the new file gets another
/// name, such as `art_1-1.png`, unless [`overwrite`](Self::overwrite) is set.
///
/// ```no_run
/// use std::time::Duration;
///
/// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
/// let job = client.jobs().handle("job_1");
/// match job.download("out").timeout(Duration::from_secs(60)).await {
///     Ok(files) => println!("{} files", files.len()),
///     Err(error) => println!("{error}; {} files", error.downloaded_files().len()),
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Awaiting it returns an error if an artifact could not be downloaded or written, after all others
/// were downloaded. The message names the artifact, and [`Error::downloaded_files`] returns the files
/// of the others. URLs must use https, or http with a loopback address, and their hosts must not be
/// private (see
/// [`allow_private_artifact_hosts`](crate::client::ClientBuilder::allow_private_artifact_hosts)).
#[must_use = "a download does nothing unless it is awaited"]
pub struct Download {
    resource: ResourceRef,
    idempotency_key: Option<IdempotencyKey>,
    artifacts: CallFuture<ArtifactList>,
    timeout: Option<Duration>,
    options: Options,
}

/// What is the same for all files of a download.
struct Options {
    core: Arc<Core>,
    /// The id of the job or run, which names the files of artifacts that have no id.
    resource_id: String,
    folder: PathBuf,
    overwrite: bool,
    on_progress: Option<OnProgress>,
}

impl Download {
    /// Creates a download to `folder`. Errors name the resource and the key.
    pub(crate) fn new(
        core: Arc<Core>,
        resource: ResourceRef,
        resource_id: &str,
        idempotency_key: Option<IdempotencyKey>,
        folder: &Path,
        artifacts: impl Future<Output = Result<ArtifactList>> + Send + 'static,
    ) -> Self {
        Self {
            resource,
            idempotency_key,
            artifacts: CallFuture::new(artifacts),
            timeout: Some(DEFAULT_TIMEOUT),
            options: Options {
                core,
                resource_id: resource_id.to_owned(),
                folder: folder.to_owned(),
                overwrite: false,
                on_progress: None,
            },
        }
    }

    /// Sets the time limit of the whole download, of all its files. The default is one hour.
    ///
    /// A later download resumes the file that was interrupted.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Removes the time limit.
    pub fn no_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Sets whether existing files with other contents are replaced. The default is `false`.
    ///
    /// Files of the same download never replace each other.
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.options.overwrite = overwrite;
        self
    }

    /// Calls a function with the progress, after each piece of a file.
    pub fn on_progress(mut self, on_progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.options.on_progress = Some(Arc::new(on_progress));
        self
    }

    async fn run(self) -> Result<Vec<DownloadedFile>> {
        let time_limit = TimeLimit::new(self.timeout);
        let result = match clock::before(time_limit.deadline, self.artifacts).await {
            Some(Ok(artifacts)) => self.options.save_all(&artifacts.0, time_limit).await,
            Some(Err(error)) => Err(error),
            None => Err(time_limit.error()),
        };
        result.map_err(|error| {
            error
                .with_resource(self.resource)
                .with_key(self.idempotency_key.as_ref())
        })
    }
}

impl Options {
    /// Downloads the artifacts one after the other. A failure of one does not stop the others.
    async fn save_all(
        &self,
        artifacts: &[Option<Artifact>],
        time_limit: TimeLimit,
    ) -> Result<Vec<DownloadedFile>> {
        let mut targets = Targets::new(self.overwrite);
        let (mut files, mut errors) = (Vec::new(), Vec::new());
        for (index, artifact) in artifacts.iter().enumerate() {
            let label = match artifact.as_ref().and_then(|artifact| artifact.id.as_ref()) {
                Some(id) => format!("artifact {id}"),
                None => format!("artifact {} of {}", index + 1, artifacts.len()),
            };
            let Some(artifact) = artifact else {
                errors.push(Error::new(Kind::Download {
                    artifact: label,
                    url: None,
                    reason: "it could not be decoded".to_owned(),
                    source: None,
                }));
                continue;
            };
            let download = artifact::ArtifactDownload {
                core: &self.core,
                artifact,
                label,
                index,
                resource_id: &self.resource_id,
                time_limit,
                on_progress: self.on_progress.as_ref(),
            };
            let target = self.folder.join(self.file_name(artifact, index));
            match download.save_to(&target, &mut targets).await {
                Ok(file) => files.push(file),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(files)
        } else {
            Err(Error::new(Kind::IncompleteDownload { files, errors }))
        }
    }

    fn file_name(&self, artifact: &Artifact, index: usize) -> String {
        let stem = match &artifact.id {
            Some(id) => id.to_string(),
            None => format!("{}-{}", self.resource_id, index + 1),
        };
        file_name::file_name(&stem, artifact)
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
            .field("folder", &self.options.folder)
            .field("resource", &self.resource)
            .finish_non_exhaustive()
    }
}

/// The time limit of a download, which runs from its start.
#[derive(Clone, Copy, Debug)]
struct TimeLimit {
    timeout: Duration,
    deadline: Option<Instant>,
}

impl TimeLimit {
    fn new(timeout: Option<Duration>) -> Self {
        Self {
            timeout: timeout.unwrap_or(Duration::MAX),
            deadline: timeout.map(clock::after),
        }
    }

    fn has_passed(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| clock::now() >= deadline)
    }

    /// Returns the time after `span`, or the deadline if it comes first.
    fn cap(&self, span: Duration) -> Instant {
        let end = clock::after(span);
        self.deadline.map_or(end, |deadline| deadline.min(end))
    }

    fn error(&self) -> Error {
        Error::new(Kind::Timeout {
            timeout: self.timeout,
            sent: true,
            last: None,
        })
    }
}

#[cfg(test)]
mod storage_tests;
#[cfg(test)]
mod tests;
