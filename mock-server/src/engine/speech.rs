//! Avatar speech: the text, its duration, and the video quality.

use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;

/// The speaking rate.
const CHARACTERS_PER_SECOND: u64 = 15;
/// The minimum duration of an avatar video.
const MIN_SECONDS: u64 = 2;
/// The maximum duration of an avatar video.
const MAX_SECONDS: u64 = 300;
/// The maximum duration of a preview.
const MAX_PREVIEW_SECONDS: u64 = 3;

named_enum! {
    /// The quality of an avatar video.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum Quality {
        Standard = "standard",
        #[default]
        Plus = "plus",
        Max = "max",
    }
}

impl Quality {
    pub(crate) const fn resolution(self) -> &'static str {
        match self {
            Self::Standard => "480p",
            Self::Plus => "720p",
            Self::Max => "1080p",
        }
    }
}

/// A text spoken by an avatar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Speech {
    pub(crate) avatar_handle: String,
    /// The complete spoken text.
    pub(crate) text: String,
    pub(crate) quality: Quality,
}

impl Speech {
    /// Returns the duration of the speech in whole seconds.
    pub(crate) fn seconds(&self) -> u64 {
        let characters = u64::try_from(self.text.trim().chars().count()).unwrap_or(u64::MAX);
        characters.div_ceil(CHARACTERS_PER_SECOND).clamp(MIN_SECONDS, MAX_SECONDS)
    }

    /// Returns the duration of the preview in whole seconds.
    pub(crate) fn preview_seconds(&self) -> u64 {
        self.seconds().min(MAX_PREVIEW_SECONDS)
    }
}
