//! Avatars that do something: talking videos, and the swap of a face.

use serde_json::Value;

use super::api_error::ApiError;
use super::avatars::finished_avatar_handle;
use super::fields::{Fields, MediaKind};
use super::generation::COMMON_FIELDS;
use super::request::Request;
use super::response::ApiResult;
use super::submit::{self, JobDraft, ResourceChange};
use crate::engine::directives::Directives;
use crate::engine::jobs::JobType;
use crate::engine::resources::ResourceDetails;
use crate::engine::speech::{Quality, Speech};
use crate::engine::versioned_models::price;
use crate::media::{Spec, dimensions};

/// Scenes of a video at most.
const MAX_VIDEO_INPUTS: usize = 50;
/// Seconds of a video with a swapped face.
const FACE_SWAP_SECONDS: u64 = 5;

/// `POST /v1/avatar-1.0/talking-video`.
pub(super) fn talking_video(request: &mut Request<'_>) -> ApiResult {
    submit::submit_versioned(request, |request, fields| {
        let (speech, directives) = read_speech(request, fields)?;
        let preview_id = None;
        let draft = video_draft(&speech, directives);
        Ok((
            draft,
            ResourceChange::Create(ResourceDetails::AvatarVideo { speech, preview_id }),
        ))
    })
}

/// The video in which that is said.
pub(super) fn video_draft(speech: &Speech, directives: Directives) -> JobDraft {
    let seconds = speech.seconds();
    let quality = speech.quality;
    JobDraft {
        job_type: JobType::AvatarVideoGeneration,
        model: "avatar-1.0",
        directives,
        price: price(JobType::AvatarVideoGeneration, quality.as_str(), seconds),
        spec: portrait_video(quality.resolution(), seconds),
        files: 1,
    }
}

/// A video in portrait, with sound.
pub(super) fn portrait_video(resolution: &str, seconds: u64) -> Spec {
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
) -> Result<(Speech, Directives), ApiError> {
    const FIELDS: [&str; 6] = [
        "avatar_handle",
        "script",
        "video_inputs",
        "quality",
        "product_image",
        "scene",
    ];
    let known = |name: &str| FIELDS.contains(&name) || COMMON_FIELDS.contains(&name);
    fields.deny_unknown(known, "an avatar video")?;
    let handle = finished_avatar_handle(request, fields)?;
    let script = fields.non_blank_text("script")?;
    let inputs = fields.objects("video_inputs", 1..=MAX_VIDEO_INPUTS)?;
    let text = match (script, inputs) {
        (Some(script), None) => script.to_owned(),
        (None, Some(inputs)) => {
            // Their shape is not specified: what is said is in `script` or `text`.
            let spoken_text = |input: &Value| {
                let spoken_text = input.get("script").or_else(|| input.get("text"))?;
                Some(spoken_text.as_str()?.to_owned())
            };
            inputs
                .iter()
                .filter_map(spoken_text)
                .collect::<Vec<_>>()
                .join(" ")
        }
        (Some(_), Some(_)) => {
            return Err(fields.error("video_inputs", "and `script` exclude each other"));
        }
        (None, None) => return Err(fields.error("script", "or `video_inputs` is required")),
    };
    let quality = fields.one_of("quality", &Quality::NAMES)?;
    fields.image("product_image")?;
    fields.image("scene")?;
    let speech = Speech {
        avatar_handle: handle.to_owned(),
        text,
        quality: quality.map(Quality::from_name).unwrap_or_default(),
    };
    let directives = Directives::parse(fields.texts().iter().map(String::as_str));
    Ok((speech, directives))
}

/// The alias `avatar-face-swap/v1.0`, which has no canonical path: `avatar_handle`, and the
/// `video_url` or `image_url` in which its face is put.
pub(super) fn face_swap(request: &mut Request<'_>) -> ApiResult {
    submit::submit_versioned(request, |request, fields| {
        let own = ["avatar_handle", "video_url", "image_url"];
        let known = |name: &str| own.contains(&name) || COMMON_FIELDS.contains(&name);
        fields.deny_unknown(known, "avatar-face-swap")?;
        finished_avatar_handle(request, fields)?;
        let video = fields.media_url("video_url", MediaKind::Video)?;
        let image = fields.media_url("image_url", MediaKind::Image)?;
        let (width, height) = dimensions("720p", "16:9");
        let spec = match (video, image) {
            (Some(_), None) => Spec::Video {
                width,
                height,
                duration_ms: FACE_SWAP_SECONDS * 1000,
                with_audio: true,
                seed: 0,
            },
            (None, Some(_)) => Spec::Image {
                width,
                height,
                seed: 0,
            },
            (Some(_), Some(_)) => {
                return Err(fields.error("image_url", "and `video_url` exclude each other"));
            }
            (None, None) => return Err(fields.error("video_url", "or `image_url` is required")),
        };
        let draft = JobDraft {
            job_type: JobType::AvatarFaceSwap,
            model: "avatar-face-swap",
            directives: Directives::parse(fields.texts().iter().map(String::as_str)),
            price: price(JobType::AvatarFaceSwap, "", 1),
            spec,
            files: 1,
        };
        Ok((draft, ResourceChange::None))
    })
}
