//! The parameters of an operation: path, query, and the `Idempotency-Key` header.

use schemars::JsonSchema;
use schemars::generate::SchemaGenerator;
use serde_json::{Value, json};
use svc_sdk::contract::limits::{IDEMPOTENCY_KEY_LENGTH_RANGE, PAGE_LIMIT_RANGE};
use svc_sdk::contract::{Idempotency, JobStatus, Operation, Surface};
use svc_sdk::types::JobType;

use crate::doc_comments::mark_assumed;

pub(crate) fn of(operation: Operation, generator: &mut SchemaGenerator) -> Vec<Value> {
    // The server object has the whole URL of the MCP endpoint, so its path has no parameters.
    let placeholders = operation.placeholders().filter(|_| operation.surface() != Surface::Mcp);
    let mut parameters: Vec<Value> = placeholders.map(path_parameter).collect();
    if has_query(operation) {
        parameters.extend(query_parameters(operation, generator));
    }
    parameters.extend(idempotency_key(operation));
    parameters
}

pub(crate) const fn has_query(operation: Operation) -> bool {
    use Operation as Op;

    matches!(
        operation,
        Op::JobsList
            | Op::Usage
            | Op::AvatarsList
            | Op::AvatarCanonicalList
            | Op::AvatarVideosList
            | Op::ActionsList
            | Op::ActionsRunsList
            | Op::FormatsList
            | Op::FormatsRunsList
            | Op::FormatsBySlugRunsList
            | Op::AgentRunsList
    )
}

fn path_parameter(name: &str) -> Value {
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

/// Returns the filters and the pagination parameters of a list.
fn query_parameters(operation: Operation, generator: &mut SchemaGenerator) -> Vec<Value> {
    let text = json!({"type": "string"});
    let mut parameters = match operation {
        Operation::JobsList => vec![
            query("status", schema::<JobStatus>(generator), "Lists jobs with this status only."),
            query("type", schema::<JobType>(generator), "Lists jobs of this type only."),
        ],
        Operation::ActionsList => vec![
            assumed_values("status", "status", &["active", "inactive"]),
            assumed_values("trigger_type", "trigger type", &["schedule", "api_call"]),
        ],
        _ => Vec::new(),
    };
    let (minimum, maximum) = PAGE_LIMIT_RANGE.into_inner();
    let limit = json!({"type": "integer", "minimum": minimum, "maximum": maximum});
    let limit = query("limit", limit, "The maximum number of items.");
    // The specification defines `limit` for these two operations only.
    let is_specified = matches!(operation, Operation::ActionsList | Operation::FormatsList);
    parameters.push(if is_specified { limit } else { assumed(limit) });
    let description = "The `next_cursor` of the previous page.";
    parameters.push(assumed(query("cursor", text, description)));
    parameters
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

fn query(name: &str, schema: Value, description: &str) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": schema})
}

/// Returns a filter of Actions whose values the specification does not list.
fn assumed_values(name: &str, words: &str, values: &[&str]) -> Value {
    let schema = json!({"type": "string", "enum": values, "x-assumed-values": values});
    query(name, schema, &format!("Lists Actions with this {words} only."))
}

fn assumed(mut parameter: Value) -> Value {
    mark_assumed(&mut parameter);
    parameter
}

fn idempotency_key(operation: Operation) -> Option<Value> {
    let idempotency = operation.idempotency();
    if idempotency == Idempotency::NoKey {
        return None;
    }
    let parameter = json!({
        "name": "Idempotency-Key",
        "in": "header",
        "description": idempotency.description(),
        "schema": {
            "type": "string",
            "minLength": IDEMPOTENCY_KEY_LENGTH_RANGE.start(),
            "maxLength": IDEMPOTENCY_KEY_LENGTH_RANGE.end(),
            "pattern": "^[!-~]([ -~]*[!-~])?$",
        },
        "example": "order-4711",
    });
    Some(match idempotency {
        Idempotency::Documented | Idempotency::OnePerKey => parameter,
        _ => assumed(parameter),
    })
}
