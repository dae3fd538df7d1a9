//! The message of an error: one line, which the service cannot forge.

use std::fmt;

use super::{Error, ErrorKind, Kind, ResourceRef};
use crate::contract::QueueStatus;
use crate::observe::redact::redact_urls_and_signing_secrets;
use crate::transport::TransportError;
use crate::types::ErrorBody;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = String::new();
        self.write(&mut line)?;
        f.write_str(&one_line(&line))
    }
}

impl Error {
    /// Writes the message, with the service's text as it is.
    fn write(&self, f: &mut impl fmt::Write) -> fmt::Result {
        if let Some(operation) = self.inner.operation {
            write!(f, "{operation}: ")?;
        }
        match self.variant() {
            Kind::Configuration(reason) => f.write_str(reason),
            Kind::KeyProvider { .. } => f.write_str("the API key could not be read"),
            Kind::Invalid(field) => write!(f, "{field}"),
            Kind::Schema(error) => write!(f, "{error}"),
            Kind::Transport(error) => self.write_transport_error(f, error),
            Kind::Api { status, body, .. } => {
                write!(f, "{} ({status} {})", shorten(&body.message), body.code)
            }
            Kind::NoEnvelope { status, snippet, .. } => {
                if let Some(title) = web_page_title(snippet) {
                    return self.write_web_page(f, *status, title);
                }
                let body = quote(snippet);
                write!(f, "unexpected response with status {status}: {body}")
            }
            Kind::NotJson { status, snippet } => {
                if let Some(title) = web_page_title(snippet) {
                    return self.write_web_page(f, *status, title);
                }
                let body = quote(snippet);
                write!(f, "the body of the response with status {status} is not JSON: {body}")
            }
            Kind::Decode { status, path, reason, snippet } => {
                let body = quote(snippet);
                write!(
                    f,
                    "cannot decode the response with status {status}, at {path}: {reason}: {body}"
                )
            }
            Kind::Journal(error) => write!(f, "{error}"),
            Kind::RepeatedCursor { cursor } => {
                write!(f, "the page after cursor `{cursor}` names the same cursor as the next")
            }
            Kind::RateLimitExhausted { retry_after } => {
                let seconds = retry_after.as_secs() + 1;
                write!(f, "the key's rate limit is used up; retry in {seconds} s")
            }
            Kind::Timeout { timeout, .. } => {
                write!(f, "timed out after {} s", timeout.as_secs_f32())
            }
            Kind::JobEnded { status, body } => {
                self.write_ended(f, status.as_str(), body.as_deref())
            }
            Kind::RunEnded { receipt } => {
                self.write_ended(f, receipt.status.as_str(), receipt.error.as_ref())
            }
            Kind::TopUpEnded { status } => {
                self.write_ended(f, status, None)?;
                match self.kind() {
                    ErrorKind::TopUpEnded => f.write_str("; nothing was charged"),
                    _ => Ok(()),
                }
            }
            Kind::QueueEnded { queue } => {
                let status = queue.status.as_ref().map(QueueStatus::as_str);
                self.write_ended(f, status.unwrap_or_default(), None)
            }
            Kind::NotFinished { status } => {
                let noun = self.noun();
                write!(f, "the {noun} has no result yet: its status is {status}")
            }
            Kind::WaitTimeout { timeout, last_poll } => {
                let seconds = timeout.as_secs();
                self.write_resource(f)?;
                write!(f, " has not ended after {seconds} s; ")?;
                f.write_str(match last_poll {
                    Some(_) => "its status could not be read",
                    None => "it is still in progress",
                })
            }
            Kind::PollFailed { .. } => {
                f.write_str("cannot read the status of ")?;
                self.write_resource(f)?;
                f.write_str(", which may still be in progress")
            }
            Kind::Download { artifact, url, reason, .. } => {
                write!(f, "cannot download {artifact}")?;
                if let Some(url) = url {
                    write!(f, " ({url})")?;
                }
                write!(f, ": {reason}")
            }
            Kind::IncompleteDownload { files, errors } => {
                for (index, error) in errors.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    write!(f, "{separator}{error}")?;
                }
                match files.len() {
                    0 => Ok(()),
                    1 => f.write_str(" (1 other file was downloaded)"),
                    count => write!(f, " ({count} other files were downloaded)"),
                }
            }
            Kind::File { path, .. } => write!(f, "cannot write {}", path.display()),
            Kind::Write { .. } => f.write_str("cannot write the downloaded content"),
        }
    }

    /// Writes how far a request got, with the URL of the server.
    fn write_transport_error(
        &self,
        f: &mut impl fmt::Write,
        error: &TransportError,
    ) -> fmt::Result {
        match &self.inner.base_url {
            Some(url) if error.is_setup() => {
                write!(f, "the connection to {url} could not be set up")
            }
            Some(url) if error.may_have_been_sent() => write!(
                f,
                "the connection to {url} failed before the complete response was received"
            ),
            Some(url) => write!(f, "could not connect to {url}"),
            None => write!(f, "{error}"),
        }
    }

    /// Writes that the response was a web page, and not one of the API.
    fn write_web_page(&self, f: &mut impl fmt::Write, status: u16, title: &str) -> fmt::Result {
        let server = self.inner.base_url.as_deref().unwrap_or("the server");
        write!(f, "{server} answered with a web page instead of the API (status {status})")?;
        write!(f, ": {}", quote(title))
    }

    /// Writes how the resource ended, and why.
    fn write_ended(
        &self,
        f: &mut impl fmt::Write,
        status: &str,
        body: Option<&ErrorBody>,
    ) -> fmt::Result {
        self.write_resource(f)?;
        match status {
            "failed" | "expired" => write!(f, " {status}")?,
            "canceled" | "skipped" => write!(f, " was {status}")?,
            "" => f.write_str(" ended without a status")?,
            status => write!(f, " ended with status {status}")?,
        }
        match body {
            Some(body) if body.code.as_str().is_empty() => {
                write!(f, ": {}", shorten(&body.message))
            }
            Some(body) => write!(f, ": {} ({})", shorten(&body.message), body.code),
            None => Ok(()),
        }
    }

    /// Writes the resource with its id, such as `job job_123`.
    fn write_resource(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let noun = self.noun();
        match &self.inner.resource {
            Some(ResourceRef::Job(id, _)) => write!(f, "{noun} {id}"),
            Some(ResourceRef::Run(id, _)) => write!(f, "{noun} {id}"),
            Some(ResourceRef::Queue(id)) => write!(f, "{noun} {id}"),
            Some(ResourceRef::TopUp(id)) => write!(f, "{noun} {id}"),
            None => write!(f, "the {noun}"),
        }
    }

    fn noun(&self) -> &'static str {
        match (&self.inner.resource, self.variant()) {
            (Some(ResourceRef::Run(..)), _) | (None, Kind::RunEnded { .. }) => "run",
            (Some(ResourceRef::Queue(_)), _) | (None, Kind::QueueEnded { .. }) => "queue",
            (Some(ResourceRef::TopUp(_)), _) | (None, Kind::TopUpEnded { .. }) => "top-up",
            (Some(ResourceRef::Job(..)) | None, _) => "job",
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.inner.kind)
            .field("operation", &self.inner.operation)
            .field("request_id", &self.inner.request_id)
            .field("idempotency_key", &self.inner.idempotency_key)
            .field("resource", &self.inner.resource)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.variant() {
            Kind::Transport(error) => std::error::Error::source(error),
            Kind::KeyProvider { source } => Some(source.as_ref()),
            Kind::Journal(error) => std::error::Error::source(error),
            Kind::Timeout { last: Some(last), .. } => Some(last.as_ref()),
            Kind::WaitTimeout { last_poll: Some(last), .. } => Some(last.as_ref()),
            Kind::PollFailed { source } => Some(source.as_ref()),
            Kind::Download { source: Some(source), .. } => Some(source.as_ref()),
            // The message contains the errors, so that what is behind a single one comes next.
            Kind::IncompleteDownload { errors, .. } => match errors.as_slice() {
                [error] => error.source(),
                _ => None,
            },
            Kind::File { source, .. } | Kind::Write { source } => Some(source),
            _ => None,
        }
    }
}

