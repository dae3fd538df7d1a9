//! The bounds of request fields, from the limits of the contract.

use std::ops::RangeInclusive;

use serde_json::{Value, json};
use svc_sdk::contract::limits;

/// A text that is not blank.
const NOT_BLANK: &str = r"\S";
const AVATAR_HANDLE: &str = "^[a-z0-9_-]{1,40}$";
const HTTPS: &str = "^https://";
/// The common part of BCP 47.
const LANGUAGE_TAG: &str = "^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$";

/// Adds the bounds of the field called `name` to its schema.
pub(crate) fn set(name: &str, field: &mut Value) {
    let Some(schema) = field.as_object_mut() else { return };
    let bounds = match name {
        "wait_timeout_seconds" => integer(&limits::WAIT_TIMEOUT_SECONDS_RANGE),
        "amount_usd_cents" => integer(&limits::TOP_UP_CENTS_RANGE),
        "concurrency" => integer(&limits::BULK_CONCURRENCY_RANGE),
        "num_images" => integer(&limits::NUM_IMAGES_RANGE),
        "duration" => json!({"minimum": 1}),
        "limit" => integer(&limits::SEARCH_LIMIT_RANGE),
        "prompt" | "script" | "instruction" | "query" | "previous_run_id" => {
            json!({"pattern": NOT_BLANK})
        }
        "avatar_handle" => json!({"pattern": AVATAR_HANDLE}),
        "language" => json!({"pattern": LANGUAGE_TAG}),
        "props" => json!({"minProperties": 1}),
        "video_inputs" => {
            let range = limits::VIDEO_INPUTS_RANGE;
            json!({
                "type": "array",
                "items": any_object(),
                "minItems": range.start(),
                "maxItems": range.end(),
            })
        }
        "product_image" | "scene" => image(),
        "attachments" => json!({"maxItems": limits::MAX_ATTACHMENTS}),
        "items" => items(&limits::BULK_ITEMS_RANGE),
        "reference_image_urls" => url_items(&limits::REFERENCE_IMAGE_URLS_RANGE),
        "reference_video_urls" => url_items(&limits::REFERENCE_VIDEO_URLS_RANGE),
        "generation_spend_cap_usd" => {
            json!({"minimum": 0.000_001, "maximum": limits::MAX_SPEND_CAP_USD})
        }
        "webhook_url" => webhook_url(),
        name if name.ends_with("_url") || matches!(name, "url" | "photo") => url(),
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
        "items": url(),
    })
}

/// Returns the schema of an object with fields of any name. If a schema does not say that it may have any,
/// client generators make a type without fields of it.
pub(crate) fn any_object() -> Value {
    json!({"type": "object", "additionalProperties": true})
}

pub(crate) fn webhook_url() -> Value {
    let max_length = limits::MAX_WEBHOOK_URL_LENGTH;
    json!({"type": "string", "format": "uri", "pattern": HTTPS, "maxLength": max_length})
}

/// Returns the schema of a URL, whose host must be public as well.
pub(crate) fn url() -> Value {
    json!({"type": "string", "format": "uri", "pattern": HTTPS})
}

/// Returns the schema of an image: a URL, or an object with one.
fn image() -> Value {
    json!({"anyOf": [url(), {"type": "object", "properties": {"image_url": url()}}]})
}
