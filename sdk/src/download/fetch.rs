//! One artifact, from its URL to its file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, IF_RANGE, LOCATION, RANGE,
};
use http_body_util::BodyExt;
use url::Url;

use super::part::Part;
use super::{Downloaded, OnProgress, Progress};
use crate::call::clock;
use crate::call::origin::is_secure;
use crate::call::retry::{self, LONGEST_WAIT, RetryPolicy};
use crate::contract::RetryClass;
use crate::error::{Error, Kind, Result};
use crate::transport::{Body, Transport, TransportError};
use crate::types::Artifact;

/// Attempts that bring not one byte, in a row.
const FRUITLESS: u32 = 8;
const REDIRECTS: usize = 5;
/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(30);

pub(super) struct Fetch<'a> {
    pub(super) transport: Arc<dyn Transport>,
    pub(super) artifact: &'a Artifact,
    pub(super) index: usize,
    pub(super) on_progress: Option<&'a OnProgress>,
}

impl Fetch<'_> {
    /// Streams the artifact to its file, going on after every interruption.
    pub(super) async fn to_file(&self, target: &Path) -> Result<Downloaded> {
        let mut part = Part::open(target).await?;
        let resumed_from = part.written;
        let policy = RetryPolicy::default();
        let mut fruitless = 0;
        loop {
            let before = part.written;
            let Err(error) = self.go_on(&mut part).await else {
                break;
            };
            part.keep().await?;
            fruitless = if part.written > before {
                0
            } else {
                fruitless + 1
            };
            let cause = cause(&error);
            let hint = cause.retry_after().unwrap_or_default();
            let passing = retry::allows(RetryClass::Safe, retry::proof(cause));
            if !passing || fruitless >= FRUITLESS || hint > LONGEST_WAIT {
                part.leave().await;
                return Err(error);
            }
            clock::sleep(policy.ceiling(fruitless).max(hint)).await;
        }
        let bytes = part.written;
        part.finish(target).await?;
        Ok(Downloaded {
            path: target.to_owned(),
            bytes,
            resumed_from: resumed_from.min(bytes),
        })
    }

    /// One request, for what is missing; succeeds when nothing is.
    async fn go_on(&self, part: &mut Part) -> Result<()> {
        let (head, mut body) = self.request(part).await?.into_parts();
        let status = head.status.as_u16();
        let range = ContentRange::read(&head.headers).filter(|_| status == 206);
        match status {
            200 => part.restart(strong_etag(&head.headers)).await?,
            206 if range.is_some_and(|range| range.first == part.written)
                && part.is_of(strong_etag(&head.headers)) =>
            {
                if part.written == 0 {
                    part.restart(strong_etag(&head.headers)).await?;
                }
            }
            206 | 416 => {
                // Not the part that was asked for, or the file has become shorter: all of it again.
                part.restart(None).await?;
                return Err(self.cut_off("the server's part does not fit what is here"));
            }
            _ => return Err(self.refused(status, &head.headers, body).await),
        }
        self.check_type(&head.headers)?;
        // A part may end before the file does: the length of the whole is what must be reached.
        let total = range.and_then(|range| range.complete).or_else(|| {
            let length = number(&head.headers, CONTENT_LENGTH.as_str())?;
            Some(part.written.saturating_add(length))
        });
        loop {
            let frame = match clock::before(Some(clock::now() + SILENCE), body.frame()).await {
                Some(Some(Ok(frame))) => frame,
                Some(Some(Err(error))) => {
                    return Err(self.failed("the connection broke", Some(error.into())));
                }
                Some(None) => break,
                None => return Err(self.cut_off("the server fell silent")),
            };
            if let Ok(piece) = frame.into_data() {
                part.write(&piece).await?;
                if let Some(tell) = self.on_progress {
                    tell(Progress {
                        index: self.index,
                        bytes: part.written,
                        total,
                    });
                }
            }
        }
        match total {
            Some(total) if part.written < total => Err(self.cut_off("the file ended early")),
            Some(total) if part.written > total => {
                part.restart(None).await?;
                Err(self.cut_off("the file is longer than announced"))
            }
            _ => Ok(()),
        }
    }

    /// Sends the request, without any credential, and follows redirects to secure URLs.
    async fn request(&self, part: &Part) -> Result<http::Response<Body>> {
        let mut url = self.secure(Url::parse(&self.artifact.url).ok())?;
        for _ in 0..=REDIRECTS {
            let mut request = http::Request::get(url.as_str());
            if let Some(version) = part.version.as_ref().filter(|_| part.written > 0) {
                request = request
                    .header(RANGE, format!("bytes={}-", part.written))
                    .header(IF_RANGE, version);
            }
            let request = request.body(Bytes::new()).map_err(|error| {
                self.failed(&format!("its URL cannot be requested: {error}"), None)
            })?;
            let patience = clock::now() + SILENCE;
            let response = match clock::before(Some(patience), self.transport.send(request)).await {
                Some(Ok(response)) => response,
                Some(Err(error)) => return Err(self.failed("no answer", Some(error.into()))),
                None => return Err(self.cut_off("the server is silent")),
            };
            if !response.status().is_redirection() || response.status().as_u16() == 304 {
                return Ok(response);
            }
            let location = response
                .headers()
                .get(LOCATION)
                .and_then(|value| value.to_str().ok());
            let next = location.and_then(|location| url.join(location).ok());
            // From the net back to this machine leads no honest redirect.
            let next = next.filter(|next| next.scheme() == "https" || url.scheme() == "http");
            url = self.secure(next)?;
        }
        Err(self.failed("too many redirects", None))
    }

    fn secure(&self, url: Option<Url>) -> Result<Url> {
        url.filter(is_secure)
            .ok_or_else(|| self.failed("neither an https URL nor plain http on this machine", None))
    }

    /// A page where a picture should be is a proxy's, or an error's.
    fn check_type(&self, headers: &HeaderMap) -> Result<()> {
        let announced = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let expected = self.artifact.content_type.as_deref().unwrap_or_default();
        if announced.starts_with("text/html")
            && !expected.is_empty()
            && !expected.starts_with("text/html")
        {
            return Err(self.failed(
                &format!("an HTML page came where {expected} was promised"),
                None,
            ));
        }
        Ok(())
    }

    async fn refused(&self, status: u16, headers: &HeaderMap, body: Body) -> Error {
        let retry_after = retry::retry_after(headers, clock::wall());
        let start = http_body_util::Limited::new(body, 64 * 1024).collect();
        let snippet = match clock::before(Some(clock::now() + SILENCE), start).await {
            Some(Ok(body)) => crate::call::decode::snippet(&body.to_bytes()),
            _ => String::new(),
        };
        let source = Error::new(Kind::NoEnvelope {
            status,
            snippet,
            retry_after,
        });
        self.failed(&format!("the server answered {status}"), Some(source))
    }

    fn cut_off(&self, reason: &'static str) -> Error {
        self.failed(reason, Some(TransportError::maybe_sent(reason).into()))
    }

    fn failed(&self, reason: &str, source: Option<Error>) -> Error {
        Error::new(Kind::Download {
            url: shown(&self.artifact.url),
            reason: reason.to_owned(),
            source: source.map(Box::new),
        })
    }
}

