//! The definitions of the tools of `svc mcp serve`.

use clap::ValueEnum;
use serde_json::{Map, Value, json};

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Tool {
    ImageGenerate,
    VideoGenerate,
    MusicGenerate,
    FormatRun,
    AgentCompletion,
    JobsStatus,
    JobsResult,
    RunStatus,
    RunResult,
    Estimate,
    ModelsList,
    Balance,
}

impl Tool {
    /// Returns all tools, in the order in which they are listed.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        Self::value_variants().iter().copied()
    }

    pub(super) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    /// Returns whether calls of the tool cost money.
    pub(super) const fn is_paid(self) -> bool {
        matches!(
            self,
            Self::ImageGenerate
                | Self::VideoGenerate
                | Self::MusicGenerate
                | Self::FormatRun
                | Self::AgentCompletion
        )
    }

    const fn description(self) -> &'static str {
        match self {
            Self::ImageGenerate => {
                "Submits an image generation job, and returns its job_id immediately. Costs money."
            }
            Self::VideoGenerate => {
                "Submits a video generation job, and returns its job_id immediately. Costs money."
            }
            Self::MusicGenerate => {
                "Submits a music generation job, and returns its job_id immediately. Costs money."
            }
            Self::FormatRun => {
                "Starts a run of a Format, which is a saved agent recipe, and returns its run_id immediately. Costs money, up to its spend cap."
            }
            Self::AgentCompletion => {
                "Runs the agent with an instruction, and returns the run_id immediately. Costs money, up to its spend cap."
            }
            Self::JobsStatus => {
                "Returns the status of a job. Poll again no sooner than next_poll_after_seconds."
            }
            Self::JobsResult => {
                "Returns the result of a job that has ended, with a link to each file."
            }
            Self::RunStatus => {
                "Returns the status of a run. Poll again no sooner than next_poll_after_seconds."
            }
            Self::RunResult => {
                "Returns the receipt of a run that has ended, with a link to each file."
            }
            Self::Estimate => {
                "Estimates the price of an image or video. The charge equals the estimate."
            }
            Self::ModelsList => "Lists the models and their prices.",
            Self::Balance => "Returns the available balance.",
        }
    }

    /// Returns the schemas of the arguments, and the names of those that are required.
    fn arguments(self) -> (Value, &'static [&'static str]) {
        let text = |what: &str| json!({"type": "string", "minLength": 1, "description": what});
        let url = json!({"type": "string", "format": "uri"});
        let urls =
            json!({"type": "array", "items": {"type": "string", "format": "uri"}, "minItems": 1});
        let cap = json!({"type": "number", "exclusiveMinimum": 0, "maximum": 500, "description": "Maximum spending of the run in dollars. Default: max_spend_usd."});
        let run_id = json!({
            "run_id": text("Run id."),
            "kind": {"type": "string", "enum": ["format", "agent"], "description": "Kind of run. Default: detected."},
        });
        match self {
            Self::ImageGenerate => (
                json!({
                    "prompt": text("Description of the image."),
                    "model": text("Model id from models_list. Default: the first image model that the service lists."),
                    "aspect_ratio": text("Aspect ratio, such as 1:1 or 16:9."),
                    "resolution": text("Resolution, such as 720p or 1080p."),
                    "num_images": {"type": "integer", "minimum": 1},
                }),
                &["prompt"],
            ),
            Self::VideoGenerate => (
                json!({
                    "prompt": text("Description of the video."),
                    "model": text("Model id from models_list. Default: chosen by the service."),
                    "duration": {"type": "integer", "minimum": 1, "description": "Length in seconds."},
                    "aspect_ratio": text("Aspect ratio, such as 16:9 or 9:16."),
                    "resolution": text("Resolution, such as 480p or 720p."),
                    "image_url": url,
                    "end_image_url": url,
                    "video_url": url,
                    "audio_url": url,
                    "reference_image_urls": urls,
                    "reference_video_urls": urls,
                    "generate_audio": {"type": "boolean"},
                }),
                &[],
            ),
            Self::MusicGenerate => (
                json!({
                    "prompt": text("Description of the music."),
                    "duration": {"type": "integer", "minimum": 1, "description": "Length in seconds."},
                }),
                &["prompt"],
            ),
            Self::FormatRun => (
                json!({
                    "format_id": text("Format id, or HANDLE/SLUG."),
                    "instruction": text("Instruction for the run."),
                    "input": {"type": "object"},
                    "previous_run_id": text("Id of a run to continue."),
                    "output_schema": {"type": "object", "description": "JSON Schema of the output."},
                    "generation_spend_cap_usd": cap,
                    "model": text("Model id from the catalog."),
                }),
                &["format_id"],
            ),
            Self::AgentCompletion => (
                json!({
                    "instruction": text("Instruction for the agent."),
                    "generation_spend_cap_usd": cap,
                }),
                &["instruction"],
            ),
            Self::JobsStatus | Self::JobsResult => {
                (json!({"job_id": text("Job id.")}), &["job_id"])
            }
            Self::RunStatus | Self::RunResult => (run_id, &["run_id"]),
            Self::Estimate => (
                json!({
                    "model": text("Model id from models_list, or auto."),
                    "input": {"type": "object", "description": "Arguments of image_generate or video_generate, without model."},
                }),
                &["model", "input"],
            ),
            Self::ModelsList | Self::Balance => (json!({}), &[]),
        }
    }

    /// Returns the schemas of the fields of the structured content, and the names of those that are
    /// always present.
    fn result_fields(self) -> (Value, &'static [&'static str]) {
        let status = json!({"type": "string"});
        let artifacts = json!({"type": "array", "items": {"type": "object"}});
        match self {
            Self::ImageGenerate | Self::VideoGenerate | Self::MusicGenerate => {
                (json!({"job_id": {"type": "string"}, "job": {"type": "object"}}), &["job_id"])
            }
            Self::FormatRun | Self::AgentCompletion => {
                (json!({"run_id": {"type": "string"}, "status": status}), &["run_id"])
            }
            Self::JobsStatus | Self::RunStatus => (
                json!({"status": status, "terminal": {"type": "boolean"}, "next_poll_after_seconds": {"type": "number"}}),
                &["status", "terminal"],
            ),
            Self::JobsResult | Self::RunResult => {
                (json!({"status": status, "artifacts": artifacts}), &["status"])
            }
            Self::Estimate => (json!({"price_usd": {"type": "string"}}), &["price_usd"]),
            Self::ModelsList | Self::Balance => (json!({}), &[]),
        }
    }

    pub(super) fn has_argument(self, name: &str) -> bool {
        let (properties, _) = self.arguments();
        properties.get(name).is_some() || (self.is_paid() && name == "max_spend_usd")
    }

    /// Returns the definition that is listed to the model.
    pub(super) fn definition(self) -> Value {
        let (properties, required) = self.arguments();
        let mut properties = match properties {
            Value::Object(properties) => properties,
            _ => Map::new(),
        };
        if self.is_paid() {
            let limit = json!({
                "type": "number",
                "minimum": 0,
                "description": "Maximum cost of this call in dollars. A call that may cost more is rejected before it is submitted.",
            });
            properties.insert("max_spend_usd".to_owned(), limit);
        }
        let (fields, required_fields) = self.result_fields();
        let paid = self.is_paid();
        json!({
            "name": self.name(),
            "description": self.description(),
            "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
            "outputSchema": {"type": "object", "properties": fields, "required": required_fields},
            "annotations": {
                "readOnlyHint": !paid,
                "destructiveHint": false,
                "idempotentHint": !paid,
                "openWorldHint": paid,
            },
        })
    }
}
