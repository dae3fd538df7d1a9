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
    let kind = boxed(b"ftyp", [b"isom".to_vec(), u32s(&[0x200]), b"isomiso2avc1mp41".to_vec()]);
    let chunks = interleaved(tracks);
    // Chunk offsets count from the start of the file and so depend on the size of the index,
    // which does not depend on them. The index is therefore written once to measure it.
    let index_size = movie(duration_ms, tracks, &chunks, 0).len();
    let media_start = (kind.len() + index_size + 8) as u32;
    let mut file = [kind, movie(duration_ms, tracks, &chunks, media_start)].concat();
    // The content of mdat, 8.1.1, is the chunks.
    let media_size: usize = chunks.iter().map(|(_, chunk)| chunk.len()).sum();
    file.extend_from_slice(&u32s(&[media_size as u32 + 8]));
    file.extend_from_slice(b"mdat");
    chunks.iter().for_each(|(_, chunk)| file.extend_from_slice(chunk));
    file
}

/// A part of a track's data, with the index of the track.
type Chunk<'t> = (usize, &'t [u8]);

/// Returns the chunks in file order.
fn interleaved(tracks: &[Track]) -> Vec<Chunk<'_>> {
    let mut chunks = Vec::new();
    for (number, track) in tracks.iter().enumerate() {
        let mut rest = track.data.as_slice();
        let sizes = track.sizes.chunks(track.samples_per_chunk() as usize);
        for (second, sizes) in sizes.enumerate() {
            let (chunk, after) = rest.split_at(sizes.iter().sum::<u32>() as usize);
            rest = after;
            chunks.push((second, number, chunk));
        }
    }
    chunks.sort_by_key(|(second, number, _)| (*second, *number));
    chunks.into_iter().map(|(_, number, chunk)| (number, chunk)).collect()
}

