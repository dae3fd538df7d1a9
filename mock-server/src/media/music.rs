//! Music: notes that a seed chooses, as a WAV file.

use crate::rng::Rng;

const SAMPLE_RATE: u32 = 16_000;
const MAX_DURATION_MS: u64 = 600_000;
/// The number of samples of a note, a quarter of a second.
const NOTE: usize = SAMPLE_RATE as usize / 4;
/// The semitones of the major pentatonic scale, any two of which are consonant.
const SCALE: [u32; 8] = [0, 2, 4, 7, 9, 12, 14, 16];

/// Returns the file: 16 bits, one channel, 16 kHz, at most ten minutes.
pub(super) fn wav(duration_ms: u64, seed: u64) -> Vec<u8> {
    let duration_ms = duration_ms.clamp(1, MAX_DURATION_MS);
    let samples = (duration_ms * u64::from(SAMPLE_RATE) / 1000) as usize;
    let mut file = header(SAMPLE_RATE, 2, samples as u32 * 2);
    let mut choice = Rng::unmixed(seed);
    let key = 48 + choice.below(12) as u32;
    let notes = SCALE.map(|degree| note(key + degree, NOTE));
    for _ in 0..samples / NOTE {
        file.extend(notes.get(choice.below(notes.len())).into_iter().flatten());
    }
    file.extend(note(key, samples % NOTE));
    file
}

/// Returns the samples of a note as bytes: a sine that becomes silent, so that its end does not click.
/// `semitone` is a MIDI note number, of which 69 is 440 Hz.
fn note(semitone: u32, samples: usize) -> Vec<u8> {
    let hertz = 440.0 * 2_f64.powf((f64::from(semitone) - 69.0) / 12.0);
    let angle = hertz / f64::from(SAMPLE_RATE) * std::f64::consts::TAU;
    let sample = |at: usize| {
        let volume = 12_000 * (samples - 1 - at) / samples;
        ((angle * at as f64).sin() * volume as f64).round() as i16
    };
    (0..samples).flat_map(|at| sample(at).to_le_bytes()).collect()
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
