//! The model profiles of the specification: the parameters of a model, their ranges and defaults,
//! and its prices.
//!
//! The constants have the letters of the profiles as names; the ids of the models are in `models.rs`.

use svc_sdk::types::Usd;

use crate::named_enum::named_enum;

named_enum! {
    pub(crate) enum PriceUnit {
        Second = "second",
        Image = "image",
    }
}

/// The default and the inclusive bounds of an integer parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) default: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    /// Such as `720p`.
    pub(crate) resolution: &'static str,
    pub(crate) price: Usd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) unit: PriceUnit,
    /// The prices; the resolution of the first one is the default.
    pub(crate) rates: &'static [Rate],
    pub(crate) aspect_ratios: &'static [&'static str],
    pub(crate) default_aspect_ratio: &'static str,
    pub(crate) prompt_required: bool,
    /// The duration in seconds, for videos.
    pub(crate) duration: Option<Range>,
    pub(crate) num_images: Option<Range>,
    /// Whether `image_url` and `end_image_url` are accepted.
    pub(crate) frames: bool,
    /// Whether `reference_image_urls` is accepted.
    pub(crate) reference_images: bool,
    /// Whether `reference_video_urls` is accepted.
    pub(crate) reference_videos: bool,
    /// Whether `generate_audio` is accepted.
    pub(crate) audio: bool,
}

const fn rate(resolution: &'static str, ten_thousandths: i64) -> Rate {
    Rate { resolution, price: Usd::from_micros(ten_thousandths * 100) }
}

/// Fast; text, image and reference to video, with audio.
pub(crate) const F: Profile = Profile {
    unit: PriceUnit::Second,
    rates: &[rate("480p", 1407), rate("720p", 3024)],
    aspect_ratios: &["auto", "adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"],
    default_aspect_ratio: "16:9",
    prompt_required: true,
    duration: Some(Range { default: 5, min: 4, max: 15 }),
    num_images: None,
    frames: true,
    reference_images: true,
    reference_videos: true,
    audio: true,
};

/// Long range; text, image and reference to video, with audio.
pub(crate) const L: Profile = Profile {
    rates: &[rate("480p", 625), rate("720p", 1250), rate("1080p", 2500)],
    aspect_ratios: &["auto", "adaptive", "16:9", "4:3", "1:1", "3:4", "9:16"],
    duration: Some(Range { default: 5, min: 2, max: 30 }),
    ..F
};

/// High resolution; text to video only.
pub(crate) const H: Profile = Profile {
    unit: PriceUnit::Second,
    rates: &[rate("720p", 578), rate("1080p", 963), rate("2K", 1444), rate("4K", 2157)],
    aspect_ratios: &["16:9", "9:16"],
    default_aspect_ratio: "16:9",
    prompt_required: true,
    duration: Some(Range { default: 5, min: 5, max: 5 }),
    num_images: None,
    frames: false,
    reference_images: false,
    reference_videos: false,
    audio: false,
};

/// Reference to video only, with audio.
pub(crate) const R: Profile = Profile {
    rates: &[rate("720p", 838), rate("1080p", 1050)],
    aspect_ratios: &["16:9", "9:16", "4:3", "3:4", "1:1"],
    prompt_required: false,
    duration: Some(Range { default: 5, min: 3, max: 16 }),
    reference_images: true,
    audio: true,
    ..H
};

pub(crate) const I: Profile = Profile {
    unit: PriceUnit::Image,
    rates: &[rate("720p", 50), rate("1080p", 75)],
    aspect_ratios: &["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"],
    default_aspect_ratio: "1:1",
    duration: None,
    num_images: Some(Range { default: 1, min: 1, max: 4 }),
    ..H
};

impl Profile {
    /// Returns the price per unit at a resolution; `None` if the profile does not have it.
    pub(crate) fn price(&self, resolution: &str) -> Option<Usd> {
        let rate = self.rates.iter().find(|rate| rate.resolution == resolution)?;
        Some(rate.price)
    }

    pub(crate) fn default_resolution(&self) -> &'static str {
        self.rates.first().map_or("", |rate| rate.resolution)
    }
}
