//! Talking avatar videos and face swaps.

use serde_json::Value;

use super::api_error::ApiError;
use super::avatars::completed_avatar_handle;
use super::communication::deny_unknown;
use super::fields::Fields;
use super::job_draft::{JobDraft, ResourceChange};
use super::media_kind::MediaKind;
use super::request::Request;
use super::response::ApiResult;
use super::submit;
use crate::engine::directives::Directives;
use crate::engine::jobs::JobType;
use crate::engine::resources::ResourceDetails;
use crate::engine::speech::{Quality, Speech};
use crate::media::{Spec, dimensions};

/// The maximum number of scenes in a video.
const MAX_VIDEO_INPUTS: usize = 50;
/// The length in seconds of a video with a swapped face.
const FACE_SWAP_SECONDS: u64 = 5;

/// `POST /v1/avatar-1.0/talking-video`.
pub(super) fn talking_video(request: &mut Request<'_>) -> ApiResult {
    submit::submit_versioned(request, |request, fields| {
        let (speech, directives) = read_speech(request, fields)?;
        let draft = video_draft(&speech, directives);
        let details = ResourceDetails::AvatarVideo { speech, preview_id: None };
        Ok((draft, ResourceChange::Create(details)))
    })
}

pub(super) fn video_draft(speech: &Speech, directives: Directives) -> JobDraft {
    let (quality, seconds) = (speech.quality, speech.seconds());
    let spec = portrait_video(quality.resolution(), seconds);
    let job_type = JobType::AvatarVideoGeneration;
    JobDraft::of_product(job_type, quality.as_str(), seconds, spec, directives)
}

/// Returns the specification of a portrait video with sound.
pub(super) fn portrait_video(resolution: &str, seconds: u64) -> Spec {
    let (width, height) = dimensions(resolution, "9:16");
    Spec::Video { width, height, duration_ms: seconds * 1000, with_audio: true, seed: 0 }
}

/// Reads the fields of a talking video: `avatar_handle`, exactly one of `script` and
/// `video_inputs`, and the optional `quality`, `product_image` and `scene`.
pub(super) fn read_speech(
    request: &Request<'_>,
    fields: Fields<'_>,
) -> Result<(Speech, Directives), ApiError> {
    const FIELDS: [&str; 6] =
        ["avatar_handle", "script", "video_inputs", "quality", "product_image", "scene"];
    deny_unknown(fields, |name| FIELDS.contains(&name), "an avatar video")?;
    let handle = completed_avatar_handle(request, fields)?;
    let script = fields.non_blank_text("script")?;
    let inputs = fields.objects("video_inputs", 1..=MAX_VIDEO_INPUTS)?;
    let text = match (script, inputs) {
        (Some(script), None) => script.to_owned(),
        (None, Some(inputs)) => {
            // The specification does not define the items, so the text may be in `script` or `text`.
            let text_of = |input: &Value| {
                let text = input.get("script").or_else(|| input.get("text"))?;
                Some(text.as_str()?.to_owned())
            };
            inputs.iter().filter_map(text_of).collect::<Vec<_>>().join(" ")
        }
        (Some(_), Some(_)) => {
            return Err(fields.error("video_inputs", "cannot be combined with `script`"));
        }
        (None, None) => return Err(fields.error("script", "or `video_inputs` is required")),
    };
    let quality = fields.one_of("quality", Quality::NAMES)?;
    fields.image("product_image")?;
    fields.image("scene")?;
    let speech = Speech {
        avatar_handle: handle.to_owned(),
        text,
        quality: quality.and_then(Quality::from_name).unwrap_or_default(),
    };
    let directives = fields.directives()?;
    Ok((speech, directives))
}

/// The alias `avatar-face-swap/v1.0`, which has no canonical path. Puts the face of
/// `avatar_handle` into the video at `video_url` or the image at `image_url`.
pub(super) fn face_swap(request: &mut Request<'_>) -> ApiResult {
    submit::submit_versioned(request, |request, fields| {
        let is_own = |name: &str| matches!(name, "avatar_handle" | "video_url" | "image_url");
        deny_unknown(fields, is_own, "avatar-face-swap")?;
        completed_avatar_handle(request, fields)?;
        let video = fields.media_url("video_url", MediaKind::Video)?;
        let image = fields.media_url("image_url", MediaKind::Image)?;
        let (width, height) = dimensions("720p", "16:9");
        let spec = match (video, image) {
            (Some(_), None) => {
                let duration_ms = FACE_SWAP_SECONDS * 1000;
                Spec::Video { width, height, duration_ms, with_audio: true, seed: 0 }
            }
            (None, Some(_)) => Spec::Image { width, height, seed: 0 },
            (Some(_), Some(_)) => {
                return Err(fields.error("image_url", "cannot be combined with `video_url`"));
            }
            (None, None) => return Err(fields.error("video_url", "or `image_url` is required")),
        };
        let directives = fields.directives()?;
        let draft = JobDraft::of_product(JobType::AvatarFaceSwap, "", 1, spec, directives);
        Ok((draft, ResourceChange::None))
    })
}