/// Puts text on one line, so that the service can neither forge lines of a log nor reverse one.
fn one_line(text: &str) -> String {
    let is_hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if is_hostile(c) { ' ' } else { c }).collect()
}

/// Shortens a message to what a person reads; the error's body has all of it.
fn shorten(message: &str) -> std::borrow::Cow<'_, str> {
    match message.char_indices().nth(1_000) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()).into(),
        None => message.into(),
    }
}

/// Quotes the start of a body, without the queries of signed URLs.
fn quote(snippet: &str) -> String {
    if snippet.is_empty() {
        "(empty)".to_owned()
    } else {
        let shown = redact_urls_and_signing_secrets(snippet);
        format!("{:?}", shown.chars().take(80).collect::<String>())
    }
}

/// Returns whether the beginning of a body is that of an HTML page.
pub(super) fn is_web_page(snippet: &str) -> bool {
    let lower = snippet.trim_start().to_ascii_lowercase();
    lower.starts_with("<!doctype html") || lower.starts_with("<html")
}

/// Returns the title of an HTML page, or the page if it has none.
fn web_page_title(snippet: &str) -> Option<&str> {
    let page = Some(snippet.trim_start()).filter(|page| is_web_page(page))?;
    let title = page.to_ascii_lowercase().find("<title>").and_then(|start| {
        let rest = page.get(start + "<title>".len()..)?;
        rest.split('<').next().map(str::trim)
    });
    Some(title.unwrap_or(page))
}

