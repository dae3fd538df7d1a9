//! Downloads of artifacts to files, to writers, and as streams.
//!
//! [`Download`] stores all files of a result in a folder, [`ArtifactDownload`] takes a single
//! artifact anywhere:
//!
//! ```no_run
//! use svc_sdk::download::{DownloadEvent, IfExists, NameTemplate};
//!
//! # async fn run(client: svc_sdk::open::Client) -> Result<(), Box<dyn std::error::Error>> {
//! let job = client.jobs().handle("job_1");
//! let names: NameTemplate = "{slug}-{index}.{ext}".parse()?;
//! let files = job
//!     .download("out")
//!     .name_template(names.prompt("a red fox in snow"))
//!     .if_exists(IfExists::Overwrite)
//!     .concurrency(8)
//!     .on_progress(|progress| {
//!         if let DownloadEvent::Advanced { bytes, total, .. } = progress.event {
//!             println!("{} of {}: {bytes} of {total:?} bytes", progress.index + 1, progress.count);
//!         }
//!     })
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! A file is streamed to a hidden partial file next to its target, resumed after interruptions,
//! checked against what the server and the result say about its length and digest, and renamed to
//! the target when it is complete. Other files are not replaced unless
//! [`IfExists::Overwrite`] is set. Requests do not carry credentials, as artifact URLs are public.

mod artifact_download;
mod artifact_list;
mod byte_stream;
mod digest;
mod disk;
mod file_download;
mod file_name;
mod host;
mod name_template;
mod options;
mod partial_file;
pub(crate) mod progress;
mod retries;
mod source;
mod target;

use std::future::{Future, IntoFuture};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use tracing::Instrument;

pub use self::artifact_download::ArtifactDownload;
pub(crate) use self::artifact_list::ArtifactList;
pub use self::byte_stream::ByteStream;
use self::file_download::FileDownload;
pub use self::file_name::ArtifactName;
use self::name_template::FileNames;
pub use self::name_template::{InvalidNameTemplate, NameTemplate};
pub(crate) use self::options::DownloadOptions;
pub use self::options::IfExists;
use self::options::{download_options, timed_out};
pub use self::progress::{DownloadEvent, DownloadProgress, DownloadedFile, FileStatus};
use self::source::ArtifactSource;
use self::target::{StoredFiles, Target};
use crate::debug_fields::debug_fields;
use crate::error::{Error, Kind, Result};
use crate::observe::trace;
use crate::types::Artifact;

type BoxResultFuture<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// The default number of artifacts that are downloaded at once.
const DEFAULT_CONCURRENCY: usize = 4;

/// A download of the files of a job or a run.
///
/// Returned by the handles' `download` methods. It begins when it is awaited, and returns the files
/// in the order of the result's artifacts. No file outside the folder is touched.
///
/// A download that was interrupted leaves a hidden partial file, from which the next one resumes. An
/// existing file with the same content is kept. If its content differs, the new file gets another
/// name, such as `art_1-1.png`, unless [`if_exists`](Self::if_exists) says otherwise.
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
    artifacts: BoxResultFuture<ArtifactList>,
    folder: PathBuf,
    concurrency: usize,
    names: FileNames,
    options: DownloadOptions,
}

download_options!(Download);

impl Download {
    /// Creates a download to `folder`.
    pub(crate) fn new(
        folder: &Path,
        options: DownloadOptions,
        artifacts: impl Future<Output = Result<ArtifactList>> + Send + 'static,
    ) -> Self {
        Self {
            artifacts: Box::pin(artifacts),
            folder: folder.to_owned(),
            concurrency: DEFAULT_CONCURRENCY,
            names: FileNames::default(),
            options,
        }
    }

    /// Sets how many artifacts are downloaded at once, at least 1. The default is 4.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// Names the files by a template. The default is `{id}.{ext}`.
    ///
    /// Of several artifacts with the same name, all but the first get a number, such as `fox-1.png`.
    pub fn name_template(mut self, template: NameTemplate) -> Self {
        self.names = FileNames::Template(template);
        self
    }

    /// Names the files by a function, which returns the name with its extension.
    ///
    /// Path separators are replaced, so that no name leads out of the folder. An empty name stands
    /// for the default.
    ///
    /// ```no_run
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let job = client.jobs().handle("job_1");
    /// let download = job.download("out");
    /// let files = download.name_with(|name| format!("frame-{:04}.{}", name.number, name.extension));
    /// println!("{} files", files.await?.len());
    /// # Ok(())
    /// # }
    /// ```
    pub fn name_with(
        mut self,
        name: impl Fn(&ArtifactName<'_>) -> String + Send + Sync + 'static,
    ) -> Self {
        self.names = FileNames::Function(Arc::new(name));
        self
    }

    async fn run(self) -> Result<Vec<DownloadedFile>> {
        let options = self.options.clone();
        let span = trace::download_span(options.resource());
        let result = self.save_files().instrument(span.clone()).await;
        trace::record_download(&span, result.as_ref().map(Vec::len));
        result.map_err(|error| options.annotate(error))
    }

    /// Downloads the artifacts. A failure of one does not stop the others.
    async fn save_files(self) -> Result<Vec<DownloadedFile>> {
        let Self { artifacts, folder, concurrency, names, options } = self;
        let (options, deadline) = (&options, options.deadline());
        let artifacts = deadline.before(artifacts).await;
        let ArtifactList(artifacts) = artifacts.unwrap_or_else(|| Err(timed_out(&deadline)))?;
        let count = artifacts.len();
        let unknown = Artifact::default();
        let names = artifacts.iter().enumerate().map(|(index, artifact)| {
            let artifact = artifact.as_ref().unwrap_or(&unknown);
            names.name(&ArtifactName::new(artifact, index, &options.resource_id))
        });
        let targets = Target::distinct(&folder, names);
        let stored_files = &StoredFiles::new(options.if_exists);
        let downloads = artifacts.into_iter().zip(targets).enumerate();
        let downloads = downloads.map(|(index, (artifact, target))| async move {
            let is_decoded = artifact.is_some();
            let artifact = artifact.unwrap_or_default();
            let source = &ArtifactSource::new(options, artifact, Some((index, count)), deadline);
            let resource_id = &options.resource_id;
            let download = FileDownload { source, resource_id, target: &target, stored_files };
            let result = match is_decoded {
                true => download.save().await,
                false => Err(source.error("it could not be decoded", None)),
            };
            (index, source.reporter.end(result))
        });
        let mut results: Vec<_> =
            stream::iter(downloads).buffer_unordered(concurrency).collect().await;
        results.sort_by_key(|(index, _)| *index);
        let (mut files, mut errors) = (Vec::new(), Vec::new());
        for (_, result) in results {
            match result {
                Ok(file) => files.push(file),
                Err(error) => errors.push(error),
            }
        }
        match errors.is_empty() {
            true => Ok(files),
            false => Err(Error::new(Kind::IncompleteDownload { files, errors })),
        }
    }
}

impl IntoFuture for Download {
    type Output = Result<Vec<DownloadedFile>>;
    type IntoFuture = BoxResultFuture<Vec<DownloadedFile>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

debug_fields! { [] Download as "Download" { folder } }

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
