//! One rate-limit bucket of a key, which determines when a request may be sent.

use std::cmp::Ordering;
use std::time::Duration;

use super::RateLimit;
use super::window::Window;
use crate::call::clock::Instant;

/// The round trip up to which a report is read even if its window may have ended meanwhile.
const SHORT_ROUND_TRIP: Duration = Duration::from_secs(2);
/// The pause before another attempt while responses are under way.
pub(super) const RECHECK_DELAY: Duration = Duration::from_millis(50);
/// The requests of the read bucket that polls leave to other reads; half of a small bucket.
const RESERVED_READS: u32 = 20;
/// How old a report may be to show what the other clients of the key left.
const FRESH_REPORT: Duration = Duration::from_secs(2);
/// How often a client sends a request, even with others under way, to learn from the response what the
/// other clients of the key have left.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// The requests of a window that a client does not use if others share it, as several may send one at
/// the same time; a sixth of a small window.
const SHARED_MARGIN: u32 = 20;

/// The requests of a key that are counted together.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    window: Option<Window>,
    /// The use of the last window of which something was reported.
    previous: Usage,
    longest_reset: Duration,
    /// Until when nothing is sent, as a 429 asked for.
    closed_until: Option<Instant>,
    last_acquired: Option<Instant>,
    in_flight: u32,
    next_poll: Option<Instant>,
}

/// Who used a window.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    own: u32,
    others: u32,
}

impl Bucket {
    /// Takes a place for a request, or returns when to try again.
    pub(crate) fn acquire(&mut self, now: Instant) -> Result<(), Instant> {
        if let Some(closed_until) = self.closed_until.filter(|until| now < *until) {
            return Err(closed_until);
        }
        self.begin_next_window(now);
        if let Some(window) = &self.window {
            let share = self.share();
            let margin = share.map_or(0, |_| SHARED_MARGIN.min(window.limit / 6));
            let spare = window.remaining.saturating_sub(margin);
            if window.remaining == 0 || spare == 0 && self.in_flight == 0 {
                return Err(window.latest_end);
            }
            // Requests under way may or may not be counted in what remains; their responses will
            // tell.
            let is_fresh =
                window.reported_at.is_some_and(|reported_at| now <= reported_at + FRESH_REPORT);
            let is_probe_due = self.last_acquired.is_none_or(|last| now >= last + PROBE_INTERVAL);
            let allowed = match share {
                None => spare,
                Some(_) if is_probe_due => spare,
                // Half of it, as the others cannot see yet what is under way.
                Some(share) if is_fresh => scale(spare / 2, share),
                Some(_) => 1,
            };
            if self.in_flight >= allowed {
                return Err(now + RECHECK_DELAY);
            }
        }
        self.in_flight += 1;
        self.last_acquired = Some(now);
        Ok(())
    }

    /// Begins with what an earlier process knew of the window.
    pub(crate) fn resume(&mut self, limit: RateLimit, now: Instant) {
        self.longest_reset = limit.reset_after;
        let mut window = Window::from_report(limit, now, now);
        // The request that was reported was one of this program.
        window.own = 1;
        self.window = Some(window);
    }