/// Returns the moov box, 8.2.1, of a file whose first chunk begins at `media_start`.
fn movie(duration_ms: u32, tracks: &[Track], chunks: &[Chunk<'_>], media_start: u32) -> Vec<u8> {
    let header = [
        u32s(&[0, 0, MOVIE_TIMESCALE, duration_ms]),
        u32s(&[0x0001_0000]),           // rate 1
        u16s(&[0x0100, 0, 0, 0, 0, 0]), // volume 1, reserved
        u32s(&IDENTITY_MATRIX),
        u32s(&[0; 6]),
        u32s(&[tracks.len() as u32 + 1]), // next_track_ID
    ];
    let mut offsets = vec![Vec::new(); tracks.len()];
    let mut at = media_start;
    for (track, chunk) in chunks {
        offsets.get_mut(*track).into_iter().for_each(|offsets| offsets.push(at));
        at = at.saturating_add(chunk.len() as u32);
    }
    let tracks = (1..).zip(tracks.iter().zip(offsets));
    let tracks = tracks.map(|(number, (track, at))| track.boxed(number, duration_ms, &at));
    boxed(b"moov", [full(b"mvhd", 0, header)].into_iter().chain(tracks))
}

impl SampleEntry {
    fn boxed(&self) -> Vec<u8> {
        match self {
            Self::Avc { width, height, sequence_parameter_set, picture_parameter_set } => {
                let parts = [
                    u16s(&[0, 0, 0, 1]), // reserved, data_reference_index
                    u16s(&[0; 8]),
                    u16s(&[*width, *height]),
                    u32s(&[0x0048_0000, 0x0048_0000, 0]), // 72 dpi
                    u16s(&[1]),                           // frame_count
                    vec![0; 32],                          // compressorname
                    u16s(&[24, 0xffff]),                  // depth, pre_defined
                    avc_configuration(sequence_parameter_set, picture_parameter_set),
                ];
                boxed(b"avc1", parts)
            }
            Self::Aac { sample_rate, config } => {
                let parts = [
                    u16s(&[0, 0, 0, 1]),
                    u32s(&[0, 0]),
                    u16s(&[1, 16, 0, 0]), // channels, bits, pre_defined, reserved
                    u32s(&[u32::from(*sample_rate) << 16]),
                    elementary_stream(*config),
                ];
                boxed(b"mp4a", parts)
            }
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

    /// Returns the trak box, 8.3.1.
    fn boxed(&self, number: u32, movie_duration: u32, offsets: &[u32]) -> Vec<u8> {
        let (handler, name, volume, width, height, media_header) = match self.entry {
            SampleEntry::Avc { width, height, .. } => {
                let header = full(b"vmhd", 1, [u16s(&[0; 4])]);
                (b"vide", "Test card\0", 0, width, height, header)
            }
            SampleEntry::Aac { .. } => {
                (b"soun", "Tone\0", 0x0100, 0, 0, full(b"smhd", 0, [u16s(&[0; 2])]))
            }
        };
        let header = [
            u32s(&[0, 0, number, 0, movie_duration, 0, 0]),
            u16s(&[0, 0, volume, 0]), // layer, group, volume, reserved
            u32s(&IDENTITY_MATRIX),
            u32s(&[u32::from(width) << 16, u32::from(height) << 16]),
        ];
        // The media is in this file.
        let references = [u32s(&[1]), full(b"url ", 1, [])];
        let information = [
            media_header,
            boxed(b"dinf", [full(b"dref", 0, references)]),
            boxed(b"stbl", self.sample_tables(offsets)),
        ];
        let media = [
            // The language is und.
            full(b"mdhd", 0, [u32s(&[0, 0, self.timescale, self.duration]), u16s(&[0x55c4, 0])]),
            full(b"hdlr", 0, [u32s(&[0]), handler.to_vec(), u32s(&[0; 3]), name.into()]),
            boxed(b"minf", information),
        ];
        // Flags: enabled, in the movie.
        boxed(b"trak", [full(b"tkhd", 3, header), boxed(b"mdia", media)])
    }

    /// Returns the boxes of stbl, 8.5.1.
    fn sample_tables(&self, offsets: &[u32]) -> Vec<Vec<u8>> {
        let samples = self.sizes.len() as u32;
        let counted = |values: &[u32]| [u32s(&[values.len() as u32]), u32s(values)];
        let mut tables = vec![
            full(b"stsd", 0, [u32s(&[1]), self.entry.boxed()]),
            full(b"stts", 0, [u32s(&self.times(samples))]),
        ];
        // Without this table every sample is a sync sample, 8.6.2, as in audio.
        if matches!(self.entry, SampleEntry::Avc { .. }) {
            tables.push(full(b"stss", 0, counted(&self.keys)));
        }
        tables.extend([
            full(b"stsc", 0, [u32s(&self.chunk_lengths(samples))]),
            full(b"stsz", 0, [u32s(&[0, samples]), u32s(&self.sizes)]),
            full(b"stco", 0, counted(offsets)),
        ]);
        tables
    }

    /// Returns the content of stts, 8.6.1.2. The last sample has the remaining duration.
    fn times(&self, samples: u32) -> Vec<u32> {
        let full_samples = samples.saturating_sub(1);
        let last = self.duration.saturating_sub(full_samples * self.sample_duration);
        if last == self.sample_duration {
            vec![1, samples, last]
        } else if full_samples == 0 {
            vec![1, 1, last]
        } else {
            vec![2, full_samples, self.sample_duration, 1, last]
        }
    }

    /// Returns the content of stsc, 8.7.4. The last chunk may be shorter.
    fn chunk_lengths(&self, samples: u32) -> Vec<u32> {
        let each = self.samples_per_chunk();
        match (samples / each, samples % each) {
            (0, rest) => vec![1, 1, rest, 1],
            (_, 0) => vec![1, 1, each, 1],
            (whole, rest) => vec![2, 1, each, 1, whole + 1, rest, 1],
        }
    }
}

/// Returns the AVCDecoderConfigurationRecord, ISO/IEC 14496-15 5.3.3.1.
fn avc_configuration(sequence: &[u8], picture: &[u8]) -> Vec<u8> {
    let parts = [
        vec![1],
        // Profile, constraints and level follow the NAL unit's header.
        sequence.get(1..4).unwrap_or_default().to_vec(),
        vec![0xff, 0xe1], // lengthSizeMinusOne: 3, one sequence parameter set
        u16s(&[sequence.len() as u16]),
        sequence.to_vec(),
        vec![1],
        u16s(&[picture.len() as u16]),
        picture.to_vec(),
    ];
    boxed(b"avcC", parts)
}

/// Returns the ES_Descriptor, ISO/IEC 14496-1 7.2.6.5. Every length fits one byte.
fn elementary_stream([first, second]: [u8; 2]) -> Vec<u8> {
    let parts = [
        vec![0x03, 25, 0, 0, 0],    // ES_ID 0, no flags
        vec![0x04, 17, 0x40, 0x15], // MPEG-4 audio, audio stream
        vec![0; 11],                // buffer size and bit rates: unspecified
        vec![0x05, 2, first, second],
        vec![0x06, 1, 2], // SLConfig: as in MP4 files
    ];
    full(b"esds", 0, parts)
}

/// Returns a box of a kind.
fn boxed(kind: &[u8; 4], content: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let content = content.into_iter().collect::<Vec<_>>().concat();
    [&(content.len() as u32 + 8).to_be_bytes(), kind.as_slice(), &content].concat()
}

/// Returns a box of version 0 with flags.
fn full(kind: &[u8; 4], flags: u32, content: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    boxed(kind, [u32s(&[flags])].into_iter().chain(content))
}

fn u16s(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

fn u32s(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}
