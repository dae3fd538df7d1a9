//! What to render, small enough to keep in the mock's state for ever.

use serde::{Deserialize, Serialize};

use super::{Media, captions, image, music, video};

/// Part of every entity tag; to be raised when a renderer's output changes.
const RENDERER: u32 = 1;

/// The description of one media file. The same description gives the same bytes.
///
/// Sizes and durations outside of what the renderers support are brought into
/// range, not refused: a description may come from a state document that somebody
/// wrote by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Spec {
    /// A PNG test card.
    Image {
        /// Pixels across, 1 to 8192.
        width: u32,
        /// Pixels down, 1 to 8192.
        height: u32,
        /// Chooses colours and emblem.
        seed: u64,
    },
    /// An MP4 (H.264) test card with a counter, a runner and a progress bar.
    Video {
        /// Pixels across, 2 to 8192, made even.
        width: u32,
        /// Pixels down, 2 to 8192, made even.
        height: u32,
        /// Milliseconds, up to ten minutes.
        duration_ms: u64,
        /// Adds an AAC track that gives a short tone at each full second.
        with_audio: bool,
        /// Chooses colours and emblem.
        seed: u64,
    },
    /// A WAV file with a short tune that repeats.
    Music {
        /// Milliseconds, up to ten minutes.
        duration_ms: u64,
        /// Chooses key and tune.
        seed: u64,
    },
    /// WebVTT cues that share a duration among the words of a text.
    Captions {
        /// What is said.
        text: String,
        /// Milliseconds that the cues cover.
        duration_ms: u64,
    },
}

impl Spec {
    /// The value of `Content-Type`.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        match self {
            Self::Image { .. } => "image/png",
            Self::Video { .. } => "video/mp4",
            Self::Music { .. } => "audio/wav",
            Self::Captions { .. } => "text/vtt; charset=utf-8",
        }
    }

    /// The usual file name extension, without the dot.
    #[must_use]
    pub fn extension(&self) -> &'static str {
        match self {
            Self::Image { .. } => "png",
            Self::Video { .. } => "mp4",
            Self::Music { .. } => "wav",
            Self::Captions { .. } => "vtt",
        }
    }

    /// What it is, in a word.
    #[must_use]
    pub fn media_type(&self) -> &'static str {
        match self {
            Self::Image { .. } => "image",
            Self::Video { .. } => "video",
            Self::Music { .. } => "audio",
            Self::Captions { .. } => "text",
        }
    }

    /// The same with another seed, where it has one.
    #[must_use]
    pub fn seeded(mut self, with: u64) -> Self {
        match &mut self {
            Self::Image { seed, .. } | Self::Video { seed, .. } | Self::Music { seed, .. } => {
                *seed = with;
            }
            Self::Captions { .. } => {}
        }
        self
    }

    /// The strong entity tag, quotes included, without rendering anything.
    #[must_use]
    pub fn etag(&self) -> String {
        let identity = match self {
            Self::Image {
                width,
                height,
                seed,
            } => format!("{width}x{height}-{seed:x}"),
            Self::Video {
                width,
                height,
                duration_ms,
                with_audio,
                seed,
            } => {
                let sound = if *with_audio { "a" } else { "s" };
                format!("{width}x{height}-{duration_ms}{sound}-{seed:x}")
            }
            Self::Music { duration_ms, seed } => format!("{duration_ms}-{seed:x}"),
            Self::Captions { text, duration_ms } => {
                format!("{duration_ms}-{:032x}", fnv1a(text.as_bytes()))
            }
        };
        format!("\"{}{RENDERER}-{identity}\"", self.extension())
    }
}

/// Makes the file that `spec` describes.
#[must_use]
pub fn render(spec: &Spec) -> Media {
    let bytes = match spec {
        Spec::Image {
            width,
            height,
            seed,
        } => image::png(*width, *height, *seed),
        Spec::Video {
            width,
            height,
            duration_ms,
            with_audio,
            seed,
        } => video::mp4(*width, *height, *duration_ms, *with_audio, *seed),
        Spec::Music { duration_ms, seed } => music::wav(*duration_ms, *seed),
        Spec::Captions { text, duration_ms } => captions::vtt(text, *duration_ms).into_bytes(),
    };
    Media {
        content_type: spec.content_type(),
        extension: spec.extension(),
        bytes,
    }
}

/// FNV-1a of 128 bits: enough to tell texts apart that nobody chose to collide.
fn fnv1a(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(OFFSET, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn one_of_each() -> Vec<Spec> {
        vec![
            Spec::Image {
                width: 64,
                height: 48,
                seed: 1,
            },
            Spec::Video {
                width: 64,
                height: 48,
                duration_ms: 400,
                with_audio: true,
                seed: 1,
            },
            Spec::Music {
                duration_ms: 400,
                seed: 1,
            },
            Spec::Captions {
                text: "Hello.".to_owned(),
                duration_ms: 400,
            },
        ]
    }

    #[test]
    fn a_spec_survives_the_state_document() {
        for spec in one_of_each() {
            let stored = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<Spec>(&stored).unwrap(), spec);
        }
    }

    #[test]
    fn the_same_spec_gives_the_same_bytes() {
        for spec in one_of_each() {
            assert_eq!(render(&spec), render(&spec));
        }
    }

    #[test]
    fn files_start_as_their_type_says() {
        let starts: Vec<Vec<u8>> = one_of_each()
            .iter()
            .map(|spec| render(spec).bytes.into_iter().take(8).collect())
            .collect();
        assert_eq!(starts[0], b"\x89PNG\r\n\x1a\n");
        assert_eq!(&starts[1][4..], b"ftyp");
        assert_eq!(&starts[2][..4], b"RIFF");
        assert_eq!(&starts[3][..6], b"WEBVTT");
    }

    #[test]
    fn etags_are_strong_quoted_and_differ_wherever_the_spec_does() {
        let mut specs = one_of_each();
        for seed in 2..20 {
            specs.push(Spec::Image {
                width: 64,
                height: 48,
                seed,
            });
            specs.push(Spec::Captions {
                text: format!("Hello {seed}."),
                duration_ms: 400,
            });
        }
        let tags: HashSet<String> = specs.iter().map(Spec::etag).collect();
        assert_eq!(tags.len(), specs.len());
        for tag in tags {
            let inner = tag.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
            assert!(
                inner
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-')
            );
        }
    }

    #[test]
    fn a_hand_written_spec_cannot_ask_for_too_much() {
        let absurd = [
            Spec::Video {
                width: 0,
                height: 0,
                duration_ms: 0,
                with_audio: true,
                seed: 0,
            },
            Spec::Image {
                width: 0,
                height: 3,
                seed: u64::MAX,
            },
            Spec::Music {
                duration_ms: u64::MAX,
                seed: 0,
            },
            Spec::Captions {
                text: String::new(),
                duration_ms: u64::MAX,
            },
        ];
        for spec in absurd {
            assert!(render(&spec).bytes.len() < 25_000_000, "{spec:?}");
        }
    }
}
