//! What moves on a video's test card: a counter of seconds, a runner, a progress bar.

use super::card::Card;
use super::palette::{ACCENT, GROUND, WHITE};

/// Three by five blocks a digit, rows from the top, leftmost block in bit 2.
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

/// Draws frame after frame on one card.
#[derive(Debug)]
pub(super) struct Animation {
    card: Card,
    frames: u32,
    frames_per_second: u32,
}

impl Animation {
    pub(super) fn new(card: Card, frames: u32, frames_per_second: u32) -> Self {
        Self {
            card,
            frames: frames.max(1),
            frames_per_second: frames_per_second.max(1),
        }
    }

    /// The card as frame number `frame` shows it, if the frames before it were shown.
    pub(super) fn show(&mut self, frame: u32) -> &mut Card {
        self.draw_progress(frame);
        self.draw_runner(frame);
        if frame.is_multiple_of(self.frames_per_second) {
            self.draw_counter(frame / self.frames_per_second);
        }
        &mut self.card
    }

    /// The bar is full in the last frame, and only then.
    fn draw_progress(&mut self, frame: u32) {
        let upto = |shown: u32| {
            let filled = u64::from(self.card.columns) * u64::from(shown) / u64::from(self.frames);
            u32::try_from(filled).unwrap_or(u32::MAX)
        };
        let (before, now) = (upto(frame), upto(frame + 1));
        let (top, height) = (self.card.bar_top(), self.card.unit() * 2);
        self.card.fill(before, top, now - before, height, ACCENT);
    }

    /// A square that runs to and fro above the bar, one unit each frame.
    fn draw_runner(&mut self, frame: u32) {
        let unit = self.card.unit();
        let side = unit * 2;
        let top = self.card.bar_top().saturating_sub(side);
        let places = (self.card.columns.saturating_sub(side) / unit).max(1);
        let place = |frame: u32| {
            let step = frame % (2 * places);
            unit * step.min(2 * places - step)
        };
        if let Some(before) = frame.checked_sub(1) {
            self.card.fill(place(before), top, side, side, GROUND);
        }
        self.card.fill(place(frame), top, side, side, WHITE);
    }

    /// Full seconds gone by, three digits at most.
    fn draw_counter(&mut self, seconds: u32) {
        let unit = self.card.unit();
        let top = self.card.strip_top() + unit;
        for (place, divisor) in [100, 10, 1].into_iter().enumerate() {
            let digit = (seconds / divisor % 10) as usize;
            let blank = divisor > 1 && seconds < divisor;
            let rows = DIGITS.get(digit).copied().unwrap_or_default();
            for (row, bits) in rows.into_iter().enumerate() {
                for column in 0..3 {
                    let lit = !blank && bits >> (2 - column) & 1 == 1;
                    let x = unit * (1 + 4 * place as u32 + column);
                    let y = top + unit * row as u32;
                    let ink = if lit { WHITE } else { GROUND };
                    self.card.fill(x, y, unit, unit, ink);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lit(card: &Card) -> usize {
        let bottom = card.row(card.rows - 1);
        bottom.iter().filter(|ink| **ink == ACCENT).count()
    }

    #[test]
    fn the_bar_fills_over_the_duration() {
        let mut animation = Animation::new(Card::new(54, 30, 1), 50, 25);
        let fills: Vec<usize> = (0..50).map(|frame| lit(animation.show(frame))).collect();
        assert!(fills.is_sorted());
        assert_eq!((fills[0], fills[24], fills[49]), (1, 27, 54));
    }

    #[test]
    fn every_frame_shows_something_new() {
        let mut animation = Animation::new(Card::new(54, 30, 1), 200, 25);
        for frame in 0..200 {
            let changes = animation.show(frame).take_changes();
            assert!(!changes.is_empty(), "frame {frame}");
        }
    }

    #[test]
    fn the_counter_shows_full_seconds() {
        let mut animation = Animation::new(Card::new(54, 30, 1), 100, 25);
        for frame in 0..26 {
            animation.show(frame);
        }
        let card = animation.show(26);
        let ones: Vec<u8> = (0..5)
            .map(|row| {
                let cells = &card.row(card.strip_top() + 1 + row)[9..12];
                cells
                    .iter()
                    .fold(0, |bits, ink| bits << 1 | u8::from(*ink == WHITE))
            })
            .collect();
        assert_eq!(ones, DIGITS[1]);
    }

    #[test]
    fn a_card_too_small_for_all_of_it_still_works() {
        let mut animation = Animation::new(Card::new(1, 1, 1), 3, 25);
        for frame in 0..3 {
            animation.show(frame);
        }
    }
}