    /// Gives back the place of a request that was not counted: it was not sent, or the service did not
    /// accept the key.
    pub(crate) fn release(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Gives back the place of a request that may have been sent, and of which no response tells whether
    /// it was counted.
    pub(crate) fn release_unreported(&mut self, now: Instant) {
        self.release();
        self.begin_next_window(now);
        if let Some(window) = &mut self.window {
            window.count_unreported(self.longest_reset, now);
        }
    }

    /// Gives back the place of a request whose response came `now`, and learns from what it reports.
    /// `retry_after` is how long the service asked to wait, if the response was a 429.
    ///
    /// A response without a report, such as a gateway's, does not say that the request was not counted.
    pub(crate) fn release_answered(
        &mut self,
        sent_at: Instant,
        now: Instant,
        limit: Option<RateLimit>,
        retry_after: Option<Duration>,
    ) {
        if let Some(retry_after) = retry_after {
            self.closed_until = self.closed_until.max(Some(now + retry_after));
        }
        let round_trip = now.saturating_duration_since(sent_at);
        // A report that comes too late does not say which window it means.
        let is_in_time = |limit: &RateLimit| round_trip <= limit.reset_after.max(SHORT_ROUND_TRIP);
        let Some(limit) = limit.filter(is_in_time) else { return self.release_unreported(now) };
        self.release();
        self.begin_next_window(now);
        self.longest_reset = self.longest_reset.max(limit.reset_after);
        let report = Window::from_report(limit, sent_at, now);
        // A 429 that contradicts the known window need not come from what counts the requests.
        let may_replace = retry_after.is_none() && round_trip <= limit.reset_after;
        let end = self.window.map(|window| report.compare_end(&window));
        match (end, &mut self.window) {
            (Some(Ordering::Equal), Some(window)) => window.merge(&report),
            (Some(Ordering::Less), _) if !may_replace => return,
            _ => {
                self.note_usage();
                self.window = Some(report);
            }
        }
        let Some(window) = &mut self.window else { return };
        match retry_after {
            None => window.own = window.own.saturating_add(1),
            Some(retry_after) => window.end_at(now + retry_after),
        }
        if self.previous.others > 0 {
            window.count_unknown_use_as_others();
        }
    }

    /// Brings the window forward by time that the clock did not count.
    pub(crate) fn shift_back(&mut self, span: Duration) {
        self.window = self.window.and_then(|window| window.shift_back(span));
        self.closed_until = self.closed_until.and_then(|until| until.checked_sub(span));
        self.next_poll = self.next_poll.and_then(|next| next.checked_sub(span));
    }

    /// Reserves the time of the next poll, if it is at most `delay` away.
    pub(crate) fn reserve_poll_within(&mut self, now: Instant, delay: Duration) -> Option<Instant> {
        let is_soon = self.next_poll.is_none_or(|next| next <= now + delay);
        is_soon.then(|| self.reserve_poll(now))
    }

    /// Reserves the time of the next poll.
    ///
    /// The polls of all waiters follow each other at the rate at which what remains of the window lasts to
    /// its end, and after it at the rate that the next windows allow.
    pub(crate) fn reserve_poll(&mut self, now: Instant) -> Instant {
        let slot = self.next_poll.map_or(now, |next| next.max(now));
        let spacing = match &self.window {
            Some(window) if slot < window.latest_end => {
                let reserved = self.in_flight.saturating_add(reserved_reads(window.limit));
                let polls = window.remaining.saturating_sub(reserved).max(1);
                (window.latest_end - now) / polls
            }
            Some(window) => {
                let polls = window.limit - reserved_reads(window.limit);
                Duration::from_secs(60) / polls.max(1)
            }
            None => Duration::ZERO,
        };
        self.next_poll = Some(slot + spacing);
        slot
    }

    /// Replaces a window that has ended.
    fn begin_next_window(&mut self, now: Instant) {
        if let Some(window) = self.window.filter(|window| now >= window.latest_end) {
            self.note_usage();
            self.window = Some(window.next(self.longest_reset, now));
        }
    }

    /// Remembers who used the window.
    fn note_usage(&mut self) {
        if let Some(mut window) = self.window.filter(|window| window.reported_at.is_some()) {
            window.count_unknown_use_as_others();
            self.previous =
                Usage { own: window.own, others: window.others().saturating_sub(self.in_flight) };
        }
    }

    /// Returns this client's share of the requests of the key, or `None` if it is alone.
    fn share(&self) -> Option<f64> {
        let window = self.window?;
        let own = self.previous.own.saturating_add(window.own);
        let others = self.previous.others.saturating_add(window.others());
        (others > 0).then(|| f64::from(own) / (f64::from(own) + f64::from(others)))
    }
}

/// Returns a share of a number of requests, at least one.
fn scale(requests: u32, share: f64) -> u32 {
    ((f64::from(requests) * share) as u32).max(1)
}

fn reserved_reads(limit: u32) -> u32 {
    RESERVED_READS.min(limit / 2)
}
