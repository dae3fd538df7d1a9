//! Sample tables: the time, size and position of each sample.

use super::boxes::{full, u32s};
use super::track::Track;

/// Writes the boxes of stbl, 8.5.1, that follow the sample entries.
pub(super) fn write(out: &mut Vec<u8>, track: &Track, offsets: &[u32]) {
    let samples = track.sizes.len() as u32;
    full(out, b"stts", 0, 0, |out| times(out, track, samples));
    // Without this table every sample is a sync sample, 8.6.2, as in audio.
    if track.entry.is_video() {
        full(out, b"stss", 0, 0, |out| {
            u32s(out, &[track.keys.len() as u32]);
            u32s(out, &track.keys);
        });
    }
    full(out, b"stsc", 0, 0, |out| chunk_lengths(out, track, samples));
    full(out, b"stsz", 0, 0, |out| {
        u32s(out, &[0, samples]);
        u32s(out, &track.sizes);
    });
    full(out, b"stco", 0, 0, |out| {
        u32s(out, &[offsets.len() as u32]);
        u32s(out, offsets);
    });
}

/// Writes the content of stts, 8.6.1.2. The last sample has the remaining duration.
fn times(out: &mut Vec<u8>, track: &Track, samples: u32) {
    let full_samples = samples.saturating_sub(1);
    let last = track.duration.saturating_sub(full_samples * track.sample_duration);
    if last == track.sample_duration {
        u32s(out, &[1, samples, last]);
    } else if full_samples == 0 {
        u32s(out, &[1, 1, last]);
    } else {
        u32s(out, &[2, full_samples, track.sample_duration, 1, last]);
    }
}

/// Writes the content of stsc, 8.7.4. The last chunk may be shorter.
fn chunk_lengths(out: &mut Vec<u8>, track: &Track, samples: u32) {
    let each = track.samples_per_chunk();
    let (whole, rest) = (samples / each, samples % each);
    match (whole, rest) {
        (0, rest) => u32s(out, &[1, 1, rest, 1]),
        (_, 0) => u32s(out, &[1, 1, each, 1]),
        (whole, rest) => u32s(out, &[2, 1, each, 1, whole + 1, rest, 1]),
    }
}

/// Returns the offsets of each track's chunks if the first chunk begins at `start`.
pub(super) fn chunk_offsets(tracks: &[Track], start: u32) -> Vec<Vec<u32>> {
    let mut offsets = vec![Vec::new(); tracks.len()];
    let mut at = start;
    for (track, _, size) in interleaved(tracks) {
        if let Some(offsets) = offsets.get_mut(track) {
            offsets.push(at);
        }
        at = at.saturating_add(size as u32);
    }
    offsets
}

/// Writes the content of mdat, 8.1.1.
pub(super) fn chunks(out: &mut Vec<u8>, tracks: &[Track]) {
    for (track, start, size) in interleaved(tracks) {
        let data = tracks.get(track).map(|track| track.data.as_slice());
        out.extend_from_slice(
            data.and_then(|data| data.get(start..start + size)).unwrap_or_default(),
        );
    }
}

/// Returns the chunks in file order: the index of the track, and the start and size within its data.
fn interleaved(tracks: &[Track]) -> Vec<(usize, usize, usize)> {
    let mut chunks = Vec::new();
    for (number, track) in tracks.iter().enumerate() {
        let mut start = 0;
        let sizes = track.sizes.chunks(track.samples_per_chunk() as usize);
        for (second, sizes) in sizes.enumerate() {
            let size = sizes.iter().sum::<u32>() as usize;
            chunks.push((second, number, start, size));
            start += size;
        }
    }
    chunks.sort_unstable();
    let place = |(_, number, start, size)| (number, start, size);
    chunks.into_iter().map(place).collect()
}
