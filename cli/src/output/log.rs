//! Logs: what `-v` and `SVC_LOG` show of the SDK's requests, and the pauses before retries.

use std::sync::Arc;
use std::time::Duration;

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};

use super::log_line::LogLine;
use super::messages::Messages;
use crate::error::Failure;

/// The variable that holds a log filter.
pub(crate) const LOG_VARIABLE: &str = "SVC_LOG";
/// The shortest pause before a retry that is shown without `-v`.
pub(super) const MIN_SHOWN_PAUSE: Duration = Duration::from_secs(2);
const RETRY: &str = "svc_sdk::retry";

/// Which events are logged.
#[derive(Clone, Debug)]
pub(crate) struct LogFilter(Targets);

impl LogFilter {
    /// Returns the filter of `-v`, which overrides the variable `SVC_LOG`.
    ///
    /// # Errors
    ///
    /// Returns an error if the variable is not a valid filter.
    pub(crate) fn new(verbose: u8, variable: Option<&str>) -> Result<Option<Self>, Failure> {
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

    fn parse(text: &str) -> Result<Self, Failure> {
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

/// Returns the level at which an event is shown. A library is quieter than a command that was asked
/// to show its requests.
fn shown_level(metadata: &Metadata<'_>) -> Level {
    match metadata.target() {
        "svc_sdk::attempt" => Level::INFO,
        "svc_sdk::headers" => Level::DEBUG,
        _ => *metadata.level(),
    }
}

/// Starts logging for the rest of the process.
pub(super) fn start(filter: Option<LogFilter>, shows_pauses: bool, messages: Arc<Messages>) {
    if filter.is_none() && !shows_pauses {
        return;
    }
    let logger = Logger {
        filter,
        shows_pauses,
        messages,
    };
    // The only other subscriber could be one of a test in the same process.
    let _ = tracing::subscriber::set_global_default(logger);
}

struct Logger {
    filter: Option<LogFilter>,
    shows_pauses: bool,
    messages: Arc<Messages>,
}

impl Logger {
    fn is_logged(&self, metadata: &Metadata<'_>) -> bool {
        self.filter
            .as_ref()
            .is_some_and(|filter| filter.is_enabled(metadata))
    }
}

impl Subscriber for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // The events name what the spans do.
        !metadata.is_span()
            && (self.is_logged(metadata) || (self.shows_pauses && metadata.target() == RETRY))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(match self.filter {
            Some(_) => LevelFilter::TRACE,
            None => LevelFilter::INFO,
        })
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let line = LogLine::of(event);
        let is_shown =
            self.is_logged(metadata) || line.delay().is_some_and(|delay| delay >= MIN_SHOWN_PAUSE);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn enabled(filter: &LogFilter, target: &str, level: Level) -> bool {
        filter.0.would_enable(target, &level)
    }

    #[test]
    fn a_level_is_that_of_the_flag_with_as_many_letters() {
        for (verbose, text, level) in [
            (1, "info", Level::INFO),
            (2, "debug", Level::DEBUG),
            (3, "TRACE", Level::TRACE),
        ] {
            let flag = LogFilter::new(verbose, Some("off")).unwrap().unwrap();
            let variable = LogFilter::new(0, Some(text)).unwrap().unwrap();
            for other in [Level::ERROR, Level::INFO, Level::DEBUG, Level::TRACE] {
                for filter in [&flag, &variable] {
                    assert_eq!(enabled(filter, "svc_sdk::attempt", other), other <= level);
                    assert!(!enabled(filter, "hyper", other));
                }
            }
        }
        assert!(LogFilter::new(0, None).unwrap().is_none());
    }

    #[test]
    fn a_filter_names_targets() {
        let filter = LogFilter::new(0, Some("svc_sdk=info,rmcp=debug"))
            .unwrap()
            .unwrap();
        assert!(enabled(&filter, "rmcp::service", Level::DEBUG));
        assert!(!enabled(&filter, "svc_sdk::body", Level::DEBUG));
        let failure = LogFilter::new(0, Some("svc_sdk=loud")).unwrap_err();
        assert!(failure.headline().contains("SVC_LOG `svc_sdk=loud`"));
    }
}
