//! Specifications of media files, small enough to be stored in the mock's state.

use serde::{Deserialize, Serialize};

use super::padded::{self, Names, PaddedType};
use super::{captions, image, music, rendered, video};

/// A part of every entity tag that must be raised when a renderer's output changes.
const RENDERER: u32 = 1;

/// The specification of a media file. Equal specifications give equal bytes.
///
/// Sizes and durations that the renderers do not support are clamped rather than rejected,
/// because a specification may come from a state document that was edited by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Spec {
    /// A PNG test card.
    Image {
        /// The width in pixels, 1 to 8192.
        width: u32,
        /// The height in pixels, 1 to 8192.
        height: u32,
        /// The seed of the colours and the emblem.
        seed: u64,
    },
    /// An MP4 (H.264) test card with a counter, a runner and a progress bar.
    Video {
        /// The width in pixels, 2 to 8192, rounded down to an even number.
        width: u32,
        /// The height in pixels, 2 to 8192, rounded down to an even number.
        height: u32,
        /// The duration in milliseconds, up to ten minutes.
        duration_ms: u64,
        /// Whether there is an AAC track, with a short tone at each full second.
        with_audio: bool,
        /// The seed of the colours and the emblem.
        seed: u64,
    },
    /// A WAV file with a short, repeated tune.
    Music {
        /// The duration in milliseconds, up to ten minutes.
        duration_ms: u64,
        /// The seed of the key and the tune.
        seed: u64,
    },
    /// WebVTT captions, whose cues divide a duration among the words of a text.
    Captions {
        /// The spoken text.
        text: String,
        /// The total duration of the cues in milliseconds.
        duration_ms: u64,
    },
    /// A file of an exact size.
    Padded { padded: PaddedType, bytes: u64 },
}

impl Spec {
    fn names(&self) -> Names {
        match self {
            Self::Image { .. } => PaddedType::Png.names(),
            Self::Video { .. } => PaddedType::Mp4.names(),
            Self::Music { .. } => PaddedType::Wav.names(),
            Self::Captions { .. } => Names("text/vtt; charset=utf-8", "vtt", "text"),
            Self::Padded { padded, .. } => padded.names(),
        }
    }

    /// Returns the value of `Content-Type`.
    pub(crate) fn content_type(&self) -> &'static str {
        self.names().0
    }

    /// Returns the usual file name extension, without the dot.
    pub(crate) fn extension(&self) -> &'static str {
        self.names().1
    }

    /// Returns the media type as artifacts have it: `image`, `video`, `audio` or `text`.
    pub(crate) fn media_type(&self) -> &'static str {
        self.names().2
    }

    /// Returns the size in bytes, for which a file that is not padded is rendered.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Padded { bytes, .. } => *bytes,
            spec => u64::try_from(rendered(spec).len()).unwrap_or(u64::MAX),
        }
    }

    /// Replaces the seed, if the specification has one.
    pub(crate) fn seeded(mut self, with: u64) -> Self {
        match &mut self {
            Self::Image { seed, .. } | Self::Video { seed, .. } | Self::Music { seed, .. } => {
                *seed = with;
            }
            Self::Captions { .. } | Self::Padded { .. } => {}
        }
        self
    }

    /// Returns the strong entity tag, including quotes, without rendering the file.
    pub(crate) fn etag(&self) -> String {
        let identity = match self {
            Self::Image { width, height, seed } => format!("{width}x{height}-{seed:x}"),
            Self::Video { width, height, duration_ms, with_audio, seed } => {
                let sound = if *with_audio { "a" } else { "s" };
                format!("{width}x{height}-{duration_ms}{sound}-{seed:x}")
            }
            Self::Music { duration_ms, seed } => format!("{duration_ms}-{seed:x}"),
            Self::Captions { text, duration_ms } => {
                format!("{duration_ms}-{:032x}", fnv1a(text.as_bytes()))
            }
            Self::Padded { bytes, .. } => format!("padded-{bytes}"),
        };
        format!("\"{}{RENDERER}-{identity}\"", self.extension())
    }
}

/// Renders the file that `spec` describes.
pub(crate) fn render(spec: &Spec) -> Vec<u8> {
    match spec {
        Spec::Image { width, height, seed } => image::png(*width, *height, *seed),
        Spec::Video { width, height, duration_ms, with_audio, seed } => {
            video::mp4(*width, *height, *duration_ms, *with_audio, *seed)
        }
        Spec::Music { duration_ms, seed } => music::wav(*duration_ms, *seed),
        Spec::Captions { text, duration_ms } => captions::vtt(text, *duration_ms).into_bytes(),
        Spec::Padded { padded, bytes } => {
            padded::padded(*padded, usize::try_from(*bytes).unwrap_or(usize::MAX))
        }
    }
}

/// Returns a 128-bit FNV-1a hash, which distinguishes texts that were not chosen to collide.
fn fnv1a(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn one_of_each() -> Vec<Spec> {
        vec![
            Spec::Image { width: 64, height: 48, seed: 1 },
            Spec::Video { width: 64, height: 48, duration_ms: 400, with_audio: true, seed: 1 },
            Spec::Music { duration_ms: 400, seed: 1 },
            Spec::Captions { text: "Hello.".to_owned(), duration_ms: 400 },
            Spec::Padded { padded: PaddedType::Png, bytes: 400 },
        ]
    }

    #[test]
    fn a_spec_is_equal_after_serialization() {
        for spec in one_of_each() {
            let stored = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<Spec>(&stored).unwrap(), spec);
        }
    }

    #[test]
    fn etags_are_strong_and_different_for_different_specs() {
        let mut specs = one_of_each();
        for seed in 2..20 {
            specs.push(Spec::Image { width: 64, height: 48, seed });
            specs.push(Spec::Captions { text: format!("Hello {seed}."), duration_ms: 400 });
        }
        let tags: HashSet<String> = specs.iter().map(Spec::etag).collect();
        assert_eq!(tags.len(), specs.len());
        for tag in tags {
            let inner = tag.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
            assert!(inner.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
        }
    }

    #[test]
    fn sizes_and_durations_are_clamped() {
        let absurd = [
            Spec::Video { width: 0, height: 0, duration_ms: 0, with_audio: true, seed: 0 },
            Spec::Image { width: 0, height: 3, seed: u64::MAX },
            Spec::Music { duration_ms: u64::MAX, seed: 0 },
            Spec::Captions { text: String::new(), duration_ms: u64::MAX },
        ];
        for spec in absurd {
            assert!(render(&spec).len() < 25_000_000, "{spec:?}");
        }
    }
}
