//! JSON Schemas of the inputs and outputs of tools. Ranges and choices are those by which the
//! operations validate the same fields.

use serde_json::{Map, Value, json};
use svc_sdk::contract::limits::{
    MAX_RUN_INPUT_KEYS, MAX_SPEND_CAP_USD, REFERENCE_IMAGE_URLS_RANGE, REFERENCE_VIDEO_URLS_RANGE,
};
use svc_sdk::contract::{Operation, RetryClass};

use crate::engine::models::Model;
use crate::engine::profiles::Range;
use crate::engine::versioned_models::{IMAGE_1, MUSIC_SECONDS, VIDEO_1};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolAction {
    Submit(Operation),
    RunFormat,
    /// Runs an Agent Completion.
    Complete,
    ReadJob(Operation),
    RunStatus,
    /// Reads the receipt of a run that has ended.
    RunResult,
    /// Reads a list, which has this name in the result, or a record without an ID.
    Read(Operation, Option<&'static str>),
}

impl ToolAction {
    /// Returns the operation, unless it depends on the arguments. A Format is addressed in two ways, which
    /// have the same scope and retry class.
    pub(super) const fn operation(self) -> Option<Operation> {
        match self {
            Self::Submit(operation) | Self::ReadJob(operation) | Self::Read(operation, _) => {
                Some(operation)
            }
            Self::RunFormat => Some(Operation::FormatsRunsCreate),
            Self::Complete => Some(Operation::AgentCompletionsCreate),
            Self::RunStatus | Self::RunResult => None,
        }
    }

    /// Returns whether the service documents that the operation recognizes a repeated key.
    fn recognizes_keys(self) -> bool {
        self.operation().is_some_and(|operation| operation.retry() == RetryClass::Key)
    }
}

/// Returns the schema of a tool's arguments, which forbids unknown ones.
pub(super) fn input(action: ToolAction, is_paid: bool) -> Value {
    let (mut properties, required): (Map<_, _>, &[&str]) = match action {
        ToolAction::Submit(Operation::Image1Generate) => (generation_fields(&IMAGE_1), &["prompt"]),
        ToolAction::Submit(Operation::Video1Generate) => (generation_fields(&VIDEO_1), &["prompt"]),
        ToolAction::Submit(_) => (music_fields(), &["prompt"]),
        ToolAction::RunFormat => (format_run_fields(), &["format_id"]),
        ToolAction::Complete => (completion_fields(), &["instruction", "generation_spend_cap_usd"]),
        ToolAction::ReadJob(_) => (field("job_id", text("The ID of the job.")), &["job_id"]),
        ToolAction::RunStatus | ToolAction::RunResult => (run_read_fields(), &["run_id"]),
        ToolAction::Read(..) => (Map::new(), &[]),
    };
    if is_paid {
        properties.extend(paid_tool_fields(action.recognizes_keys()));
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Returns the schema of a tool's result. Results may have additional fields.
pub(super) fn output(action: ToolAction) -> Value {
    let (required, others): (&[&str], &[&str]) = match &action {
        ToolAction::Submit(_) => (
            &["job_id", "job", "next_poll_after_seconds"],
            &["status_url", "result_url", "cancel_url"],
        ),
        ToolAction::ReadJob(Operation::JobsResult) => {
            (&["job_id", "status", "artifacts"], &["error"])
        }
        ToolAction::ReadJob(_) => {
            (&["job_id", "status", "terminal", "result_ready", "next_poll_after_seconds"], &[])
        }
        ToolAction::RunStatus => (
            &["run_id", "status", "terminal", "result_ready", "next_poll_after_seconds"],
            &["kind"],
        ),
        ToolAction::RunFormat | ToolAction::Complete | ToolAction::RunResult => (
            &["run_id", "kind", "status", "artifacts"],
            &["output", "error", "primary_output_url", "usage", "next_poll_after_seconds"],
        ),
        ToolAction::Read(_, Some(list)) => (std::slice::from_ref(list), &[]),
        ToolAction::Read(_, None) => (&[], &[]),
    };
    let fields = required.iter().chain(others);
    let properties: Map<_, _> =
        fields.map(|name| ((*name).to_owned(), output_field(name))).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

fn output_field(name: &str) -> Value {
    match name {
        "job_id" => text("The ID of the job, for jobs_status and jobs_result."),
        "run_id" => text("The ID of the run, for run_status and run_result."),
        "kind" => text("The kind of the run: format, agent or action."),
        "status" => text("The status, such as completed. New statuses may be added."),
        "job" => json!({"type": "object"}),
        "terminal" | "result_ready" => json!({"type": "boolean"}),
        "next_poll_after_seconds" => json!({"type": "number", "minimum": 0}),
        "status_url" | "result_url" | "cancel_url" => json!({"type": "string", "format": "uri"}),
        "primary_output_url" => json!({"type": ["string", "null"]}),
        "output" | "error" | "usage" => json!({"type": ["object", "null"]}),
        "artifacts" => json!({"type": "array", "items": {
            "type": "object",
            "properties": {
                "id": text("The ID of the file."),
                "url": {"type": "string", "format": "uri"},
                "media_type": text("The kind of media, such as image."),
                "content_type": text("The MIME type of the file."),
            },
            "required": ["id", "url", "content_type"],
        }}),
        _ => json!({"type": "array", "items": {"type": "object"}}),
    }
}

fn generation_fields(model: &Model) -> Map<String, Value> {
    let profile = model.profile;
    let duration = profile.duration.map(|range| integer(range, "The length in seconds."));
    let num_images = profile.num_images.map(|range| integer(range, "The number of images."));
    let mut fields = object(json!({
        "prompt": text("A description of the content."),
        "image_url": url("The URL of the first frame."),
        "end_image_url": url("The URL of the last frame. Requires image_url."),
        "reference_image_urls": urls(*REFERENCE_IMAGE_URLS_RANGE.end()),
        "reference_video_urls": urls(*REFERENCE_VIDEO_URLS_RANGE.end()),
        "duration": duration,
        "resolution": one_of(&model.resolutions()),
        "aspect_ratio": one_of(profile.aspect_ratios),
        "generate_audio": {"type": "boolean", "default": false},
        "num_images": num_images,
    }));
    fields.retain(|name, _| model.takes(name));
    fields
}

fn music_fields() -> Map<String, Value> {
    let mut fields = field("prompt", text("A description of the music."));
    fields.insert("duration".to_owned(), integer(MUSIC_SECONDS, "The length in seconds."));
    fields
}

fn format_run_fields() -> Map<String, Value> {
    object(json!({
        "format_id": text("The ID of the Format, or HANDLE/SLUG."),
        "instruction": text("The instruction for the run."),
        "input": {"type": "object", "maxProperties": MAX_RUN_INPUT_KEYS},
        "previous_run_id": text("The ID of a run to continue."),
        "attachments": {"type": "array", "items": {"type": "object"}},
        "output_schema": {"type": "object", "description": "The JSON Schema of the output."},
        "response_format": {"type": "object"},
        "generation_spend_cap_usd": cap("The maximum spend of the run in dollars. Defaults to the cap of the Format."),
        "model": text("The ID of a model from the catalog."),
        "on_active_run": one_of(&["reject"]),
        "webhook_url": url("The URL that receives a webhook when the run ends."),
    }))
}

fn completion_fields() -> Map<String, Value> {
    object(json!({
        "instruction": text("The instruction for the agent."),
        "generation_spend_cap_usd": cap("The maximum spend of the run in dollars."),
        "webhook_url": url("The URL that receives a webhook when the run ends."),
    }))
}

fn run_read_fields() -> Map<String, Value> {
    object(json!({
        "run_id": text("The ID of the run."),
        "kind": one_of(&["format", "agent", "action"]),
    }))
}

/// Returns the arguments of every tool that costs money.
fn paid_tool_fields(recognizes_keys: bool) -> Map<String, Value> {
    let key = match recognizes_keys {
        true => {
            "A key that makes the call safe to repeat. Repeated calls with the same key return the result of the first."
        }
        false => {
            "A key of the call. A repeated call with the same key may run and be charged again: that this tool recognizes keys is not documented."
        }
    };
    object(json!({
        "max_spend_usd": {
            "type": "number",
            "minimum": 0,
            "description": "The maximum cost of the call in dollars. A call that may cost more is rejected before anything runs.",
        },
        "idempotency_key": {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "description": key,
        },
    }))
}

fn object(fields: Value) -> Map<String, Value> {
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn field(name: &str, schema: Value) -> Map<String, Value> {
    [(name.to_owned(), schema)].into_iter().collect()
}

fn text(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "description": description})
}

fn url(description: &str) -> Value {
    json!({"type": "string", "format": "uri", "description": description})
}

fn urls(max_items: usize) -> Value {
    let items = json!({"type": "string", "format": "uri"});
    json!({"type": "array", "items": items, "minItems": 1, "maxItems": max_items})
}

fn cap(description: &str) -> Value {
    json!({"type": "number", "exclusiveMinimum": 0, "maximum": MAX_SPEND_CAP_USD, "description": description})
}

fn one_of(values: &[&str]) -> Value {
    json!({"type": "string", "enum": values})
}

fn integer(range: Range, description: &str) -> Value {
    json!({
        "type": "integer",
        "minimum": range.min,
        "maximum": range.max,
        "default": range.default,
        "description": description,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generation_fields_are_those_of_the_model() {
        let names =
            |model: &Model| generation_fields(model).into_iter().map(|(name, _)| name).collect();
        let image: Vec<String> = names(&IMAGE_1);
        assert_eq!(image, ["aspect_ratio", "num_images", "prompt", "resolution"]);
        for field in names(&VIDEO_1) as Vec<String> {
            assert!(VIDEO_1.takes(&field), "{field}");
        }
        assert_eq!(
            generation_fields(&VIDEO_1)["resolution"]["enum"],
            json!(["480p", "720p", "1080p"])
        );
    }
}
