//! The sequence and picture parameter sets.

use super::bits::BitWriter;
use super::level::level_idc;
use super::macroblock::{CHROMA_QP_OFFSET, QP};
use super::{FRAME_NUM_BITS, MACROBLOCK, VideoFormat, nal};

/// The baseline profile; the flags restrict it to the constrained baseline profile, A.2.1.1.
const PROFILE_IDC: u32 = 66;
const CONSTRAINT_FLAGS: u32 = 0b1100_0000;

/// Returns the seq_parameter_set_data(), 7.3.2.1.1, as a NAL unit.
pub(super) fn sequence(format: &VideoFormat) -> Vec<u8> {
    let mut bits = BitWriter::default();
    bits.put(PROFILE_IDC, 8);
    bits.put(CONSTRAINT_FLAGS, 8);
    bits.put(u32::from(level_idc(format)), 8);
    bits.unsigned(0); // seq_parameter_set_id
    bits.unsigned(FRAME_NUM_BITS - 4);
    bits.unsigned(2); // pic_order_cnt_type: output order is decoding order
    bits.unsigned(1); // max_num_ref_frames
    bits.put(0, 1); // gaps_in_frame_num_value_allowed_flag
    bits.unsigned(format.columns() - 1);
    bits.unsigned(format.rows() - 1);
    bits.put(1, 1); // frame_mbs_only_flag
    bits.put(1, 1); // direct_8x8_inference_flag
    cropping(&mut bits, format);
    bits.put(1, 1); // vui_parameters_present_flag
    video_usability(&mut bits, format);
    nal::unit(nal::SEQUENCE_PARAMETER_SET, bits)
}

/// Writes how far the last macroblocks extend beyond the picture, in units of two samples.
fn cropping(bits: &mut BitWriter, format: &VideoFormat) {
    let right = (format.columns() * MACROBLOCK - format.width) / 2;
    let bottom = (format.rows() * MACROBLOCK - format.height) / 2;
    let has_cropping = right > 0 || bottom > 0;
    bits.put(u32::from(has_cropping), 1);
    if has_cropping {
        for offset in [0, right, 0, bottom] {
            bits.unsigned(offset);
        }
    }
}

/// Writes the vui_parameters(), E.1.1: BT.709 colours and no reordering, so that a player
/// shows each picture as soon as it is decoded.
fn video_usability(bits: &mut BitWriter, format: &VideoFormat) {
    bits.put(0, 1); // aspect_ratio_info_present_flag
    bits.put(0, 1); // overscan_info_present_flag
    bits.put(1, 1); // video_signal_type_present_flag
    bits.put(5, 3); // video_format: unspecified
    bits.put(0, 1); // video_full_range_flag
    bits.put(1, 1); // colour_description_present_flag
    for bt709 in [1, 1, 1] {
        bits.put(bt709, 8);
    }
    bits.put(0, 1); // chroma_loc_info_present_flag
    bits.put(1, 1); // timing_info_present_flag
    bits.put(1, 32); // num_units_in_tick; a tick is half a frame
    bits.put(format.frames_per_second * 2, 32);
    bits.put(0, 1); // fixed_frame_rate_flag: the last frame may be shorter
    bits.put(0, 1); // nal_hrd_parameters_present_flag
    bits.put(0, 1); // vcl_hrd_parameters_present_flag
    bits.put(0, 1); // pic_struct_present_flag
    bits.put(1, 1); // bitstream_restriction_flag
    bits.put(1, 1); // motion_vectors_over_pic_boundaries_flag
    bits.unsigned(0); // max_bytes_per_pic_denom
    bits.unsigned(0); // max_bits_per_mb_denom
    bits.unsigned(0); // log2_max_mv_length_horizontal
    bits.unsigned(0); // log2_max_mv_length_vertical
    bits.unsigned(0); // max_num_reorder_frames
    bits.unsigned(1); // max_dec_frame_buffering
}

/// Returns the pic_parameter_set_rbsp(), 7.3.2.2, as a NAL unit.
pub(super) fn picture() -> Vec<u8> {
    let mut bits = BitWriter::default();
    bits.unsigned(0); // pic_parameter_set_id
    bits.unsigned(0); // seq_parameter_set_id
    bits.put(0, 1); // entropy_coding_mode_flag: CAVLC
    bits.put(0, 1); // bottom_field_pic_order_in_frame_present_flag
    bits.unsigned(0); // num_slice_groups_minus1
    bits.unsigned(0); // num_ref_idx_l0_default_active_minus1
    bits.unsigned(0); // num_ref_idx_l1_default_active_minus1
    bits.put(0, 1); // weighted_pred_flag
    bits.put(0, 2); // weighted_bipred_idc
    bits.signed(QP - 26); // pic_init_qp_minus26
    bits.signed(0); // pic_init_qs_minus26
    bits.signed(CHROMA_QP_OFFSET);
    bits.put(1, 1); // deblocking_filter_control_present_flag
    bits.put(0, 1); // constrained_intra_pred_flag: neighbours may be skipped
    bits.put(0, 1); // redundant_pic_cnt_present_flag
    nal::unit(nal::PICTURE_PARAMETER_SET, bits)
}
