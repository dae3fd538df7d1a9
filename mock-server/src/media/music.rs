//! Music: a bar of bass and melody in a pentatonic key, over and over, as a WAV file.

use super::rng::Rng;

const SAMPLE_RATE: u32 = 16_000;
const MAX_DURATION_MS: u64 = 600_000;
/// Samples of one melody note, a quarter of a second.
const NOTE: u32 = SAMPLE_RATE / 4;
/// Notes of the tune until it repeats, and those over one bass note.
const NOTES: u32 = 32;
const NOTES_PER_BASS: u32 = 4;
/// Semitones of the major pentatonic scale: no two of them clash.
const SCALE: [i32; 8] = [0, 2, 4, 7, 9, 12, 14, 16];
/// Semitones of the four bass notes' roots: I, VI, IV, V.
const ROOTS: [i32; 4] = [0, -3, 5, 7];
/// Samples over which the end fades, so that it does not click.
const FADE: usize = 800;

/// The file: 16 bits, one channel, 16 kHz, ten minutes at most.
pub(super) fn wav(duration_ms: u64, seed: u64) -> Vec<u8> {
    let duration_ms = duration_ms.clamp(1, MAX_DURATION_MS);
    let samples = (duration_ms * u64::from(SAMPLE_RATE) / 1000) as usize;
    let mut file = header(samples as u32 * 2);
    let end = file.len() + samples * 2;
    let tune = tune(seed);
    while file.len() < end {
        let rest = end - file.len();
        file.extend_from_slice(tune.get(..rest).unwrap_or(&tune));
    }
    fade(&mut file, samples);
    file
}

/// RIFF, then the chunks `fmt ` and `data` of the WAVE form.
fn header(data_length: u32) -> Vec<u8> {
    let mut header = Vec::with_capacity(44 + data_length as usize);
    header.extend_from_slice(b"RIFF");
    header.extend_from_slice(&(36 + data_length).to_le_bytes());
    header.extend_from_slice(b"WAVEfmt ");
    header.extend_from_slice(&16_u32.to_le_bytes());
    for short in [1_u16, 1] {
        header.extend_from_slice(&short.to_le_bytes()); // PCM, one channel
    }
    header.extend_from_slice(&SAMPLE_RATE.to_le_bytes());
    header.extend_from_slice(&(SAMPLE_RATE * 2).to_le_bytes());
    for short in [2_u16, 16] {
        header.extend_from_slice(&short.to_le_bytes()); // bytes a frame, bits a sample
    }
    header.extend_from_slice(b"data");
    header.extend_from_slice(&data_length.to_le_bytes());
    header
}

/// One round of the tune, as the file holds it.
fn tune(seed: u64) -> Vec<u8> {
    let mut choice = Rng::new(seed);
    let key = 48 + choice.below(12) as i32;
    let wave = wave();
    let mut step = choice.below(5) as i32;
    let mut bytes = Vec::with_capacity((NOTES * NOTE * 2) as usize);
    for note in 0..NOTES {
        // A walk along the scale; jumps would not sound like a melody.
        step = (step + choice.below(5) as i32 - 2).clamp(0, SCALE.len() as i32 - 1);
        let degree = SCALE.get(step as usize).copied().unwrap_or_default();
        let root = ROOTS.get((note / NOTES_PER_BASS % 4) as usize).copied();
        let melody = Voice::new(key + 12 + degree, NOTE, 0);
        let bass_from = note % NOTES_PER_BASS * NOTE;
        let bass = Voice::new(
            key - 12 + root.unwrap_or_default(),
            NOTES_PER_BASS * NOTE,
            bass_from,
        );
        for at in 0..NOTE {
            let sample = melody.sample(&wave, at) + bass.sample(&wave, at);
            bytes.extend_from_slice(&(sample as i16).to_le_bytes());
        }
    }
    bytes
}

/// A sine's turn in 256 steps.
fn wave() -> [i32; 256] {
    std::array::from_fn(|at| {
        let angle = at as f64 / 256.0 * std::f64::consts::TAU;
        (angle.sin() * 9000.0).round() as i32
    })
}

/// One note: a sine that starts at once and dies away.
struct Voice {
    /// 65536ths of a wave step a sample.
    pitch: u32,
    length: u32,
    from: u32,
}

impl Voice {
    /// `semitone` counts as MIDI does, 69 being 440 Hz; the note began `from` samples ago.
    fn new(semitone: i32, length: u32, from: u32) -> Self {
        let hertz = 440.0 * 2_f64.powf(f64::from(semitone - 69) / 12.0);
        let pitch = (hertz / f64::from(SAMPLE_RATE) * 256.0 * 65536.0) as u32;
        Self {
            pitch,
            length,
            from,
        }
    }

    fn sample(&self, wave: &[i32; 256], at: u32) -> i32 {
        let at = at + self.from;
        let phase = (self.pitch.wrapping_mul(at) >> 16) as u8;
        let value = wave.get(usize::from(phase)).copied().unwrap_or_default();
        // Rises over five milliseconds, then falls to nothing at the note's end.
        let rise = (at * 256 / (SAMPLE_RATE / 200)).min(256);
        let fall = (self.length - at.min(self.length)) * 256 / self.length;
        value * rise as i32 / 256 * fall as i32 / 256
    }
}

/// Turns down the last samples of the file.
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

    fn samples(file: &[u8]) -> Vec<i16> {
        file[44..]
            .chunks(2)
            .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
            .collect()
    }

    fn number(file: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(file[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn a_file_lasts_as_long_as_asked() {
        for (duration_ms, expected) in [(1, 16), (1000, 16_000), (2500, 40_000), (30_000, 480_000)]
        {
            let file = wav(duration_ms, 1);
            assert_eq!(samples(&file).len(), expected);
            assert_eq!(number(&file, 4) as usize, file.len() - 8);
            assert_eq!(number(&file, 40) as usize, file.len() - 44);
        }
    }

    #[test]
    fn it_is_heard_and_never_clipped() {
        for seed in 0..20 {
            let samples = samples(&wav(8000, seed));
            let loudest = samples.iter().map(|sample| sample.unsigned_abs()).max();
            assert!((8_000..20_000).contains(&loudest.unwrap()), "seed {seed}");
        }
    }

    #[test]
    fn it_has_no_clicks() {
        for seed in 0..20 {
            let samples = samples(&wav(9000, seed));
            let jumps = samples.windows(2).map(|two| two[0].abs_diff(two[1]));
            assert!(jumps.max().unwrap() < 5_000, "seed {seed}");
            assert_eq!(samples.last(), Some(&0));
        }
    }

    #[test]
    fn two_seeds_give_two_tunes() {
        assert_ne!(wav(1000, 1), wav(1000, 2));
    }
}
