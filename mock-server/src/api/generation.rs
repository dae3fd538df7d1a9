//! Generation parameters: the fields of both routers, validated against the model's profile, and
//! the price. Submit and estimate share these functions so that they always agree.

use svc_sdk::contract::limits::{REFERENCE_IMAGE_URLS_RANGE, REFERENCE_VIDEO_URLS_RANGE};
use svc_sdk::types::Usd;

use super::api_error::ApiError;
use super::communication::{COMMON_FIELDS, CommunicationOptions};
use super::fields::Fields;
use super::media_kind::MediaKind;
use crate::engine::directives::Directives;
use crate::engine::models::{self, Model, Router};
use crate::engine::profiles::Range;

/// The maximum number of characters of an invalid model id that an error shows.
const MAX_SHOWN_CHARS: usize = 64;

/// The validated parameters of a generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Generation {
    pub(crate) model: &'static Model,
    pub(crate) resolution: String,
    pub(crate) aspect_ratio: String,
    /// The length of a video in seconds.
    pub(crate) duration: u64,
    /// The number of images.
    pub(crate) images: u64,
    pub(crate) sound: bool,
    pub(crate) directives: Directives,
    pub(crate) price: Price,
}

/// The price of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Price {
    pub(crate) unit_price: Usd,
    pub(crate) units: u64,
    pub(crate) total: Usd,
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
    if let Some(generation) = generations
        .into_iter()
        .flatten()
        .min_by_key(|generation| generation.price.total)
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
    let is_known = |name: &str| {
        model.takes(name) || COMMON_FIELDS.contains(&name) || (has_model && name == "model")
    };
    fields.deny_unknown(is_known, model.id)?;
    let profile = model.profile;

    let prompt = fields.non_blank_text("prompt")?;
    let first_frame = fields.media_url("image_url", MediaKind::Image)?;
    let last_frame = fields.media_url("end_image_url", MediaKind::Image)?;
    let source = fields.media_url("video_url", MediaKind::Video)?;
    let speech = fields.media_url("audio_url", MediaKind::Audio)?;
    let images = fields.media_urls(
        "reference_image_urls",
        MediaKind::Image,
        REFERENCE_IMAGE_URLS_RANGE,
    )?;
    let videos = fields.media_urls(
        "reference_video_urls",
        MediaKind::Video,
        REFERENCE_VIDEO_URLS_RANGE,
    )?;
    let sound = fields.flag("generate_audio")?.unwrap_or(false);
    let duration = integer_in_range(fields, "duration", profile.duration)?;
    let count = integer_in_range(fields, "num_images", profile.num_images)?;
    let resolutions = model.resolutions();
    let resolution = fields.one_of("resolution", &resolutions)?;
    let aspect_ratio = fields.one_of("aspect_ratio", profile.aspect_ratios)?;

    // With `auto`, the prompt is optional if there is visual input.
    let has_visual_input = first_frame.is_some() || images.is_some() || videos.is_some();
    if profile.prompt_required && prompt.is_none() && !(auto && has_visual_input) {
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
    let price = price(model, resolution, duration.or(count).unwrap_or(1));
    Ok(Generation {
        model,
        resolution: resolution.to_owned(),
        aspect_ratio: aspect_ratio
            .unwrap_or(profile.default_aspect_ratio)
            .to_owned(),
        duration: duration.unwrap_or_default(),
        images: count.unwrap_or_default(),
        sound: sound || model.lip_sync,
        directives: Directives::parse(prompt),
        price: price.ok_or_else(|| fields.error("resolution", "has no price"))?,
    })
}

