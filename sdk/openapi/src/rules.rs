//! What the service refuses of a request body beyond the types of its fields.

use serde_json::{Map, Value, json};

use crate::bounds;

/// Adds to a request schema which fields a body needs, alone and together.
pub(crate) fn add(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "ImageGenerate" => require(fields, "prompt"),
        "AvatarGenerate" => require(fields, "input"),
        "BulkRunCreate" => require(fields, "items"),
        "FormatRunCreate" => {
            let content = ["instruction", "input", "previous_run_id"];
            let mut choices: Vec<_> = content.map(has_field).into();
            choices.push(json!({
                "required": ["attachments"],
                "properties": {"attachments": {"minItems": 1}},
            }));
            require_all(fields, json!({"anyOf": choices}));
            let both = json!({
                "required": ["output_schema", "response_format"],
                "properties": {"output_schema": {}, "response_format": {}},
            });
            require_all(fields, json!({"not": both}));
        }
        "AvatarTalkingVideo" | "AvatarPreviewCreate" => {
            require_one_of(fields, ["script", "video_inputs"]);
        }
        "Attachment" => require_one_of(fields, ["asset_id", "url"]),
        "ResponseFormat" => require_all(
            fields,
            json!({
                "if": {"properties": {"type": {"const": "json_schema"}}},
                "then": has_field("json_schema"),
                "else": {"not": has_field("json_schema")},
            }),
        ),
        "TestDeliveryCreate" => {
            if let Some(url) = properties(fields).and_then(|it| it.get_mut("url")) {
                bounds::set("webhook_url", url);
            }
        }
        "OutputSchema" => {
            fields.insert("properties".to_owned(), json!({"type": {"const": "object"}}));
            fields.insert("additionalProperties".to_owned(), true.into());
        }
        _ => {}
    }
    if has(fields, "end_image_url") {
        let depends = json!({"end_image_url": ["image_url"]});
        fields.insert("dependentRequired".to_owned(), depends);
    }
    if has(fields, "communication") || name == "Communication" {
        set_run_delivery(fields);
    } else if has(fields, "mode") {
        set_job_delivery(fields);
    }
}

/// Says which communication fields of a job go together: a URL and the mode `webhook`.
pub(crate) fn set_job_delivery(fields: &mut Map<String, Value>) {
    let mut depends = fields.get("dependentRequired").cloned().unwrap_or_else(|| json!({}));
    if let Some(depends) = depends.as_object_mut() {
        depends.insert("webhook_url".to_owned(), json!(["mode"]));
    }
    fields.insert("dependentRequired".to_owned(), depends);
    require_all(
        fields,
        json!({
            "if": with_mode_webhook(),
            "then": has_field("webhook_url"),
            "else": {"not": has_field("webhook_url")},
        }),
    );
}

/// Says which modes runs have, and where `webhook` needs a URL.
fn set_run_delivery(fields: &mut Map<String, Value>) {
    if let Some(mode) = properties(fields).and_then(|it| it.get_mut("mode")) {
        *mode = json!({
            "type": "string",
            "enum": ["async", "webhook"],
            "description": "How the result is delivered.",
        });
    }
    let url = has_field("webhook_url");
    let within = |schema: Value| json!({"required": ["communication"], "properties": {"communication": schema}});
    if has(fields, "communication") {
        require_all(
            fields,
            json!({
                "if": {"anyOf": [with_mode_webhook(), within(with_mode_webhook())]},
                "then": {"anyOf": [url, within(url.clone())]},
            }),
        );
    }
}

/// Returns a schema that requires a field. It also lists the field under `properties`, as linters require.
fn has_field(name: &str) -> Value {
    json!({"required": [name], "properties": {name: {}}})
}

fn with_mode_webhook() -> Value {
    json!({"required": ["mode"], "properties": {"mode": {"const": "webhook"}}})
}

pub(crate) fn require_one_of<const N: usize>(fields: &mut Map<String, Value>, names: [&str; N]) {
    let choices = names.map(has_field);
    require_all(fields, json!({"oneOf": choices.as_slice()}));
}

/// Adds a schema that a body must match as well. Client generators ignore it within `allOf`. Beside
/// `properties`, some turn it into a union type that lacks the properties.
fn require_all(fields: &mut Map<String, Value>, schema: Value) {
    if let Value::Array(schemas) = fields.entry("allOf").or_insert_with(|| json!([])) {
        schemas.push(schema);
    }
}

pub(crate) fn require(fields: &mut Map<String, Value>, name: &str) {
    let required = fields.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required
        && !required.iter().any(|it| it == name)
    {
        required.push(name.into());
    }
}

fn properties(fields: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    fields.get_mut("properties").and_then(Value::as_object_mut)
}

fn has(fields: &Map<String, Value>, name: &str) -> bool {
    fields.get("properties").is_some_and(|properties| properties.get(name).is_some())
}
