//! Price estimates, which are validated like the submit itself.

use serde_json::json;

use super::generation;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::models::{self, Router};

/// `POST /v1/open/estimate`.
pub(super) fn estimate(request: &mut Request<'_>) -> ApiResult {
    let fields = request.fields()?;
    fields.deny_unknown(|name| matches!(name, "model" | "input"), "an estimate")?;
    let model = fields.required_text("model")?;
    let input = fields
        .object("input")?
        .ok_or_else(|| fields.error("input", "is required"))?;
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
