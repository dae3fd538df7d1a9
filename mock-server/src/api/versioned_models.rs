//! The canonical generation paths for images, videos and music. `prompt` is required; the other
//! fields are the routers' where they apply.

use super::api_error::Failure;
use super::fields::Fields;
use super::generation::{COMMON, judge, within};
use super::request::Request;
use super::response::Outcome;
use super::submit::{self, Draft, Made};
use crate::engine::directives::Directives;
use crate::engine::jobs::JobType;
use crate::engine::versioned_models::{IMAGE_1, MUSIC_SECONDS, VIDEO_1, price};
use crate::media::Spec;

/// `POST /v1/image-1.0/generate`.
pub(super) fn image(request: &mut Request<'_>) -> Outcome {
    submit::to_a_model(request, |_, fields| {
        Ok((read_image(fields)?, Made::Nothing))
    })
}

/// `POST /v1/video-1.0/generate`.
pub(super) fn video(request: &mut Request<'_>) -> Outcome {
    submit::to_a_model(request, |_, fields| {
        Ok((read_video(fields)?, Made::Nothing))
    })
}

/// `POST /v1/music-1.0/generate`.
pub(super) fn music(request: &mut Request<'_>) -> Outcome {
    submit::to_a_model(request, |_, fields| {
        Ok((read_music(fields)?, Made::Nothing))
    })
}

pub(super) fn read_image(fields: Fields<'_>) -> Result<Draft, Failure> {
    judge(&IMAGE_1, fields, false, false).map(Draft::of)
}

pub(super) fn read_video(fields: Fields<'_>) -> Result<Draft, Failure> {
    judge(&VIDEO_1, fields, false, false).map(Draft::of)
}

pub(super) fn read_music(fields: Fields<'_>) -> Result<Draft, Failure> {
    let known = |name: &str| matches!(name, "prompt" | "duration") || COMMON.contains(&name);
    fields.only(known, "music-1.0")?;
    let prompt = fields.filled_text("prompt")?;
    let prompt = prompt.ok_or_else(|| fields.wrong("prompt", "is required"))?;
    let seconds = within(fields, "duration", Some(MUSIC_SECONDS))?.unwrap_or_default();
    Ok(Draft {
        job_type: JobType::MusicGeneration,
        model: "music-1.0",
        words: Directives::of([prompt]),
        price: price(JobType::MusicGeneration, "", seconds),
        spec: Spec::Music {
            duration_ms: seconds * 1000,
            seed: 0,
        },
        files: 1,
    })
}
