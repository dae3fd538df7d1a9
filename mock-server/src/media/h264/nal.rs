//! NAL units: a header byte and a payload without start codes.

use super::bits::BitWriter;

/// `nal_ref_idc` 3 and `nal_unit_type` 1, 5, 7 and 8, 7.3.1 and table 7-1.
pub(super) const SLICE: u8 = 0x61;
pub(super) const IDR_SLICE: u8 = 0x65;
pub(super) const SEQUENCE_PARAMETER_SET: u8 = 0x67;
pub(super) const PICTURE_PARAMETER_SET: u8 = 0x68;

/// Returns a nal_unit(), 7.3.1, with emulation prevention, 7.4.1.
pub(super) fn unit(header: u8, payload: BitWriter) -> Vec<u8> {
    let payload = payload.finish_rbsp();
    let mut unit = Vec::with_capacity(payload.len() + 8);
    unit.push(header);
    let mut zeros = 0;
    for byte in payload {
        if zeros == 2 && byte <= 3 {
            unit.push(3);
            zeros = 0;
        }
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        unit.push(byte);
    }
    unit
}
