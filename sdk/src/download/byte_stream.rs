//! The content of an artifact as a stream.

use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use futures_core::Stream;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, Peekable, try_unfold};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::digest::FileDigest;
use super::options::DownloadOptions;
use super::progress::DownloadEvent;
use super::retries::Retries;
use super::source::{ArtifactSource, Content, ResumePoint};
use crate::error::Result;

/// The content of an artifact, as a stream of bytes.
///
/// Returned by [`ArtifactDownload::stream`](super::ArtifactDownload::stream). It ends after the last
/// byte, or after the first error. The length and the digest that the server announced are checked
/// at the end, so that only a stream that ends without an error has delivered the whole content.
///
/// [`ready`](Self::ready) waits for what the server says of the content, for example to pass it on:
///
/// ```no_run
/// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
/// let job = client.jobs().handle("job_1");
/// let result = job.result().await?;
/// let mut content = job.download_artifact(&result.artifacts()[0]).stream();
/// content.ready().await?;
/// println!("{:?}, {:?} bytes", content.content_type(), content.length());
/// # Ok(())
/// # }
/// ```
#[must_use = "streams do nothing unless polled"]
pub struct ByteStream {
    chunks: Peekable<BoxStream<'static, Result<Bytes>>>,
    head: Arc<OnceLock<ContentHead>>,
    delivered: u64,
}

/// The length and the type of the content, from the first response.
#[derive(Debug)]
struct ContentHead {
    length: Option<u64>,
    content_type: Option<String>,
}

impl ByteStream {
    pub(super) fn new(source: ArtifactSource, options: DownloadOptions) -> Self {
        let head = Arc::default();
        let transfer = StreamTransfer {
            head: Arc::clone(&head),
            source,
            url: None,
            retries: Retries::new(0),
            delivered: 0,
            to_skip: 0,
            version: None,
            content: None,
            is_complete: false,
        };
        let chunks = try_unfold(transfer, move |mut transfer| {
            let options = options.clone();
            async move {
                match transfer.next().await {
                    Ok(Some(chunk)) => Ok(Some((chunk, transfer))),
                    Ok(None) => Ok(None),
                    Err(error) => {
                        transfer.source.reporter.failed(&error);
                        Err(options.annotate(error))
                    }
                }
            }
        });
        Self { chunks: chunks.boxed().peekable(), head, delivered: 0 }
    }

    /// Waits for the first bytes, which the stream delivers next. The accessors then say what the
    /// server announced.
    ///
    /// # Errors
    ///
    /// Returns an error, after which the stream ends, if the content could not be received.
    pub async fn ready(&mut self) -> Result<()> {
        if self.head.get().is_some() {
            return Ok(());
        }
        let error = Pin::new(&mut self.chunks).next_if(Result::is_err);
        error.await.transpose().map(drop)
    }

    /// Returns the size of the whole content, once it is known and if the server announced it.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.head.get()?.length
    }

    /// Returns the content type, once it is known: that of the response, or else of the artifact.
    #[must_use]
    pub fn content_type(&self) -> Option<&str> {
        self.head.get()?.content_type.as_deref()
    }

    /// Returns the range of bytes that the stream has not delivered yet, if the length is known.
    #[must_use]
    pub fn range(&self) -> Option<Range<u64>> {
        Some(self.delivered..self.length()?)
    }

    /// Returns the next bytes, or `None` at the end.
    ///
    /// # Errors
    ///
    /// Returns an error, after which the stream ends, if the content could not be received, or is
    /// not what the server announced.
    pub async fn next(&mut self) -> Option<Result<Bytes>> {
        StreamExt::next(self).await
    }
}

impl Stream for ByteStream {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let chunk = ready!(self.chunks.poll_next_unpin(context));
        if let Some(Ok(chunk)) = &chunk {
            self.delivered += chunk.len() as u64;
        }
        Poll::Ready(chunk)
    }
}

impl fmt::Debug for ByteStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteStream")
            .field("head", &self.head.get())
            .field("delivered", &self.delivered)
            .finish_non_exhaustive()
    }
}

