//! What the tools take and give, as JSON Schemas. Ranges and choices are those by which the
//! operation judges the same fields.

use crate::engine::profiles::Range;
use serde_json::{Map, Value, json};
use svc_sdk::contract::Operation;
use svc_sdk::contract::limits::{
    MAX_RUN_INPUT_KEYS, MAX_SPEND_CAP_USD, REFERENCE_IMAGE_URLS, REFERENCE_VIDEO_URLS,
};

use super::tool_action::ToolAction;
use crate::engine::models::Model;
use crate::engine::versioned_models::{IMAGE_1, MUSIC_SECONDS, VIDEO_1};

/// The fields of a generation, in the order in which they are shown.
const GENERATION_FIELDS: [&str; 10] = [
    "prompt",
    "image_url",
    "end_image_url",
    "reference_image_urls",
    "reference_video_urls",
    "duration",
    "resolution",
    "aspect_ratio",
    "generate_audio",
    "num_images",
];

/// What a tool takes. Nothing else is taken.
pub(super) fn input(action: ToolAction, is_paid: bool) -> Value {
    let (mut properties, required): (Map<_, _>, &[&str]) = match action {
        ToolAction::Submit(Operation::Image1Generate) => (generation_fields(&IMAGE_1), &["prompt"]),
        ToolAction::Submit(Operation::Video1Generate) => (generation_fields(&VIDEO_1), &["prompt"]),
        ToolAction::Submit(_) => (music_fields(), &["prompt"]),
        ToolAction::RunFormat => (format_run_fields(), &["format_id"]),
        ToolAction::Complete => (
            completion_fields(),
            &["instruction", "generation_spend_cap_usd"],
        ),
        ToolAction::ReadJob(_) => (named("job_id", text("The job.")), &["job_id"]),
        ToolAction::RunStatus | ToolAction::RunResult => (run_read_fields(), &["run_id"]),
        ToolAction::Read(..) => (Map::new(), &[]),
    };
    if is_paid {
        properties.extend(paid_tool_fields());
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// What a tool gives. More may come with it.
pub(super) fn output(action: ToolAction) -> Value {
    let id = |what: &str| text(what);
    let seconds = json!({"type": "number", "minimum": 0});
    let flag = json!({"type": "boolean"});
    let artifacts = json!({"type": "array", "items": {
        "type": "object",
        "properties": {
            "id": text("The file."),
            "url": {"type": "string", "format": "uri"},
            "media_type": text("Such as image."),
            "content_type": text("The MIME type."),
        },
        "required": ["id", "url", "content_type"],
    }});
    let (properties, required) = match action {
        ToolAction::Submit(_) => (
            json!({
                "job_id": id("Ask jobs_status for it."),
                "job": {"type": "object"},
                "status_url": {"type": "string", "format": "uri"},
                "result_url": {"type": "string", "format": "uri"},
                "cancel_url": {"type": "string", "format": "uri"},
                "next_poll_after_seconds": seconds,
            }),
            json!(["job_id", "job", "next_poll_after_seconds"]),
        ),
        ToolAction::ReadJob(Operation::JobsResult) => (
            json!({
                "job_id": id("The job."),
                "status": text("Such as completed; new ones may appear."),
                "artifacts": artifacts,
                "error": {"type": "object"},
            }),
            json!(["job_id", "status", "artifacts"]),
        ),
        ToolAction::ReadJob(_) => (
            json!({
                "job_id": id("The job."),
                "status": text("Such as completed; new ones may appear."),
                "terminal": flag,
                "result_ready": flag,
                "next_poll_after_seconds": seconds,
            }),
            json!([
                "job_id",
                "status",
                "terminal",
                "result_ready",
                "next_poll_after_seconds"
            ]),
        ),
        ToolAction::RunStatus => (
            json!({
                "run_id": id("The run."),
                "kind": text("format, agent or action."),
                "status": text("Such as completed; new ones may appear."),
                "terminal": flag,
                "result_ready": flag,
                "next_poll_after_seconds": seconds,
            }),
            json!([
                "run_id",
                "status",
                "terminal",
                "result_ready",
                "next_poll_after_seconds"
            ]),
        ),
        ToolAction::RunFormat | ToolAction::Complete | ToolAction::RunResult => (
            json!({
                "run_id": id("Ask run_status for it."),
                "kind": text("format, agent or action."),
                "status": text("Such as completed; new ones may appear."),
                "output": {"type": ["object", "null"]},
                "error": {"type": ["object", "null"]},
                "artifacts": artifacts,
                "primary_output_url": {"type": ["string", "null"]},
                "usage": {"type": ["object", "null"]},
                "next_poll_after_seconds": seconds,
            }),
            json!(["run_id", "kind", "status", "artifacts"]),
        ),
        ToolAction::Read(_, Some(list)) => (
            Value::Object(named(
                list,
                json!({"type": "array", "items": {"type": "object"}}),
            )),
            json!([list]),
        ),
        ToolAction::Read(_, None) => (json!({}), json!([])),
    };
    json!({"type": "object", "properties": properties, "required": required})
}

fn generation_fields(model: &Model) -> Map<String, Value> {
    let profile = model.profile;
    GENERATION_FIELDS
        .into_iter()
        .filter(|field| model.takes(field))
        .filter_map(|field| {
            let schema = match field {
                "prompt" => text("What it shows."),
                "image_url" => url("The first frame."),
                "end_image_url" => url("The last frame; needs image_url."),
                "reference_image_urls" => urls(*REFERENCE_IMAGE_URLS.end()),
                "reference_video_urls" => urls(*REFERENCE_VIDEO_URLS.end()),
                "duration" => integer(profile.duration?, "Seconds."),
                "resolution" => one_of(&model.resolutions()),
                "aspect_ratio" => one_of(profile.aspect_ratios),
                "generate_audio" => json!({"type": "boolean", "default": false}),
                "num_images" => integer(profile.num_images?, "How many."),
                _ => return None,
            };
            Some((field.to_owned(), schema))
        })
        .collect()
}

fn music_fields() -> Map<String, Value> {
    let mut fields = named("prompt", text("What it sounds like."));
    fields.insert("duration".to_owned(), integer(MUSIC_SECONDS, "Seconds."));
    fields
}

fn format_run_fields() -> Map<String, Value> {
    object(json!({
        "format_id": text("The Format: its id, or HANDLE/SLUG."),
        "instruction": text("What the run is to do."),
        "input": {"type": "object", "maxProperties": MAX_RUN_INPUT_KEYS},
        "previous_run_id": text("A run to continue."),
        "attachments": {"type": "array", "items": {"type": "object"}},
        "output_schema": {"type": "object", "description": "What the output has to fit."},
        "response_format": {"type": "object"},
        "generation_spend_cap_usd": cap("What the run may spend; the Format's own cap, if left out."),
        "model": text("A model of the catalog."),
        "on_active_run": one_of(&["reject"]),
        "webhook_url": url("Where the end is announced."),
    }))
}

fn completion_fields() -> Map<String, Value> {
    object(json!({
        "instruction": text("What the agent is to do."),
        "generation_spend_cap_usd": cap("What the run may spend."),
        "webhook_url": url("Where the end is announced."),
    }))
}

fn run_read_fields() -> Map<String, Value> {
    object(json!({
        "run_id": text("The run."),
        "kind": one_of(&["format", "agent", "action"]),
    }))
}

/// What every tool takes that makes something that costs.
fn paid_tool_fields() -> Map<String, Value> {
    object(json!({
        "max_spend_usd": {
            "type": "number",
            "minimum": 0,
            "description": "Refuse, before anything runs, what would or might cost more dollars than this.",
        },
        "idempotency_key": {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "description": "The same call with the same key is done once, and answered alike.",
        },
    }))
}

fn object(fields: Value) -> Map<String, Value> {
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn named(name: &str, schema: Value) -> Map<String, Value> {
    [(name.to_owned(), schema)].into_iter().collect()
}

fn text(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "description": description})
}

fn url(description: &str) -> Value {
    json!({"type": "string", "format": "uri", "description": description})
}

fn urls(most: usize) -> Value {
    let items = json!({"type": "string", "format": "uri"});
    json!({"type": "array", "items": items, "minItems": 1, "maxItems": most})
}

fn cap(description: &str) -> Value {
    json!({"type": "number", "exclusiveMinimum": 0, "maximum": MAX_SPEND_CAP_USD, "description": description})
}

fn one_of(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
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
    fn a_generation_takes_what_its_model_takes() {
        let names = |model: &Model| {
            generation_fields(model)
                .into_iter()
                .map(|(name, _)| name)
                .collect()
        };
        let image: Vec<String> = names(&IMAGE_1);
        assert_eq!(
            image,
            ["aspect_ratio", "num_images", "prompt", "resolution"]
        );
        for field in names(&VIDEO_1) as Vec<String> {
            assert!(VIDEO_1.takes(&field), "{field}");
        }
        assert_eq!(
            generation_fields(&VIDEO_1)["resolution"]["enum"],
            json!(["480p", "720p", "1080p"])
        );
    }
}
