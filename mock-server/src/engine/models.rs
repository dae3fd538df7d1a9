//! The models of the mock: the specification's profiles under ids of its own, and a lip-sync model.

use svc_sdk::types::Usd;

use super::profiles::{self, PriceUnit, Profile, Range, Rate};

/// Which router a model is called through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Router {
    Image,
    Video,
}

/// A model.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    /// `type` of its listing entries.
    pub(crate) kind: &'static str,
    pub(crate) router: Router,
    pub(crate) profile: &'static Profile,
    /// Whether it makes a face speak: it needs `audio_url`, and `video_url` or `image_url`.
    pub(crate) lip_sync: bool,
}

/// Lip-sync, which the specification describes without a profile. It has no resolutions.
const LIP_SYNC: Profile = Profile {
    letter: 'S',
    summary: "speech to a video or an image",
    rates: &[Rate {
        resolution: "",
        price: Usd::from_micros(50_000),
    }],
    aspect_ratios: &[],
    prompt_required: false,
    duration: Some(Range {
        default: 5,
        min: 2,
        max: 60,
    }),
    ..profiles::H
};

const fn video(id: &'static str, name: &'static str, profile: &'static Profile) -> Model {
    Model {
        id,
        name,
        kind: "video",
        router: Router::Video,
        profile,
        lip_sync: false,
    }
}

/// All models; of two that cost the same, `auto` picks the one further up.
pub(crate) const MODELS: [Model; 6] = [
    video("video-f", "Video F", &profiles::F),
    video("video-l", "Video L", &profiles::L),
    video("video-h", "Video H", &profiles::H),
    video("video-r", "Video R", &profiles::R),
    Model {
        kind: "lip_sync",
        lip_sync: true,
        ..video("lipsync-s", "Lip-sync S", &LIP_SYNC)
    },
    Model {
        kind: "image",
        router: Router::Image,
        ..video("image-i", "Image I", &profiles::I)
    },
];

/// The models of a router.
pub(crate) fn for_router(router: Router) -> impl Iterator<Item = &'static Model> {
    MODELS.iter().filter(move |model| model.router == router)
}

/// The model of that id.
pub(crate) fn by_id(id: &str) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.id == id)
}

impl Model {
    /// The resolutions that it has; none for lip-sync.
    pub(crate) fn resolutions(&self) -> Vec<&'static str> {
        let named = self.profile.rates.iter().map(|rate| rate.resolution);
        named.filter(|resolution| !resolution.is_empty()).collect()
    }

    /// What it makes something of, by the request's field names.
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
        .filter_map(|(field, taken)| taken.then_some(field))
        .collect()
    }

    /// Whether a request to it may have that field.
    pub(crate) fn takes(&self, field: &str) -> bool {
        match field {
            "duration" => self.profile.duration.is_some(),
            "resolution" => !self.resolutions().is_empty(),
            "aspect_ratio" => !self.profile.aspect_ratios.is_empty(),
            _ => self.inputs().contains(&field),
        }
    }

    /// What its price counts.
    pub(crate) fn unit(&self) -> PriceUnit {
        self.profile.unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_are_those_that_are_documented() {
        let ids = |router| for_router(router).map(|model| model.id).collect::<Vec<_>>();
        assert_eq!(
            ids(Router::Video),
            ["video-f", "video-l", "video-h", "video-r", "lipsync-s"]
        );
        assert_eq!(ids(Router::Image), ["image-i"]);
        assert_eq!(by_id("video-x"), None);
    }

    #[test]
    fn each_takes_what_its_profile_says() {
        let takes = |id: &str| by_id(id).unwrap().inputs().join(" ");
        let frames = "prompt image_url end_image_url reference_image_urls reference_video_urls generate_audio";
        assert_eq!(takes("video-f"), frames);
        assert_eq!(takes("video-l"), frames);
        assert_eq!(takes("video-h"), "prompt");
        assert_eq!(
            takes("video-r"),
            "prompt reference_image_urls generate_audio"
        );
        assert_eq!(takes("lipsync-s"), "prompt image_url video_url audio_url");
        assert_eq!(takes("image-i"), "prompt num_images");
        let lip_sync = by_id("lipsync-s").unwrap();
        assert!(
            lip_sync.takes("duration")
                && !lip_sync.takes("resolution")
                && !lip_sync.takes("aspect_ratio")
        );
        assert!(!by_id("image-i").unwrap().takes("duration"));
    }
}
