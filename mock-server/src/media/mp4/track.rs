//! One track: its samples, and the boxes that describe it.

use super::boxes::{boxed, full, u16s, u32s};
use super::entry::Entry;
use super::table;

/// No rotation, no scaling: 16.16 but for the last column's 2.30.
pub(super) const IDENTITY_MATRIX: [u32; 9] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];

/// Samples that last equally long, but for the last one, which lasts until the end.
#[derive(Debug)]
pub(in crate::media) struct Track {
    pub(super) entry: Entry,
    /// Ticks a second.
    timescale: u32,
    /// Ticks a sample.
    pub(super) sample_duration: u32,
    /// Ticks in all.
    pub(super) duration: u32,
    /// The samples, one after another.
    pub(super) data: Vec<u8>,
    pub(super) sizes: Vec<u32>,
    /// Numbers, from 1, of the samples from which decoding can start.
    pub(super) keys: Vec<u32>,
}

impl Track {
    pub(in crate::media) fn new(
        entry: Entry,
        timescale: u32,
        sample_duration: u32,
        duration: u32,
    ) -> Self {
        Self {
            entry,
            timescale,
            sample_duration: sample_duration.max(1),
            duration: duration.max(1),
            data: Vec::new(),
            sizes: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// How many samples the duration takes; the last one may be a short one.
    pub(in crate::media) fn samples(&self) -> u32 {
        self.duration.div_ceil(self.sample_duration)
    }

    /// Adds a sample of these parts.
    pub(in crate::media) fn push(&mut self, parts: &[&[u8]], key: bool) {
        let start = self.data.len();
        for part in parts {
            self.data.extend_from_slice(part);
        }
        self.sizes.push((self.data.len() - start) as u32);
        if key {
            self.keys.push(self.sizes.len() as u32);
        }
    }

    /// Samples to a chunk: about a second.
    pub(super) fn samples_a_chunk(&self) -> u32 {
        self.timescale.div_ceil(self.sample_duration).max(1)
    }

    /// trak, 8.3.1.
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

    /// hdlr, 8.4.3.
    fn handler(&self, out: &mut Vec<u8>) {
        let (kind, name) = if self.entry.is_video() {
            (b"vide", "Test card\0")
        } else {
            (b"soun", "Tone\0")
        };
        u32s(out, &[0]);
        out.extend_from_slice(kind);
        u32s(out, &[0; 3]);
        out.extend_from_slice(name.as_bytes());
    }

    /// minf, 8.4.4.
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
