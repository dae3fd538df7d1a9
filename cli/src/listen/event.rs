//! Events of the listener: received deliveries on standard output, the rest on standard error.

use jiff::Timestamp;
use serde::Serialize;
use tokio::task::JoinHandle;

use crate::error::Failure;
use crate::output::{Printer, write_stdout};
use crate::text::sanitize;

/// An event to report.
#[derive(Debug)]
pub(super) enum ListenEvent {
    /// A delivery was verified and stored.
    Received(Box<Received>),
    /// A request was rejected.
    Rejected { code: &'static str, why: String },
    /// An informational message.
    Note(String),
    /// A message that needs attention.
    Warning(String),
    /// The listener can no longer receive.
    Stopped(String),
}

/// The output line of a received event.
#[derive(Debug, Serialize)]
pub(super) struct Received {
    pub(super) event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) job_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_id: Option<String>,
    /// `OK` or `ERROR`, from the body.
    pub(super) status: Option<String>,
    /// The outcome of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<String>,
    /// Whether the event was received before. Duplicates are not forwarded.
    pub(super) duplicate: bool,
    /// Whether this version knows the event type.
    pub(super) known: bool,
    pub(super) at: Timestamp,
    /// The fingerprint of the secret that it was signed with.
    pub(super) fingerprint: String,
    pub(super) bytes: usize,
}

/// Prints an event to standard error, or returns the line for standard output.
pub(super) fn report(printer: &Printer, event: ListenEvent) -> Result<Option<String>, Failure> {
    match event {
        ListenEvent::Received(line) => {
            return printer.format_line(&*line, Received::sentence).map(Some);
        }
        ListenEvent::Rejected { code, why } => {
            printer.note(&format!("rejected ({code}): {}", sanitize(&why)));
        }
        ListenEvent::Note(text) => printer.note(&sanitize(&text)),
        ListenEvent::Warning(text) => printer.warn(&sanitize(&text)),
        ListenEvent::Stopped(why) => {
            return Err(Failure::other(format!("can no longer receive: {why}")));
        }
    }
    Ok(None)
}

/// A writer of standard output that does not block the connections if the reader is slow.
#[derive(Debug, Default)]
pub(super) struct StdoutWriter(Option<JoinHandle<Result<(), Failure>>>);

impl StdoutWriter {
    /// Starts to write a text. The previous write must have been flushed.
    pub(super) fn write(&mut self, text: Option<String>) {
        if let Some(text) = text {
            self.0 = Some(tokio::task::spawn_blocking(move || {
                write_stdout(text.as_bytes())
            }));
        }
    }

    /// Returns whether a write is in progress.
    pub(super) fn is_writing(&self) -> bool {
        self.0.is_some()
    }

    /// Waits for the current write.
    ///
    /// # Errors
    ///
    /// Returns an error if the write failed.
    pub(super) async fn flush(&mut self) -> Result<(), Failure> {
        let Some(writing) = &mut self.0 else {
            return Ok(());
        };
        let written = writing.await;
        self.0 = None;
        match written {
            // A closed pipe is an error here: otherwise events would be lost without notice.
            Ok(Err(failure)) if failure.is_silent() => {
                Err(Failure::other("the reader has closed standard output"))
            }
            Ok(written) => written,
            Err(error) => Err(Failure::other(error.to_string())),
        }
    }
}

impl Received {
    /// Returns the line for people.
    fn sentence(&self) -> String {
        let id = self.job_id.as_ref().or(self.run_id.as_ref());
        let words = [
            Some(self.at.strftime("%H:%M:%SZ").to_string()),
            Some(self.event.clone()),
            id.cloned(),
            self.status.clone(),
            self.outcome.clone(),
            self.duplicate.then(|| "(duplicate)".to_owned()),
            (!self.known).then(|| "(unknown event type)".to_owned()),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        words.join("  ")
    }
}
