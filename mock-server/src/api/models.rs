//! Model lists of both routers, with prices in credits, and the open catalog, with prices in
//! dollars.

use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;
use svc_sdk::types::Usd;

use super::api_error::ApiError;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::models::{self, MODELS, Model, Router};
use crate::engine::profiles::Range;
use crate::engine::versioned_models::USD_PER_CREDIT;
use crate::json_object::set_field;

pub(super) fn list(router: Router) -> ApiResult {
    Ok(ApiResponse::list(models::for_router(router).map(entry).collect()))
}

pub(super) fn get(router: Router, id: &str) -> ApiResult {
    let model = models::for_router(router).find(|model| model.id == id).ok_or_else(not_found)?;
    Ok(ApiResponse::data(200, entry(model)))
}

/// `GET /v1/open/catalog`.
pub(super) fn list_catalog(_: &mut Request<'_>) -> ApiResult {
    Ok(ApiResponse::list(MODELS.iter().map(catalog_entry).collect()))
}

/// `GET /v1/open/catalog/{model_id}`.
pub(super) fn get_catalog(request: &mut Request<'_>) -> ApiResult {
    let model = models::by_id(request.id()).ok_or_else(not_found)?;
    Ok(ApiResponse::data(200, catalog_entry(model)))
}

fn not_found() -> ApiError {
    ApiError::new(ErrorCode::ModelNotFound, "model not found")
}

/// Returns the fields, resolutions, aspect ratios and durations that a model accepts.
pub(super) fn capabilities(model: &Model) -> Value {
    let mut capabilities = json!({
        "inputs": model.inputs(),
        "resolutions": model.resolutions(),
        "aspect_ratios": model.profile.aspect_ratios,
    });
    set_field(&mut capabilities, "duration_seconds", model.profile.duration.map(range));
    capabilities
}

/// Returns the bounds and the default of a range.
pub(super) fn range(range: Range) -> Value {
    json!({"min": range.min, "max": range.max, "default": range.default})
}

fn entry(model: &Model) -> Value {
    json!({
        "id": model.id,
        "name": model.name,
        "type": model.kind,
        "capabilities": capabilities(model),
        "pricing": {
            "unit": model.unit().as_str(),
            "currency": "credits",
            "usd_per_credit": USD_PER_CREDIT,
            "rates": rates(model, "unit_price_credits", |price| json!(credits(price))),
        },
    })
}

fn catalog_entry(model: &Model) -> Value {
    json!({
        "id": model.id,
        "name": model.name,
        "type": model.kind,
        "pricing": {
            "unit": model.unit().as_str(),
            "currency": "USD",
            "rates": rates(model, "unit_price_usd", |price| json!(price)),
        },
    })
}

/// Returns the price for each resolution. A model without resolutions has a single price.
fn rates(model: &Model, field: &str, amount: impl Fn(Usd) -> Value) -> Vec<Value> {
    let rates = model.profile.rates.iter();
    rates
        .map(|rate| match rate.resolution {
            "" => json!({field: amount(rate.price)}),
            resolution => json!({"resolution": resolution, field: amount(rate.price)}),
        })
        .collect()
}

/// Formats dollars as credits with two decimal places.
pub(super) fn credits(price: Usd) -> String {
    let hundredths = price.as_micros() * 100 / USD_PER_CREDIT.as_micros();
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
