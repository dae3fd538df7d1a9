//! Canonical generation paths for images, videos and music. `prompt` is required; the other fields
//! are those of the routers that apply to the model. The compatibility aliases under `/v1/models/…`
//! are the same operations under the name of their first-party owner.

use svc_sdk::contract::ErrorCode;

use super::api_error::ApiError;
use super::communication::deny_unknown;
use super::fields::Fields;
use super::generation::{integer_in_range, validate};
use super::job_draft::{JobDraft, ResourceChange};
use super::request::Request;
use super::response::ApiResult;
use super::submit;
use crate::engine::jobs::JobType;
use crate::engine::versioned_models::{IMAGE_1, MUSIC_SECONDS, VIDEO_1};
use crate::media::Spec;

/// `POST /v1/image-1.0/generate`.
pub(super) fn image(request: &mut Request<'_>) -> ApiResult {
    submit::submit_versioned(request, |_, fields| Ok((read_image(fields)?, ResourceChange::None)))
}

/// `POST /v1/video-1.0/generate`.
pub(super) fn video(request: &mut Request<'_>) -> ApiResult {
    submit::submit_versioned(request, |_, fields| Ok((read_video(fields)?, ResourceChange::None)))
}

/// `POST /v1/music-1.0/generate`.
pub(super) fn music(request: &mut Request<'_>) -> ApiResult {
    submit::submit_versioned(request, |_, fields| Ok((read_music(fields)?, ResourceChange::None)))
}

pub(super) fn read_image(fields: Fields<'_>) -> Result<JobDraft, ApiError> {
    validate(&IMAGE_1, fields, false, false).map(|generation| generation.draft)
}

pub(super) fn read_video(fields: Fields<'_>) -> Result<JobDraft, ApiError> {
    validate(&VIDEO_1, fields, false, false).map(|generation| generation.draft)
}

pub(super) fn read_music(fields: Fields<'_>) -> Result<JobDraft, ApiError> {
    deny_unknown(fields, |name| matches!(name, "prompt" | "duration"), "music-1.0")?;
    fields.non_blank_text("prompt")?.ok_or_else(|| fields.error("prompt", "is required"))?;
    let seconds = integer_in_range(fields, "duration", Some(MUSIC_SECONDS))?.unwrap_or_default();
    let spec = Spec::Music { duration_ms: seconds * 1000, seed: 0 };
    let directives = fields.directives()?;
    Ok(JobDraft::of_product(JobType::MusicGeneration, "", seconds, spec, directives))
}

/// The value of `{first_party_owner}` in the paths of the aliases.
const FIRST_PARTY_OWNER: &str = "studio";

/// Runs the canonical operation if the path names the first-party owner, the only owner of models.
pub(super) fn run_canonical(
    request: &mut Request<'_>,
    canonical: fn(&mut Request<'_>) -> ApiResult,
) -> ApiResult {
    if request.id() == FIRST_PARTY_OWNER {
        return canonical(request);
    }
    let message = "model not found for this owner";
    Err(ApiError::new(ErrorCode::ModelNotFound, message))
}
