//! Public information about the developer surface: health and catalog.

use serde_json::{Value, json};
use svc_sdk::contract::{Operation, Surface};

use super::models::{capabilities, credits, range};
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::jobs::JobType;
use crate::engine::versioned_models::{
    IMAGE_1, MUSIC_SECONDS, PRICE_LIST, Product, USD_PER_CREDIT, VIDEO_1,
};
use crate::json_object::set_field;

/// The models: ID, name and type.
const MODELS: [(&str, &str, &str); 6] = [
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
pub(super) fn catalog(_: &mut Request<'_>) -> ApiResult {
    let model_states: serde_json::Map<_, _> =
        MODELS.iter().map(|(id, ..)| ((*id).to_owned(), json!("ready"))).collect();
    let catalog = json!({
        "capabilities": JobType::NAMES,
        "endpoints": endpoints(),
        "runtime": {"status": "ready", "models": model_states},
        "models": MODELS.map(|(id, name, kind)| model(id, name, kind)),
        "pricing": {
            "unit": "credit",
            "currency": "USD",
            "usd_per_credit": USD_PER_CREDIT,
            "charged": "reserved at the submit, captured on completion, refunded otherwise",
        },
    });
    Ok(ApiResponse::data(200, catalog))
}

pub(super) fn model_ids() -> impl Iterator<Item = &'static str> {
    MODELS.iter().map(|(id, ..)| *id)
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

fn model(id: &str, name: &str, kind: &str) -> Value {
    let products = PRICE_LIST.iter().filter(|product| product.model == id);
    let rates: Vec<Value> = products.flat_map(rates).collect();
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
fn rates(product: &Product) -> Vec<Value> {
    let view = |rate: &crate::engine::profiles::Rate| {
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
