//! The models of the developer surface and their prices in service credits.
//!
//! The specification does not define their names, ranges and prices; these are the mock's own.

use svc_sdk::types::Usd;

use super::jobs::JobType;
use super::models::{Model, image, video};
use super::profiles::{self, Profile, Range, Rate};

pub(crate) const USD_PER_CREDIT: Usd = Usd::from_micros(10_000);

/// Creates a rate in credits per unit. The tier is a resolution, a quality, or empty if the product
/// has a single rate.
const fn credits(tier: &'static str, credits: i64) -> Rate {
    Rate { resolution: tier, price: Usd::from_micros(credits * USD_PER_CREDIT.as_micros()) }
}

/// An entry of the price list: a type of job, the model that runs it, and its rates.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) model: &'static str,
    pub(crate) job_type: JobType,
    pub(crate) unit: &'static str,
    /// The request field that selects the rate, if there are several.
    pub(crate) rate_field: Option<&'static str>,
    pub(crate) rates: &'static [Rate],
}

/// The price list. Previews are free.
#[rustfmt::skip]
pub(crate) static PRICE_LIST: [Product; 8] = [
    Product { model: "image-1.0", job_type: JobType::ImageGeneration, unit: "image", rate_field: Some("resolution"), rates: IMAGES },
    Product { model: "video-1.0", job_type: JobType::VideoGeneration, unit: "second", rate_field: Some("resolution"), rates: VIDEOS },
    Product { model: "music-1.0", job_type: JobType::MusicGeneration, unit: "second", rate_field: None, rates: &[credits("", 1)] },
    Product { model: "avatar-1.0", job_type: JobType::AvatarGeneration, unit: "avatar", rate_field: None, rates: &[credits("", 50)] },
    Product { model: "avatar-1.0", job_type: JobType::AvatarVideoGeneration, unit: "second", rate_field: Some("quality"), rates: SPEECH },
    Product { model: "avatar-1.0", job_type: JobType::AvatarVideoPreview, unit: "preview", rate_field: None, rates: &[credits("", 0)] },
    Product { model: "avatar-face-swap", job_type: JobType::AvatarFaceSwap, unit: "swap", rate_field: None, rates: &[credits("", 60)] },
    Product { model: "video-captions", job_type: JobType::VideoCaptions, unit: "video", rate_field: None, rates: &[credits("", 5)] },
];

const IMAGES: &[Rate] = &[credits("720p", 1), credits("1080p", 2)];
const VIDEOS: &[Rate] = &[credits("480p", 5), credits("720p", 10), credits("1080p", 20)];
const SPEECH: &[Rate] = &[credits("standard", 5), credits("plus", 10), credits("max", 20)];

/// The duration of music in seconds.
pub(crate) const MUSIC_SECONDS: Range = Range { default: 30, min: 5, max: 300 };

const IMAGE_PROFILE: Profile = Profile { rates: IMAGES, ..profiles::I };

const VIDEO_PROFILE: Profile = Profile { rates: VIDEOS, ..profiles::L };

/// The model `image-1.0`, which accepts the same parameters as profile I.
pub(crate) static IMAGE_1: Model = image("image-1.0", "Image 1.0", &IMAGE_PROFILE);

/// The model `video-1.0`, which accepts the same parameters as profile L.
pub(crate) static VIDEO_1: Model = video("video-1.0", "Video 1.0", &VIDEO_PROFILE);

impl Product {
    pub(crate) fn of(job_type: JobType) -> Option<&'static Self> {
        PRICE_LIST.iter().find(|product| product.job_type == job_type)
    }

    /// Returns the price of the given number of units; `None` if the product is free.
    pub(crate) fn price(&self, tier: &str, units: u64) -> Option<Usd> {
        let rate = self.rates.iter().find(|rate| rate.resolution == tier)?;
        let price = rate.price.checked_mul(i64::try_from(units).ok()?)?;
        (price > Usd::ZERO).then_some(price)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_type_is_in_the_price_list_once() {
        for job_type in JobType::NAMES.iter().map(|name| JobType::from_name(name).unwrap()) {
            let rows = PRICE_LIST.iter().filter(|product| product.job_type == job_type);
            assert_eq!(rows.count(), 1, "{job_type:?}");
        }
    }
}
