//! The text of a log line.

use std::fmt::{self, Write as _};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::{Event, Metadata};

use crate::clock::format_duration;
use crate::text::sanitize;

/// An event with its fields.
#[derive(Debug)]
pub(super) struct LogLine {
    metadata: &'static Metadata<'static>,
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl LogLine {
    pub(super) fn of(event: &Event<'_>) -> Self {
        let mut line = Self {
            metadata: event.metadata(),
            message: String::new(),
            fields: Vec::new(),
        };
        event.record(&mut line);
        line
    }

    /// Returns the pause that the event announces.
    pub(super) fn delay(&self) -> Option<Duration> {
        let delay = self.get("svc.delay_ms")?.parse().ok()?;
        Some(Duration::from_millis(delay))
    }

    fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.fields.iter().find(|(field, _)| *field == name)?;
        Some(value)
    }

    /// `GET /v1/jobs 200 in 12 ms (attempt 1, request req_1)`
    fn write_attempt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.get("url.path").or_else(|| self.get("url.full"));
        write!(
            f,
            "{} {}",
            self.text("http.request.method"),
            sanitize(target.unwrap_or("/"))
        )?;
        let status = self.get("http.response.status_code");
        if let Some(status) = status {
            write!(f, " {status}")?;
        }
        if let Some(error) = self
            .get("error.type")
            .filter(|error| Some(*error) != status)
        {
            write!(f, " {error}")?;
        }
        let duration = self.get("svc.duration_ms").unwrap_or("?");
        write!(f, " in {duration} ms (attempt {}", self.text("svc.attempt"))?;
        if let Some(id) = self.get("svc.request_id") {
            write!(f, ", request {}", sanitize(id))?;
        }
        f.write_char(')')
    }

    /// `service busy (503 database_busy), retrying in 10 s (attempt 2 of 6)`
    fn write_retry(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&retry_reason(
            self.get("http.response.status_code"),
            self.get("error.type"),
            self.get("svc.error_code"),
        ))?;
        let delay = self.delay().unwrap_or_default();
        let delay = match delay.as_secs() {
            0 => format!("{} ms", delay.as_millis()),
            _ => format_duration(delay),
        };
        let (attempt, max) = (self.text("svc.attempt"), self.text("svc.max_attempts"));
        write!(f, ", retrying in {delay} (attempt {attempt} of {max})")
    }

    /// `> GET https://host/path` and a line for each header, or `< 200` and those of the response.
    fn write_headers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.get("http.response.status_code") {
            Some(status) => {
                write!(f, "< {status}")?;
                '<'
            }
            None => {
                let url = sanitize(self.text("url.full"));
                write!(f, "> {} {url}", self.text("http.request.method"))?;
                '>'
            }
        };
        self.text("svc.headers")
            .lines()
            .try_for_each(|line| write!(f, "\n{mark} {}", sanitize(line)))
    }

    fn write_body(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.message.starts_with("response") {
            true => '<',
            false => '>',
        };
        let mut separator = "";
        for line in self.text("svc.body").lines() {
            write!(f, "{separator}{mark} {}", sanitize(line))?;
            separator = "\n";
        }
        Ok(())
    }

    /// `DEBUG rmcp::service: message name=value`
    fn write_fields(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (level, target) = (self.metadata.level(), self.metadata.target());
        write!(f, "{level} {target}: {}", sanitize(&self.message))?;
        self.fields
            .iter()
            .try_for_each(|(name, value)| write!(f, " {name}={}", sanitize(value)))
    }

    fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }
}

/// Returns why a request is repeated: `service busy (503 database_busy)`.
pub(super) fn retry_reason(
    status: Option<&str>,
    error_type: Option<&str>,
    code: Option<&str>,
) -> String {
    let reason = match (status, error_type) {
        (Some("503"), _) => "service busy",
        (Some("429"), _) => "rate limited",
        (Some("502"), _) => "bad gateway",
        (_, Some("invalid_response")) => "unreadable response",
        (Some(_), _) => "service error",
        (None, Some("timeout")) => "no response in time",
        (None, Some("connection_failed")) => "cannot connect",
        (None, _) => "connection lost",
    };
    let code = code.map(|code| format!(" {}", sanitize(code)));
    match status {
        Some(status) => format!("{reason} ({status}{})", code.unwrap_or_default()),
        None => reason.to_owned(),
    }
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.metadata.target() {
            "svc_sdk::attempt" => self.write_attempt(f),
            "svc_sdk::retry" => self.write_retry(f),
            "svc_sdk::headers" => self.write_headers(f),
            "svc_sdk::body" => self.write_body(f),
            _ => self.write_fields(f),
        }
    }
}

impl Visit for LogLine {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            name => self.fields.push((name, value.to_owned())),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
