//! Requests for the content of an artifact.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, IF_RANGE, LOCATION,
    RANGE,
};
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use url::Url;

use super::digest::FileDigest;
use super::options::{DownloadOptions, timed_out};
use super::progress::Reporter;
use super::retries::Retries;
use super::{host, partial_file};
use crate::call::clock::ClockReading;
use crate::call::deadline::{Deadline, NoResponse, exchange};
use crate::call::{Core, clock, retry};
use crate::error::{Error, Kind, Result};
use crate::observe::trace;
use crate::transport::{Body, TransportError};
use crate::types::Artifact;

const MAX_REDIRECTS: usize = 5;
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
/// The maximum time to wait for the response's headers or for the next chunk of its body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// An artifact to download, and what its requests, errors and events need to know.
#[derive(Clone)]
pub(super) struct ArtifactSource {
    pub(super) core: Arc<Core>,
    pub(super) artifact: Artifact,
    /// The artifact's identifier or position, for messages.
    pub(super) label: String,
    pub(super) deadline: Deadline,
    pub(super) reporter: Reporter,
}

/// The bytes that an earlier attempt stored.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResumePoint<'a> {
    /// The number of bytes.
    pub(super) length: u64,
    /// The strong `ETag` of the version that they belong to.
    pub(super) etag: Option<&'a str>,
}

/// A response with the whole content, or with its rest from the resume point on.
pub(super) struct Content {
    /// The position of the first byte: 0, or the resume point.
    pub(super) start: u64,
    /// The size of the whole content, if the server announced it.
    pub(super) total: Option<u64>,
    /// The strong `ETag`.
    pub(super) etag: Option<String>,
    pub(super) content_type: Option<String>,
    pub(super) digest: Option<FileDigest>,
    pub(super) body: Body,
}

impl ArtifactSource {
    /// Creates the source of an artifact, with its index and the number of those that are downloaded
    /// together if it is one of a result.
    pub(super) fn new(
        options: &DownloadOptions,
        artifact: Artifact,
        position: Option<(usize, usize)>,
        deadline: Deadline,
    ) -> Self {
        let label = match (&artifact.id, position) {
            (Some(id), _) => format!("artifact {id}"),
            (None, Some((index, count))) => format!("artifact {} of {count}", index + 1),
            (None, None) => "the artifact".to_owned(),
        };
        let (index, count) = position.unwrap_or((0, 1));
        let reporter = Reporter {
            on_progress: options.on_progress.clone(),
            index,
            count,
            artifact_id: artifact.id.clone(),
        };
        Self { core: Arc::clone(&options.core), artifact, label, deadline, reporter }
    }

    /// Returns the artifact's URL if a request may be sent to it.
    pub(super) fn url(&self) -> Result<Url> {
        let url = match self.artifact.url.as_deref() {
            None | Some("") => return Err(self.error("the artifact has no URL", None)),
            Some(url) => Url::parse(url)
                .map_err(|error| self.error(&format!("invalid URL: {error}"), None))?,
        };
        self.check_url(&url)?;
        Ok(url)
    }

