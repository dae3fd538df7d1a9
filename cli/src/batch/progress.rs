//! The live summary of a batch on a terminal.

use std::time::Duration;

use indicatif::ProgressBar;
use svc_sdk::types::Usd;
use tokio::time::Instant;

use crate::clock;
use crate::output::Printer;
use crate::output::values::money;

/// How long a batch runs before its rate says something.
const MIN_RATE_TIME: Duration = Duration::from_secs(5);

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
    total: usize,
    ended_before: usize,
    limit: Option<Usd>,
    started: Instant,
}

impl Progress {
    pub(super) fn new(
        printer: &Printer,
        total: usize,
        ended_before: usize,
        limit: Option<Usd>,
    ) -> Self {
        let bar = printer.shows_progress().then(|| {
            let length = u64::try_from(total).unwrap_or(u64::MAX);
            let bar = printer.add_progress_bar(ProgressBar::new(length));
            let template = "{spinner} {bar:24} {pos} of {len}  {elapsed}  {msg}";
            bar.set_style(crate::output::progress_style(template));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        let (shown, started) = (Counts::default(), clock::monotonic());
        Self { bar, shown, total, ended_before, limit, started }
    }

    pub(super) fn update(&mut self, counts: Counts) {
        if let Some(bar) = &self.bar
            && self.shown != counts
        {
            self.shown = counts;
            bar.set_position(u64::try_from(counts.ended).unwrap_or(u64::MAX));
            let elapsed = clock::monotonic().saturating_duration_since(self.started);
            bar.set_message(self.describe(&counts, elapsed));
        }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn describe(&self, counts: &Counts, elapsed: Duration) -> String {
        let mut parts = vec![format!("{} in flight", counts.in_flight)];
        for (count, what) in [
            (counts.failed, "failed"),
            (counts.canceled, "canceled"),
            (counts.ambiguous, "ambiguous"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        parts.push(match self.limit {
            Some(limit) => format!("{} of {}", money(counts.spent), money(limit)),
            None => money(counts.spent),
        });
        parts.extend(self.rate(counts, elapsed));
        if counts.is_slowed {
            parts.push("service busy, slowing down".to_owned());
        }
        parts.join(", ")
    }

    /// Returns the items per minute and the time left, as soon as they say something.
    fn rate(&self, counts: &Counts, elapsed: Duration) -> Option<String> {
        let ended = u32::try_from(counts.ended.saturating_sub(self.ended_before)).ok()?;
        let left = u32::try_from(self.total.saturating_sub(counts.ended)).ok()?;
        if ended == 0 || left == 0 || elapsed < MIN_RATE_TIME {
            return None;
        }
        let per_minute = u64::from(ended) * 60 / elapsed.as_secs().max(1);
        let left = clock::format_duration(elapsed.checked_mul(left)? / ended);
        Some(format!("{per_minute}/min, {left} left"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_the_counts_that_matter() {
        let mut progress = Progress {
            bar: None,
            shown: Counts::default(),
            total: 30,
            ended_before: 2,
            limit: None,
            started: clock::monotonic(),
        };
        let mut counts =
            Counts { in_flight: 8, spent: Usd::from_micros(703_500), ..Counts::default() };
        let elapsed = Duration::from_secs(20);
        assert_eq!(progress.describe(&counts, elapsed), "8 in flight, $0.7035");
        (counts.ended, counts.failed, counts.canceled) = (12, 2, 1);
        counts.is_slowed = true;
        progress.limit = Some(Usd::from_micros(5_000_000));
        assert_eq!(
            progress.describe(&counts, elapsed),
            "8 in flight, 2 failed, 1 canceled, $0.7035 of $5.00, 30/min, 36 s left, service busy, \
             slowing down"
        );
    }
}
