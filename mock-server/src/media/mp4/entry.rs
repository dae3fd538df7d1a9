//! Sample entries: the configuration of a track's decoder.

use super::boxes::{boxed, full, u16s, u32s};

/// The format of a track's samples.
#[derive(Debug)]
pub(in crate::media) enum SampleEntry {
    /// H.264. The parameter sets are NAL units; NAL units in samples have four-byte lengths.
    Avc { width: u16, height: u16, sequence_parameter_set: Vec<u8>, picture_parameter_set: Vec<u8> },
    /// AAC with one channel.
    Aac { sample_rate: u16, config: [u8; 2] },
}

impl SampleEntry {
    pub(super) fn is_video(&self) -> bool {
        matches!(self, Self::Avc { .. })
    }

    /// Returns the width and height in pixels, or zeros for sound.
    pub(super) fn size(&self) -> (u16, u16) {
        match self {
            Self::Avc { width, height, .. } => (*width, *height),
            Self::Aac { .. } => (0, 0),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Avc { width, height, sequence_parameter_set, picture_parameter_set } => {
                boxed(out, b"avc1", |out| {
                    u16s(out, &[0, 0, 0, 1]); // reserved, data_reference_index
                    u16s(out, &[0; 8]);
                    u16s(out, &[*width, *height]);
                    u32s(out, &[0x0048_0000, 0x0048_0000, 0]); // 72 dpi
                    u16s(out, &[1]); // frame_count
                    out.extend_from_slice(&[0; 32]); // compressorname
                    u16s(out, &[24, 0xffff]); // depth, pre_defined
                    boxed(out, b"avcC", |out| {
                        avc_configuration(out, sequence_parameter_set, picture_parameter_set);
                    });
                });
            }
            Self::Aac { sample_rate, config } => boxed(out, b"mp4a", |out| {
                u16s(out, &[0, 0, 0, 1]);
                u32s(out, &[0, 0]);
                u16s(out, &[1, 16, 0, 0]); // channels, bits, pre_defined, reserved
                u32s(out, &[u32::from(*sample_rate) << 16]);
                full(out, b"esds", 0, 0, |out| elementary_stream(out, *config));
            }),
        }
    }
}

/// Writes the AVCDecoderConfigurationRecord, ISO/IEC 14496-15 5.3.3.1.
fn avc_configuration(out: &mut Vec<u8>, sequence: &[u8], picture: &[u8]) {
    out.push(1);
    // Profile, constraints and level follow the NAL unit's header.
    out.extend_from_slice(sequence.get(1..4).unwrap_or_default());
    out.push(0xff); // lengthSizeMinusOne: 3
    out.push(0xe1); // one sequence parameter set
    u16s(out, &[sequence.len() as u16]);
    out.extend_from_slice(sequence);
    out.push(1);
    u16s(out, &[picture.len() as u16]);
    out.extend_from_slice(picture);
}

/// Writes the ES_Descriptor, ISO/IEC 14496-1 7.2.6.5. Every length fits one byte.
fn elementary_stream(out: &mut Vec<u8>, config: [u8; 2]) {
    out.extend_from_slice(&[0x03, 25, 0, 0, 0]); // ES_ID 0, no flags
    out.extend_from_slice(&[0x04, 17, 0x40, 0x15]); // MPEG-4 audio, audio stream
    out.extend_from_slice(&[0; 11]); // buffer size and bit rates: unspecified
    out.extend_from_slice(&[0x05, 2]);
    out.extend_from_slice(&config);
    out.extend_from_slice(&[0x06, 1, 2]); // SLConfig: as in MP4 files
}
