//! The model profiles of the specification: which parameters a model takes, their ranges and
//! defaults, and what it costs.
//!
//! Model ids are the deployment's; a profile is known by its letter. A client asks the service
//! for its models; this table serves documentation, tests and the mock server.

use crate::types::Usd;

/// What a profile's price counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceUnit {
    /// Seconds of the result.
    Second,
    /// Images of the result.
    Image,
}

impl PriceUnit {
    /// The name used in estimates and catalogs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Image => "image",
        }
    }
}

/// An integer parameter's default and bounds, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// What holds where the request says nothing.
    pub default: u64,
    /// The least that is accepted.
    pub min: u64,
    /// The most that is accepted.
    pub max: u64,
}

/// A resolution and its price per unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// For example `720p`.
    pub resolution: &'static str,
    /// Dollars per unit.
    pub price: Usd,
}

/// A model profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The specification's letter: `F`, `L`, `H`, `R` or `I`.
    pub letter: char,
    /// In a few words.
    pub summary: &'static str,
    /// What the price counts.
    pub unit: PriceUnit,
    /// Resolutions with their prices; the first is the default.
    pub rates: &'static [Rate],
    /// Aspect ratios that are accepted.
    pub aspect_ratios: &'static [&'static str],
    /// The aspect ratio where the request says nothing.
    pub default_aspect_ratio: &'static str,
    /// Whether a prompt must be given.
    pub prompt_required: bool,
    /// Seconds, on video profiles.
    pub duration: Option<Range>,
    /// Number of images, on image profiles.
    pub num_images: Option<Range>,
    /// Whether `image_url` and `end_image_url` are taken.
    pub frames: bool,
    /// Whether `reference_image_urls` is taken.
    pub reference_images: bool,
    /// Whether `reference_video_urls` is taken.
    pub reference_videos: bool,
    /// Whether `generate_audio` is taken.
    pub audio: bool,
}

const fn rate(resolution: &'static str, ten_thousandths: i64) -> Rate {
    Rate {
        resolution,
        price: Usd::from_micros(ten_thousandths * 100),
    }
}

/// Fast; text, image and reference to video, with audio.
pub const F: Profile = Profile {
    letter: 'F',
    summary: "fast; text, image and reference to video, with audio",
    unit: PriceUnit::Second,
    rates: &[rate("480p", 1407), rate("720p", 3024)],
    aspect_ratios: &[
        "auto", "adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16",
    ],
    default_aspect_ratio: "16:9",
    prompt_required: true,
    duration: Some(Range {
        default: 5,
        min: 4,
        max: 15,
    }),
    num_images: None,
    frames: true,
    reference_images: true,
    reference_videos: true,
    audio: true,
};

/// Long range; text, image and reference to video, with audio.
pub const L: Profile = Profile {
    letter: 'L',
    summary: "long range; text, image and reference to video, with audio",
    rates: &[rate("480p", 625), rate("720p", 1250), rate("1080p", 2500)],
    aspect_ratios: &["auto", "adaptive", "16:9", "4:3", "1:1", "3:4", "9:16"],
    duration: Some(Range {
        default: 5,
        min: 2,
        max: 30,
    }),
    ..F
};

/// High resolution; text to video only.
pub const H: Profile = Profile {
    letter: 'H',
    summary: "high resolution; text to video",
    unit: PriceUnit::Second,
    rates: &[
        rate("720p", 578),
        rate("1080p", 963),
        rate("2K", 1444),
        rate("4K", 2157),
    ],
    aspect_ratios: &["16:9", "9:16"],
    default_aspect_ratio: "16:9",
    prompt_required: true,
    duration: Some(Range {
        default: 5,
        min: 5,
        max: 5,
    }),
    num_images: None,
    frames: false,
    reference_images: false,
    reference_videos: false,
    audio: false,
};

/// Reference to video only, with audio.
pub const R: Profile = Profile {
    letter: 'R',
    summary: "reference to video, with audio",
    rates: &[rate("720p", 838), rate("1080p", 1050)],
    aspect_ratios: &["16:9", "9:16", "4:3", "3:4", "1:1"],
    prompt_required: false,
    duration: Some(Range {
        default: 5,
        min: 3,
        max: 16,
    }),
    reference_images: true,
    audio: true,
    ..H
};

/// Text to image.
pub const I: Profile = Profile {
    letter: 'I',
    summary: "text to image",
    unit: PriceUnit::Image,
    rates: &[rate("720p", 50), rate("1080p", 75)],
    aspect_ratios: &["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"],
    default_aspect_ratio: "1:1",
    duration: None,
    num_images: Some(Range {
        default: 1,
        min: 1,
        max: 4,
    }),
    ..H
};

/// All profiles: those of video, then that of images.
pub const ALL: &[Profile] = &[F, L, H, R, I];

impl Profile {
    /// The price per unit at that resolution; `None` where the profile does not have it.
    #[must_use]
    pub fn price(&self, resolution: &str) -> Option<Usd> {
        let rate = self
            .rates
            .iter()
            .find(|rate| rate.resolution == resolution)?;
        Some(rate.price)
    }

    /// The resolution where the request says nothing.
    #[must_use]
    pub fn default_resolution(&self) -> &'static str {
        self.rates.first().map_or("", |rate| rate.resolution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_those_of_the_specification() {
        let rows = [
            ('F', "480p", "0.1407"),
            ('F', "720p", "0.3024"),
            ('L', "480p", "0.0625"),
            ('L', "720p", "0.1250"),
            ('L', "1080p", "0.2500"),
            ('H', "720p", "0.0578"),
            ('H', "1080p", "0.0963"),
            ('H', "2K", "0.1444"),
            ('H', "4K", "0.2157"),
            ('R', "720p", "0.0838"),
            ('R', "1080p", "0.1050"),
            ('I', "720p", "0.0050"),
            ('I', "1080p", "0.0075"),
        ];
        for (letter, resolution, price) in rows {
            let profile = ALL.iter().find(|profile| profile.letter == letter).unwrap();
            assert_eq!(
                profile.price(resolution).unwrap().to_string(),
                price,
                "{letter} {resolution}"
            );
        }
        assert_eq!(
            ALL.iter().map(|profile| profile.rates.len()).sum::<usize>(),
            rows.len()
        );
        assert_eq!(F.price("1080p"), None);
    }
}