/// The transfer of the content to the reader of the stream.
///
/// What was delivered cannot be taken back, so an interrupted transfer only continues with the same
/// version of the content.
struct StreamTransfer {
    head: Arc<OnceLock<ContentHead>>,
    source: ArtifactSource,
    url: Option<Url>,
    retries: Retries,
    delivered: u64,
    /// The number of bytes at the beginning of the body that were delivered already.
    to_skip: u64,
    version: Option<Version>,
    content: Option<Content>,
    is_complete: bool,
}

/// The version of the content, as the first response describes it.
struct Version {
    etag: Option<String>,
    total: Option<u64>,
    digest: Option<(FileDigest, Sha256)>,
}

impl StreamTransfer {
    /// Returns the next bytes, and resumes after interruptions.
    async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.is_complete {
            return Ok(None);
        }
        loop {
            match self.receive().await {
                Ok(Some(chunk)) => return Ok(Some(chunk)),
                Ok(None) => {
                    self.is_complete = true;
                    let bytes = self.delivered;
                    let finished = DownloadEvent::Finished { bytes };
                    self.source.reporter.report(finished);
                    return Ok(None);
                }
                Err(error) => {
                    self.content = None;
                    self.source.before_retry(&mut self.retries, error, self.delivered).await?;
                }
            }
        }
    }

    async fn receive(&mut self) -> Result<Option<Bytes>> {
        if self.content.is_none() {
            self.content = Some(self.open().await?);
        }
        while let Some(content) = &mut self.content {
            let Some(mut chunk) = self.source.next_chunk(&mut content.body).await? else { break };
            let skipped = chunk.len().min(usize::try_from(self.to_skip).unwrap_or(usize::MAX));
            chunk.advance(skipped);
            self.to_skip -= skipped as u64;
            if !chunk.is_empty() {
                self.deliver(&chunk)?;
                return Ok(Some(chunk));
            }
        }
        self.check()?;
        Ok(None)
    }

    /// Requests what was not delivered yet.
    async fn open(&mut self) -> Result<Content> {
        let url = match &self.url {
            Some(url) => url.clone(),
            None => self.url.insert(self.source.url()?).clone(),
        };
        let etag = self.version.as_ref().and_then(|it| it.etag.as_deref());
        let resume_point = ResumePoint { length: self.delivered, etag };
        let attempt = self.retries.attempt();
        let content = self.source.request(&url, resume_point, attempt).await?;
        let content = content.filter(|content| match &self.version {
            Some(version) if self.delivered > 0 => {
                version.etag.is_some()
                    && version.etag == content.etag
                    && version.total == content.total
            }
            _ => true,
        });
        let Some(content) = content else {
            let reason = "the download was interrupted, and the server does not continue it with \
                          the same content";
            return Err(self.source.error(reason, None));
        };
        self.head.get_or_init(|| ContentHead {
            length: content.total,
            content_type: content
                .content_type
                .clone()
                .or_else(|| self.source.artifact.content_type.clone()),
        });
        self.to_skip = self.delivered - content.start;
        if self.delivered == 0 {
            let is_new = self.version.is_none();
            self.version = Some(Version {
                etag: content.etag.clone(),
                total: content.total,
                digest: content.digest.map(|digest| (digest, Sha256::new())),
            });
            if is_new {
                self.source
                    .reporter
                    .report(DownloadEvent::Started { bytes: 0, total: content.total });
            }
        }
        Ok(content)
    }

    fn deliver(&mut self, chunk: &Bytes) -> Result<()> {
        let delivered = self.delivered + chunk.len() as u64;
        let total = self.version.as_ref().and_then(|version| version.total);
        if total.is_some_and(|total| delivered > total) {
            let reason = "the response is longer than announced";
            return Err(self.source.error(reason, None));
        }
        self.delivered = delivered;
        if let Some(Version { digest: Some((_, hasher)), .. }) = &mut self.version {
            hasher.update(chunk);
        }
        self.source.reporter.report(DownloadEvent::Advanced { bytes: delivered, total });
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let Some(version) = &self.version else { return Ok(()) };
        self.source.check_length(self.delivered, version.total)?;
        if let Some((expected, hasher)) = &version.digest
            && FileDigest::from(hasher.clone()) != *expected
        {
            let reason = "the content does not match its SHA-256 digest";
            return Err(self.source.error(reason, None));
        }
        Ok(())
    }
}
