//! Music: a repeated tune of bass and pentatonic melody, as a WAV file.

use crate::rng::Rng;

const SAMPLE_RATE: u32 = 16_000;
const MAX_DURATION_MS: u64 = 600_000;
/// The number of samples of a melody note, a quarter of a second.
const NOTE: u32 = SAMPLE_RATE / 4;
/// The number of melody notes in the tune, and per bass note.
const NOTES: u32 = 32;
const NOTES_PER_BASS: u32 = 4;
/// The semitones of the major pentatonic scale, any two of which are consonant.
const SCALE: [i32; 8] = [0, 2, 4, 7, 9, 12, 14, 16];
/// The semitones of the four bass notes: I, VI, IV, V.
const ROOTS: [i32; 4] = [0, -3, 5, 7];
/// The number of samples over which the end fades out, to avoid a click.
const FADE: usize = 800;

/// Returns the file: 16 bits, one channel, 16 kHz, at most ten minutes.
pub(super) fn wav(duration_ms: u64, seed: u64) -> Vec<u8> {
    let duration_ms = duration_ms.clamp(1, MAX_DURATION_MS);
    let samples = (duration_ms * u64::from(SAMPLE_RATE) / 1000) as usize;
    let mut file = header(SAMPLE_RATE, 2, samples as u32 * 2);
    let end = file.len() + samples * 2;
    let tune = tune(seed);
    while file.len() < end {
        let rest = end - file.len();
        file.extend_from_slice(tune.get(..rest).unwrap_or(&tune));
    }
    fade(&mut file, samples);
    file
}

/// Returns the header of a file with one channel: RIFF, and the WAVE chunks `fmt ` and `data` without
/// the samples.
pub(super) fn header(sample_rate: u32, sample_bytes: u16, data_length: u32) -> Vec<u8> {
    let mut header = Vec::with_capacity(44 + data_length as usize);
    header.extend(b"RIFF");
    header.extend((36 + data_length).to_le_bytes());
    header.extend(b"WAVEfmt ");
    header.extend(16_u32.to_le_bytes());
    // PCM, one channel.
    header.extend([1, 0, 1, 0]);
    header.extend(sample_rate.to_le_bytes());
    header.extend((sample_rate * u32::from(sample_bytes)).to_le_bytes());
    header.extend(sample_bytes.to_le_bytes());
    header.extend((sample_bytes * 8).to_le_bytes());
    header.extend(b"data");
    header.extend(data_length.to_le_bytes());
    header
}

/// Returns the samples of the tune as bytes.
fn tune(seed: u64) -> Vec<u8> {
    let mut choice = Rng::unmixed(seed);
    let key = 48 + choice.below(12) as i32;
    let wave = wave();
    let mut step = choice.below(5) as i32;
    let mut bytes = Vec::with_capacity((NOTES * NOTE * 2) as usize);
    for note in 0..NOTES {
        // The melody moves in small steps, because jumps do not sound like a melody.
        step = (step + choice.below(5) as i32 - 2).clamp(0, SCALE.len() as i32 - 1);
        let degree = SCALE.get(step as usize).copied().unwrap_or_default();
        let root = ROOTS.get((note / NOTES_PER_BASS % 4) as usize).copied();
        let melody = Note::new(key + 12 + degree, NOTE, 0);
        let bass_from = note % NOTES_PER_BASS * NOTE;
        let bass = Note::new(key - 12 + root.unwrap_or_default(), NOTES_PER_BASS * NOTE, bass_from);
        for at in 0..NOTE {
            let sample = melody.sample(&wave, at) + bass.sample(&wave, at);
            bytes.extend_from_slice(&(sample as i16).to_le_bytes());
        }
    }
    bytes
}

/// Returns a period of a sine in 256 steps.
fn wave() -> [i32; 256] {
    std::array::from_fn(|at| {
        let angle = at as f64 / 256.0 * std::f64::consts::TAU;
        (angle.sin() * 9000.0).round() as i32
    })
}

/// A note: a sine with a short attack and a linear decay.
struct Note {
    /// The phase increment per sample, in 65536ths of a wave step.
    pitch: u32,
    length: u32,
    from: u32,
}

impl Note {
    /// Creates a note. `semitone` is a MIDI note number (69 is 440 Hz); the note began `from` samples
    /// ago.
    fn new(semitone: i32, length: u32, from: u32) -> Self {
        let hertz = 440.0 * 2_f64.powf(f64::from(semitone - 69) / 12.0);
        let pitch = (hertz / f64::from(SAMPLE_RATE) * 256.0 * 65536.0) as u32;
        Self { pitch, length, from }
    }

    fn sample(&self, wave: &[i32; 256], at: u32) -> i32 {
        let at = at + self.from;
        let phase = (self.pitch.wrapping_mul(at) >> 16) as u8;
        let value = wave.get(usize::from(phase)).copied().unwrap_or_default();
        // The volume rises for five milliseconds and then falls to zero at the end of the note.
        let rise = (at * 256 / (SAMPLE_RATE / 200)).min(256);
        let fall = (self.length - at.min(self.length)) * 256 / self.length;
        value * rise as i32 / 256 * fall as i32 / 256
    }
}

/// Fades out the last samples of the file.
fn fade(file: &mut [u8], samples: usize) {
    let length = FADE.min(samples);
    // The header's length is even, so pairs of bytes fall on samples.
    let (pairs, _) = file.as_chunks_mut::<2>();
    let start = pairs.len().saturating_sub(length);
    let ending = pairs.get_mut(start..).unwrap_or_default();
    for (left, pair) in (0..length).rev().zip(ending) {
        let sample = i32::from(i16::from_le_bytes(*pair)) * left as i32 / FADE as i32;
        *pair = (sample as i16).to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_their_duration_and_are_audible_without_clicks() {
        let mut files = Vec::new();
        for (seed, duration_ms) in (0..20).flat_map(|seed| [(seed, 1), (seed, 2500), (seed, 9000)])
        {
            let file = wav(duration_ms, seed);
            let samples: Vec<_> =
                file[44..].chunks(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
            assert_eq!(samples.len() as u64, duration_ms * 16);
            assert_eq!(samples.last(), Some(&0));
            let jumps = samples.windows(2).map(|two| two[0].abs_diff(two[1]));
            assert!(jumps.max().unwrap_or_default() < 5_000, "seed {seed}");
            if duration_ms == 9000 {
                let loudest = samples.iter().map(|sample| sample.unsigned_abs()).max();
                assert!((8_000..20_000).contains(&loudest.unwrap()), "seed {seed}");
                assert!(!files.contains(&file), "seed {seed}");
                files.push(file);
            }
        }
    }
}
