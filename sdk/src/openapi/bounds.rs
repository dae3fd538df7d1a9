//! What a request's fields may be, out of the contract's limits.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use crate::contract::limits;

/// Adds to the schema of a request's field what the limits say of a field of that name.
pub(super) fn set(name: &str, field: &mut Value) {
    let Some(schema) = field.as_object_mut() else {
        return;
    };
    let more = match name {
        "wait_timeout_seconds" => whole(&limits::WAIT_TIMEOUT_SECONDS),
        "amount_usd_cents" => whole(&limits::TOP_UP_CENTS),
        "concurrency" => whole(&limits::BULK_CONCURRENCY),
        "num_images" => whole(&(1..=4)),
        "items" => items(&limits::BULK_ITEMS),
        "reference_image_urls" => items_of_urls(&limits::REFERENCE_IMAGE_URLS),
        "reference_video_urls" => items_of_urls(&limits::REFERENCE_VIDEO_URLS),
        "generation_spend_cap_usd" => {
            json!({"exclusiveMinimum": 0, "maximum": limits::SPEND_CAP_USD})
        }
        "webhook_url" => json!({"format": "uri", "maxLength": limits::WEBHOOK_URL_LENGTH}),
        name if name.ends_with("_url") || name == "url" => json!({"format": "uri"}),
        _ => return,
    };
    if let Value::Object(more) = more {
        schema.extend(more);
    }
}

fn whole(range: &RangeInclusive<u64>) -> Value {
    json!({"minimum": range.start(), "maximum": range.end()})
}

fn items(range: &RangeInclusive<usize>) -> Value {
    json!({"minItems": range.start(), "maxItems": range.end()})
}

fn items_of_urls(range: &RangeInclusive<usize>) -> Value {
    json!({
        "minItems": range.start(),
        "maxItems": range.end(),
        "items": {"type": "string", "format": "uri"},
    })
}
