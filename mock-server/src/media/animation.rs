//! The moving parts of a video's test card: a counter of seconds, a runner and a progress bar.

use super::card::Card;
use super::palette::{ACCENT, GROUND, WHITE};

/// The rows of each digit, from the top. A digit has three by five blocks; bit 2 is the leftmost.
const DIGITS: [[u8; 5]; 10] = [
    [7, 5, 5, 5, 7],
    [2, 6, 2, 2, 7],
    [7, 1, 7, 4, 7],
    [7, 1, 7, 1, 7],
    [5, 5, 7, 1, 1],
    [7, 4, 7, 1, 7],
    [7, 4, 7, 5, 7],
    [7, 1, 2, 2, 2],
    [7, 5, 7, 5, 7],
    [7, 5, 7, 1, 7],
];

/// A card on which consecutive frames are drawn.
#[derive(Debug)]
pub(super) struct Animation {
    card: Card,
    frames: u32,
    frames_per_second: u32,
}

impl Animation {
    pub(super) fn new(card: Card, frames: u32, frames_per_second: u32) -> Self {
        Self { card, frames: frames.max(1), frames_per_second: frames_per_second.max(1) }
    }

    /// Draws frame number `frame` and returns the card. Frames must be drawn in order.
    pub(super) fn show(&mut self, frame: u32) -> &mut Card {
        self.draw_progress(frame);
        self.draw_runner(frame);
        if frame.is_multiple_of(self.frames_per_second) {
            self.draw_counter(frame / self.frames_per_second);
        }
        &mut self.card
    }

    /// Draws the progress bar, which is full only in the last frame.
    fn draw_progress(&mut self, frame: u32) {
        let width_after = |shown: u32| {
            let filled = u64::from(self.card.columns) * u64::from(shown) / u64::from(self.frames);
            u32::try_from(filled).unwrap_or(u32::MAX)
        };
        let (before, now) = (width_after(frame), width_after(frame + 1));
        let (top, height) = (self.card.bar_top(), self.card.unit() * 2);
        self.card.fill(before, top, now - before, height, ACCENT);
    }

    /// Draws a square that moves back and forth above the bar, by one unit per frame.
    fn draw_runner(&mut self, frame: u32) {
        let unit = self.card.unit();
        let side = unit * 2;
        let top = self.card.bar_top().saturating_sub(side);
        let steps = (self.card.columns.saturating_sub(side) / unit).max(1);
        let left = |frame: u32| {
            let step = frame % (2 * steps);
            unit * step.min(2 * steps - step)
        };
        if let Some(before) = frame.checked_sub(1) {
            self.card.fill(left(before), top, side, side, GROUND);
        }
        self.card.fill(left(frame), top, side, side, WHITE);
    }

    /// Draws the number of full seconds, with at most three digits.
    fn draw_counter(&mut self, seconds: u32) {
        let unit = self.card.unit();
        let top = self.card.strip_top() + unit;
        for (index, divisor) in [100, 10, 1].into_iter().enumerate() {
            let digit = (seconds / divisor % 10) as usize;
            let is_blank = divisor > 1 && seconds < divisor;
            let rows = DIGITS.get(digit).copied().unwrap_or_default();
            for (row, bits) in rows.into_iter().enumerate() {
                for column in 0..3 {
                    let is_lit = !is_blank && bits >> (2 - column) & 1 == 1;
                    let x = unit * (1 + 4 * index as u32 + column);
                    let y = top + unit * row as u32;
                    let ink = if is_lit { WHITE } else { GROUND };
                    self.card.fill(x, y, unit, unit, ink);
                }
            }
        }
    }
}
