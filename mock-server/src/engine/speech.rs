//! Avatar speech: the text, its duration, and the video quality.

use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;

const CHARACTERS_PER_SECOND: u64 = 15;
const MIN_SECONDS: u64 = 2;
const MAX_SECONDS: u64 = 300;
const MAX_PREVIEW_SECONDS: u64 = 3;

named_enum! {
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Speech {
    pub(crate) avatar_handle: String,
    pub(crate) text: String,
    pub(crate) quality: Quality,
}

impl Speech {
    pub(crate) fn seconds(&self) -> u64 {
        let characters = u64::try_from(self.text.trim().chars().count()).unwrap_or(u64::MAX);
        characters.div_ceil(CHARACTERS_PER_SECOND).clamp(MIN_SECONDS, MAX_SECONDS)
    }

    pub(crate) fn preview_seconds(&self) -> u64 {
        self.seconds().min(MAX_PREVIEW_SECONDS)
    }
}
