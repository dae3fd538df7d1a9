//! MP4 videos of the animated test card, with optional audio.

use super::animation::Animation;
use super::card::Card;
use super::mp4::{self, SampleEntry, Track};
use super::palette::Palette;
use super::{aac, h264};

const FRAMES_PER_SECOND: u32 = 25;
/// Ticks per second of the video track: milliseconds, so that every duration is exact.
const TIMESCALE: u32 = 1000;
const MAX_SIDE: u32 = 8192;
const MAX_DURATION_MS: u64 = 600_000;
/// The maximum number of macroblocks of key pictures per second, which limits the file size.
const KEY_MACROBLOCKS_PER_SECOND: u32 = 1500;

/// Returns the file. Sides are rounded down to even numbers; the duration is at most ten minutes.
pub(super) fn mp4(width: u32, height: u32, duration_ms: u64, sound: bool, seed: u64) -> Vec<u8> {
    let format = h264::VideoFormat {
        width: width.clamp(2, MAX_SIDE) & !1,
        height: height.clamp(2, MAX_SIDE) & !1,
        frames_per_second: FRAMES_PER_SECOND,
        palette: Palette::new(seed).ycbcr(),
    };
    let duration_ms = duration_ms.clamp(1, MAX_DURATION_MS) as u32;
    let mut tracks = vec![video_track(format, duration_ms, seed)];
    if sound {
        tracks.push(audio_track(duration_ms));
    }
    mp4::file(duration_ms, &tracks)
}

fn video_track(format: h264::VideoFormat, duration_ms: u32, seed: u64) -> Track {
    let entry = SampleEntry::Avc {
        width: format.width as u16,
        height: format.height as u16,
        sequence_parameter_set: format.sequence_parameter_set(),
        picture_parameter_set: format.picture_parameter_set(),
    };
    let mut track = Track::new(entry, TIMESCALE, TIMESCALE / FRAMES_PER_SECOND, duration_ms);
    let frames = track.samples();
    let card = Card::new(format.columns(), format.rows(), seed);
    let mut animation = Animation::new(card, frames, FRAMES_PER_SECOND);
    let mut encoder = h264::Encoder::new(format);
    let key_interval = key_interval(&format);
    for frame in 0..frames {
        let card = animation.show(frame);
        let changes = card.take_changes();
        let key = frame.is_multiple_of(key_interval);
        let unit = if key {
            encoder.key_picture(card.cells())
        } else {
            encoder.next_picture(card.cells(), &changes)
        };
        track.push(&[&(unit.len() as u32).to_be_bytes(), &unit], key);
    }
    track
}

/// Returns the number of frames between key pictures: two seconds, or more for large pictures.
fn key_interval(format: &h264::VideoFormat) -> u32 {
    let seconds = (format.columns() * format.rows()).div_ceil(KEY_MACROBLOCKS_PER_SECOND);
    seconds.max(2) * FRAMES_PER_SECOND
}

/// Returns an audio track with a tone of a tenth of a second at each full second.
fn audio_track(duration_ms: u32) -> Track {
    let entry = SampleEntry::Aac { sample_rate: aac::SAMPLE_RATE as u16, config: aac::CONFIG };
    let duration = duration_ms * (aac::SAMPLE_RATE / 1000);
    let mut track = Track::new(entry, aac::SAMPLE_RATE, aac::SAMPLES_PER_FRAME, duration);
    let (silence, tone) = (aac::silence(), aac::tone());
    for frame in 0..track.samples() {
        let into_second = frame * aac::SAMPLES_PER_FRAME % aac::SAMPLE_RATE;
        let has_tone = into_second < aac::SAMPLE_RATE / 10;
        track.push(&[if has_tone { &tone } else { &silence }], true);
    }
    track
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn files_stay_small() {
        let rows = [
            (854, 480, 5, 30_000),
            (1280, 720, 15, 60_000),
            (1920, 1080, 30, 120_000),
            (3840, 2160, 5, 60_000),
        ];
        for (width, height, seconds, limit) in rows {
            let size = mp4(width, height, seconds * 1000, false, 1).len();
            assert!(size < limit, "{width}x{height}, {seconds} s: {size} bytes");
        }
    }

    /// Whether files decode is judged by ffmpeg, in `.ci/media`: run it after an intended change of
    /// the files, then write their digests here.
    #[test]
    fn files_do_not_change_by_accident() {
        let rows = [
            (2, 2, 120, false, 3, "6af46ee3d3cdc853"),
            (64, 64, 1_000, false, 1, "abd100dfc01cafa7"),
            (64, 64, 1_000, false, 2, "c95e17fa1f648c8c"),
            (854, 480, 2_500, true, 5, "fe0df00d61e1a5cf"),
            (480, 854, 21_000, false, 7, "1e38357fdb88eb41"),
            (1919, 1079, 1_041, true, 8, "cfffcd0316bc7c87"),
            (1280, 720, 200, false, 9, "2045e7af06fbfa66"),
            (2560, 1440, 200, false, 9, "5ef508910a013847"),
            (3840, 2160, 200, false, 9, "2580312edd41c126"),
            (5040, 2160, 200, false, 9, "9fd41d2d5493fc6e"),
            (8192, 16, 200, false, 9, "031f3f1982e2d7be"),
        ];
        let digest = |(width, height, duration_ms, sound, seed, _)| {
            let digest = Sha256::digest(mp4(width, height, duration_ms, sound, seed));
            digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        assert_eq!(rows.map(digest), rows.map(|row| row.5));
    }
}
