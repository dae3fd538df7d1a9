//! An H.264 encoder for pictures whose macroblocks have one colour each.
//!
//! The encoder uses the constrained baseline profile, CAVLC and one slice per picture. A
//! key picture is predicted from the left or upper neighbour and corrected by DC
//! coefficients; other pictures skip unchanged macroblocks. The quantiser is chosen so
//! that a coefficient level is a step of exactly one sample value (see `macroblock`).
//! Decoded pictures therefore equal the drawn ones, and no reconstruction is needed.
//!
//! Clause numbers in this folder refer to ITU-T H.264 (08/2021).

mod bits;
mod level;
mod macroblock;
mod nal;
mod parameter_sets;

pub(super) use bits::BitWriter;
use macroblock::{SliceType, write_macroblock};

use super::palette::{Ink, YCbCr};

/// Samples along an edge of a macroblock.
pub(super) const MACROBLOCK: u32 = 16;

/// `log2_max_frame_num_minus4` + 4, 7.4.2.1.1.
const FRAME_NUM_BITS: u32 = 8;

/// The constant properties of a video.
#[derive(Debug, Clone, Copy)]
pub(super) struct VideoFormat {
    /// The width in samples, even.
    pub(super) width: u32,
    /// The height in samples, even.
    pub(super) height: u32,
    pub(super) frames_per_second: u32,
    pub(super) palette: [YCbCr; 16],
}

impl VideoFormat {
    pub(super) fn columns(&self) -> u32 {
        self.width.div_ceil(MACROBLOCK)
    }

    pub(super) fn rows(&self) -> u32 {
        self.height.div_ceil(MACROBLOCK)
    }

    /// Returns the sequence parameter set as a NAL unit.
    pub(super) fn sequence_parameter_set(&self) -> Vec<u8> {
        parameter_sets::sequence(self)
    }

    /// Returns the picture parameter set as a NAL unit.
    pub(super) fn picture_parameter_set(&self) -> Vec<u8> {
        parameter_sets::picture()
    }
}

/// An encoder of consecutive pictures. Each result is one NAL unit and one access unit.
#[derive(Debug)]
pub(super) struct Encoder {
    format: VideoFormat,
    frame_num: u32,
    idr_pic_id: u32,
}

impl Encoder {
    pub(super) fn new(format: VideoFormat) -> Self {
        Self { format, frame_num: 0, idr_pic_id: 0 }
    }

    /// Encodes a picture from which decoding can start (IDR).
    pub(super) fn key_picture(&mut self, cells: &[Ink]) -> Vec<u8> {
        self.frame_num = 0;
        // Consecutive IDR pictures must have different IDs, 7.4.3.
        self.idr_pic_id ^= 1;
        let mut bits = BitWriter::default();
        self.slice_header(&mut bits, SliceType::Intra);
        let picture = self.picture(cells);
        for address in 0..cells.len() {
            write_macroblock(&mut bits, &picture, address, SliceType::Intra);
        }
        nal::unit(nal::IDR_SLICE, bits)
    }

    /// Encodes a picture that differs from the previous one in the macroblocks `changed`,
    /// which are in ascending order.
    pub(super) fn next_picture(&mut self, cells: &[Ink], changed: &[usize]) -> Vec<u8> {
        self.frame_num = (self.frame_num + 1) % (1 << FRAME_NUM_BITS);
        let mut bits = BitWriter::default();
        self.slice_header(&mut bits, SliceType::Predicted);
        let picture = self.picture(cells);
        // slice_data(), 7.3.4: runs of skipped macroblocks between the coded ones.
        let mut next = 0;
        for address in changed.iter().copied() {
            bits.unsigned(address.saturating_sub(next) as u32);
            write_macroblock(&mut bits, &picture, address, SliceType::Predicted);
            next = address + 1;
        }
        if next < cells.len() {
            bits.unsigned((cells.len() - next) as u32);
        }
        nal::unit(nal::SLICE, bits)
    }

    fn picture<'a>(&'a self, cells: &'a [Ink]) -> macroblock::Picture<'a> {
        macroblock::Picture {
            columns: self.format.columns() as usize,
            cells,
            palette: &self.format.palette,
        }
    }

    /// Writes the slice_header(), 7.3.3.
    fn slice_header(&self, bits: &mut BitWriter, slice: SliceType) {
        bits.unsigned(0); // first_mb_in_slice
        bits.unsigned(slice.code());
        bits.unsigned(0); // pic_parameter_set_id
        bits.put(self.frame_num, FRAME_NUM_BITS);
        match slice {
            SliceType::Intra => {
                bits.unsigned(self.idr_pic_id);
                bits.put(0, 1); // no_output_of_prior_pics_flag
                bits.put(0, 1); // long_term_reference_flag
            }
            SliceType::Predicted => {
                bits.put(0, 1); // num_ref_idx_active_override_flag
                bits.put(0, 1); // ref_pic_list_modification_flag_l0
                bits.put(0, 1); // adaptive_ref_pic_marking_mode_flag
            }
        }
        bits.signed(0); // slice_qp_delta
        bits.unsigned(1); // disable_deblocking_filter_idc: edges stay as drawn
    }
}
