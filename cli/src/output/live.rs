//! Progress of waits and downloads: live lines on a terminal, occasional plain lines elsewhere.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use svc_sdk::contract::ErrorCode;
use svc_sdk::download::{DownloadEvent, DownloadProgress};
use svc_sdk::{Error, ErrorKind, Update};

use crate::clock::format_duration;
use crate::output::log::{MIN_SHOWN_PAUSE, retry_reason};
use crate::output::printer::Printer;
use crate::text::{self, is_unicode, sanitize};

/// The minimum time between plain lines while the status does not change.
const PLAIN_LINE_INTERVAL: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct ProgressLine<'a> {
    printer: &'a Printer,
    name: String,
    bar: Option<ProgressBar>,
    rows: RefCell<Vec<ProgressBar>>,
    downloads: RefCell<DownloadBars>,
    next_poll: NextPoll,
    last_shown: RefCell<String>,
    last_shown_at: Cell<Duration>,
    is_failing: Cell<bool>,
}

impl<'a> ProgressLine<'a> {
    pub(crate) fn new(printer: &'a Printer, name: &str) -> Self {
        let next_poll = NextPoll::default();
        let bar = printer.shows_progress().then(|| {
            let bar = printer.add_progress_bar(ProgressBar::new_spinner());
            let style = progress_style("{spinner} {prefix}  {elapsed}  {msg}{next}");
            let timer = next_poll.clone();
            let show_next_poll = move |state: &ProgressState, line: &mut dyn Write| {
                // Drawing errors are ignored.
                let _ = line.write_str(&timer.text(state.elapsed()));
            };
            bar.set_style(style.with_key("next", show_next_poll));
            bar.set_prefix(sanitize(name));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self {
            printer,
            name: sanitize(name),
            bar,
            rows: RefCell::default(),
            downloads: RefCell::default(),
            next_poll,
            last_shown: RefCell::default(),
            last_shown_at: Cell::default(),
            is_failing: Cell::default(),
        }
    }

    /// Remembers a status, for the history.
    pub(crate) fn see(&self, status: Option<&str>) {
        if let Some(status) = status {
            self.printer.see(&self.name, status);
        }
    }

    pub(crate) fn update<T>(&self, update: &Update<T>, status: Option<&str>) {
        let status = status.map_or_else(|| "checking the status".to_owned(), sanitize);
        let was_failing = self.is_failing.replace(update.poll_error.is_some());
        match (&update.poll_error, was_failing, update.next_poll) {
            (Some(error), _, Some(pause)) if pause >= MIN_SHOWN_PAUSE => {
                let (why, pause) = (reason_of_pause(error), format_duration(pause));
                self.printer.note(&format!("{}: {why}, retrying in {pause}", self.name));
            }
            (Some(error), false, _) => {
                let why = sanitize(&error.to_string());
                self.printer.note(&format!("{}: status check failed ({why}); retrying", self.name));
            }
            (None, true, _) => self.printer.note(&format!("{}: status check succeeded", self.name)),
            _ => {}
        }
        match &self.bar {
            Some(bar) => {
                self.next_poll.set(bar.elapsed(), update.next_poll);
                bar.set_message(status);
            }
            None => {
                let next = update.next_poll.map(|pause| pause.max(Duration::from_secs(1)));
                let next = next.map(|next| format!(", next poll in {}", format_duration(next)));
                self.plain(&status, &next.unwrap_or_default(), update.elapsed);
            }
        }
    }

    /// Shows lines below the progress line, as many as fit on the terminal.
    pub(crate) fn rows(&self, rows: &[String]) {
        if self.bar.is_none() {
            return;
        }
        let height = usize::from(console::Term::stderr().size().0);
        let shown = visible_rows(rows, height.saturating_sub(2));
        let mut bars = self.rows.borrow_mut();
        while bars.len() < shown.len() {
            let bar = self.printer.add_progress_bar(ProgressBar::new_spinner());
            bar.set_style(progress_style("  {msg}"));
            bars.push(bar);
        }
        for (position, bar) in bars.iter().enumerate() {
            bar.set_message(shown.get(position).cloned().unwrap_or_default());
        }
    }

    /// The line has the number of files, and each that is under way a bar below it.
    pub(crate) fn downloading(&self, progress: &DownloadProgress) {
        let Some(line) = &self.bar else { return };
        self.next_poll.set(Duration::ZERO, None);
        let mut downloads = self.downloads.borrow_mut();
        let add_bar = |bar| self.printer.add_progress_bar(bar);
        let done = downloads.update(progress, add_bar);
        line.set_message(format!("downloaded {done} of {}", progress.count));
    }

    fn plain(&self, status: &str, next: &str, waited: Duration) {
        let is_new = *self.last_shown.borrow() != status;
        if is_new || waited.saturating_sub(self.last_shown_at.get()) >= PLAIN_LINE_INTERVAL {
            let time = format_duration(waited);
            self.printer.note(&format!("{}: {status} after {time}{next}", self.name));
            status.clone_into(&mut self.last_shown.borrow_mut());
            self.last_shown_at.set(waited);
        }
    }
}

impl Drop for ProgressLine<'_> {
    fn drop(&mut self) {
        self.downloads.borrow().clear();
        for bar in self.rows.borrow().iter().chain(&self.bar) {
            bar.finish_and_clear();
        }
    }
}

/// Returns why a poll is repeated, in the words of the line that announces the retry of a request.
fn reason_of_pause(error: &Error) -> String {
    let status = error.status().map(|status| status.to_string());
    let kind = match () {
        () if error.kind() == ErrorKind::InvalidResponse => "invalid_response",
        () if error.is_timeout() => "timeout",
        () if error.may_have_been_sent() => "connection_lost",
        () => "connection_failed",
    };
    let code = error.code().map(ErrorCode::as_str);
    retry_reason(status.as_deref(), Some(kind), code)
}

fn visible_rows(rows: &[String], height: usize) -> Vec<String> {
    if rows.len() <= height {
        return rows.to_vec();
    }
    let shown = height.saturating_sub(1);
    let mut visible_rows: Vec<String> = rows.iter().take(shown).cloned().collect();
    if height > 0 {
        visible_rows.push(text::shown(&format!("… and {} more", rows.len() - shown)).into_owned());
    }
    visible_rows
}

/// The time of the next poll, in milliseconds since the bar was created. 0 is none.
#[derive(Clone, Debug, Default)]
struct NextPoll(Arc<AtomicU64>);

impl NextPoll {
    fn set(&self, now: Duration, pause: Option<Duration>) {
        let due = pause.map_or(0, |pause| (now + pause).as_millis().max(1));
        self.0.store(u64::try_from(due).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn text(&self, now: Duration) -> String {
        let due = self.0.load(Ordering::Relaxed);
        if due == 0 {
            return String::new();
        }
        let left = Duration::from_millis(due).saturating_sub(now);
        let whole = Duration::from_secs(left.as_millis().div_ceil(1000).try_into().unwrap_or(0));
        match whole.is_zero() {
            true => ", polling".to_owned(),
            false => format!(", next poll in {}", format_duration(whole)),
        }
    }
}

/// The bar of a file whose size is known, and that of any other.
const WITH_TOTAL: &str = "  {prefix} [{bar:24}] {decimal_bytes} of {decimal_total_bytes}  {decimal_bytes_per_sec}  {msg}";
const WITHOUT_TOTAL: &str = "  {prefix} {decimal_bytes}  {decimal_bytes_per_sec}  {msg}";

#[derive(Debug, Default)]
pub(super) struct DownloadBars {
    bars: BTreeMap<usize, ProgressBar>,
    done: usize,
}

impl DownloadBars {
    pub(super) fn update(
        &mut self,
        progress: &DownloadProgress,
        add_bar: impl FnOnce(ProgressBar) -> ProgressBar,
    ) -> usize {
        let index = progress.index;
        match &progress.event {
            DownloadEvent::Started { bytes, total, .. } => {
                let bar = ProgressBar::hidden();
                bar.set_prefix(format!("{} of {}", index + 1, progress.count));
                set_total(&bar, *total);
                bar.set_position(*bytes);
                // What was there before says nothing about the rate.
                bar.reset_eta();
                self.bars.insert(index, add_bar(bar));
            }
            DownloadEvent::Advanced { bytes, total, .. } => {
                if let Some(bar) = self.bars.get(&index) {
                    if bar.length() != *total {
                        set_total(bar, *total);
                    }
                    bar.set_message("");
                    bar.set_position(*bytes);
                }
            }
            DownloadEvent::Retrying { delay, .. } => {
                if let Some(bar) = self.bars.get(&index) {
                    bar.set_message(format!("retrying in {} s", delay.as_secs().max(1)));
                }
            }
            DownloadEvent::Finished { .. } => {
                self.done += 1;
                self.remove(index);
            }
            _ => self.remove(index),
        }
        self.done
    }

    pub(super) fn clear(&self) {
        self.bars.values().for_each(ProgressBar::finish_and_clear);
    }

    fn remove(&mut self, index: usize) {
        if let Some(bar) = self.bars.remove(&index) {
            bar.finish_and_clear();
        }
    }
}

fn set_total(bar: &ProgressBar, total: Option<u64>) {
    let template = match total {
        Some(total) => {
            bar.set_length(total);
            WITH_TOTAL
        }
        None => {
            bar.unset_length();
            WITHOUT_TOTAL
        }
    };
    bar.set_style(progress_style(template));
}

/// Returns a style whose bars and spinners the locale can show.
pub(crate) fn progress_style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    if is_unicode() { style } else { style.tick_chars("|/-\\ ").progress_chars("#>-") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::PrinterOptions;

    #[test]
    fn rows_that_do_not_fit_are_counted() {
        let rows: Vec<String> = (0..5).map(|row| row.to_string()).collect();
        assert_eq!(visible_rows(&rows, 5), ["0", "1", "2", "3", "4"]);
        assert_eq!(visible_rows(&rows, 3), ["0", "1", "… and 3 more"]);
        assert!(visible_rows(&rows, 0).is_empty());
    }

    #[test]
    fn a_status_that_stays_is_a_line_every_30_seconds() {
        let options = PrinterOptions { quiet: true, ..PrinterOptions::default() };
        let printer = Printer::new(&options).unwrap();
        let line = ProgressLine::new(&printer, "job_1");
        let shown_at = |status: &str, seconds: u64| {
            line.plain(status, "", Duration::from_secs(seconds));
            line.last_shown_at.get().as_secs()
        };
        assert_eq!(shown_at("queued", 1), 1);
        assert_eq!(shown_at("processing", 4), 4);
        assert_eq!(shown_at("processing", 33), 4);
        assert_eq!(shown_at("processing", 34), 34);
        assert_eq!(shown_at("processing", 63), 34);
        assert_eq!(shown_at("processing", 95), 95);
    }

    #[test]
    fn the_next_poll_is_counted_down() {
        let at = Duration::from_millis;
        let next = NextPoll::default();
        assert_eq!(next.text(at(500)), "");
        next.set(at(1_000), Some(at(2_000)));
        assert_eq!(next.text(at(1_000)), ", next poll in 2 s");
        assert_eq!(next.text(at(2_500)), ", next poll in 1 s");
        assert_eq!(next.text(at(3_200)), ", polling");
    }
}