#[cfg(test)]
mod tests {
    use super::super::tests::api;
    use super::*;

    #[test]
    fn a_page_of_a_proxy_is_named_by_its_title() {
        let message = |snippet: &str| {
            let error = Error::new(Kind::NoEnvelope {
                status: 502,
                snippet: snippet.to_owned(),
                retry_after: None,
            });
            error.to_string()
        };
        assert_eq!(
            message("<!DOCTYPE html>\n<html><head><TITLE> 502 Bad Gateway</TITLE></head>"),
            "the server answered with a web page instead of the API (status 502): \"502 Bad Gateway\""
        );
        assert_eq!(
            message("<html>busy</html>"),
            "the server answered with a web page instead of the API (status 502): \"<html>busy</html>\""
        );
        assert_eq!(
            message("{\"busy\": 1}"),
            "unexpected response with status 502: \"{\\\"busy\\\": 1}\""
        );
    }

    #[test]
    fn no_part_of_the_message_can_forge_a_line() {
        let body = serde_json::json!({"code": "odd", "message": "bad\nERROR\u{1b}[2J"});
        assert_eq!(api(400, body).to_string(), "bad ERROR [2J (400 odd)");
        let hostile = "x\nERROR\u{1b}[2J\u{202e}\u{2028}";
        let body = serde_json::json!({"code": hostile, "message": "m".repeat(1_000_000)});
        let ended = Error::new(Kind::JobEnded { status: hostile.into(), body: None });
        let download = Error::new(Kind::Download {
            artifact: hostile.into(),
            url: Some(hostile.into()),
            reason: "no".into(),
            source: None,
        });
        let top_up = Error::new(Kind::TopUpEnded { status: hostile.into() });
        for error in [
            api(400, body.clone()),
            api(400, serde_json::json!({"code": hostile})),
            ended.with_resource(ResourceRef::Job(hostile.into(), None)),
            download,
            top_up,
        ] {
            let line = error.to_string();
            assert!(!line.contains(['\n', '\u{1b}', '\u{202e}', '\u{2028}']), "{line:?}");
            assert!(line.len() < 2_000);
        }
    }
}
