//! The sixteen colours of a test card, which depend on its seed.

use crate::rng::Rng;

/// Red, green, blue.
pub(super) type Rgb = [u8; 3];

/// Luma, blue difference, red difference, in limited range.
pub(super) type YCbCr = [u8; 3];

/// An index into the palette. Its sixteen values fit into four bits per pixel of a PNG.
pub(super) type Ink = u8;

pub(super) const GROUND: Ink = 0;
pub(super) const TROUGH: Ink = 1;
pub(super) const ACCENT: Ink = 2;
pub(super) const WHITE: Ink = 3;
pub(super) const PLATE: Ink = 4;
pub(super) const FIRST_BAR: Ink = 5;
pub(super) const BARS: u32 = 7;
pub(super) const FIRST_GREY: Ink = 12;
pub(super) const GREYS: u32 = 4;

/// A full turn of the colour wheel, in units of [`hue`].
const TURN: u32 = 1536;

/// The colours by [`Ink`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Palette([Rgb; 16]);

impl Palette {
    pub(super) fn new(seed: u64) -> Self {
        let first = Rng::unmixed(seed).below(TURN as usize) as u32;
        // The bars span less than half of the wheel. If they spanned all of it, two seeds would
        // give the same colours in a different order.
        let bar = |step: u32| mix(hue(first + step * (TURN / 18)), [255; 3], 48);
        let opposite = hue(first + TURN / 2 + TURN / 6);
        Self([
            mix(hue(first), [14; 3], 225),
            mix(hue(first), [52; 3], 215),
            mix(opposite, [255; 3], 40),
            [245; 3],
            [16; 3],
            bar(0),
            bar(1),
            bar(2),
            bar(3),
            bar(4),
            bar(5),
            bar(6),
            [70; 3],
            [120; 3],
            [170; 3],
            [220; 3],
        ])
    }

    pub(super) fn rgb(&self) -> &[Rgb; 16] {
        &self.0
    }

    pub(super) fn ycbcr(&self) -> [YCbCr; 16] {
        self.0.map(ycbcr)
    }
}

/// Returns the pure colour at `angle`, in 1536ths of the wheel.
fn hue(angle: u32) -> Rgb {
    let angle = angle % TURN;
    let rising = (angle % 256) as u8;
    let falling = 255 - rising;
    match angle / 256 {
        0 => [255, rising, 0],
        1 => [falling, 255, 0],
        2 => [0, 255, rising],
        3 => [0, falling, 255],
        4 => [rising, 0, 255],
        _ => [255, 0, falling],
    }
}

/// Mixes `share` 256ths of `other` into `colour`.
fn mix(colour: Rgb, other: Rgb, share: u32) -> Rgb {
    let [red, green, blue] = colour;
    let [other_red, other_green, other_blue] = other;
    let part = |a: u8, b: u8| ((u32::from(a) * (256 - share) + u32::from(b) * share) / 256) as u8;
    [part(red, other_red), part(green, other_green), part(blue, other_blue)]
}

/// Converts a colour to ITU-R BT.709 in limited range, as the video's VUI declares. The
/// coefficients are 256ths.
fn ycbcr([red, green, blue]: Rgb) -> YCbCr {
    let (red, green, blue) = (i32::from(red), i32::from(green), i32::from(blue));
    let scaled = |offset: i32, sum: i32| (offset + ((sum + 128) >> 8)).clamp(16, 240) as u8;
    [
        scaled(16, 47 * red + 157 * green + 16 * blue),
        scaled(128, -26 * red - 86 * green + 112 * blue),
        scaled(128, 112 * red - 102 * green - 10 * blue),
    ]
}
