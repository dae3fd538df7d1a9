//! What an avatar says: who says it, how long that takes, and how good it looks.

use serde::{Deserialize, Serialize};

/// Characters that are spoken in a second, as people speak.
const CHARACTERS_PER_SECOND: u64 = 15;
/// Seconds of the shortest and the longest video.
const SECONDS: (u64, u64) = (2, 300);
/// Seconds of the longest preview.
const PREVIEW_SECONDS: u64 = 3;

/// How good an avatar video is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Quality {
    Standard,
    #[default]
    Plus,
    Max,
}

impl Quality {
    pub(crate) const NAMES: [&str; 3] = ["standard", "plus", "max"];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Plus => "plus",
            Self::Max => "max",
        }
    }

    /// The quality of that name; the default for any other.
    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "standard" => Self::Standard,
            "max" => Self::Max,
            _ => Self::Plus,
        }
    }

    pub(crate) const fn resolution(self) -> &'static str {
        match self {
            Self::Standard => "480p",
            Self::Plus => "720p",
            Self::Max => "1080p",
        }
    }
}

/// What an avatar says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Speech {
    pub(crate) avatar_handle: String,
    /// All that is said.
    pub(crate) text: String,
    pub(crate) quality: Quality,
}

impl Speech {
    /// How long it takes to say it, in whole seconds.
    pub(crate) fn seconds(&self) -> u64 {
        let characters = u64::try_from(self.text.trim().chars().count()).unwrap_or(u64::MAX);
        let (least, most) = SECONDS;
        characters
            .div_ceil(CHARACTERS_PER_SECOND)
            .clamp(least, most)
    }

    /// How long its preview is.
    pub(crate) fn preview_seconds(&self) -> u64 {
        self.seconds().min(PREVIEW_SECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_script_takes_longer() {
        let speech = |text: &str| Speech {
            avatar_handle: "ada".to_owned(),
            text: text.to_owned(),
            quality: Quality::Plus,
        };
        assert_eq!(speech("").seconds(), 2);
        assert_eq!(speech(&"x".repeat(60)).seconds(), 4);
        assert_eq!(speech(&"x".repeat(61)).seconds(), 5);
        assert_eq!(speech(&"x".repeat(61)).preview_seconds(), 3);
        assert_eq!(speech(&"x".repeat(1_000_000)).seconds(), 300);
    }

    #[test]
    fn a_quality_is_known_by_its_name() {
        for name in Quality::NAMES {
            assert_eq!(Quality::from_name(name).as_str(), name);
        }
        assert_eq!(Quality::default(), Quality::Plus);
    }
}
