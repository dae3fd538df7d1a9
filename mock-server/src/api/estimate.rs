//! Price estimates, and the hidden admission preview, which says whether a submit would be accepted
//! now. Both are validated like the submit itself.

use serde_json::json;
use svc_sdk::contract::ErrorCode;

use super::api_error::ApiError;
use super::fields::Fields;
use super::generation;
use super::job_draft::JobDraft;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use super::versioned_models::{read_image, read_music, read_video};
use crate::engine::models::{self, Router};

/// `POST /v1/open/estimate`.
pub(super) fn estimate(request: &mut Request<'_>) -> ApiResult {
    let fields = request.fields()?;
    fields.deny_unknown(|name| matches!(name, "model" | "input"), "an estimate")?;
    let model = fields.required_text("model")?;
    let input = fields.object("input")?.ok_or_else(|| fields.error("input", "is required"))?;
    // Only the video router has the model `auto`.
    let router = models::by_id(model).map_or(Router::Video, |model| model.router);
    let (generation, _) = generation::read(router, model, fields.within("input.", input), false)?;
    let estimate = json!({
        "model": generation.model.id,
        "price_usd": generation.price.total,
        "currency": "USD",
        "unit": generation.model.unit().as_str(),
        "unit_price_usd": generation.price.unit_price,
        "units": generation.price.units,
    });
    Ok(ApiResponse::data(200, estimate))
}

/// A function that validates the fields of a submit.
type Reader = fn(Fields<'_>) -> Result<JobDraft, ApiError>;

const MODEL_READERS: [(&str, Reader); 3] =
    [("image-1.0", read_image), ("video-1.0", read_video), ("music-1.0", read_music)];

/// `POST /v1/generation/admission-preview`: `model`, and the body of the submit as `input`, which is
/// validated like the submit itself.
pub(super) fn admission_preview(request: &mut Request<'_>) -> ApiResult {
    let fields = request.fields()?;
    fields.deny_unknown(|name| matches!(name, "model" | "input"), "an admission preview")?;
    let known = MODEL_READERS.map(|(model, _)| model);
    let model =
        fields.one_of("model", &known)?.ok_or_else(|| fields.error("model", "is required"))?;
    let input = fields.object("input")?.ok_or_else(|| fields.error("input", "is required"))?;
    let reader = MODEL_READERS.iter().find(|(known, _)| *known == model);
    let price = match reader {
        Some((_, read)) => read(fields.within("input.", input))?.price,
        None => None,
    };
    let workspace = request.workspace();
    let price = price.unwrap_or_default();
    let state = &*request.state;
    let in_flight = state.jobs.in_flight(workspace);
    let limit = state.concurrent_jobs(workspace);
    let reason = if state.ledger.covers(workspace, price).is_err() {
        Some(ErrorCode::InsufficientCredits)
    } else if in_flight >= limit {
        Some(ErrorCode::ConcurrencyLimitReached)
    } else {
        None
    };
    let preview = json!({
        "allowed": reason.is_none(),
        "reason": reason,
        "model": model,
        "estimated_usd": price,
        "available_usd": state.ledger.available(workspace),
        "generation_limits": {"concurrent_jobs": limit, "in_flight": in_flight},
    });
    Ok(ApiResponse::data(200, preview))
}
