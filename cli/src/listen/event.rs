//! What happened, as it is told: events on standard output, all else on standard error.

use jiff::Timestamp;
use serde::Serialize;
use tokio::task::JoinHandle;

use crate::error::Failure;
use crate::output::{Printer, write_stdout};
use crate::text::sanitize;

/// One thing that happened.
#[derive(Debug)]
pub(super) enum ListenEvent {
    /// A delivery was verified and is kept.
    Received(Box<Received>),
    /// A delivery was not taken.
    Refused { code: &'static str, why: String },
    /// Something that the person who runs it should know.
    Note(String),
    /// Something that they should do something about.
    Warning(String),
    /// It can no longer receive.
    Stopped(String),
}

/// The line of an event.
#[derive(Debug, Serialize)]
pub(super) struct Received {
    pub(super) event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) job_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_id: Option<String>,
    /// `OK` or `ERROR`, as the body has it.
    pub(super) status: Option<String>,
    /// How a run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<String>,
    /// Whether the same was received before; then it is not forwarded again.
    pub(super) duplicate: bool,
    /// Whether this version knows the event.
    pub(super) known: bool,
    pub(super) at: Timestamp,
    /// Which secret it was signed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fingerprint: Option<String>,
    pub(super) bytes: usize,
}

/// Tells it; what goes to standard output is given back.
pub(super) fn report(printer: &Printer, event: ListenEvent) -> Result<Option<String>, Failure> {
    match event {
        ListenEvent::Received(line) => {
            return printer.format_line(&*line, Received::sentence).map(Some);
        }
        ListenEvent::Refused { code, why } => {
            printer.note(&format!("refused ({code}): {}", sanitize(&why)));
        }
        ListenEvent::Note(text) => printer.note(&sanitize(&text)),
        ListenEvent::Warning(text) => printer.warn(&sanitize(&text)),
        ListenEvent::Stopped(why) => {
            return Err(Failure::other(format!("can no longer receive: {why}")));
        }
    }
    Ok(None)
}

/// Standard output, which may have a reader that takes its time: it is written to off the thread
/// that the connections are on.
#[derive(Debug, Default)]
pub(super) struct StdoutWriter(Option<JoinHandle<Result<(), Failure>>>);

impl StdoutWriter {
    /// Says a text, once what was said before is said.
    pub(super) fn write(&mut self, text: Option<String>) {
        if let Some(text) = text {
            self.0 = Some(tokio::task::spawn_blocking(move || {
                write_stdout(text.as_bytes())
            }));
        }
    }

    /// Whether something is being said.
    pub(super) fn is_writing(&self) -> bool {
        self.0.is_some()
    }

    /// Waits until it is said.
    pub(super) async fn flush(&mut self) -> Result<(), Failure> {
        let Some(writing) = &mut self.0 else {
            return Ok(());
        };
        let written = writing.await;
        self.0 = None;
        match written {
            // Who waits for events should not believe that there are none.
            Ok(Err(failure)) if failure.is_silent() => {
                Err(Failure::other("nobody reads standard output any more"))
            }
            Ok(written) => written,
            Err(error) => Err(Failure::other(error.to_string())),
        }
    }
}

impl Received {
    /// One line for a person.
    fn sentence(&self) -> String {
        let id = self.job_id.as_ref().or(self.run_id.as_ref());
        let words = [
            Some(self.at.strftime("%H:%M:%SZ").to_string()),
            Some(self.event.clone()),
            id.cloned(),
            self.status.clone(),
            self.outcome.clone(),
            self.duplicate.then(|| "(again)".to_owned()),
            (!self.known).then(|| "(unknown to this version)".to_owned()),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        words.join("  ")
    }
}
