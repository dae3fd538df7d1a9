//! Model lists of both routers, with prices in credits, and the open catalog, with prices in
//! dollars.

use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;
use svc_sdk::types::Usd;

use super::api_error::ApiError;
use super::json_object::set_field;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::models::{self, MODELS, Model, Router};
use crate::engine::profiles::Range;
use crate::engine::versioned_models::USD_PER_CREDIT;

/// Lists the models of a router.
pub(super) fn list(router: Router) -> ApiResult {
    Ok(ApiResponse::list(
        models::for_router(router).map(entry).collect(),
    ))
}

/// Gets a model of a router.
pub(super) fn get(router: Router, id: &str) -> ApiResult {
    let model = models::for_router(router)
        .find(|model| model.id == id)
        .ok_or_else(not_found)?;
    Ok(ApiResponse::data(200, entry(model)))
}

/// `GET /v1/open/catalog`.
pub(super) fn list_catalog(_: &mut Request<'_>) -> ApiResult {
    Ok(ApiResponse::list(
        MODELS.iter().map(catalog_entry).collect(),
    ))
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
    set_field(
        &mut capabilities,
        "duration_seconds",
        model.profile.duration.map(range),
    );
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
    let hundredths = price.micros() * 100 / USD_PER_CREDIT.micros();
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_capabilities_and_prices_in_credits() {
        let expected = json!({"data": {
            "id": "video-r", "name": "Video R", "type": "video",
            "capabilities": {
                "inputs": ["prompt", "reference_image_urls", "generate_audio"],
                "duration_seconds": {"min": 3, "max": 16, "default": 5},
                "resolutions": ["720p", "1080p"],
                "aspect_ratios": ["16:9", "9:16", "4:3", "3:4", "1:1"]
            },
            "pricing": {
                "unit": "second", "currency": "credits", "usd_per_credit": "0.0100",
                "rates": [
                    {"resolution": "720p", "unit_price_credits": "8.38"},
                    {"resolution": "1080p", "unit_price_credits": "10.50"}
                ]
            }
        }});
        let body = get(Router::Video, "video-r").unwrap().body;
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
        assert_eq!(get(Router::Image, "video-r").unwrap_err().status(), 404);
    }

    #[test]
    fn catalog_entries_have_prices_in_dollars() {
        let prices = |id: &str| catalog_entry(models::by_id(id).unwrap())["pricing"].clone();
        let expected = json!({"unit": "second", "currency": "USD", "rates": [
            {"resolution": "480p", "unit_price_usd": "0.1407"}, {"resolution": "720p", "unit_price_usd": "0.3024"}
        ]});
        assert_eq!(prices("video-f"), expected);
        let expected = json!({"unit": "image", "currency": "USD", "rates": [
            {"resolution": "720p", "unit_price_usd": "0.0050"}, {"resolution": "1080p", "unit_price_usd": "0.0075"}
        ]});
        assert_eq!(prices("image-i"), expected);
        let expected =
            json!({"unit": "second", "currency": "USD", "rates": [{"unit_price_usd": "0.0500"}]});
        assert_eq!(prices("lipsync-s"), expected);
    }
}
