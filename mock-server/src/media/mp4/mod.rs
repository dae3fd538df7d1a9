//! An MP4 muxer for complete tracks. The index comes first, so that playback can start early.
//!
//! Tracks are divided into chunks of about a second, which are interleaved. Clause numbers
//! in this folder refer to ISO/IEC 14496-12 (2015) unless noted otherwise.

mod boxes;
mod entry;
mod table;
mod track;
mod track_box;

pub(super) use entry::SampleEntry;
pub(super) use track::Track;

use boxes::{boxed, full, u16s, u32s};

/// Ticks per second of the movie's duration.
const MOVIE_TIMESCALE: u32 = 1000;

pub(super) fn file(duration_ms: u32, tracks: &[Track]) -> Vec<u8> {
    let mut out = Vec::new();
    boxed(&mut out, b"ftyp", |out| {
        out.extend_from_slice(b"isom");
        u32s(out, &[0x200]);
        out.extend_from_slice(b"isomiso2avc1mp41");
    });
    // Chunk offsets count from the start of the file and so depend on the size of the index,
    // which does not depend on them. The index is therefore written once to measure it.
    let mut index = Vec::new();
    movie(&mut index, duration_ms, tracks, &table::chunk_offsets(tracks, 0));
    let media_start = out.len() + index.len() + 8;
    let offsets = table::chunk_offsets(tracks, media_start as u32);
    movie(&mut out, duration_ms, tracks, &offsets);
    boxed(&mut out, b"mdat", |out| table::chunks(out, tracks));
    out
}

/// Writes the moov box, 8.2.1.
fn movie(out: &mut Vec<u8>, duration_ms: u32, tracks: &[Track], offsets: &[Vec<u32>]) {
    boxed(out, b"moov", |out| {
        full(out, b"mvhd", 0, 0, |out| {
            u32s(out, &[0, 0, MOVIE_TIMESCALE, duration_ms]);
            u32s(out, &[0x0001_0000]); // rate 1
            u16s(out, &[0x0100, 0, 0, 0, 0, 0]); // volume 1, reserved
            u32s(out, &track_box::IDENTITY_MATRIX);
            u32s(out, &[0; 6]);
            u32s(out, &[tracks.len() as u32 + 1]); // next_track_ID
        });
        for (number, (track, offsets)) in (1..).zip(tracks.iter().zip(offsets)) {
            track.write(out, number, duration_ms, offsets);
        }
    });
}

#[cfg(test)]
mod tests;
