//! The live summary of a batch on a terminal.

use std::time::Duration;

use indicatif::ProgressBar;
use svc_sdk::types::Usd;

use crate::output::Printer;
use crate::output::values::money;

/// The counts of a live summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) ended: usize,
    pub(super) in_flight: usize,
    pub(super) failed: usize,
    pub(super) canceled: usize,
    pub(super) ambiguous: usize,
    pub(super) spent: Usd,
    pub(super) is_slowed: bool,
}

/// A progress bar with counts. It is hidden unless standard error is a terminal.
#[derive(Debug)]
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    shown: Counts,
}

impl Progress {
    pub(super) fn new(printer: &Printer, total: usize) -> Self {
        let bar = printer.shows_progress().then(|| {
            let total = u64::try_from(total).unwrap_or(u64::MAX);
            let bar = printer.add_progress_bar(ProgressBar::new(total));
            let template = "{spinner} {bar:24} {pos} of {len}  {elapsed}  {msg}";
            bar.set_style(crate::output::progress_style(template));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self { bar, shown: Counts::default() }
    }

    /// Shows the counts.
    pub(super) fn update(&mut self, counts: Counts) {
        if let Some(bar) = &self.bar
            && self.shown != counts
        {
            self.shown = counts;
            bar.set_position(u64::try_from(counts.ended).unwrap_or(u64::MAX));
            bar.set_message(describe(&counts));
        }
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn describe(counts: &Counts) -> String {
    let mut parts = vec![format!("{} in flight", counts.in_flight)];
    for (count, what) in
        [(counts.failed, "failed"), (counts.canceled, "canceled"), (counts.ambiguous, "ambiguous")]
    {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    parts.push(money(counts.spent));
    if counts.is_slowed {
        parts.push("service busy, slowing down".to_owned());
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_the_counts_that_matter() {
        let mut counts =
            Counts { in_flight: 8, spent: Usd::from_micros(703_500), ..Counts::default() };
        assert_eq!(describe(&counts), "8 in flight, $0.7035");
        (counts.failed, counts.canceled) = (2, 1);
        counts.is_slowed = true;
        assert_eq!(
            describe(&counts),
            "8 in flight, 2 failed, 1 canceled, $0.7035, service busy, slowing down"
        );
    }
}
