//! How a wait is shown: a live line on a terminal, an occasional plain line elsewhere.

use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use svc_sdk::Update;

use super::printer::Printer;
use crate::clock;
use crate::text::clean;

/// Without news, a plain line comes no more often than this.
const SILENCE: Duration = Duration::from_secs(30);

/// The live line of one job, run or queue; the items of a queue have lines of their own below it.
#[derive(Debug)]
pub(crate) struct Live<'a> {
    printer: &'a Printer,
    name: String,
    bar: Option<ProgressBar>,
    rows: RefCell<Vec<ProgressBar>>,
    next_poll: NextPoll,
    said: RefCell<String>,
    said_after: Cell<Duration>,
    in_trouble: Cell<bool>,
}

impl<'a> Live<'a> {
    /// A line for what is called so.
    pub(crate) fn new(printer: &'a Printer, name: &str) -> Self {
        let next_poll = NextPoll::default();
        let bar = printer.is_live().then(|| {
            let bar = printer.add_bar(ProgressBar::new_spinner());
            let style = ProgressStyle::with_template("{spinner} {prefix}  {elapsed}  {msg}{next}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            let counted = next_poll.clone();
            let tell = move |state: &ProgressState, line: &mut dyn Write| {
                // A line that cannot be drawn is not worth more than that.
                let _ = line.write_str(&counted.say(state.elapsed()));
            };
            bar.set_style(style.with_key("next", tell));
            bar.set_prefix(clean(name));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self {
            printer,
            name: clean(name),
            bar,
            rows: RefCell::default(),
            next_poll,
            said: RefCell::default(),
            said_after: Cell::default(),
            in_trouble: Cell::default(),
        }
    }

    /// Shows how it stands, in a word where that is known.
    pub(crate) fn update<T>(&self, update: &Update<T>, word: Option<&str>) {
        let status = word.map_or_else(|| "asking".to_owned(), clean);
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
            Some(bar) => {
                self.next_poll.set(bar.elapsed(), update.next_poll);
                bar.set_message(status);
            }
            None => self.plain(&status, &next, update.waited),
        }
    }

    /// Shows lines below its own, as many as the terminal has room for.
    pub(crate) fn rows(&self, rows: &[String]) {
        if self.bar.is_none() {
            return;
        }
        let height = usize::from(console::Term::stderr().size().0);
        let shown = fitting(rows, height.saturating_sub(2));
        let mut bars = self.rows.borrow_mut();
        while bars.len() < shown.len() {
            let bar = self.printer.add_bar(ProgressBar::new_spinner());
            let style = ProgressStyle::with_template("  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bars.push(bar);
        }
        for (place, bar) in bars.iter().enumerate() {
            bar.set_message(shown.get(place).cloned().unwrap_or_default());
        }
    }

    /// Shows how far a download is.
    pub(crate) fn downloading(&self, progress: svc_sdk::download::Progress) {
        if let Some(bar) = &self.bar {
            self.next_poll.set(Duration::ZERO, None);
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
        for bar in self.rows.borrow().iter().chain(&self.bar) {
            bar.finish_and_clear();
        }
    }
}

/// The first rows, and how many more there are where they do not fit.
fn fitting(rows: &[String], height: usize) -> Vec<String> {
    if rows.len() <= height {
        return rows.to_vec();
    }
    let shown = height.saturating_sub(1);
    let mut fitting: Vec<String> = rows.iter().take(shown).cloned().collect();
    if height > 0 {
        fitting.push(format!("… and {} more", rows.len() - shown));
    }
    fitting
}

/// When the next poll is due, in milliseconds of the bar's own time; 0 where none is.
#[derive(Clone, Debug, Default)]
struct NextPoll(Arc<AtomicU64>);

impl NextPoll {
    fn set(&self, now: Duration, pause: Option<Duration>) {
        let due = pause.map_or(0, |pause| (now + pause).as_millis().max(1));
        self.0
            .store(u64::try_from(due).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn say(&self, now: Duration) -> String {
        let due = self.0.load(Ordering::Relaxed);
        if due == 0 {
            return String::new();
        }
        let left = Duration::from_millis(due).saturating_sub(now);
        let whole = Duration::from_secs(left.as_millis().div_ceil(1000).try_into().unwrap_or(0));
        match whole.is_zero() {
            true => ", asking".to_owned(),
            false => format!(", next poll in {}", clock::say(whole)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_do_not_fit_are_counted() {
        let rows: Vec<String> = (0..5).map(|row| row.to_string()).collect();
        assert_eq!(fitting(&rows, 5), ["0", "1", "2", "3", "4"]);
        assert_eq!(fitting(&rows, 3), ["0", "1", "… and 3 more"]);
        assert!(fitting(&rows, 0).is_empty());
    }

    #[test]
    fn the_next_poll_is_counted_down() {
        let at = Duration::from_millis;
        let next = NextPoll::default();
        assert_eq!(next.say(at(500)), "");
        next.set(at(1_000), Some(at(2_000)));
        assert_eq!(next.say(at(1_000)), ", next poll in 2 s");
        assert_eq!(next.say(at(2_500)), ", next poll in 1 s");
        assert_eq!(next.say(at(3_200)), ", asking");
    }
}
