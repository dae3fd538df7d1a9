//! The `trak` box and its descendants.

use super::boxes::{boxed, full, u16s, u32s};
use super::table;
use super::track::Track;

/// The identity matrix. Values are 16.16 fixed point, those of the last column 2.30.
pub(super) const IDENTITY_MATRIX: [u32; 9] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];

impl Track {
    /// Writes the trak box, 8.3.1.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        number: u32,
        movie_duration: u32,
        offsets: &[u32],
    ) {
        let (width, height) = self.entry.size();
        let volume = if self.entry.is_video() { 0 } else { 0x0100 };
        boxed(out, b"trak", |out| {
            // Flags: enabled, in the movie.
            full(out, b"tkhd", 0, 3, |out| {
                u32s(out, &[0, 0, number, 0, movie_duration, 0, 0]);
                u16s(out, &[0, 0, volume, 0]); // layer, group, volume, reserved
                u32s(out, &IDENTITY_MATRIX);
                u32s(out, &[u32::from(width) << 16, u32::from(height) << 16]);
            });
            boxed(out, b"mdia", |out| {
                full(out, b"mdhd", 0, 0, |out| {
                    u32s(out, &[0, 0, self.timescale, self.duration]);
                    u16s(out, &[0x55c4, 0]); // language: und
                });
                full(out, b"hdlr", 0, 0, |out| self.handler(out));
                boxed(out, b"minf", |out| self.media_information(out, offsets));
            });
        });
    }

    /// Writes the content of hdlr, 8.4.3.
    fn handler(&self, out: &mut Vec<u8>) {
        let (kind, name) =
            if self.entry.is_video() { (b"vide", "Test card\0") } else { (b"soun", "Tone\0") };
        u32s(out, &[0]);
        out.extend_from_slice(kind);
        u32s(out, &[0; 3]);
        out.extend_from_slice(name.as_bytes());
    }

    /// Writes the content of minf, 8.4.4.
    fn media_information(&self, out: &mut Vec<u8>, offsets: &[u32]) {
        if self.entry.is_video() {
            full(out, b"vmhd", 0, 1, |out| u16s(out, &[0; 4]));
        } else {
            full(out, b"smhd", 0, 0, |out| u16s(out, &[0; 2]));
        }
        boxed(out, b"dinf", |out| {
            full(out, b"dref", 0, 0, |out| {
                u32s(out, &[1]);
                full(out, b"url ", 0, 1, |_| {}); // the media is in this file
            });
        });
        boxed(out, b"stbl", |out| {
            full(out, b"stsd", 0, 0, |out| {
                u32s(out, &[1]);
                self.entry.write(out);
            });
            table::write(out, self, offsets);
        });
    }
}
