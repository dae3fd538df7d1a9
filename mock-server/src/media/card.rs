//! The test card: bars of colours that depend on a seed, above a progress bar.

use crate::rng::Rng;

/// An index into a palette. Its values fit into four bits per pixel of a PNG.
pub(super) type Ink = u8;
/// Red, green, blue.
pub(super) type Rgb = [u8; 3];
/// Luma, blue difference, red difference, in limited range.
pub(super) type YCbCr = [u8; 3];

const BARS: u32 = 7;
const EMPTY: Ink = 7;
const FULL: Ink = 8;
const INKS: usize = 9;

/// The colours by [`Ink`]: those of the bars, and of the empty and the full part of the progress bar.
#[derive(Clone, Copy, Debug)]
pub(super) struct Palette([Rgb; INKS]);

impl Palette {
    /// A turn of the colour wheel.
    const TURN: u32 = 1536;

    pub(super) fn new(seed: u64) -> Self {
        let first = Rng::unmixed(seed).below(Self::TURN as usize) as u32;
        // The bars span less than half of the wheel. If they spanned all of it, two seeds would
        // give the same colours in a different order.
        let bar = |step| colour(first + step * (Self::TURN / 18));
        Self([bar(0), bar(1), bar(2), bar(3), bar(4), bar(5), bar(6), [32; 3], [245; 3]])
    }

    pub(super) fn rgb(&self) -> &[Rgb; INKS] {
        &self.0
    }

    /// Returns a colour in ITU-R BT.709 and limited range, as the video's VUI declares. The coefficients
    /// are 256ths.
    pub(super) fn ycbcr(&self, ink: Ink) -> YCbCr {
        let [red, green, blue] = self.0.get(usize::from(ink)).copied().unwrap_or_default();
        let (red, green, blue) = (i32::from(red), i32::from(green), i32::from(blue));
        let scaled = |offset: i32, sum: i32| (offset + ((sum + 128) >> 8)).clamp(16, 240) as u8;
        [
            scaled(16, 47 * red + 157 * green + 16 * blue),
            scaled(128, -26 * red - 86 * green + 112 * blue),
            scaled(128, 112 * red - 102 * green - 10 * blue),
        ]
    }
}

/// Returns the light colour at an angle of the wheel.
fn colour(angle: u32) -> Rgb {
    let third = Palette::TURN / 3;
    [0, 2 * third, third].map(|turn| {
        let pure = ((angle + turn) % Palette::TURN).abs_diff(768).saturating_sub(256);
        64 + pure.min(191) as u8
    })
}

/// A grid of square cells of one colour each: macroblocks of a video, or squares of pixels of an image.
#[derive(Debug)]
pub(super) struct Card {
    columns: usize,
    cells: Vec<Ink>,
    /// The index of the first cell of the progress bar.
    progress: usize,
}

impl Card {
    /// Creates a card with an empty progress bar.
    pub(super) fn new(columns: u32, rows: u32) -> Self {
        let bars: Vec<_> = (0..columns).map(|column| (column * BARS / columns) as Ink).collect();
        let progress_rows = (rows / 15).max(1);
        let mut cells = bars.repeat(rows.saturating_sub(progress_rows) as usize);
        let progress = cells.len();
        cells.resize(columns as usize * rows as usize, EMPTY);
        Self { columns: columns as usize, cells, progress }
    }

    pub(super) fn cells(&self) -> &[Ink] {
        &self.cells
    }

    /// Fills `done` of `total` parts of the progress bar, and returns the indices of the cells that have
    /// changed, in ascending order.
    pub(super) fn show_progress(&mut self, done: u32, total: u32) -> Vec<usize> {
        let full = self.columns as u64 * u64::from(done) / u64::from(total.max(1));
        let mut changed = Vec::new();
        for (at, cell) in self.cells.iter_mut().enumerate().skip(self.progress) {
            if ((at % self.columns) as u64) < full && *cell != FULL {
                *cell = FULL;
                changed.push(at);
            }
        }
        changed
    }
}