fn cause(error: &Error) -> &Error {
    match error.kind() {
        Kind::Download {
            source: Some(source),
            ..
        } => source,
        _ => error,
    }
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// A `Content-Range: bytes FIRST-LAST/COMPLETE`.
#[derive(Clone, Copy)]
struct ContentRange {
    first: u64,
    complete: Option<u64>,
}

impl ContentRange {
    fn read(headers: &HeaderMap) -> Option<Self> {
        let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
        let (first, rest) = range.trim().strip_prefix("bytes ")?.split_once('-')?;
        let complete = rest.split_once('/').map(|(_, complete)| complete.trim());
        Some(Self {
            first: first.trim().parse().ok()?,
            complete: complete.and_then(|complete| complete.parse().ok()),
        })
    }
}

/// The URL without what may be a secret in it: a signature, a password.
fn shown(url: &str) -> String {
    match Url::parse(url) {
        Ok(url) if url.has_host() => {
            let host = url.host_str().unwrap_or_default();
            let port = url.port().map(|port| format!(":{port}"));
            let port = port.unwrap_or_default();
            format!("{}://{host}{port}{}", url.scheme(), url.path())
        }
        _ => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
    }
}

/// `If-Range` takes strong validators only.
fn strong_etag(headers: &HeaderMap) -> Option<&str> {
    headers
        .get(ETAG)?
        .to_str()
        .ok()
        .filter(|etag| etag.starts_with('"'))
}