    /// Requests the content from the resume point on, if the server still has that version.
    /// `attempt` is counted from 1, for traces.
    ///
    /// Returns `None` if the response does not continue at the resume point, so that the stored bytes
    /// have to be discarded.
    pub(super) async fn request(
        &self,
        url: &Url,
        resume_point: ResumePoint<'_>,
        attempt: u32,
    ) -> Result<Option<Content>> {
        if self.deadline.has_passed() {
            return Err(self.timed_out());
        }
        let (head, body) = self.send(url, resume_point, attempt).await?.into_parts();
        let etag = strong_etag(&head.headers);
        let mut range = None;
        match head.status {
            StatusCode::OK => {}
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
                range = ContentRange::from_headers(&head.headers)
                    .filter(|range| head.status == 206 && range.start == resume_point.length);
                let is_same_version =
                    resume_point.length == 0 || (etag.is_some() && etag == resume_point.etag);
                if range.is_none() || !is_same_version {
                    return Ok(None);
                }
            }
            status => return Err(self.status_error(status, &head.headers, body).await),
        }
        self.check_content_type(&head.headers)?;
        let start = range.map_or(0, |range| range.start);
        // A server may return less than the rest of the file, so completeness is judged by the
        // total length and not by the end of the body.
        let total = match range {
            Some(range) => Some(range.total),
            None => content_length(&head.headers),
        };
        if let (Some(total), Some(size)) = (total, self.announced_size())
            && total != size
        {
            return Err(self.wrong_size(total, size));
        }
        Ok(Some(Content {
            start,
            total,
            etag: etag.map(str::to_owned),
            content_type: text_of(&head.headers, CONTENT_TYPE),
            digest: FileDigest::from_headers(head.status, &head.headers),
            body,
        }))
    }

    /// Reads the next chunk of a body, or `None` at its end.
    pub(super) async fn next_chunk(&self, body: &mut Body) -> Result<Option<Bytes>> {
        loop {
            // A server that always has a chunk ready must not hold the download beyond its time limit.
            if self.deadline.has_passed() {
                return Err(self.interrupted("timed out while reading the response"));
            }
            let chunk = self.exchange(body.frame(), "timed out while reading the response");
            let frame = match chunk.await? {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => {
                    return Err(self.error("the connection was lost", Some(error.into())));
                }
                None => return Ok(None),
            };
            if let Ok(chunk) = frame.into_data() {
                return Ok(Some(chunk));
            }
        }
    }

    /// Waits for the next part of a response. Returns an error, after which the download can be
    /// resumed on another connection, if nothing arrives in time.
    async fn exchange<F: Future>(&self, future: F, timeout: &'static str) -> Result<F::Output> {
        let began = ClockReading::now();
        let reason = match exchange(&self.deadline, READ_TIMEOUT, began, pin!(future)).await {
            Ok(output) => return Ok(output),
            Err(NoResponse::ComputerSlept) => "the computer slept",
            Err(NoResponse::TimedOut | NoResponse::DeadlinePassed) => timeout,
        };
        self.core.replace_connections(began.monotonic());
        Err(self.interrupted(reason))
    }

    /// Checks the length of what was received until the end of a response.
    pub(super) fn check_length(&self, length: u64, total: Option<u64>) -> Result<()> {
        match (total.or(self.announced_size()), total) {
            (Some(end), _) if length < end => {
                Err(self.interrupted("the response ended before the end of the file"))
            }
            (Some(end), Some(_)) if length > end => {
                Err(self.interrupted("the response is longer than announced"))
            }
            (Some(end), None) if length > end => Err(self.wrong_size(length, end)),
            _ => Ok(()),
        }
    }

    /// Returns the size that the result gives for the artifact.
    ///
    /// The specification shows no such field, so that several names are accepted.
    fn announced_size(&self) -> Option<u64> {
        const NAMES: [&str; 3] = ["size_bytes", "bytes", "size"];

        let extra = &self.artifact.extra;
        NAMES.iter().find_map(|name| extra.get(name).and_then(Value::as_u64))
    }

    fn wrong_size(&self, actual: u64, expected: u64) -> Error {
        let reason =
            format!("the file has {actual} bytes, but the result says that it has {expected}");
        self.error(&reason, None)
    }

    /// Sends the request without credentials, and follows redirects to secure URLs.
    async fn send(
        &self,
        url: &Url,
        resume_point: ResumePoint<'_>,
        attempt: u32,
    ) -> Result<Response<Body>> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = http::Request::get(url.as_str());
            if let Some(etag) = resume_point.etag.filter(|_| resume_point.length > 0) {
                request = request
                    .header(RANGE, format!("bytes={}-", resume_point.length))
                    .header(IF_RANGE, etag);
            }
            let request = request
                .body(Bytes::new())
                .map_err(|error| self.error(&format!("invalid URL: {error}"), None))?;
            trace::request_message(&request, None, None);
            let began = clock::now();
            let response = self
                .exchange(self.core.send(request), "timed out waiting for a response")
                .await
                .and_then(|response| {
                    response.map_err(|error| self.error("the request failed", Some(error.into())))
                });
            let duration = clock::now().saturating_duration_since(began);
            trace::download_request(&url, attempt, duration, response.as_ref());
            let response = response?;
            let status = response.status();
            if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
                return Ok(response);
            }
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
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

    fn check_url(&self, url: &Url) -> Result<()> {
        if !self.core.http_hosts.permits(url) {
            let reason = "unsupported URL scheme: expected https (http only for loopback addresses \
                          and allowed hosts)";
            return Err(self.error(reason, None));
        }
        if !host::is_allowed(&self.core, url) {
            let host = host::name(url);
            let reason = format!(
                "the host `{host}` has a private or loopback address; to allow it, set \
                 `allow_private_artifact_hosts` (svc: --allow-private-artifact-hosts)"
            );
            return Err(self.error(&reason, None));
        }
        Ok(())
    }

    /// Rejects an HTML page in place of media, which is usually a login or error page of a proxy.
    fn check_content_type(&self, headers: &HeaderMap) -> Result<()> {
        let actual =
            headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
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
        let snippet = match self.exchange(body, "timed out").await {
            Ok(Ok(body)) => crate::call::response::snippet(&body.to_bytes()),
            _ => String::new(),
        };
        let source = Error::new(Kind::NoEnvelope { status, snippet, retry_after });
        self.error(&format!("the server returned status {status}"), Some(source))
    }

    /// Returns an error after which the download can be resumed.
    pub(super) fn interrupted(&self, reason: &'static str) -> Error {
        self.error(reason, Some(TransportError::maybe_sent(reason).into()))
    }

    /// Pauses before the next attempt of a transfer that was interrupted at `length`, or returns the
    /// error if there is none.
    pub(super) async fn before_retry(
        &self,
        retries: &mut Retries,
        error: Error,
        length: u64,
    ) -> Result<()> {
        let Some(delay) = retries.next_delay(&error, length) else {
            return Err(if self.deadline.has_passed() { self.timed_out() } else { error });
        };
        self.reporter.retrying(&error, delay);
        self.deadline.before(clock::pause(delay)).await;
        if self.deadline.has_passed() { Err(self.timed_out()) } else { Ok(()) }
    }

    fn timed_out(&self) -> Error {
        let source = timed_out(&self.deadline);
        self.error(&source.to_string(), Some(source))
    }

    pub(super) fn error(&self, reason: &str, source: Option<Error>) -> Error {
        let url = self.artifact.url.as_deref().unwrap_or_default();
        Error::new(Kind::Download {
            artifact: self.label.clone(),
            url: Url::parse(url).ok().map(|url| redact_url(&url)),
            reason: reason.to_owned(),
            source: source.map(Box::new),
        })
    }
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    let value = headers.get(CONTENT_LENGTH)?.to_str().ok()?;
    value.trim().parse().ok()
}

/// A `Content-Range: bytes START-END/TOTAL` header.
///
/// One without a total length is not used, as it does not say whether the range is the rest of the
/// file.
#[derive(Clone, Copy)]
struct ContentRange {
    start: u64,
    total: u64,
}

impl ContentRange {
    fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
        let (start, rest) = range.trim().strip_prefix("bytes ")?.split_once('-')?;
        let (_, total) = rest.split_once('/')?;
        Some(Self { start: start.trim().parse().ok()?, total: total.trim().parse().ok()? })
    }
}

/// Returns a header that is text.
fn text_of(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// Returns the URL without the parts that may contain secrets: user info, query and fragment.
pub(super) fn redact_url(url: &Url) -> String {
    let Some(host) = url.host_str() else { return format!("{}:", url.scheme()) };
    let port = url.port().map(|port| format!(":{port}"));
    let port = port.unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

/// Returns the `ETag` unless it is weak, as `If-Range` accepts only strong validators.
fn strong_etag(headers: &HeaderMap) -> Option<&str> {
    let etag = headers.get(ETAG)?.to_str().ok()?;
    partial_file::is_strong(etag).then_some(etag)
}
