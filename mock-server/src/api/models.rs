//! Model lists of both routers, with prices in credits; the open catalog, with prices in dollars; and the
//! health and the catalog of the developer surface.

use serde_json::{Map, Value, json};
use svc_sdk::contract::{ErrorCode, Operation, Surface};
use svc_sdk::types::Usd;

use super::api_error::ApiError;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::jobs::JobType;
use crate::engine::models::{self, MODELS, Model, Router};
use crate::engine::profiles::{Range, Rate};
use crate::engine::versioned_models::{
    IMAGE_1, MUSIC_SECONDS, PRICE_LIST, Product, USD_PER_CREDIT, VIDEO_1,
};
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
fn capabilities(model: &Model) -> Value {
    let mut capabilities = json!({
        "inputs": model.inputs(),
        "resolutions": model.resolutions(),
        "aspect_ratios": model.profile.aspect_ratios,
    });
    set_field(&mut capabilities, "duration_seconds", model.profile.duration.map(range));
    capabilities
}

fn range(range: Range) -> Value {
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
fn credits(price: Usd) -> String {
    let hundredths = price.as_micros() * 100 / USD_PER_CREDIT.as_micros();
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// The models of the developer surface: ID, name and type.
const DEVELOPER_MODELS: [(&str, &str, &str); 6] = [
    ("image-1.0", "Image 1.0", "image"),
    ("video-1.0", "Video 1.0", "video"),
    ("music-1.0", "Music 1.0", "music"),
    ("avatar-1.0", "Avatar 1.0", "avatar"),
    ("avatar-face-swap", "Avatar face swap", "face_swap"),
    ("video-captions", "Video captions", "captions"),
];

/// `GET /v1/health`, and the hidden `GET /health`.
pub(super) fn health(_: &mut Request<'_>) -> ApiResult {
    Ok(ApiResponse::data(200, json!({"status": "ok"})))
}

/// `GET /v1/catalog`.
pub(super) fn developer_catalog(_: &mut Request<'_>) -> ApiResult {
    let model_states: Map<_, _> =
        DEVELOPER_MODELS.iter().map(|(id, ..)| ((*id).to_owned(), json!("ready"))).collect();
    let catalog = json!({
        "capabilities": JobType::NAMES,
        "endpoints": endpoints(),
        "runtime": {"status": "ready", "models": model_states},
        "models": DEVELOPER_MODELS.map(|(id, name, kind)| developer_entry(id, name, kind)),
        "pricing": {
            "unit": "credit",
            "currency": "USD",
            "usd_per_credit": USD_PER_CREDIT,
            "charged": "reserved at the submit, captured on completion, refunded otherwise",
        },
    });
    Ok(ApiResponse::data(200, catalog))
}

pub(super) fn developer_model_ids() -> impl Iterator<Item = &'static str> {
    DEVELOPER_MODELS.iter().map(|(id, ..)| *id)
}

/// Returns the documented operations of the developer surface.
fn endpoints() -> Vec<Value> {
    let hidden = [Operation::HiddenHealth, Operation::HiddenAdmissionPreview];
    Operation::ALL
        .iter()
        .filter(|operation| operation.surface().includes(Surface::Developer))
        .filter(|operation| !hidden.contains(operation))
        .map(|operation| {
            json!({
                "operation": operation.name(),
                "method": operation.method().as_str(),
                "path": operation.path(),
                "auth": operation.auth().as_str(),
                "scope": operation.scope(),
            })
        })
        .collect()
}

fn developer_entry(id: &str, name: &str, kind: &str) -> Value {
    let products = PRICE_LIST.iter().filter(|product| product.model == id);
    let rates: Vec<Value> = products.flat_map(product_rates).collect();
    json!({
        "id": id,
        "name": name,
        "type": kind,
        "capabilities": capabilities_of(id),
        "pricing": {"currency": "credits", "usd_per_credit": USD_PER_CREDIT, "rates": rates},
    })
}

fn capabilities_of(id: &str) -> Value {
    match id {
        "image-1.0" => capabilities(&IMAGE_1),
        "video-1.0" => capabilities(&VIDEO_1),
        "music-1.0" => json!({"inputs": ["prompt"], "duration_seconds": range(MUSIC_SECONDS)}),
        "avatar-1.0" => json!({
            "inputs": ["prompt", "props", "image_url", "script", "video_inputs", "product_image", "scene"],
            "qualities": ["standard", "plus", "max"],
        }),
        "avatar-face-swap" => json!({"inputs": ["avatar_handle", "video_url", "image_url"]}),
        _ => json!({"inputs": ["video_url", "language"]}),
    }
}

/// Returns the rates of a product in credits and in dollars.
fn product_rates(product: &Product) -> Vec<Value> {
    let view = |rate: &Rate| {
        let mut view = json!({
            "makes": product.job_type.as_str(),
            "unit": product.unit,
            "unit_price_credits": credits(rate.price),
            "unit_price_usd": rate.price,
        });
        if let Some(field) = product.rate_field {
            set_field(&mut view, field, json!(rate.resolution));
        }
        view
    };
    product.rates.iter().map(view).collect()
}
