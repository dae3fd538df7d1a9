//! Logs: what `-v` and `SVC_LOG` show of the SDK's requests, and how a line looks.

use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};

use crate::clock::{self, format_duration};
use crate::error::{Failure, Result};
use crate::output::messages::Messages;
use crate::text::sanitize;

pub(crate) const LOG_VARIABLE: &str = "SVC_LOG";
pub(super) const MIN_SHOWN_PAUSE: Duration = Duration::from_secs(2);
/// The shortest pause that a person at a terminal is told of once.
const MIN_NOTED_PAUSE: Duration = Duration::from_secs(1);
const RETRY: &str = "svc_sdk::retry";
const RATE_LIMIT: &str = "svc_sdk::rate_limit";

#[derive(Clone, Debug)]
pub(crate) struct LogFilter(Targets);

impl LogFilter {
    pub(crate) fn new(verbose: u8, variable: Option<&str>) -> Result<Option<Self>> {
        let level = match (verbose, variable) {
            (0, None) => return Ok(None),
            (0, Some(text)) => match text.parse::<LevelFilter>() {
                Ok(level) => level,
                Err(_) => return Self::parse(text).map(Some),
            },
            (1, _) => LevelFilter::INFO,
            (2, _) => LevelFilter::DEBUG,
            (_, _) => LevelFilter::TRACE,
        };
        // A level alone is that of the service's requests, not of all libraries.
        Ok(Some(Self(Targets::new().with_target("svc_sdk", level))))
    }

    fn parse(text: &str) -> Result<Self> {
        let targets = text.parse().map_err(|_| {
            Failure::usage(format!(
                "invalid {LOG_VARIABLE} `{text}`: expected a level (error, warn, info, debug, trace), or a filter such as svc_sdk=debug"
            ))
        })?;
        Ok(Self(targets))
    }

    fn is_enabled(&self, metadata: &Metadata<'_>) -> bool {
        let level = shown_level(metadata);
        self.0.would_enable(metadata.target(), &level)
    }
}

/// A library is quieter than a command that was asked to show its requests.
fn shown_level(metadata: &Metadata<'_>) -> Level {
    match metadata.target() {
        "svc_sdk::attempt" => Level::INFO,
        "svc_sdk::headers" => Level::DEBUG,
        _ => *metadata.level(),
    }
}

pub(super) fn start(
    filter: Option<LogFilter>,
    shows_pauses: bool,
    shows_progress: bool,
    messages: Arc<Messages>,
) {
    if filter.is_none() && !shows_pauses {
        return;
    }
    let logger = Logger {
        filter,
        shows_pauses,
        messages,
        limited_until: Mutex::default(),
        has_noted_retry: AtomicBool::new(!shows_progress),
    };
    // The only other subscriber could be one of a test in the same process.
    let _ = tracing::subscriber::set_global_default(logger);
}

struct Logger {
    filter: Option<LogFilter>,
    shows_pauses: bool,
    messages: Arc<Messages>,
    /// The end of the pause for the rate limit that was shown last. Requests pause for it together.
    limited_until: Mutex<Option<Instant>>,
    /// Whether no more short pause before a retry is shown.
    has_noted_retry: AtomicBool,
}

impl Logger {
    /// Whether this is the first retry for which a person at a terminal waits noticeably. With a progress bar,
    /// none is: the bar says so itself.
    fn is_first_noticed_retry(&self, line: &LogLine) -> bool {
        line.metadata.target() == RETRY
            && line.delay().is_some_and(|delay| delay >= MIN_NOTED_PAUSE)
            && !self.messages.has_bars()
            && !self.has_noted_retry.swap(true, Ordering::Relaxed)
    }

    fn is_new_pause(&self, line: &LogLine) -> bool {
        let delay = line.delay().unwrap_or_default();
        if delay < MIN_SHOWN_PAUSE || line.metadata.target() != RATE_LIMIT {
            return delay >= MIN_SHOWN_PAUSE;
        }
        let now = clock::monotonic();
        let mut until = self.limited_until.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = until.is_none_or(|until| now >= until);
        if is_new {
            *until = now.checked_add(delay);
        }
        is_new
    }

    fn is_logged(&self, metadata: &Metadata<'_>) -> bool {
        self.filter.as_ref().is_some_and(|filter| filter.is_enabled(metadata))
    }
}

impl Subscriber for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // The events name what the spans do.
        !metadata.is_span()
            && (self.is_logged(metadata)
                || (self.shows_pauses && [RETRY, RATE_LIMIT].contains(&metadata.target())))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(match self.filter {
            Some(_) => LevelFilter::TRACE,
            None => LevelFilter::DEBUG,
        })
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let line = LogLine::of(event);
        // A gateway without a service behind it is named after its first answer.
        let is_first_502 = line.get("http.response.status_code") == Some("502")
            && line.get("svc.attempt") == Some("2");
        let is_shown = self.is_logged(metadata)
            || self.is_new_pause(&line)
            || (is_first_502 && line.delay().is_some())
            || self.is_first_noticed_retry(&line);
        if is_shown {
            self.messages.write_line(&line.to_string());
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        // Spans are not enabled. An id must not be zero.
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Debug)]
pub(super) struct LogLine {
    metadata: &'static Metadata<'static>,
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl LogLine {
    pub(super) fn of(event: &Event<'_>) -> Self {
        let mut line =
            Self { metadata: event.metadata(), message: String::new(), fields: Vec::new() };
        event.record(&mut line);
        line
    }

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
        write!(f, "{} {}", self.text("http.request.method"), sanitize(target.unwrap_or("/")))?;
        let status = self.get("http.response.status_code");
        if let Some(status) = status {
            write!(f, " {status}")?;
        }
        if let Some(error) = self.get("error.type").filter(|error| Some(*error) != status) {
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
        let delay = self.delay_text();
        let (attempt, max) = (self.text("svc.attempt"), self.text("svc.max_attempts"));
        write!(f, ", retrying in {delay} (attempt {attempt} of {max})")
    }

    fn delay_text(&self) -> String {
        let delay = self.delay().unwrap_or_default();
        match delay.as_secs() {
            0 => format!("{} ms", delay.as_millis()),
            _ => format_duration(delay),
        }
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
        let mark = if self.message.starts_with("response") { '<' } else { '>' };
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
        self.fields.iter().try_for_each(|(name, value)| write!(f, " {name}={}", sanitize(value)))
    }

    fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }
}

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
            RETRY => self.write_retry(f),
            RATE_LIMIT => write!(f, "rate limit reached, waiting {}", self.delay_text()),
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
