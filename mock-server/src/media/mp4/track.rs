//! A track and its samples.

use super::entry::SampleEntry;

/// A track whose samples have equal durations, except that the last one may be shorter.
#[derive(Debug)]
pub(in crate::media) struct Track {
    pub(super) entry: SampleEntry,
    /// Ticks per second.
    pub(super) timescale: u32,
    /// Ticks per sample.
    pub(super) sample_duration: u32,
    /// The total duration in ticks.
    pub(super) duration: u32,
    /// The concatenated samples.
    pub(super) data: Vec<u8>,
    pub(super) sizes: Vec<u32>,
    /// The one-based numbers of the samples from which decoding can start.
    pub(super) keys: Vec<u32>,
}

impl Track {
    pub(in crate::media) fn new(
        entry: SampleEntry,
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

    /// Returns the number of samples in the duration.
    pub(in crate::media) fn samples(&self) -> u32 {
        self.duration.div_ceil(self.sample_duration)
    }

    /// Adds a sample that consists of the concatenated parts.
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

    /// Returns the number of samples per chunk, about a second.
    pub(super) fn samples_per_chunk(&self) -> u32 {
        self.timescale.div_ceil(self.sample_duration).max(1)
    }
}
