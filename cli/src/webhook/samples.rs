//! Sample events for testing receivers.

use serde_json::{Map, Value};

/// The events by their types, in which `{id}`, `{request_id}` and `{at}` stand for identifiers and the time.
const SAMPLES: &str = include_str!("samples.json");

pub(crate) fn samples() -> Map<String, Value> {
    serde_json::from_str(SAMPLES).unwrap_or_default()
}

/// Puts values in the places of names, in all texts.
pub(crate) fn fill(sample: &mut Value, values: &[(&str, &str)]) {
    match sample {
        Value::String(text) => {
            for (name, value) in values {
                *text = text.replace(name, value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, values)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill(field, values)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
