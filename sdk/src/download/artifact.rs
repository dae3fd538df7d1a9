//! The download of one artifact, with resumption after interruptions.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, IF_RANGE, LOCATION, RANGE,
};
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use url::Url;

use super::partial_file::{self, PartialFile};
use super::target::Targets;
use super::{DownloadedFile, OnProgress, Progress, TimeLimit, host};
use crate::call::base_url::is_secure;
use crate::call::retry::{self, MAX_RETRY_AFTER, RetryPolicy};
use crate::call::{Core, clock};
use crate::contract::RetryClass;
use crate::error::failure_class::{allows_retry, classify};
use crate::error::{Error, Kind, Result};
use crate::transport::{Body, TransportError};
use crate::types::Artifact;

/// The maximum number of consecutive attempts that do not get beyond the furthest byte so far.
const MAX_ATTEMPTS_WITHOUT_PROGRESS: u32 = 8;
const MAX_REDIRECTS: usize = 5;
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
/// The maximum time to wait for the response's headers or for the next chunk of its body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) struct ArtifactDownload<'a> {
    pub(super) core: &'a Core,
    pub(super) artifact: &'a Artifact,
    /// The artifact's identifier or position, for messages.
    pub(super) label: String,
    pub(super) index: usize,
    pub(super) resource_id: &'a str,
    pub(super) time_limit: TimeLimit,
    pub(super) on_progress: Option<&'a OnProgress>,
}

impl ArtifactDownload<'_> {
    /// Downloads the artifact to `target` or a name next to it, and resumes after interruptions.
    pub(super) async fn save_to(
        &self,
        target: &Path,
        targets: &mut Targets,
    ) -> Result<DownloadedFile> {
        let url = self.url()?;
        let source = format!("{} {} {}", self.resource_id, self.index, redact_url(&url));
        let mut file = PartialFile::open(target, &source).await?;
        let policy = RetryPolicy::default();
        // The length is no measure of progress: a server whose file keeps changing makes each
        // attempt start from the beginning.
        let mut furthest = file.len;
        let mut attempts_without_progress = 0;
        loop {
            if self.time_limit.has_passed() {
                file.close().await;
                return Err(self.timed_out());
            }
            let Err(error) = self.attempt(&url, &mut file).await else {
                break;
            };
            attempts_without_progress = if file.len > furthest {
                0
            } else {
                attempts_without_progress + 1
            };
            furthest = furthest.max(file.len);
            let cause = underlying_error(&error);
            let retry_after = cause.retry_after().unwrap_or_default();
            let can_retry = allows_retry(RetryClass::Safe, classify(cause))
                && attempts_without_progress < MAX_ATTEMPTS_WITHOUT_PROGRESS
                && retry_after <= MAX_RETRY_AFTER;
            if !can_retry && !self.time_limit.has_passed() {
                file.close().await;
                return Err(error);
            }
            let delay = policy
                .backoff_limit(attempts_without_progress)
                .max(retry_after);
            clock::sleep_until(self.time_limit.cap(delay)).await;
        }
        let (bytes, resumed_from) = (file.len, file.resumed_from);
        let (path, existed) = targets.store(file, target).await?;
        Ok(DownloadedFile {
            path,
            bytes,
            resumed_from,
            existed,
        })
    }

    /// Requests the missing bytes once, and succeeds if the file is complete afterwards.
    async fn attempt(&self, url: &Url, file: &mut PartialFile) -> Result<()> {
        let (head, body) = self.send(url, file).await?.into_parts();
        let etag = strong_etag(&head.headers);
        let mut range = None;
        match head.status {
            StatusCode::OK => file.restart(etag).await?,
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
                range = ContentRange::from_headers(&head.headers)
                    .filter(|range| head.status == 206 && range.start == file.len);
                if range.is_none() || !file.matches_etag(etag) {
                    // The server ignored the requested range, or the file has changed.
                    file.restart(None).await?;
                    return Err(self.interrupted("the response does not match the partial file"));
                }
                if file.len == 0 {
                    file.restart(etag).await?;
                }
            }
            status => return Err(self.status_error(status, &head.headers, body).await),
        }
        self.check_content_type(&head.headers)?;
        // A server may return less than the rest of the file, so completeness is judged by the
        // total length and not by the end of the body.
        let total = range.and_then(|range| range.total).or_else(|| {
            let length = content_length(&head.headers)?;
            Some(file.len.saturating_add(length))
        });
        self.receive(file, body, total).await?;
        match total {
            Some(total) if file.len < total => {
                Err(self.interrupted("the response ended before the end of the file"))
            }
            Some(total) if file.len > total => {
                file.restart(None).await?;
                Err(self.interrupted("the response is longer than announced"))
            }
            _ => Ok(()),
        }
    }

    /// Appends the response body to the file.
    async fn receive(
        &self,
        file: &mut PartialFile,
        mut body: Body,
        total: Option<u64>,
    ) -> Result<()> {
        loop {
            // A server that always has a chunk ready must not hold the download beyond its time limit.
            if self.time_limit.has_passed() {
                return Err(self.interrupted("timed out while reading the response"));
            }
            let deadline = self.time_limit.cap(READ_TIMEOUT);
            let frame = match clock::before(Some(deadline), body.frame()).await {
                Some(Some(Ok(frame))) => frame,
                Some(Some(Err(error))) => {
                    return Err(self.error("the connection was lost", Some(error.into())));
                }
                Some(None) => return Ok(()),
                None => return Err(self.interrupted("timed out while reading the response")),
            };
            let Ok(chunk) = frame.into_data() else {
                continue;
            };
            file.write(&chunk).await?;
            if let Some(on_progress) = self.on_progress {
                on_progress(Progress {
                    index: self.index,
                    bytes: file.len,
                    total,
                });
            }
        }
    }

    /// Sends the request without credentials, and follows redirects to secure URLs.
    async fn send(&self, url: &Url, file: &PartialFile) -> Result<Response<Body>> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = http::Request::get(url.as_str());
            if let Some(etag) = file.etag.as_ref().filter(|_| file.len > 0) {
                request = request
                    .header(RANGE, format!("bytes={}-", file.len))
                    .header(IF_RANGE, etag);
            }
            let request = request
                .body(Bytes::new())
                .map_err(|error| self.error(&format!("invalid URL: {error}"), None))?;
            let deadline = self.time_limit.cap(READ_TIMEOUT);
            let response =
                match clock::before(Some(deadline), self.core.transport.send(request)).await {
                    Some(Ok(response)) => response,
                    Some(Err(error)) => {
                        return Err(self.error("the request failed", Some(error.into())));
                    }
                    None => return Err(self.interrupted("timed out waiting for a response")),
                };
            let status = response.status();
            if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
                return Ok(response);
            }
            let location = response
                .headers()
                .get(LOCATION)
                .and_then(|value| value.to_str().ok());
            let next = location.and_then(|location| url.join(location).ok());
            let Some(next) = next else {
                return Err(self.error("the redirect has no valid URL", None));
            };
            // A redirect from https to a loopback address could make this program send requests to
            // local services on behalf of the server.
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(self.error("the redirect leads from https to another scheme", None));
            }
            self.check_url(&next)?;
            url = next;
        }
        Err(self.error("too many redirects", None))
    }

    /// Returns the artifact's URL if a request may be sent to it.
    fn url(&self) -> Result<Url> {
        let url = match self.artifact.url.as_deref() {
            None | Some("") => return Err(self.error("the artifact has no URL", None)),
            Some(url) => Url::parse(url)
                .map_err(|error| self.error(&format!("invalid URL: {error}"), None))?,
        };
        self.check_url(&url)?;
        Ok(url)
    }

    fn check_url(&self, url: &Url) -> Result<()> {
        if !is_secure(url) {
            let reason = "the URL uses neither https nor http with a loopback address";
            return Err(self.error(reason, None));
        }
        if !host::is_allowed(self.core, url) {
            let host = host::name(url);
            let reason = format!(
                "the host `{host}` is a loopback or private address, which the client does not allow"
            );
            return Err(self.error(&reason, None));
        }
        Ok(())
    }

    /// Rejects an HTML page in place of media, which is usually a login or error page of a proxy.
    fn check_content_type(&self, headers: &HeaderMap) -> Result<()> {
        let actual = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let expected = self.artifact.content_type.as_deref().unwrap_or_default();
        if actual.starts_with("text/html")
            && !expected.is_empty()
            && !expected.starts_with("text/html")
        {
            let reason = format!("expected {expected}, but received an HTML page");
            return Err(self.error(&reason, None));
        }
        Ok(())
    }

    async fn status_error(&self, status: StatusCode, headers: &HeaderMap, body: Body) -> Error {
        let status = status.as_u16();
        let retry_after = retry::retry_after(headers, clock::wall());
        let body = http_body_util::Limited::new(body, MAX_ERROR_BODY_BYTES).collect();
        let snippet = match clock::before(Some(self.time_limit.cap(READ_TIMEOUT)), body).await {
            Some(Ok(body)) => crate::call::response::snippet(&body.to_bytes()),
            _ => String::new(),
        };
        let source = Error::new(Kind::NoEnvelope {
            status,
            snippet,
            retry_after,
        });
        self.error(
            &format!("the server returned status {status}"),
            Some(source),
        )
    }

    /// Returns an error after which the download can be resumed.
    fn interrupted(&self, reason: &'static str) -> Error {
        self.error(reason, Some(TransportError::maybe_sent(reason).into()))
    }

    fn timed_out(&self) -> Error {
        let source = self.time_limit.error();
        self.error(&source.to_string(), Some(source))
    }

    fn error(&self, reason: &str, source: Option<Error>) -> Error {
        let url = self.artifact.url.as_deref().unwrap_or_default();
        Error::new(Kind::Download {
            artifact: self.label.clone(),
            url: Url::parse(url).ok().map(|url| redact_url(&url)),
            reason: reason.to_owned(),
            source: source.map(Box::new),
        })
    }
}

