//! The parameters of an operation: path, query, and the `Idempotency-Key` header.

use schemars::generate::SchemaGenerator;
use serde_json::{Value, json};

use crate::contract::limits::IDEMPOTENCY_KEY_LENGTH;
use crate::contract::{JobStatus, Operation, RetryClass, Surface};
use crate::types::JobType;

/// All parameters of an operation.
pub(super) fn of(operation: Operation, generator: &mut SchemaGenerator) -> Vec<Value> {
    // The URL of MCP is configured whole: there is nothing in it to fill in.
    let placeholders = operation
        .placeholders()
        .filter(|_| operation.surface() != Surface::Mcp);
    let mut parameters: Vec<Value> = placeholders.map(of_the_path).collect();
    parameters.extend(of_the_query(operation, generator));
    parameters.extend(idempotency_key(operation));
    parameters
}

fn of_the_path(name: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": "One percent-encoded segment.",
        "schema": {"type": "string", "minLength": 1},
        "example": example(name),
    })
}

fn example(name: &str) -> &'static str {
    match name {
        "first_party_owner" | "handle" => "studio",
        "slug" => "storyboard",
        "model_id" => "video-f",
        "action_id" => "act_daily",
        "format_id" => "fmt_demo",
        "run_id" => "run_1",
        "queue_id" => "frq_1",
        _ => "job_1",
    }
}

/// The query of the lists: what narrows them down, and which page. Pages are assumed.
fn of_the_query(operation: Operation, generator: &mut SchemaGenerator) -> Vec<Value> {
    if !operation.takes_a_query() {
        return Vec::new();
    }
    let text = json!({"type": "string"});
    let mut parameters = match operation {
        Operation::JobsList => vec![
            shown(
                "status",
                schema::<JobStatus>(generator),
                "Only jobs in that status.",
            ),
            shown(
                "type",
                schema::<JobType>(generator),
                "Only jobs that make that.",
            ),
        ],
        Operation::ActionsList => vec![
            shown("status", text.clone(), "Only Actions in that status."),
            shown(
                "trigger_type",
                text.clone(),
                "Only Actions with such a trigger.",
            ),
        ],
        _ => Vec::new(),
    };
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 1000});
    let limit = shown("limit", limit, "How many items at most.");
    // The specification names it for these two.
    let is_shown = matches!(operation, Operation::ActionsList | Operation::FormatsList);
    parameters.push(if is_shown { limit } else { assumed(limit) });
    let after = "The `next_cursor` of the page before.";
    parameters.push(assumed(shown("cursor", text, after)));
    parameters
}

fn schema<T: schemars::JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

fn shown(name: &str, schema: Value, description: &str) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": schema})
}

fn assumed(mut parameter: Value) -> Value {
    if let Some(fields) = parameter.as_object_mut() {
        fields.insert("x-assumed".to_owned(), true.into());
    }
    parameter
}

fn idempotency_key(operation: Operation) -> Option<Value> {
    if !operation.retry().sends_key() {
        return None;
    }
    let parameter = json!({
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Two requests with the same key are one: the second gets the first one's receipt.",
        "schema": {
            "type": "string",
            "minLength": IDEMPOTENCY_KEY_LENGTH.start(),
            "maxLength": IDEMPOTENCY_KEY_LENGTH.end(),
            "pattern": "^[ -~]+$",
        },
        "example": "order-4711",
    });
    Some(match operation.retry() {
        RetryClass::Key => parameter,
        _ => assumed(parameter),
    })
}
