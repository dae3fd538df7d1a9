//! The test card: a grid of square cells of one palette colour each.
//!
//! A cell is a macroblock of a video or a square of pixels of an image. The moving parts
//! are in `animation`.

use super::palette::{ACCENT, BARS, FIRST_BAR, FIRST_GREY, GREYS, GROUND, Ink, PLATE, TROUGH};
use crate::rng::Rng;

/// The minimum length of the card's short side, in layout units.
const UNITS: u32 = 30;
/// The height of the strip below the bars, in units.
const STRIP: u32 = 11;

/// A grid of cells that records its changes.
#[derive(Debug)]
pub(super) struct Card {
    pub(super) columns: u32,
    pub(super) rows: u32,
    cells: Vec<Ink>,
    shown: Vec<Ink>,
    touched: Vec<usize>,
}

impl Card {
    /// Creates a card with its static parts: colour bars, an emblem and greys above a progress bar.
    pub(super) fn new(columns: u32, rows: u32, seed: u64) -> Self {
        let area = columns as usize * rows as usize;
        let mut card = Self {
            columns,
            rows,
            cells: vec![GROUND; area],
            shown: Vec::new(),
            touched: Vec::new(),
        };
        card.draw_bars();
        card.draw_emblem(seed);
        card.draw_greys();
        let bar_top = card.bar_top();
        card.fill(0, bar_top, columns, card.unit() * 2, TROUGH);
        card.shown.clone_from(&card.cells);
        card.touched.clear();
        card
    }

    /// Returns the number of cells per layout unit.
    pub(super) fn unit(&self) -> u32 {
        (self.columns.min(self.rows) / UNITS).max(1)
    }

    /// Returns the first row of the strip.
    pub(super) fn strip_top(&self) -> u32 {
        self.rows.saturating_sub(STRIP * self.unit())
    }

    /// Returns the first row of the progress bar, the lowest two units.
    pub(super) fn bar_top(&self) -> u32 {
        self.rows.saturating_sub(2 * self.unit())
    }

    /// Returns all cells, row by row.
    pub(super) fn cells(&self) -> &[Ink] {
        &self.cells
    }

    /// Returns the cells of a row, or an empty slice if the row does not exist.
    pub(super) fn row(&self, row: u32) -> &[Ink] {
        let start = row as usize * self.columns as usize;
        self.cells.get(start..start + self.columns as usize).unwrap_or_default()
    }

    /// Fills the part of a rectangle that is on the card.
    pub(super) fn fill(&mut self, left: u32, top: u32, width: u32, height: u32, ink: Ink) {
        for row in top..top.saturating_add(height).min(self.rows) {
            for column in left..left.saturating_add(width).min(self.columns) {
                let at = row as usize * self.columns as usize + column as usize;
                if let Some(cell) = self.cells.get_mut(at)
                    && *cell != ink
                {
                    *cell = ink;
                    self.touched.push(at);
                }
            }
        }
    }

    /// Returns the indices of the cells that have changed since the last call, in ascending order.
    pub(super) fn take_changes(&mut self) -> Vec<usize> {
        let mut changes = std::mem::take(&mut self.touched);
        changes.sort_unstable();
        changes.dedup();
        changes.retain(|at| {
            let (Some(cell), Some(shown)) = (self.cells.get(*at), self.shown.get_mut(*at)) else {
                return false;
            };
            let differs = cell != shown;
            *shown = *cell;
            differs
        });
        changes
    }

    fn draw_bars(&mut self) {
        let height = self.strip_top();
        for bar in 0..BARS {
            let left = self.columns * bar / BARS;
            let right = self.columns * (bar + 1) / BARS;
            self.fill(left, 0, right - left, height, FIRST_BAR + bar as Ink);
        }
    }

    /// Draws five by five mirrored blocks, so that a person can distinguish the files of two jobs.
    fn draw_emblem(&mut self, seed: u64) {
        let block = self.unit() * 2;
        let side = block * 6;
        let left = self.columns.saturating_sub(side) / 2;
        let top = self.strip_top().saturating_sub(side) / 2;
        self.fill(left, top, side, side, PLATE);
        let mut choice = Rng::unmixed(seed ^ 0x656d_626c_656d).next();
        for row in 0..5 {
            for column in 0..3 {
                if choice & 1 == 1 {
                    let y = top + block / 2 + row * block;
                    for mirrored in [column, 4 - column] {
                        let x = left + block / 2 + mirrored * block;
                        self.fill(x, y, block, block, ACCENT);
                    }
                }
                choice >>= 1;
            }
        }
    }

    /// Draws a ramp of greys to the right of the counter.
    fn draw_greys(&mut self) {
        let unit = self.unit();
        let left = self.columns / 2;
        let width = (self.columns - left).saturating_sub(unit);
        for grey in 0..GREYS {
            let from = left + width * grey / GREYS;
            let to = left + width * (grey + 1) / GREYS;
            let top = self.strip_top() + unit;
            self.fill(from, top, to - from, unit * 5, FIRST_GREY + grey as Ink);
        }
    }
}
