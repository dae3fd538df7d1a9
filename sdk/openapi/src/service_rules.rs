//! The rules by which the service refuses a request that matches its schema: `x-svc-rules`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::schemas;

/// A rule that a schema does not state.
struct Rule {
    name: &'static str,
    text: &'static str,
    /// The fields and query parameters that it is about. It holds for every operation that has one.
    fields: &'static [&'static [&'static str]],
}

/// The fields with the URLs of files that the service fetches.
const FETCHED_FIELDS: [&str; 9] = [
    "image_url",
    "end_image_url",
    "video_url",
    "audio_url",
    "reference_image_urls",
    "reference_video_urls",
    "photo",
    "product_image",
    "scene",
];

const RULES: [Rule; 9] = [
    Rule {
        name: "model",
        text: "The model decides which fields and which values of `resolution`, `aspect_ratio`, `duration` and `num_images` are accepted, and which fields are required.",
        fields: &[&["model", "resolution", "aspect_ratio", "duration", "num_images"]],
    },
    Rule {
        name: "public_hosts",
        text: "The host of a URL must be public.",
        fields: &[&["webhook_url", "url"], &FETCHED_FIELDS],
    },
    Rule {
        name: "fetched_content",
        text: "What is at a URL must be reachable, of the kind that the field names, and not too large.",
        fields: &[&["attachments"], &FETCHED_FIELDS],
    },
    Rule {
        name: "state",
        text: "What an id, a handle or a cursor names must exist and be in a state that allows the operation; the handle of a new avatar must not be in use.",
        fields: &[&["avatar_handle", "previous_run_id", "asset_id", "cursor"]],
    },
    Rule {
        name: "output_schema",
        text: "An output schema must keep to the supported subset of JSON Schema.",
        fields: &[&["output_schema", "response_format"]],
    },
    Rule {
        name: "communication",
        text: "A field in `communication` must not differ from the one beside it.",
        fields: &[&["communication"]],
    },
    Rule {
        name: "input_size",
        text: "The JSON of `input` must be at most 2 MiB.",
        fields: &[&["instruction"]],
    },
    Rule {
        name: "directives",
        text: "A directive to the mock server in a text, such as `[mock:fail]`, must be one that it knows, and decides what happens.",
        fields: &[&["prompt", "instruction", "script", "video_inputs", "video_url", "success_url"]],
    },
    Rule {
        name: "json",
        text: "An integer has no decimal point and fits into 64 bits, and an object has no name twice.",
        fields: &[],
    },
];

pub(crate) fn texts() -> Value {
    RULES.iter().map(|rule| (rule.name.to_owned(), Value::from(rule.text))).collect()
}

/// Adds to each operation the names of the rules that hold for it.
pub(crate) fn name(paths: &mut Map<String, Value>, components: &Map<String, Value>) {
    let operations = paths.values_mut().filter_map(Value::as_object_mut);
    for operation in operations.flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        let mut fields = BTreeSet::new();
        let parameters = operation.get("parameters").and_then(Value::as_array);
        fields.extend(parameters.into_iter().flatten().filter_map(|it| it.get("name")?.as_str()));
        let body = operation.get("requestBody");
        if let Some(body) = body {
            let names = schemas::reachable(components, std::slice::from_ref(body));
            let named = names.iter().filter_map(|name| components.get(name));
            named.chain([body]).for_each(|schema| add_fields(schema, &mut fields));
        }
        let holds = |rule: &&Rule| match rule.fields {
            [] => body.is_some(),
            of => of.iter().copied().flatten().any(|field| fields.contains(field)),
        };
        let rules: Vec<&str> = RULES.iter().filter(holds).map(|rule| rule.name).collect();
        if !rules.is_empty() {
            operation.insert("x-svc-rules".to_owned(), json!(rules));
        }
    }
}

/// Adds the names of the properties in a schema.
fn add_fields<'s>(schema: &'s Value, fields: &mut BTreeSet<&'s str>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| add_fields(item, fields)),
        Value::Object(parts) => {
            let properties = parts.get("properties").and_then(Value::as_object);
            fields.extend(properties.into_iter().flat_map(Map::keys).map(String::as_str));
            parts.values().for_each(|part| add_fields(part, fields));
        }
        _ => {}
    }
}