/// Returns the error that decides whether a download can be retried.
fn underlying_error(error: &Error) -> &Error {
    match error.kind() {
        Kind::Download {
            source: Some(source),
            ..
        } => source,
        _ => error,
    }
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    let value = headers.get(CONTENT_LENGTH)?.to_str().ok()?;
    value.trim().parse().ok()
}

/// A `Content-Range: bytes START-END/TOTAL` header.
#[derive(Clone, Copy)]
struct ContentRange {
    start: u64,
    total: Option<u64>,
}

impl ContentRange {
    fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
        let (start, rest) = range.trim().strip_prefix("bytes ")?.split_once('-')?;
        let total = rest.split_once('/').map(|(_, total)| total.trim());
        Some(Self {
            start: start.trim().parse().ok()?,
            total: total.and_then(|total| total.parse().ok()),
        })
    }
}

/// Returns the URL without the parts that may contain secrets: user info, query and fragment.
fn redact_url(url: &Url) -> String {
    let Some(host) = url.host_str() else {
        return format!("{}:", url.scheme());
    };
    let port = url.port().map(|port| format!(":{port}"));
    let port = port.unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

/// Returns the `ETag` unless it is weak, as `If-Range` accepts only strong validators.
fn strong_etag(headers: &HeaderMap) -> Option<&str> {
    let etag = headers.get(ETAG)?.to_str().ok()?;
    partial_file::is_strong(etag).then_some(etag)
}
