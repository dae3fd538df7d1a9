//! The tools that `svc mcp serve` has, as a model is told of them.

use serde_json::{Map, Value, json};

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// All of them, in the order in which they are listed.
    pub(super) const ALL: [Self; 12] = [
        Self::ImageGenerate,
        Self::VideoGenerate,
        Self::MusicGenerate,
        Self::FormatRun,
        Self::AgentCompletion,
        Self::JobsStatus,
        Self::JobsResult,
        Self::RunStatus,
        Self::RunResult,
        Self::Estimate,
        Self::ModelsList,
        Self::Balance,
    ];

    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ImageGenerate => "image_generate",
            Self::VideoGenerate => "video_generate",
            Self::MusicGenerate => "music_generate",
            Self::FormatRun => "format_run",
            Self::AgentCompletion => "agent_completion",
            Self::JobsStatus => "jobs_status",
            Self::JobsResult => "jobs_result",
            Self::RunStatus => "run_status",
            Self::RunResult => "run_result",
            Self::Estimate => "estimate",
            Self::ModelsList => "models_list",
            Self::Balance => "balance",
        }
    }

    /// The tool of that name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Whether it makes something that costs.
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
                "Submits an image job. Answers at once with its job_id. Costs money."
            }
            Self::VideoGenerate => {
                "Submits a video job. Answers at once with its job_id. Costs money."
            }
            Self::MusicGenerate => {
                "Submits a music job. Answers at once with its job_id. Costs money."
            }
            Self::FormatRun => {
                "Starts a run of a Format, a saved agent recipe. Answers at once with its run_id. Costs money, up to its spend cap."
            }
            Self::AgentCompletion => {
                "Starts the agent on an instruction. Answers at once with the run_id. Costs money, up to its spend cap."
            }
            Self::JobsStatus => {
                "Tells whether a job has ended. Ask again no sooner than next_poll_after_seconds."
            }
            Self::JobsResult => "Gives what a job that has ended made, with a link for each file.",
            Self::RunStatus => {
                "Tells whether a run has ended. Ask again no sooner than next_poll_after_seconds."
            }
            Self::RunResult => {
                "Gives the receipt of a run that has ended, with a link for each file."
            }
            Self::Estimate => "Tells what an image or a video would cost. It equals the charge.",
            Self::ModelsList => "Lists the models and their prices.",
            Self::Balance => "Tells what is left to spend.",
        }
    }

    /// The arguments by name, and which of them are required.
    fn arguments(self) -> (Value, &'static [&'static str]) {
        let text = |what: &str| json!({"type": "string", "minLength": 1, "description": what});
        let url = json!({"type": "string", "format": "uri"});
        let urls =
            json!({"type": "array", "items": {"type": "string", "format": "uri"}, "minItems": 1});
        let cap = json!({"type": "number", "exclusiveMinimum": 0, "maximum": 500, "description": "What the run may spend; max_spend_usd, if left out."});
        let run_id = json!({
            "run_id": text("The run."),
            "kind": {"type": "string", "enum": ["format", "agent"], "description": "Which kind of run; found out, if left out."},
        });
        match self {
            Self::ImageGenerate => (
                json!({
                    "prompt": text("What the image shows."),
                    "model": text("An id of models_list; one that the service lists first, if left out."),
                    "aspect_ratio": text("Such as 1:1 or 16:9."),
                    "resolution": text("Such as 720p or 1080p."),
                    "num_images": {"type": "integer", "minimum": 1},
                }),
                &["prompt"],
            ),
            Self::VideoGenerate => (
                json!({
                    "prompt": text("What the video shows."),
                    "model": text("An id of models_list; the service picks one, if left out."),
                    "duration": {"type": "integer", "minimum": 1, "description": "Seconds."},
                    "aspect_ratio": text("Such as 16:9 or 9:16."),
                    "resolution": text("Such as 480p or 720p."),
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
                    "prompt": text("What it sounds like."),
                    "duration": {"type": "integer", "minimum": 1, "description": "Seconds."},
                }),
                &["prompt"],
            ),
            Self::FormatRun => (
                json!({
                    "format_id": text("The Format: its id, or HANDLE/SLUG."),
                    "instruction": text("What the run is to do."),
                    "input": {"type": "object"},
                    "previous_run_id": text("A run to continue."),
                    "output_schema": {"type": "object", "description": "What the output has to fit."},
                    "generation_spend_cap_usd": cap,
                    "model": text("A model of the catalog."),
                }),
                &["format_id"],
            ),
            Self::AgentCompletion => (
                json!({
                    "instruction": text("What the agent is to do."),
                    "generation_spend_cap_usd": cap,
                }),
                &["instruction"],
            ),
            Self::JobsStatus | Self::JobsResult => {
                (json!({"job_id": text("The job.")}), &["job_id"])
            }
            Self::RunStatus | Self::RunResult => (run_id, &["run_id"]),
            Self::Estimate => (
                json!({
                    "model": text("An id of models_list, or auto."),
                    "input": {"type": "object", "description": "The arguments of image_generate or video_generate, without model."},
                }),
                &["model", "input"],
            ),
            Self::ModelsList | Self::Balance => (json!({}), &[]),
        }
    }

    /// What its structured content has, and which of that always.
    fn result_fields(self) -> (Value, &'static [&'static str]) {
        let status = json!({"type": "string"});
        let artifacts = json!({"type": "array", "items": {"type": "object"}});
        match self {
            Self::ImageGenerate | Self::VideoGenerate | Self::MusicGenerate => (
                json!({"job_id": {"type": "string"}, "job": {"type": "object"}}),
                &["job_id"],
            ),
            Self::FormatRun | Self::AgentCompletion => (
                json!({"run_id": {"type": "string"}, "status": status}),
                &["run_id"],
            ),
            Self::JobsStatus | Self::RunStatus => (
                json!({"status": status, "terminal": {"type": "boolean"}, "next_poll_after_seconds": {"type": "number"}}),
                &["status", "terminal"],
            ),
            Self::JobsResult | Self::RunResult => (
                json!({"status": status, "artifacts": artifacts}),
                &["status"],
            ),
            Self::Estimate => (json!({"price_usd": {"type": "string"}}), &["price_usd"]),
            Self::ModelsList | Self::Balance => (json!({}), &[]),
        }
    }

    /// The names of its arguments.
    pub(super) fn has_argument(self, name: &str) -> bool {
        let (properties, _) = self.arguments();
        properties.get(name).is_some() || (self.is_paid() && name == "max_spend_usd")
    }

    /// The tool as it is listed.
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
                "description": "Refuse, before anything runs, what would or might cost more dollars than this.",
            });
            properties.insert("max_spend_usd".to_owned(), limit);
        }
        let (fields, always) = self.result_fields();
        let paid = self.is_paid();
        json!({
            "name": self.name(),
            "description": self.description(),
            "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
            "outputSchema": {"type": "object", "properties": fields, "required": always},
            "annotations": {
                "readOnlyHint": !paid,
                "destructiveHint": false,
                "idempotentHint": !paid,
                "openWorldHint": paid,
            },
        })
    }
}
