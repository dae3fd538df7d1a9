//! The live summary of a batch on a terminal.

use std::time::Duration;

use indicatif::ProgressBar;
use svc_sdk::types::Usd;
use tokio::time::Instant;

use super::journal::Status;
use super::spent::Spent;
use super::summary::Summary;
use crate::clock;
use crate::output::Printer;
use crate::output::values::money;

/// How long a batch runs before its rate says something.
const MIN_RATE_TIME: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Activity {
    pub(super) in_flight: usize,
    /// What was charged for the items in flight.
    pub(super) charged: Spent,
    pub(super) is_slowed: bool,
}

/// A progress bar with counts. It is hidden unless standard error is a terminal.
#[derive(Debug)]
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    ended_before: usize,
    limit: Option<Usd>,
    started: Instant,
}

impl Progress {
    pub(super) fn new(printer: &Printer, summary: &Summary, limit: Option<Usd>) -> Self {
        let bar = printer.shows_progress().then(|| {
            let length = u64::try_from(summary.total).unwrap_or(u64::MAX);
            let bar = printer.add_progress_bar(ProgressBar::new(length));
            // A line that is broken cannot be cleared whole once the terminal shows Ctrl-C in it.
            let template = match console::Term::stderr().size().1 {
                ..80 => "{spinner} {pos} of {len}  {elapsed}  {wide_msg}",
                _ => "{spinner} {bar:24} {pos} of {len}  {elapsed}  {msg}",
            };
            bar.set_style(crate::output::progress_style(template));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self { bar, ended_before: summary.ended(), limit, started: clock::monotonic() }
    }

    pub(super) fn update(&self, summary: &Summary, activity: Activity) {
        if let Some(bar) = &self.bar {
            bar.set_position(u64::try_from(summary.ended()).unwrap_or(u64::MAX));
            let elapsed = clock::monotonic().saturating_duration_since(self.started);
            bar.set_message(self.describe(summary, activity, elapsed));
        }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn describe(&self, summary: &Summary, activity: Activity, elapsed: Duration) -> String {
        let mut parts = vec![format!("{} in flight", activity.in_flight)];
        let count = |statuses: &[Status]| -> usize {
            statuses.iter().map(|status| summary.count(*status)).sum()
        };
        for (count, what) in [
            (count(&[Status::Failed, Status::Unknown]), "failed"),
            (count(&[Status::Canceled, Status::Skipped]), "canceled"),
            (count(&[Status::Ambiguous]), "ambiguous"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        let spent: Spent = [summary.spent, activity.charged].into_iter().sum();
        parts.push(match self.limit {
            Some(limit) => format!("{spent} of {}", money(limit)),
            None => spent.to_string(),
        });
        parts.extend(self.rate(summary, elapsed));
        if activity.is_slowed {
            parts.push("service busy, slowing down".to_owned());
        }
        parts.join(", ")
    }

    /// Returns the items per minute and the time left, as soon as they say something.
    fn rate(&self, summary: &Summary, elapsed: Duration) -> Option<String> {
        let ended = u32::try_from(summary.ended().saturating_sub(self.ended_before)).ok()?;
        let left = u32::try_from(summary.total.saturating_sub(summary.ended())).ok()?;
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
        let mut summary = Summary::new(30, Some(Usd::from_micros(703_500)).into());
        let mut progress =
            Progress { bar: None, ended_before: 2, limit: None, started: clock::monotonic() };
        let mut activity = Activity { in_flight: 8, ..Activity::default() };
        let elapsed = Duration::from_secs(20);
        assert_eq!(progress.describe(&summary, activity, elapsed), "8 in flight, $0.7035");
        for (status, count) in [(Status::Completed, 9), (Status::Failed, 2), (Status::Canceled, 1)]
        {
            (0..count).for_each(|_| summary.add(status));
        }
        activity.is_slowed = true;
        progress.limit = Some(Usd::from_micros(5_000_000));
        assert_eq!(
            progress.describe(&summary, activity, elapsed),
            "8 in flight, 2 failed, 1 canceled, $0.7035 of $5.00, 30/min, 36 s left, service busy, \
             slowing down"
        );
    }
}
