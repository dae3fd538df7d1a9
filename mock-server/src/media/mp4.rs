//! An MP4 muxer for complete tracks. The index comes first, so that playback can start early.
//!
//! Tracks are divided into chunks of about a second, which are interleaved. Clause numbers refer to
//! ISO/IEC 14496-12 (2015) unless noted otherwise.

/// Ticks per second of the movie's duration.
const MOVIE_TIMESCALE: u32 = 1000;
/// The identity matrix. Values are 16.16 fixed point, those of the last column 2.30.
const IDENTITY_MATRIX: [u32; 9] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];

/// The format of a track's samples.
#[derive(Debug)]
pub(super) enum SampleEntry {
    /// H.264. The parameter sets are NAL units; NAL units in samples have four-byte lengths.
    Avc { width: u16, height: u16, sequence_parameter_set: Vec<u8>, picture_parameter_set: Vec<u8> },
    /// AAC with one channel.
    Aac { sample_rate: u16, config: [u8; 2] },
}

/// A track whose samples have equal durations, except that the last one may be shorter.
#[derive(Debug)]
pub(super) struct Track {
    entry: SampleEntry,
    /// Ticks per second.
    timescale: u32,
    /// Ticks per sample.
    sample_duration: u32,
    /// The total duration in ticks.
    duration: u32,
    /// The concatenated samples.
    data: Vec<u8>,
    sizes: Vec<u32>,
    /// The one-based numbers of the samples from which decoding can start.
    keys: Vec<u32>,
}

/// Returns a file of a duration and tracks.
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
    movie(&mut index, duration_ms, tracks, &chunk_offsets(tracks, 0));
    let media_start = out.len() + index.len() + 8;
    let offsets = chunk_offsets(tracks, media_start as u32);
    movie(&mut out, duration_ms, tracks, &offsets);
    boxed(&mut out, b"mdat", |out| write_chunks(out, tracks));
    out
}

/// Writes the moov box, 8.2.1.
fn movie(out: &mut Vec<u8>, duration_ms: u32, tracks: &[Track], offsets: &[Vec<u32>]) {
    boxed(out, b"moov", |out| {
        full(out, b"mvhd", 0, 0, |out| {
            u32s(out, &[0, 0, MOVIE_TIMESCALE, duration_ms]);
            u32s(out, &[0x0001_0000]); // rate 1
            u16s(out, &[0x0100, 0, 0, 0, 0, 0]); // volume 1, reserved
            u32s(out, &IDENTITY_MATRIX);
            u32s(out, &[0; 6]);
            u32s(out, &[tracks.len() as u32 + 1]); // next_track_ID
        });
        for (number, (track, offsets)) in (1..).zip(tracks.iter().zip(offsets)) {
            track.write(out, number, duration_ms, offsets);
        }
    });
}

impl SampleEntry {
    fn is_video(&self) -> bool {
        matches!(self, Self::Avc { .. })
    }

    /// Returns the width and height in pixels, or zeros for sound.
    fn size(&self) -> (u16, u16) {
        match self {
            Self::Avc { width, height, .. } => (*width, *height),
            Self::Aac { .. } => (0, 0),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
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

impl Track {
    pub(super) fn new(
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
    pub(super) fn samples(&self) -> u32 {
        self.duration.div_ceil(self.sample_duration)
    }

    /// Adds a sample that consists of the concatenated parts.
    pub(super) fn push(&mut self, parts: &[&[u8]], key: bool) {
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
    fn samples_per_chunk(&self) -> u32 {
        self.timescale.div_ceil(self.sample_duration).max(1)
    }

    /// Writes the trak box, 8.3.1.
    fn write(&self, out: &mut Vec<u8>, number: u32, movie_duration: u32, offsets: &[u32]) {
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
            sample_tables(out, self, offsets);
        });
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

/// Writes the boxes of stbl, 8.5.1, that follow the sample entries.
fn sample_tables(out: &mut Vec<u8>, track: &Track, offsets: &[u32]) {
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
fn chunk_offsets(tracks: &[Track], start: u32) -> Vec<Vec<u32>> {
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
fn write_chunks(out: &mut Vec<u8>, tracks: &[Track]) {
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

/// Writes a box and fills in its size after writing the content.
fn boxed(out: &mut Vec<u8>, kind: &[u8; 4], content: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(kind);
    content(out);
    let size = (out.len() - start) as u32;
    if let Some(field) = out.get_mut(start..start + 4) {
        field.copy_from_slice(&size.to_be_bytes());
    }
}

/// Writes a box with a version and flags.
fn full(
    out: &mut Vec<u8>,
    kind: &[u8; 4],
    version: u8,
    flags: u32,
    content: impl FnOnce(&mut Vec<u8>),
) {
    boxed(out, kind, |out| {
        u32s(out, &[u32::from(version) << 24 | flags]);
        content(out);
    });
}

fn u16s(out: &mut Vec<u8>, values: &[u16]) {
    for value in values {
        out.extend_from_slice(&value.to_be_bytes());
    }
}

fn u32s(out: &mut Vec<u8>, values: &[u32]) {
    for value in values {
        out.extend_from_slice(&value.to_be_bytes());
    }
}
