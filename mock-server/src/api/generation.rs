//! Generation parameters: the fields of both routers, validated against the model's profile, and
//! the price. Submit and estimate share these functions so that they always agree.

use svc_sdk::contract::limits::{REFERENCE_IMAGE_URLS_RANGE, REFERENCE_VIDEO_URLS_RANGE};
use svc_sdk::types::Usd;

use super::api_error::ApiError;
use super::communication::{CommunicationOptions, deny_unknown};
use super::fields::Fields;
use super::job_draft::JobDraft;
use super::references::MediaKind;
use crate::engine::jobs::JobType;
use crate::engine::models::{self, Model, Router};
use crate::engine::profiles::Range;
use crate::media::{Spec, dimensions};

/// The maximum number of characters of an invalid model id that an error shows.
const MAX_SHOWN_CHARS: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Generation {
    pub(super) model: &'static Model,
    pub(super) price: Price,
    pub(super) draft: JobDraft,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Price {
    pub(super) unit_price: Usd,
    pub(super) units: u64,
    pub(super) total: Usd,
}

/// Reads the fields of a submit to a router. `has_model` says whether `model` is one of the fields.
pub(super) fn read(
    router: Router,
    model: &str,
    fields: Fields<'_>,
    has_model: bool,
) -> Result<(Generation, CommunicationOptions), ApiError> {
    let generation = match model {
        "auto" if router == Router::Video => cheapest_generation(fields, has_model)?,
        _ => {
            let known = models::for_router(router).find(|known| known.id == model);
            let model = known.ok_or_else(|| {
                let given: String = model.chars().take(MAX_SHOWN_CHARS).collect();
                let expected = match (models::by_id(model), router) {
                    (None, _) => "a known model",
                    (Some(_), Router::Image) => "an image model",
                    (Some(_), Router::Video) => "a video model",
                };
                ApiError::field("model", format!("`{given}` is not {expected}"))
            })?;
            validate(model, fields, has_model, false)?
        }
    };
    Ok((generation, CommunicationOptions::parse(fields)?))
}

/// Returns the cheapest generation that a video model offers for these fields.
fn cheapest_generation(fields: Fields<'_>, has_model: bool) -> Result<Generation, ApiError> {
    let results =
        models::for_router(Router::Video).map(|model| validate(model, fields, has_model, true));
    let (generations, errors): (Vec<_>, Vec<_>) = results.partition(Result::is_ok);
    // `min_by_key` returns the first of several equally cheap ones.
    if let Some(generation) =
        generations.into_iter().flatten().min_by_key(|generation| generation.price.total)
    {
        return Ok(generation);
    }
    let mut errors = errors.into_iter().filter_map(Result::err);
    match errors.next() {
        // If all models reject the same field, that field is invalid for every model.
        Some(first) if errors.all(|other| other.field_name() == first.field_name()) => Err(first),
        _ => Err(ApiError::field(
            "model",
            "is auto, but no model accepts this combination of fields",
        )),
    }
}

/// Validates the fields against a model's profile. `auto` says whether the model was chosen for the
/// caller.
pub(super) fn validate(
    model: &'static Model,
    fields: Fields<'_>,
    has_model: bool,
    auto: bool,
) -> Result<Generation, ApiError> {
    deny_unknown(fields, |name| model.takes(name) || (has_model && name == "model"), model.id)?;
    let profile = model.profile;

    let prompt = fields.non_blank_text("prompt")?;
    let first_frame = fields.media_url("image_url", MediaKind::Image)?;
    let last_frame = fields.media_url("end_image_url", MediaKind::Image)?;
    let source = fields.media_url("video_url", MediaKind::Video)?;
    let speech = fields.media_url("audio_url", MediaKind::Audio)?;
    fields.media_urls("reference_image_urls", MediaKind::Image, REFERENCE_IMAGE_URLS_RANGE)?;
    fields.media_urls("reference_video_urls", MediaKind::Video, REFERENCE_VIDEO_URLS_RANGE)?;
    let sound = fields.flag("generate_audio")?.unwrap_or(false);
    let duration = integer_in_range(fields, "duration", profile.duration)?;
    let count = integer_in_range(fields, "num_images", profile.num_images)?;
    let resolutions = model.resolutions();
    let resolution = fields.one_of("resolution", &resolutions)?;
    let aspect_ratio = fields.one_of("aspect_ratio", profile.aspect_ratios)?;

    // With `auto`, the prompt is optional.
    if profile.prompt_required && prompt.is_none() && !auto {
        return Err(fields.error("prompt", "is required"));
    }
    if last_frame.is_some() && first_frame.is_none() {
        return Err(fields.error("end_image_url", "requires `image_url`"));
    }
    if model.lip_sync && speech.is_none() {
        return Err(fields.error("audio_url", "is required"));
    }
    if model.lip_sync && source.is_none() && first_frame.is_none() {
        return Err(fields.error("video_url", "or `image_url` is required"));
    }

    let resolution = resolution.unwrap_or(profile.default_resolution());
    let directives = fields.directives()?;
    let price = price(model, resolution, duration.or(count).unwrap_or(1));
    let price = price.ok_or_else(|| fields.error("resolution", "has no price"))?;
    let aspect_ratio = aspect_ratio.unwrap_or(profile.default_aspect_ratio);
    let (width, height) = dimensions(resolution, aspect_ratio);
    let (job_type, files, spec) = match model.router {
        Router::Image => {
            let spec = Spec::Image { width, height, seed: 0 };
            (JobType::ImageGeneration, count.unwrap_or_default(), spec)
        }
        Router::Video => {
            let duration_ms = duration.unwrap_or_default() * 1000;
            let with_audio = sound || model.lip_sync;
            let spec = Spec::Video { width, height, duration_ms, with_audio, seed: 0 };
            (JobType::VideoGeneration, 1, spec)
        }
    };
    let total = Some(price.total);
    let draft = JobDraft { job_type, model: model.id, directives, price: total, spec, files };
    Ok(Generation { model, price, draft })
}

/// Returns the price, rounded up to the service's smallest price unit.
fn price(model: &Model, resolution: &str, units: u64) -> Option<Price> {
    let unit_price = model.profile.price(resolution)?;
    let total = unit_price.checked_mul(i64::try_from(units).ok()?)?.round_up_to_price_unit();
    Some(Price { unit_price, units, total })
}

/// Reads an integer in the model's range, or returns the range's default. Returns `None` if the
/// model has no such range.
pub(super) fn integer_in_range(
    fields: Fields<'_>,
    name: &str,
    range: Option<Range>,
) -> Result<Option<u64>, ApiError> {
    let Some(range) = range else { return Ok(None) };
    let given = fields.integer(name, range.min..=range.max)?;
    Ok(Some(given.unwrap_or(range.default)))
}
