//! How a wait is shown: a live line on a terminal, an occasional plain line elsewhere.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use svc_sdk::Update;

use super::Printer;
use super::untrusted::clean;
use crate::clock;

/// Without news, a plain line comes no more often than this.
const SILENCE: Duration = Duration::from_secs(30);

/// The live line of one job.
#[derive(Debug)]
pub(crate) struct Live<'a> {
    printer: &'a Printer,
    name: String,
    bar: Option<ProgressBar>,
    said: RefCell<String>,
    said_after: Cell<Duration>,
    in_trouble: Cell<bool>,
}

impl<'a> Live<'a> {
    /// A line for that job.
    pub(crate) fn new(printer: &'a Printer, name: &str) -> Self {
        let bar = printer.is_live().then(|| {
            let bar = printer.add_bar(ProgressBar::new_spinner());
            let style = ProgressStyle::with_template("{spinner} {prefix}  {elapsed}  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.set_prefix(clean(name));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self {
            printer,
            name: clean(name),
            bar,
            said: RefCell::default(),
            said_after: Cell::default(),
            in_trouble: Cell::default(),
        }
    }

    /// Shows how the job stands.
    pub(crate) fn update(&self, update: &Update) {
        let status = update
            .status
            .status
            .as_ref()
            .map_or_else(|| "asking".to_owned(), |status| clean(status.as_str()));
        let next = match update.next_poll {
            Some(pause) => format!(
                ", next poll in {}",
                clock::say(pause.max(Duration::from_secs(1)))
            ),
            None => String::new(),
        };
        match (
            &update.trouble,
            self.in_trouble.replace(update.trouble.is_some()),
        ) {
            (Some(error), false) => {
                self.printer.note(&format!(
                    "{}: cannot ask how it stands ({}); trying again",
                    self.name,
                    clean(&error.to_string())
                ));
            }
            (None, true) => self
                .printer
                .note(&format!("{}: the service answers again", self.name)),
            _ => {}
        }
        match &self.bar {
            Some(bar) => bar.set_message(format!("{status}{next}")),
            None => self.plain(&status, &next, update.waited),
        }
    }

    /// Shows how far a download is.
    pub(crate) fn downloading(&self, progress: svc_sdk::download::Progress) {
        if let Some(bar) = &self.bar {
            bar.set_message(said_of(progress));
        }
    }

    fn plain(&self, status: &str, next: &str, waited: Duration) {
        let news = *self.said.borrow() != status;
        if news || waited.saturating_sub(self.said_after.get()) >= SILENCE {
            self.printer.note(&format!(
                "{}: {status} after {}{next}",
                self.name,
                clock::say(waited)
            ));
            status.clone_into(&mut self.said.borrow_mut());
            self.said_after.set(waited);
        }
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn said_of(progress: svc_sdk::download::Progress) -> String {
    let megabytes =
        |bytes: u64| format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000);
    let total = progress
        .total
        .map(|total| format!(" of {}", megabytes(total)))
        .unwrap_or_default();
    format!(
        "file {}: {}{total}",
        progress.index + 1,
        megabytes(progress.bytes)
    )
}
