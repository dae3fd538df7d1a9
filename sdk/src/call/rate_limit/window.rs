//! The window of a bucket in which requests are counted, as responses report it.

use std::cmp::Ordering;
use std::time::Duration;

use super::RateLimit;
use crate::call::clock::Instant;

/// How far `ratelimit-reset` may be off, as it is in whole seconds and may be rounded either way.
const RESET_ROUNDING: Duration = Duration::from_secs(1);
/// The duration of a window of which no report has come yet.
const DEFAULT_WINDOW: Duration = Duration::from_secs(60);

/// What is known of a window, from one report or from several.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) limit: u32,
    /// The number of requests left, at most.
    pub(super) remaining: u32,
    /// The requests of this client that were counted in the window, or may have been.
    pub(super) own: u32,
    /// The numbers, counted from 1, of the first and the last request of the window that were reported.
    reported: Option<(u32, u32)>,
    /// The window ends at or after this moment.
    earliest_end: Instant,
    /// The window has ended at this moment. Before the first report, it is the end of a window that
    /// begins as soon as the first request is sent.
    pub(super) latest_end: Instant,
    /// When the last report came.
    pub(super) reported_at: Option<Instant>,
}

impl Window {
    /// Returns the window that a response reports.
    ///
    /// The service read its clock between the moments at which the request was sent and the response
    /// was received, so that the window ends within as long a span.
    pub(super) fn from_report(report: RateLimit, sent_at: Instant, received_at: Instant) -> Self {
        let RateLimit { limit, remaining, reset_after } = report;
        let used = limit.saturating_sub(remaining);
        Self {
            limit,
            remaining,
            own: 0,
            reported: Some((used, used)),
            earliest_end: sent_at + reset_after.saturating_sub(RESET_ROUNDING),
            latest_end: received_at + reset_after + RESET_ROUNDING,
            reported_at: Some(received_at),
        }
    }

    /// Compares its end with that of another window, which may be the same one.
    pub(super) fn compare_end(&self, other: &Self) -> Ordering {
        if self.earliest_end > other.latest_end {
            Ordering::Greater
        } else if self.latest_end >= other.earliest_end {
            Ordering::Equal
        } else {
            Ordering::Less
        }
    }

    /// Takes in another report of the same window.
    pub(super) fn merge(&mut self, report: &Self) {
        let raised = report.limit.saturating_sub(self.limit);
        self.limit = report.limit;
        self.remaining = self.remaining.saturating_add(raised).min(report.remaining);
        self.earliest_end = self.earliest_end.max(report.earliest_end);
        // A window may begin as late as its first request arrives, so that only reports say by when
        // it has ended.
        let known = self.reported_at.map_or(report.latest_end, |_| self.latest_end);
        self.latest_end = known.min(report.latest_end).max(self.earliest_end);
        self.reported_at = report.reported_at;
        self.reported = match (self.reported, report.reported) {
            (Some(known), Some(new)) => Some((known.0.min(new.0), known.1.max(new.1))),
            (known, new) => known.or(new),
        };
    }

    /// Returns the window that follows this one, of which nothing was reported yet.
    ///
    /// `longest_reset` is the longest time to the end of a window that was reported.
    pub(super) fn next(&self, longest_reset: Duration, now: Instant) -> Self {
        let duration = longest_reset.saturating_sub(RESET_ROUNDING);
        let earliest_end = (self.earliest_end + duration).max(self.latest_end).max(now);
        Self {
            limit: self.limit,
            remaining: self.limit.max(1),
            own: 0,
            reported: None,
            earliest_end,
            latest_end: longest_end(now, longest_reset).max(earliest_end),
            reported_at: None,
        }
    }

    /// Counts a request of this client of which nothing was reported.
    pub(super) fn count_unreported(&mut self, longest_reset: Duration, now: Instant) {
        if self.reported_at.is_none() && self.own == 0 {
            // It may have begun the window at any moment until now.
            self.latest_end = self.latest_end.max(longest_end(now, longest_reset));
        }
        self.own = self.own.saturating_add(1);
        self.remaining = self.remaining.saturating_sub(1);
    }

    /// Counts what was used before the first report as the use of other clients. Otherwise it is taken for
    /// that of processes that have ended.
    pub(super) fn count_unknown_use_as_others(&mut self) {
        self.reported = self.reported.map(|(_, last)| (1, last));
    }

    /// Returns the requests of others since the first report. Those of this client that are under
    /// way may be among them.
    pub(super) fn others(&self) -> u32 {
        let (first, last) = self.reported.unwrap_or((1, 0));
        (last.saturating_add(1)).saturating_sub(first).saturating_sub(self.own)
    }

    /// Moves the window back by time that the clock did not count. Returns `None` if it would start
    /// before the range of the clock, so that it has ended.
    pub(super) fn shift_back(self, span: Duration) -> Option<Self> {
        Some(Self {
            earliest_end: self.earliest_end.checked_sub(span)?,
            latest_end: self.latest_end.checked_sub(span)?,
            reported_at: self.reported_at.and_then(|at| at.checked_sub(span)),
            ..self
        })
    }

    /// Ends the window at the time from which the service accepts requests again.
    pub(super) fn end_at(&mut self, end: Instant) {
        if end >= self.earliest_end {
            self.latest_end = self.latest_end.min(end);
        }
    }
}

/// Returns when a window that began by `now` has ended, if no report tells.
fn longest_end(now: Instant, longest_reset: Duration) -> Instant {
    now + longest_reset.max(DEFAULT_WINDOW)
}
