//! The download of a single artifact.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tracing::Instrument;

use super::byte_stream::ByteStream;
use super::file_download::FileDownload;
use super::options::{DownloadOptions, IfExists, download_options};
use super::progress::{DownloadProgress, DownloadedFile};
use super::source::ArtifactSource;
use super::target::{StoredFiles, Target};
use crate::error::{Error, Kind, Result};
use crate::observe::trace;
use crate::types::Artifact;

/// A download of one artifact to a file, to a writer, or as a stream.
///
/// Returned by the handles' `download_artifact` methods.
///
/// ```no_run
/// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
/// let job = client.jobs().handle("job_1");
/// let result = job.wait().await?;
/// for artifact in result.artifacts() {
///     let mut stream = job.download_artifact(artifact).stream();
///     while let Some(chunk) = stream.next().await {
///         println!("{} bytes", chunk?.len());
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a download does nothing until its destination is given"]
pub struct ArtifactDownload {
    artifact: Artifact,
    options: DownloadOptions,
}

download_options!(ArtifactDownload);

impl ArtifactDownload {
    pub(crate) fn new(artifact: &Artifact, options: DownloadOptions) -> Self {
        Self { artifact: artifact.clone(), options }
    }

    /// Downloads the artifact to a file. Its folder is created if it is missing.
    ///
    /// The file appears when it is complete. An interrupted download leaves a hidden partial file,
    /// from which the next one to the same path resumes.
    ///
    /// ```no_run
    /// use svc_sdk::download::IfExists;
    ///
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let job = client.jobs().handle("job_1");
    /// if let Some(artifact) = job.wait().await?.artifacts().first() {
    ///     let download = job.download_artifact(artifact).if_exists(IfExists::Overwrite);
    ///     let file = download.to_file("fox.mp4").await?;
    ///     println!("{} ({:?})", file.path.display(), file.status);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the artifact could not be downloaded or written.
    pub async fn to_file(self, path: impl AsRef<Path>) -> Result<DownloadedFile> {
        let source = self.source();
        let download = FileDownload {
            source: &source,
            resource_id: &self.options.resource_id,
            target: &Target::new(path.as_ref().to_owned()),
            stored_files: &StoredFiles::new(self.options.if_exists),
        };
        let span = trace::download_span(self.options.resource());
        let file = source.reporter.end(download.save().instrument(span.clone()).await);
        trace::record_download(&span, file.as_ref().map(|_| 1));
        file.map_err(|error| self.options.annotate(error))
    }

    /// Downloads the artifact to a writer, and returns the number of bytes written.
    ///
    /// The writer is flushed at the end. After an interruption the download continues where it was,
    /// if the server still has the same version of the content.
    ///
    /// # Errors
    ///
    /// Returns an error if the artifact could not be downloaded or written. Then the writer may have
    /// received a part of it.
    pub async fn to_writer<W>(self, writer: &mut W) -> Result<u64>
    where
        W: AsyncWrite + Unpin + ?Sized,
    {
        let options = self.options.clone();
        let write_error = |source: io::Error| options.annotate(Error::new(Kind::Write { source }));
        let mut stream = self.stream();
        let mut bytes = 0;
        while let Some(chunk) = stream.next().await {
            let chunk = chunk?;
            writer.write_all(&chunk).await.map_err(write_error)?;
            bytes += chunk.len() as u64;
        }
        writer.flush().await.map_err(write_error)?;
        Ok(bytes)
    }

    /// Returns the content as a stream of bytes.
    ///
    /// The time limit runs from this call.
    pub fn stream(self) -> ByteStream {
        ByteStream::new(self.source(), self.options)
    }

    fn source(&self) -> ArtifactSource {
        let deadline = self.options.deadline();
        ArtifactSource::new(&self.options, self.artifact.clone(), None, deadline)
    }
}

impl fmt::Debug for ArtifactDownload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactDownload")
            .field("artifact", &self.artifact.id)
            .finish_non_exhaustive()
    }
}
