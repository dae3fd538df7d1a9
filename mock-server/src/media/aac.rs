//! AAC-LC frames of silence and of one tone, each a few constant bytes.
//!
//! A frame has 1024 samples. If one spectral coefficient is the same in every frame, the
//! overlapping transforms produce a steady tone near its bin's frequency, so the encoder
//! needs neither a transform nor a psychoacoustic model.
//!
//! Syntax elements have their names of ISO/IEC 14496-3.

use super::h264::BitWriter;

pub(super) const SAMPLE_RATE: u32 = 48_000;
pub(super) const SAMPLES_PER_FRAME: u32 = 1024;

/// AudioSpecificConfig(): object type 2 (LC), rate index 3, one channel.
pub(super) const CONFIG: [u8; 2] = [0x11, 0x88];

/// The scale factor band of the tone: coefficients 40 to 47 at 48 kHz.
const TONE_BAND: u32 = 10;
/// Loudness, in steps of 1.5 dB.
const TONE_GAIN: u32 = 188;

/// Returns a silent frame.
pub(super) fn silence() -> Vec<u8> {
    frame(0, |_| {})
}

/// Returns a frame of a tone of about 1 kHz.
pub(super) fn tone() -> Vec<u8> {
    frame(TONE_BAND + 1, |bits| {
        // section_data(): codebook 0 (nothing) up to the band, then 1.
        bits.put(0, 4);
        bits.put(TONE_BAND, 5);
        bits.put(1, 4);
        bits.put(1, 5);
        // scale_factor_data(): the one band has the global gain; difference 0 is "0".
        bits.put(0, 1);
        put_tool_flags(bits);
        // spectral_data(): two quadruples of codebook 1, (0, 1, 0, 0) and zeros.
        bits.put(0b10011, 5);
        bits.put(0, 1);
    })
}

/// Writes a raw_data_block(): one channel element and the end element.
fn frame(bands: u32, write_bands: impl FnOnce(&mut BitWriter)) -> Vec<u8> {
    let mut bits = BitWriter::default();
    bits.put(0, 3); // id_syn_ele: single channel element
    bits.put(0, 4); // element_instance_tag
    bits.put(TONE_GAIN, 8); // global_gain
    bits.put(0, 1); // ics_reserved_bit
    bits.put(0, 2); // window_sequence: long
    bits.put(0, 1); // window_shape: sine
    bits.put(bands, 6); // max_sfb
    bits.put(0, 1); // predictor_data_present
    if bands == 0 {
        put_tool_flags(&mut bits);
    } else {
        write_bands(&mut bits);
    }
    bits.put(7, 3); // id_syn_ele: end
    bits.finish()
}

/// Writes three flags: no pulse data, no temporal noise shaping and no gain control.
fn put_tool_flags(bits: &mut BitWriter) {
    bits.put(0, 3);
}
