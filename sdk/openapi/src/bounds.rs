//! The bounds of request fields, from the limits of the contract.

use std::ops::RangeInclusive;

use serde_json::{Value, json};
use svc_sdk::contract::limits;

/// Adds the bounds of the field called `name` to its schema.
pub(crate) fn set(name: &str, field: &mut Value) {
    let Some(schema) = field.as_object_mut() else { return };
    let bounds = match name {
        "wait_timeout_seconds" => integer(&limits::WAIT_TIMEOUT_SECONDS_RANGE),
        "amount_usd_cents" => integer(&limits::TOP_UP_CENTS_RANGE),
        "concurrency" => integer(&limits::BULK_CONCURRENCY_RANGE),
        "num_images" => integer(&(1..=4)),
        "items" => items(&limits::BULK_ITEMS_RANGE),
        "reference_image_urls" => url_items(&limits::REFERENCE_IMAGE_URLS_RANGE),
        "reference_video_urls" => url_items(&limits::REFERENCE_VIDEO_URLS_RANGE),
        "generation_spend_cap_usd" => {
            json!({"exclusiveMinimum": 0, "maximum": limits::MAX_SPEND_CAP_USD})
        }
        "webhook_url" => json!({"format": "uri", "maxLength": limits::MAX_WEBHOOK_URL_LENGTH}),
        name if name.ends_with("_url") || matches!(name, "url" | "photo") => {
            json!({"format": "uri"})
        }
        _ => return,
    };
    if let Value::Object(bounds) = bounds {
        schema.extend(bounds);
    }
}

fn integer(range: &RangeInclusive<u64>) -> Value {
    json!({"minimum": range.start(), "maximum": range.end()})
}

fn items(range: &RangeInclusive<usize>) -> Value {
    json!({"minItems": range.start(), "maxItems": range.end()})
}

fn url_items(range: &RangeInclusive<usize>) -> Value {
    json!({
        "minItems": range.start(),
        "maxItems": range.end(),
        "items": {"type": "string", "format": "uri"},
    })
}
