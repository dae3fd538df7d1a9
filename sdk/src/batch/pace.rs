//! How many items are in flight, and when the next one is submitted.

use std::task::{Context, Poll};
use std::time::Duration;

use crate::call::clock::{self, Instant, Timer};

/// The number of items that a batch begins with.
const INITIAL_SIZE: f64 = 8.0;
/// The first pause after the service has pushed back, and the longest one.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The number of items that may be in flight, and the pause before the next submit.
///
/// The number grows by one for each item that is accepted while it is reached, until the service
/// pushes back for the first time. From then on it grows by one in each round.
#[derive(Debug)]
pub(super) struct Pace {
    size: f64,
    max: f64,
    has_slowed: bool,
    pause: Option<Pause>,
    next_pause: Duration,
}

#[derive(Debug)]
struct Pause {
    timer: Timer,
    ends_at: Instant,
    /// Whether it ends when an item has ended.
    is_for_room: bool,
}

impl Pace {
    pub(super) fn new(max: usize) -> Self {
        let max = u32::try_from(max.max(1)).map_or(f64::from(u32::MAX), f64::from);
        Self {
            size: INITIAL_SIZE.min(max),
            max,
            has_slowed: false,
            pause: None,
            next_pause: FIRST_PAUSE,
        }
    }

    /// Returns the number of items that may be in flight.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the size is between 1 and a u32"
    )]
    pub(super) fn size(&self) -> usize {
        self.size as usize
    }

    pub(super) fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// Waits until the pause is over, if there is one.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.timer.poll(context));
            self.pause = None;
        }
        Poll::Ready(())
    }

    /// The service has accepted an item; so many are in flight with it.
    pub(super) fn accepted(&mut self, in_flight: usize) {
        self.next_pause = FIRST_PAUSE;
        if in_flight >= self.size() {
            self.size += if self.has_slowed { 1.0 / self.size } else { 1.0 };
            self.size = self.size.min(self.max);
        }
    }

    /// The service has too many jobs: it has accepted so many of those in flight. The pause ends when
    /// one of them has ended. `jitter` is in [0, 1).
    pub(super) fn reached_limit(&mut self, accepted: usize, jitter: f64) {
        let accepted = u32::try_from(accepted).map_or(self.max, f64::from);
        self.has_slowed = true;
        self.size = self.size.min(accepted).max(1.0);
        self.pause(Duration::ZERO, true, jitter);
    }

    /// The service is busy, and asks for a pause of at least that time. `jitter` is in [0, 1).
    pub(super) fn slow_down(&mut self, retry_after: Duration, jitter: f64) {
        // The failures of requests that were sent together count as one.
        if !self.is_paused() {
            self.has_slowed = true;
            self.size = (self.size / 2.0).max(1.0);
        }
        self.pause(retry_after, false, jitter);
    }

    fn pause(&mut self, at_least: Duration, is_for_room: bool, jitter: f64) {
        if let Some(pause) = &mut self.pause {
            pause.is_for_room &= is_for_room;
            pause.ends_at = pause.ends_at.max(clock::after(at_least));
            return pause.timer.set(pause.ends_at);
        }
        let span = self.next_pause.mul_f64(0.5 + 0.5 * jitter).max(at_least);
        self.next_pause = self.next_pause.saturating_mul(2).min(MAX_PAUSE);
        let ends_at = clock::after(span);
        self.pause = Some(Pause { timer: Timer::new(ends_at), ends_at, is_for_room });
    }

    pub(super) fn ended(&mut self) {
        self.pause.take_if(|pause| pause.is_for_room);
    }
}
