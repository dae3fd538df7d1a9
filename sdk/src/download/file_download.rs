//! The download of one artifact to a file, with resumption after interruptions.

use url::Url;

use super::digest::FileDigest;
use super::options::IfExists;
use super::partial_file::{PartialFile, file_error};
use super::progress::{DownloadEvent, DownloadedFile, FileStatus};
use super::retries::Retries;
use super::source::{ArtifactSource, ResumePoint, redact_url};
use super::target::{StoredFiles, Target};
use crate::error::Result;

/// The download of one artifact to a file.
pub(super) struct FileDownload<'a> {
    pub(super) source: &'a ArtifactSource,
    pub(super) resource_id: &'a str,
    pub(super) target: &'a Target,
    pub(super) stored_files: &'a StoredFiles,
}

impl FileDownload<'_> {
    pub(super) async fn save(&self) -> Result<DownloadedFile> {
        let index = self.source.reporter.index;
        if self.stored_files.if_exists == IfExists::Skip
            && let Some(bytes) = self.target.existing_length().await
        {
            return Ok(DownloadedFile {
                index,
                path: self.target.path(),
                bytes,
                resumed_from: 0,
                status: FileStatus::Skipped,
            });
        }
        let url = self.source.url()?;
        let origin = format!("{} {index} {}", self.resource_id, redact_url(&url));
        let file = PartialFile::open(&self.target.path(), &origin).await?;
        let mut transfer = FileTransfer {
            source: self.source,
            url,
            retries: Retries::new(file.len),
            file,
            total: None,
            digest: None,
            has_started: false,
        };
        if let Err(error) = transfer.run().await {
            transfer.file.close().await;
            return Err(error);
        }
        let file = transfer.file;
        let (bytes, resumed_from) = (file.len, file.resumed_from);
        let (path, status) = self.stored_files.store(file, self.target).await?;
        Ok(DownloadedFile { index, path, bytes, resumed_from, status })
    }
}

/// The transfer of the content to a partial file.
struct FileTransfer<'a> {
    source: &'a ArtifactSource,
    url: Url,
    file: PartialFile,
    retries: Retries,
    /// The length of the version that the file holds, if a server announced it.
    total: Option<u64>,
    /// The digest of the version that the file holds, if a server announced it.
    digest: Option<FileDigest>,
    has_started: bool,
}

impl FileTransfer<'_> {
    /// Completes the file, and resumes after interruptions.
    async fn run(&mut self) -> Result<()> {
        while let Err(error) = self.attempt().await {
            self.source.before_retry(&mut self.retries, error, self.file.len).await?;
        }
        Ok(())
    }

    /// Requests the missing bytes once, and succeeds if the file is complete afterwards.
    async fn attempt(&mut self) -> Result<()> {
        let source = self.source;
        let resume_point = ResumePoint { length: self.file.len, etag: self.file.etag.as_deref() };
        let content = source.request(&self.url, resume_point, self.retries.attempt()).await?;
        // One version of a file has one length.
        let content = content.filter(|content| {
            content.start == 0 || self.total.is_none_or(|total| content.total == Some(total))
        });
        let Some(mut content) = content else {
            // The server ignored the requested range, or the file has changed.
            self.restart(None).await?;
            return Err(source.interrupted("the response does not match the partial file"));
        };
        if content.start == 0 {
            self.restart(content.etag.as_deref()).await?;
        }
        self.total = content.total;
        self.digest = content.digest.or(self.digest);
        self.report_start();
        while let Some(chunk) = source.next_chunk(&mut content.body).await? {
            let written = self.file.write(&chunk).await;
            written.map_err(file_error(&self.file.target))?;
            source
                .reporter
                .report(DownloadEvent::Advanced { bytes: self.file.len, total: self.total });
            if self.total.is_some_and(|total| self.file.len > total) {
                break;
            }
        }
        self.check().await
    }

    /// Checks the length and the digest of the file at the end of a response.
    async fn check(&mut self) -> Result<()> {
        let source = self.source;
        let checked = source.check_length(self.file.len, self.total);
        if self.total.is_none_or(|total| self.file.len > total) && checked.is_err() {
            self.restart(None).await?;
        }
        checked?;
        if let Some(digest) = self.digest
            && self.file.digest().await.map_err(file_error(&self.file.target))? != digest
        {
            self.retries.count_failed_check();
            self.restart(None).await?;
            return Err(source.interrupted("the content does not match its SHA-256 digest"));
        }
        Ok(())
    }

    async fn restart(&mut self, etag: Option<&str>) -> Result<()> {
        self.total = None;
        self.digest = None;
        self.file.restart(etag).await.map_err(file_error(&self.file.target))
    }

    fn report_start(&mut self) {
        let event = match std::mem::replace(&mut self.has_started, true) {
            false => DownloadEvent::Started { bytes: self.file.len, total: self.total },
            true => DownloadEvent::Advanced { bytes: self.file.len, total: self.total },
        };
        self.source.reporter.report(event);
    }
}
