//! The models of the open surface: one for each profile of the specification, and lip-sync.

use svc_sdk::types::Usd;

use super::profiles::{self, PriceUnit, Profile, Range, Rate};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Router {
    Image,
    Video,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    /// The value of `type` in listings.
    pub(crate) kind: &'static str,
    pub(crate) router: Router,
    pub(crate) profile: &'static Profile,
    /// Whether the model does lip-sync, which requires `audio_url` and `video_url` or `image_url`.
    pub(crate) lip_sync: bool,
}

/// The lip-sync profile, which the specification describes without a letter or resolutions.
const LIP_SYNC: Profile = Profile {
    rates: &[Rate { resolution: "", price: Usd::from_micros(50_000) }],
    aspect_ratios: &[],
    prompt_required: false,
    duration: Some(Range { default: 5, min: 2, max: 60 }),
    ..profiles::H
};

pub(super) const fn video(
    id: &'static str,
    name: &'static str,
    profile: &'static Profile,
) -> Model {
    Model { id, name, kind: "video", router: Router::Video, profile, lip_sync: false }
}

pub(super) const fn image(
    id: &'static str,
    name: &'static str,
    profile: &'static Profile,
) -> Model {
    Model { kind: "image", router: Router::Image, ..video(id, name, profile) }
}

/// All models. Among models with the same price, `auto` picks the first.
pub(crate) const MODELS: [Model; 6] = [
    video("video-f", "Video F", &profiles::F),
    video("video-l", "Video L", &profiles::L),
    video("video-h", "Video H", &profiles::H),
    video("video-r", "Video R", &profiles::R),
    Model { kind: "lip_sync", lip_sync: true, ..video("lipsync-s", "Lip-sync S", &LIP_SYNC) },
    image("image-i", "Image I", &profiles::I),
];

pub(crate) fn for_router(router: Router) -> impl Iterator<Item = &'static Model> {
    MODELS.iter().filter(move |model| model.router == router)
}

pub(crate) fn by_id(id: &str) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.id == id)
}

impl Model {
    /// Returns the supported resolutions; empty for lip-sync.
    pub(crate) fn resolutions(&self) -> Vec<&'static str> {
        let resolutions = self.profile.rates.iter().map(|rate| rate.resolution);
        resolutions.filter(|resolution| !resolution.is_empty()).collect()
    }

    pub(crate) fn inputs(&self) -> Vec<&'static str> {
        let profile = self.profile;
        [
            ("prompt", true),
            ("image_url", profile.frames || self.lip_sync),
            ("end_image_url", profile.frames),
            ("video_url", self.lip_sync),
            ("audio_url", self.lip_sync),
            ("reference_image_urls", profile.reference_images),
            ("reference_video_urls", profile.reference_videos),
            ("generate_audio", profile.audio),
            ("num_images", profile.num_images.is_some()),
        ]
        .into_iter()
        .filter_map(|(field, is_accepted)| is_accepted.then_some(field))
        .collect()
    }

    pub(crate) fn takes(&self, field: &str) -> bool {
        match field {
            "duration" => self.profile.duration.is_some(),
            "resolution" => !self.resolutions().is_empty(),
            "aspect_ratio" => !self.profile.aspect_ratios.is_empty(),
            _ => self.inputs().contains(&field),
        }
    }

    pub(crate) fn unit(&self) -> PriceUnit {
        self.profile.unit
    }
}