/// Returns the price, rounded up to the service's smallest price unit.
fn price(model: &Model, resolution: &str, units: u64) -> Option<Price> {
    let unit_price = model.profile.price(resolution)?;
    let total = unit_price
        .checked_mul(i64::try_from(units).ok()?)?
        .round_up_to_price_unit();
    Some(Price {
        unit_price,
        units,
        total,
    })
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn generation(router: Router, body: &Value) -> Result<Generation, ApiError> {
        let model = body["model"].as_str().unwrap();
        let (generation, _) = read(router, model, Fields::of_test_body(body).unwrap(), true)?;
        Ok(generation)
    }

    #[track_caller]
    fn price_of(body: Value) -> (&'static str, String) {
        let generation = generation(Router::Video, &body).unwrap();
        (generation.model.id, generation.price.total.to_string())
    }

    #[track_caller]
    fn rejected_field(router: Router, body: Value) -> String {
        let error = generation(router, &body).expect_err(&body.to_string());
        assert_eq!(error.status(), 400);
        error.field_name().unwrap().to_owned()
    }

    const IMAGE: &str = "https://media.example/a.png";
    const VIDEO: &str = "https://media.example/a.mp4";
    const SOUND: &str = "https://media.example/a.mp3";

    #[test]
    fn the_price_is_the_number_of_units_times_the_unit_price() {
        let rows = [
            (json!({"model": "video-f", "prompt": "x"}), "0.7035"),
            (
                json!({"model": "video-f", "prompt": "x", "duration": 15, "resolution": "720p"}),
                "4.5360",
            ),
            (
                json!({"model": "video-l", "prompt": "x", "duration": 2}),
                "0.1250",
            ),
            (
                json!({"model": "video-l", "prompt": "x", "duration": 30, "resolution": "1080p"}),
                "7.5000",
            ),
            (
                json!({"model": "video-h", "prompt": "x", "resolution": "4K"}),
                "1.0785",
            ),
            (json!({"model": "video-r"}), "0.4190"),
            (
                json!({"model": "video-r", "duration": 16, "resolution": "1080p"}),
                "1.6800",
            ),
            (
                json!({"model": "lipsync-s", "audio_url": SOUND, "image_url": IMAGE, "duration": 60}),
                "3.0000",
            ),
        ];
        for (body, price) in rows {
            assert_eq!(price_of(body.clone()).1, price, "{body}");
        }
        for (count, price) in [
            (json!({}), "0.0050"),
            (json!({"num_images": 4, "resolution": "1080p"}), "0.0300"),
        ] {
            let mut body = json!({"model": "image-i", "prompt": "x"});
            body.as_object_mut()
                .unwrap()
                .extend(count.as_object().unwrap().clone());
            assert_eq!(
                generation(Router::Image, &body)
                    .unwrap()
                    .price
                    .total
                    .to_string(),
                price
            );
        }
    }

    #[test]
    fn auto_selects_the_cheapest_model_that_accepts_the_fields() {
        let rows = [
            (
                json!({"model": "auto", "prompt": "x"}),
                ("video-h", "0.2890"),
            ),
            (
                json!({"model": "auto", "prompt": "x", "duration": 4}),
                ("video-l", "0.2500"),
            ),
            (
                json!({"model": "auto", "prompt": "x", "resolution": "720p"}),
                ("video-h", "0.2890"),
            ),
            (
                json!({"model": "auto", "prompt": "x", "resolution": "1080p", "duration": 6}),
                ("video-r", "0.6300"),
            ),
            (
                json!({"model": "auto", "prompt": "x", "aspect_ratio": "21:9"}),
                ("video-f", "0.7035"),
            ),
            (
                json!({"model": "auto", "prompt": "x", "generate_audio": true}),
                ("video-l", "0.3125"),
            ),
            (json!({"model": "auto"}), ("video-r", "0.4190")),
            (
                json!({"model": "auto", "image_url": IMAGE}),
                ("video-l", "0.3125"),
            ),
            (
                json!({"model": "auto", "reference_image_urls": [IMAGE]}),
                ("video-l", "0.3125"),
            ),
            (
                json!({"model": "auto", "audio_url": SOUND, "video_url": VIDEO}),
                ("lipsync-s", "0.2500"),
            ),
        ];
        for (body, (model, price)) in rows {
            assert_eq!(price_of(body.clone()), (model, price.to_owned()), "{body}");
        }
    }

    #[test]
    fn auto_is_rejected_if_no_model_accepts_the_fields() {
        let rows = [
            (
                json!({"model": "auto", "prompt": "x", "duration": 31}),
                "model",
            ),
            (json!({"model": "auto", "video_url": VIDEO}), "model"),
            (
                json!({"model": "auto", "prompt": "x", "colour": "red"}),
                "colour",
            ),
            (json!({"model": "auto", "prompt": ""}), "prompt"),
            (
                json!({"model": "auto", "prompt": "x", "duration": "5"}),
                "duration",
            ),
            (
                json!({"model": "auto", "prompt": "x", "aspect_ratio": "21:9", "resolution": "4K"}),
                "model",
            ),
        ];
        for (body, field) in rows {
            assert_eq!(rejected_field(Router::Video, body.clone()), field, "{body}");
        }
        assert_eq!(
            rejected_field(Router::Image, json!({"model": "auto", "prompt": "x"})),
            "model"
        );
    }

    #[test]
    fn a_profile_limits_fields_and_ranges() {
        let with = |model: &str, field: &str, value: Value| json!({"model": model, "prompt": "x", field: value});
        let rows = [
            ("video-f", "duration", json!(3)),
            ("video-f", "duration", json!(16)),
            ("video-f", "duration", json!(5.0)),
            ("video-f", "duration", json!(null)),
            ("video-f", "resolution", json!("1080p")),
            ("video-f", "aspect_ratio", json!("3:2")),
            ("video-f", "video_url", json!(VIDEO)),
            ("video-f", "audio_url", json!(SOUND)),
            ("video-f", "num_images", json!(1)),
            ("video-f", "generate_audio", json!("yes")),
            ("video-f", "prompt", json!(" \n")),
            ("video-f", "prompt", json!(7)),
            ("video-f", "image_url", json!("http://media.example/a.png")),
            ("video-f", "image_url", json!("https://localhost/a.png")),
            (
                "video-f",
                "image_url",
                json!("https://media.example/a.html"),
            ),
            ("video-f", "image_url", json!(VIDEO)),
            ("video-f", "end_image_url", json!(IMAGE)),
            ("video-f", "reference_image_urls", json!([])),
            ("video-f", "reference_image_urls", json!(vec![IMAGE; 11])),
            ("video-f", "reference_image_urls", json!(IMAGE)),
            ("video-f", "reference_video_urls", json!(vec![VIDEO; 6])),
            ("video-f", "workspace_id", json!("ws_demo")),
            ("video-f", "Prompt", json!("x")),
            ("video-l", "duration", json!(31)),
            ("video-l", "aspect_ratio", json!("21:9")),
            ("video-h", "duration", json!(4)),
            ("video-h", "aspect_ratio", json!("1:1")),
            ("video-h", "generate_audio", json!(true)),
            ("video-h", "image_url", json!(IMAGE)),
            ("video-h", "reference_image_urls", json!([IMAGE])),
            ("video-r", "duration", json!(17)),
            ("video-r", "resolution", json!("480p")),
            ("video-r", "image_url", json!(IMAGE)),
            ("video-r", "reference_video_urls", json!([VIDEO])),
            ("lipsync-s", "resolution", json!("720p")),
            ("lipsync-s", "aspect_ratio", json!("16:9")),
        ];
        for (model, field, value) in rows {
            let body = with(model, field, value);
            assert_eq!(rejected_field(Router::Video, body.clone()), field, "{body}");
        }
        let image = |field: &str, value: Value| {
            rejected_field(Router::Image, with("image-i", field, value))
        };
        assert_eq!(image("num_images", json!(5)), "num_images");
        assert_eq!(image("num_images", json!(0)), "num_images");
        assert_eq!(image("duration", json!(5)), "duration");
        assert_eq!(image("aspect_ratio", json!("21:9")), "aspect_ratio");
        assert_eq!(image("resolution", json!("2K")), "resolution");
    }

    #[test]
    fn missing_required_fields_are_rejected() {
        assert_eq!(
            rejected_field(Router::Video, json!({"model": "video-f"})),
            "prompt"
        );
        assert_eq!(
            rejected_field(Router::Video, json!({"model": "video-x", "prompt": "x"})),
            "model"
        );
        assert_eq!(
            rejected_field(Router::Video, json!({"model": "image-i", "prompt": "x"})),
            "model"
        );
        assert_eq!(
            rejected_field(
                Router::Video,
                json!({"model": "lipsync-s", "image_url": IMAGE})
            ),
            "audio_url"
        );
        assert_eq!(
            rejected_field(
                Router::Video,
                json!({"model": "lipsync-s", "audio_url": SOUND})
            ),
            "video_url"
        );
        let private_url = json!({"model": "video-f", "prompt": "x", "reference_image_urls": [IMAGE, "https://10.0.0.1/"]});
        assert_eq!(
            rejected_field(Router::Video, private_url),
            "reference_image_urls[1]"
        );
    }
}
