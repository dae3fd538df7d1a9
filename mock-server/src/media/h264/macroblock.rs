//! A macroblock of one colour, predicted from a neighbour and corrected by DC coefficients.
//!
//! With this quantiser, a DC level of n raises each sample by exactly n. Luma,
//! 8.5.10: level × LevelScale(28 % 6) = level × 256, scaled to level × 64 at QP 28; then
//! (level × 64 + 32) >> 6 = level, 8.5.12.2. Chroma has a shorter transform with the
//! same result at QP 22, 8.5.11.2.

use super::bits::BitWriter;
use crate::media::palette::{Ink, YCbCr};

/// The luma quantiser.
pub(super) const QP: i32 = 28;
/// `chroma_qp_index_offset`: 28 - 6 is 22, which table 8-15 maps to itself.
pub(super) const CHROMA_QP_OFFSET: i32 = -6;

/// The macroblocks of a picture, row by row.
#[derive(Debug)]
pub(super) struct Picture<'a> {
    pub(super) columns: usize,
    pub(super) cells: &'a [Ink],
    pub(super) palette: &'a [YCbCr; 16],
}

impl Picture<'_> {
    fn colour(&self, address: usize) -> YCbCr {
        let ink = self.cells.get(address).copied().unwrap_or_default();
        let colour = self.palette.get(usize::from(ink)).copied();
        colour.unwrap_or(MID_GREY)
    }

    fn left(&self, address: usize) -> Option<YCbCr> {
        (!address.is_multiple_of(self.columns)).then(|| self.colour(address - 1))
    }

    fn above(&self, address: usize) -> Option<YCbCr> {
        let above = address.checked_sub(self.columns)?;
        Some(self.colour(above))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SliceType {
    Intra,
    Predicted,
}

impl SliceType {
    /// Returns `slice_type`, table 7-6, with the values for pictures whose slices are all of one type.
    pub(super) fn code(self) -> u32 {
        match self {
            Self::Intra => 7,
            Self::Predicted => 5,
        }
    }

    /// Returns the number of the first intra macroblock type: in a P slice, they follow the five
    /// inter types, 7.4.5.
    fn first_intra_type(self) -> u32 {
        match self {
            Self::Intra => 0,
            Self::Predicted => 5,
        }
    }
}

/// The result of DC prediction without neighbours, 8.3.3.3.
const MID_GREY: YCbCr = [128; 3];

/// Intra16x16PredMode, table 8-4.
#[derive(Debug, Clone, Copy)]
enum Luma {
    Vertical = 0,
    Horizontal = 1,
    Dc = 2,
}

/// intra_chroma_pred_mode, table 7-16, which has a different order.
#[derive(Debug, Clone, Copy)]
enum Chroma {
    Dc = 0,
    Horizontal = 1,
    Vertical = 2,
}

/// Writes a macroblock_layer(), 7.3.5, of type Intra_16x16 without AC coefficients.
pub(super) fn write_macroblock(
    bits: &mut BitWriter,
    picture: &Picture<'_>,
    address: usize,
    slice: SliceType,
) {
    let [y, cb, cr] = picture.colour(address);
    let (luma, chroma, from) = prediction(picture, address);
    let [from_y, from_cb, from_cr] = from;
    let cb = i32::from(cb) - i32::from(from_cb);
    let cr = i32::from(cr) - i32::from(from_cr);
    let has_chroma = cb != 0 || cr != 0;

    // Table 7-11: 1 + prediction mode + 4 × chroma pattern (1: DC only).
    let mb_type = 1 + luma as u32 + 4 * u32::from(has_chroma);
    bits.unsigned(slice.first_intra_type() + mb_type);
    bits.unsigned(chroma as u32);
    bits.signed(0); // mb_qp_delta

    // residual(), 7.3.5.3. No block has AC coefficients, so nC is 0 throughout, 9.2.1.
    let luma_dc = DcBlock {
        level: i32::from(y) - i32::from(from_y),
        none: (1, 1),
        one: (1, 2),
        other: (5, 6),
    };
    luma_dc.write(bits);
    if has_chroma {
        for level in [cb, cr] {
            DcBlock { level, none: (1, 2), one: (1, 1), other: (7, 6) }.write(bits);
        }
    }
}

/// Returns the prediction modes with the shortest code, and the colour that they predict.
fn prediction(picture: &Picture<'_>, address: usize) -> (Luma, Chroma, YCbCr) {
    let target = picture.colour(address);
    match (picture.left(address), picture.above(address)) {
        // All neighbours are equal, so DC, the shortest code for chroma, gives the same result.
        (Some(left), Some(above)) if left == above => (Luma::Vertical, Chroma::Dc, above),
        (Some(_), Some(above)) if above == target => (Luma::Vertical, Chroma::Vertical, above),
        (Some(left), Some(_)) => (Luma::Horizontal, Chroma::Horizontal, left),
        (Some(left), None) => (Luma::Horizontal, Chroma::Dc, left),
        (None, Some(above)) => (Luma::Vertical, Chroma::Dc, above),
        (None, None) => (Luma::Dc, Chroma::Dc, MID_GREY),
    }
}

/// A residual_block_cavlc(), 7.3.5.3.2, of a DC block with at most one coefficient.
///
/// `none`, `one` and `other` are the coeff_tokens of table 9-5 (value and length) for no
/// coefficient, for ±1, and for any other coefficient.
struct DcBlock {
    level: i32,
    none: (u32, u32),
    one: (u32, u32),
    other: (u32, u32),
}

impl DcBlock {
    fn write(&self, bits: &mut BitWriter) {
        match self.level {
            0 => bits.put(self.none.0, self.none.1),
            1 | -1 => {
                bits.put(self.one.0, self.one.1);
                bits.put(u32::from(self.level < 0), 1); // trailing_ones_sign_flag
                bits.put(1, 1); // total_zeros: 0
            }
            level => {
                bits.put(self.other.0, self.other.1);
                put_level(bits, level);
                bits.put(1, 1); // total_zeros: 0
            }
        }
    }
}

/// Writes level_prefix and level_suffix of the only coefficient, 9.2.2.1 with suffixLength 0.
fn put_level(bits: &mut BitWriter, level: i32) {
    // The first codes are 2 and -2, because ±1 is coded as a trailing one.
    let code = 2 * level.unsigned_abs() - 4 + u32::from(level < 0);
    let (prefix, suffix, suffix_bits) = match code {
        0..14 => (code, 0, 0),
        14..30 => (14, code - 14, 4),
        _ => (15, code - 30, 12),
    };
    bits.put(1, prefix + 1);
    bits.put(suffix, suffix_bits);
}
