//! Avatars that do something: talking videos, and the swap of a face.

use serde_json::Value;

use super::api_error::Failure;
use super::avatars::handle_of;
use super::fields::{Fields, Medium};
use super::generation::COMMON;
use super::request::Request;
use super::response::Outcome;
use super::submit::{self, Draft, Made};
use crate::engine::directives::Directives;
use crate::engine::jobs::JobType;
use crate::engine::resources::About;
use crate::engine::speech::{Quality, Speech};
use crate::engine::versioned_models::price;
use crate::media::{Spec, dimensions};

/// Scenes of a video at most.
const MOST_INPUTS: usize = 50;
/// Seconds of a video with a swapped face.
const SWAP_SECONDS: u64 = 5;

/// `POST /v1/avatar-1.0/talking-video`.
pub(super) fn talking_video(request: &mut Request<'_>) -> Outcome {
    submit::to_a_model(request, |request, fields| {
        let (speech, words) = read_speech(request, fields)?;
        let preview_id = None;
        let draft = video_draft(&speech, words);
        Ok((draft, Made::New(About::AvatarVideo { speech, preview_id })))
    })
}

/// The video in which that is said.
pub(super) fn video_draft(speech: &Speech, words: Directives) -> Draft {
    let seconds = speech.seconds();
    let quality = speech.quality;
    Draft {
        job_type: JobType::AvatarVideoGeneration,
        model: "avatar-1.0",
        words,
        price: price(JobType::AvatarVideoGeneration, quality.as_str(), seconds),
        spec: portrait(quality.resolution(), seconds),
        files: 1,
    }
}

/// A video in portrait, with sound.
pub(super) fn portrait(resolution: &str, seconds: u64) -> Spec {
    let (width, height) = dimensions(resolution, "9:16");
    Spec::Video {
        width,
        height,
        duration_ms: seconds * 1000,
        with_audio: true,
        seed: 0,
    }
}

/// `avatar_handle` and exactly one of `script` and `video_inputs`; `quality`, and what else is to
/// be seen.
pub(super) fn read_speech(
    request: &Request<'_>,
    fields: Fields<'_>,
) -> Result<(Speech, Directives), Failure> {
    const OWN: [&str; 6] = [
        "avatar_handle",
        "script",
        "video_inputs",
        "quality",
        "product_image",
        "scene",
    ];
    let known = |name: &str| OWN.contains(&name) || COMMON.contains(&name);
    fields.only(known, "an avatar video")?;
    let handle = handle_of(request, fields)?;
    let script = fields.filled_text("script")?;
    let inputs = fields.objects("video_inputs", 1..=MOST_INPUTS)?;
    let text = match (script, inputs) {
        (Some(script), None) => script.to_owned(),
        (None, Some(inputs)) => {
            // Their shape is not specified: what is said is in `script` or `text`.
            let said = |input: &Value| {
                let said = input.get("script").or_else(|| input.get("text"))?;
                Some(said.as_str()?.to_owned())
            };
            inputs.iter().filter_map(said).collect::<Vec<_>>().join(" ")
        }
        (Some(_), Some(_)) => {
            return Err(fields.wrong("video_inputs", "and `script` exclude each other"));
        }
        (None, None) => return Err(fields.wrong("script", "or `video_inputs` is required")),
    };
    let quality = fields.one_of("quality", &Quality::NAMES)?;
    fields.image("product_image")?;
    fields.image("scene")?;
    let speech = Speech {
        avatar_handle: handle.to_owned(),
        text,
        quality: quality.map(Quality::named).unwrap_or_default(),
    };
    let words = Directives::of(fields.texts().iter().map(String::as_str));
    Ok((speech, words))
}

/// The alias `avatar-face-swap/v1.0`, which has no canonical path: `avatar_handle`, and the
/// `video_url` or `image_url` in which its face is put.
pub(super) fn face_swap(request: &mut Request<'_>) -> Outcome {
    submit::to_a_model(request, |request, fields| {
        let own = ["avatar_handle", "video_url", "image_url"];
        let known = |name: &str| own.contains(&name) || COMMON.contains(&name);
        fields.only(known, "avatar-face-swap")?;
        handle_of(request, fields)?;
        let video = fields.media_url("video_url", Medium::Video)?;
        let image = fields.media_url("image_url", Medium::Image)?;
        let (width, height) = dimensions("720p", "16:9");
        let spec = match (video, image) {
            (Some(_), None) => Spec::Video {
                width,
                height,
                duration_ms: SWAP_SECONDS * 1000,
                with_audio: true,
                seed: 0,
            },
            (None, Some(_)) => Spec::Image {
                width,
                height,
                seed: 0,
            },
            (Some(_), Some(_)) => {
                return Err(fields.wrong("image_url", "and `video_url` exclude each other"));
            }
            (None, None) => return Err(fields.wrong("video_url", "or `image_url` is required")),
        };
        let draft = Draft {
            job_type: JobType::AvatarFaceSwap,
            model: "avatar-face-swap",
            words: Directives::of(fields.texts().iter().map(String::as_str)),
            price: price(JobType::AvatarFaceSwap, "", 1),
            spec,
            files: 1,
        };
        Ok((draft, Made::Nothing))
    })
}
