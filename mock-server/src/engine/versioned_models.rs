//! The models of the developer surface's canonical paths, and what each thing that they make costs
//! in service credits. Names, ranges and prices are the mock's own.

use svc_sdk::types::Usd;

use super::jobs::JobType;
use super::models::{Model, Router};
use super::profiles::{self, Profile, Range, Rate};

/// What a service credit is worth.
pub(crate) const USD_PER_CREDIT: Usd = Usd::from_micros(10_000);

/// So many credits for a unit; `of` is a resolution, a quality, or nothing where there is one rate.
const fn credits(of: &'static str, credits: i64) -> Rate {
    Rate {
        resolution: of,
        price: Usd::from_micros(credits * USD_PER_CREDIT.micros()),
    }
}

/// Something that is made, by whom, and at what price.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) model: &'static str,
    pub(crate) job_type: JobType,
    /// What the price counts.
    pub(crate) unit: &'static str,
    /// The field that decides on the rate, where there are several.
    pub(crate) rate_field: Option<&'static str>,
    pub(crate) rates: &'static [Rate],
}

/// The tariff. Previews are free.
#[rustfmt::skip]
pub(crate) static PRICE_LIST: [Product; 8] = [
    Product { model: "image-1.0", job_type: JobType::ImageGeneration, unit: "image", rate_field:Some("resolution"), rates: IMAGES },
    Product { model: "video-1.0", job_type: JobType::VideoGeneration, unit: "second", rate_field:Some("resolution"), rates: VIDEOS },
    Product { model: "music-1.0", job_type: JobType::MusicGeneration, unit: "second", rate_field:None, rates: &[credits("", 1)] },
    Product { model: "avatar-1.0", job_type: JobType::AvatarGeneration, unit: "avatar", rate_field:None, rates: &[credits("", 50)] },
    Product { model: "avatar-1.0", job_type: JobType::AvatarVideoGeneration, unit: "second", rate_field:Some("quality"), rates: SPEECH },
    Product { model: "avatar-1.0", job_type: JobType::AvatarVideoPreview, unit: "preview", rate_field:None, rates: &[credits("", 0)] },
    Product { model: "avatar-face-swap", job_type: JobType::AvatarFaceSwap, unit: "swap", rate_field:None, rates: &[credits("", 60)] },
    Product { model: "video-captions", job_type: JobType::VideoCaptions, unit: "video", rate_field:None, rates: &[credits("", 5)] },
];

const IMAGES: &[Rate] = &[credits("720p", 1), credits("1080p", 2)];
const VIDEOS: &[Rate] = &[
    credits("480p", 5),
    credits("720p", 10),
    credits("1080p", 20),
];
const SPEECH: &[Rate] = &[
    credits("standard", 5),
    credits("plus", 10),
    credits("max", 20),
];

/// Seconds of a piece of music.
pub(crate) const MUSIC_SECONDS: Range = Range {
    default: 30,
    min: 5,
    max: 300,
};

const IMAGE_PROFILE: Profile = Profile {
    letter: 'C',
    summary: "text to image",
    rates: IMAGES,
    ..profiles::I
};

const VIDEO_PROFILE: Profile = Profile {
    letter: 'C',
    summary: "text, image and reference to video, with audio",
    rates: VIDEOS,
    ..profiles::L
};

/// `image-1.0`: what profile I takes.
pub(crate) static IMAGE_1: Model = Model {
    id: "image-1.0",
    name: "Image 1.0",
    kind: "image",
    router: Router::Image,
    profile: &IMAGE_PROFILE,
    lip_sync: false,
};

/// `video-1.0`: what profile L takes.
pub(crate) static VIDEO_1: Model = Model {
    id: "video-1.0",
    name: "Video 1.0",
    kind: "video",
    router: Router::Video,
    profile: &VIDEO_PROFILE,
    lip_sync: false,
};

/// What so many units cost; none where it is free.
pub(crate) fn price(job_type: JobType, of: &str, units: u64) -> Option<Usd> {
    let product = PRICE_LIST
        .iter()
        .find(|product| product.job_type == job_type)?;
    let rate = product.rates.iter().find(|rate| rate.resolution == of)?;
    let price = rate.price.checked_mul(i64::try_from(units).ok()?)?;
    (price > Usd::ZERO).then_some(price)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_has_a_price_in_whole_credits() {
        let rows = [
            (JobType::ImageGeneration, "720p", 4, "0.0400"),
            (JobType::VideoGeneration, "1080p", 30, "6.0000"),
            (JobType::MusicGeneration, "", 30, "0.3000"),
            (JobType::AvatarGeneration, "", 1, "0.5000"),
            (JobType::AvatarVideoGeneration, "plus", 6, "0.6000"),
            (JobType::AvatarFaceSwap, "", 1, "0.6000"),
            (JobType::VideoCaptions, "", 1, "0.0500"),
        ];
        for (job_type, of, units, expected) in rows {
            let price = price(job_type, of, units).map(|price| price.to_string());
            assert_eq!(price.as_deref(), Some(expected), "{job_type:?} {of}");
        }
        assert_eq!(price(JobType::AvatarVideoPreview, "", 1), None);
        assert_eq!(price(JobType::VideoGeneration, "4K", 1), None);
    }

    #[test]
    fn every_type_of_job_is_in_the_tariff_once() {
        for job_type in JobType::ALL {
            let rows = PRICE_LIST
                .iter()
                .filter(|product| product.job_type == job_type);
            assert_eq!(rows.count(), 1, "{job_type:?}");
        }
    }
}
