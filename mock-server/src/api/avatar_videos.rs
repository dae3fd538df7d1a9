//! Talking avatar videos, their previews, and face swaps. A preview is free, short and small. It can be
//! regenerated under the same ID, and the full video can be generated from it.

use serde_json::Value;
use svc_sdk::contract::{ErrorCode, JobStatus};

use super::api_error::ApiError;
use super::avatars::completed_avatar_handle;
use super::communication::{CommunicationOptions, deny_unknown};
use super::fields::{Fields, directives};
use super::job_draft::{JobDraft, ResourceChange};
use super::references::MediaKind;
use super::request::Request;
use super::resources;
use super::response::ApiResult;
use super::submit;
use crate::engine::directives::Directives;
use crate::engine::jobs::JobType;
use crate::engine::resources::{ResourceDetails, ResourceKind};
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

fn video_draft(speech: &Speech, directives: Directives) -> JobDraft {
    let (quality, seconds) = (speech.quality, speech.seconds());
    let spec = portrait_video(quality.resolution(), seconds);
    let job_type = JobType::AvatarVideoGeneration;
    JobDraft::of_product(job_type, quality.as_str(), seconds, spec, directives)
}

/// Returns the specification of a portrait video with sound.
fn portrait_video(resolution: &str, seconds: u64) -> Spec {
    let (width, height) = dimensions(resolution, "9:16");
    Spec::Video { width, height, duration_ms: seconds * 1000, with_audio: true, seed: 0 }
}

/// Reads the fields of a talking video: `avatar_handle`, exactly one of `script` and
/// `video_inputs`, and the optional `quality`, `product_image` and `scene`.
fn read_speech(
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

/// `POST /v1/avatar-video-previews`: the same fields as for an avatar video.
pub(super) fn create_preview(request: &mut Request<'_>) -> ApiResult {
    submit::submit_versioned(request, |request, fields| {
        let (speech, directives) = read_speech(request, fields)?;
        let draft = preview_draft(&speech, directives);
        Ok((draft, ResourceChange::Create(ResourceDetails::Preview { speech })))
    })
}

/// `POST /v1/avatar-video-previews/{id}/regenerate`: possible once the job of the preview has ended,
/// with any status.
pub(super) fn regenerate_preview(request: &mut Request<'_>) -> ApiResult {
    let preview = find_preview(request)?;
    submit::submit_versioned(request, |_, fields| {
        deny_all_but_communication(fields)?;
        if !preview.status.is_terminal() {
            return Err(preview.not_ready);
        }
        let draft = preview_draft(&preview.speech, preview.directives()?);
        Ok((draft, ResourceChange::Regenerate(preview.id)))
    })
}

/// `POST /v1/avatar-video-previews/{id}/generate-video`: generates the video of a completed preview.
pub(super) fn generate_from_preview(request: &mut Request<'_>) -> ApiResult {
    let preview = find_preview(request)?;
    submit::submit_versioned(request, |_, fields| {
        deny_all_but_communication(fields)?;
        if preview.status != JobStatus::Completed {
            return Err(preview.not_ready);
        }
        let draft = video_draft(&preview.speech, preview.directives()?);
        let details =
            ResourceDetails::AvatarVideo { speech: preview.speech, preview_id: Some(preview.id) };
        Ok((draft, ResourceChange::Create(details)))
    })
}

/// A preview with the status of its job.
struct Preview {
    id: String,
    speech: Speech,
    status: JobStatus,
    /// The error for requests that need another status.
    not_ready: ApiError,
}

impl Preview {
    /// Returns the directives of the script, which apply to later jobs as well.
    fn directives(&self) -> Result<Directives, ApiError> {
        directives([self.speech.text.as_str()])
    }
}

fn find_preview(request: &Request<'_>) -> Result<Preview, ApiError> {
    let resource = resources::find(request, ResourceKind::Preview)?;
    let job = request.state.jobs.by_id(&resource.job_id);
    let (ResourceDetails::Preview { speech }, Some(job)) = (&resource.details, job) else {
        return Err(resources::not_found());
    };
    let is_terminal = job.status.is_terminal();
    let wait = job.timeline.next_poll(is_terminal, request.now(), request.hosts);
    let code = ErrorCode::JobNotCompleted;
    Ok(Preview {
        id: resource.id.clone(),
        speech: speech.clone(),
        status: job.status.clone(),
        not_ready: ApiError::not_terminal(code, "preview", &job.status, wait),
    })
}

/// Validates the fields. The handlers do this before they check the status of the preview.
fn deny_all_but_communication(fields: Fields<'_>) -> Result<(), ApiError> {
    deny_unknown(fields, |_| false, "this operation")?;
    CommunicationOptions::parse(fields).map(drop)
}

fn preview_draft(speech: &Speech, directives: Directives) -> JobDraft {
    let spec = portrait_video("480p", speech.preview_seconds());
    JobDraft::of_product(JobType::AvatarVideoPreview, "", 1, spec, directives)
}
