//! What the service refuses of a request body beyond the types of its fields.

use serde_json::{Map, Value, json};

/// Adds to a request schema which fields a body needs, and which modes runs have.
pub(crate) fn add(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "ImageGenerate" => require(fields, "prompt"),
        "FormatRunCreate" => {
            let choices = json!([
                {"required": ["instruction"]},
                {"required": ["input"]},
                {"required": ["previous_run_id"]},
                {"required": ["attachments"]},
            ]);
            fields.insert("anyOf".to_owned(), choices);
        }
        "AvatarTalkingVideo" => {
            let choices = json!([{"required": ["script"]}, {"required": ["video_inputs"]}]);
            fields.insert("oneOf".to_owned(), choices);
        }
        _ => {}
    }
    if matches!(name, "ActionRunCreate" | "FormatRunCreate" | "AgentCompletionCreate")
        && let Some(mode) = fields.get_mut("properties").and_then(|it| it.get_mut("mode"))
    {
        *mode = json!({
            "type": "string",
            "enum": ["async", "webhook"],
            "description": "How the result is delivered.",
        });
    }
}

fn require(fields: &mut Map<String, Value>, name: &str) {
    let required = fields.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required
        && !required.iter().any(|it| it == name)
    {
        required.push(name.into());
    }
}
