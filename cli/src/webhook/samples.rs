//! Sample events for testing receivers.

use clap::ValueEnum;
use serde_json::{Value, json};

/// A type of event that a sample can be built of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sample {
    /// A job completed.
    #[value(name = "job.completed")]
    JobCompleted,
    /// A job failed.
    #[value(name = "job.failed")]
    JobFailed,
    /// A job was canceled.
    #[value(name = "job.canceled")]
    JobCanceled,
    /// A run of an Action ended.
    #[value(name = "action.run.terminal")]
    ActionRunTerminal,
    /// A run of a Format ended.
    #[value(name = "format.run.terminal")]
    FormatRunTerminal,
    /// A run of an Agent Completion ended.
    #[value(name = "agent.run.terminal")]
    AgentRunTerminal,
    /// A test delivery.
    #[value(name = "webhook.test")]
    WebhookTest,
}

/// The values of a sample: its identifiers and its time.
#[derive(Debug)]
pub(crate) struct SampleFields {
    /// The id of the job or run. A test delivery uses none.
    pub(crate) id: String,
    pub(crate) request_id: String,
    /// The time, in RFC 3339.
    pub(crate) at: String,
}

impl Sample {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    pub(crate) fn names() -> Vec<String> {
        let values = Self::value_variants().iter();
        values.filter_map(|it| Some(it.to_possible_value()?.get_name().to_owned())).collect()
    }

    /// Returns `job` or `run`, or `None` for an event of neither.
    pub(crate) fn prefix(self) -> Option<&'static str> {
        match self {
            Self::JobCompleted | Self::JobFailed | Self::JobCanceled => Some("job"),
            Self::ActionRunTerminal | Self::FormatRunTerminal | Self::AgentRunTerminal => {
                Some("run")
            }
            Self::WebhookTest => None,
        }
    }

    /// Returns the event's JSON body.
    pub(crate) fn body(self, fields: &SampleFields) -> Value {
        let SampleFields { id, request_id, at } = fields;
        match self {
            Self::JobCompleted => json!({
                "event": "job.completed", "request_id": request_id, "job_id": id, "status": "OK",
                "payload": {"artifacts": [artifact("type", "video", "video/mp4", "mp4")]},
            }),
            Self::JobFailed => {
                job_error("job.failed", fields, "generation_failed", "The generation failed.")
            }
            Self::JobCanceled => {
                job_error("job.canceled", fields, "job_canceled", "The job was canceled.")
            }
            Self::ActionRunTerminal => run("action", fields),
            Self::FormatRunTerminal => run("format", fields),
            Self::AgentRunTerminal => run("agent", fields),
            Self::WebhookTest => json!({
                "event": "webhook.test", "request_id": request_id, "status": "OK",
                "payload": {"message": "A test of your webhook."}, "created_at": at,
            }),
        }
    }
}

fn job_error(event: &str, fields: &SampleFields, code: &str, message: &str) -> Value {
    json!({
        "event": event, "request_id": fields.request_id, "job_id": fields.id, "status": "ERROR",
        "payload": {"artifacts": []}, "error": {"code": code, "message": message},
    })
}

/// Returns the event of a completed run, with its full receipt.
fn run(kind: &str, fields: &SampleFields) -> Value {
    let SampleFields { id, request_id, at } = fields;
    let url = |what: &str| format!("https://developer.svc.example/v1/{kind}-runs/{id}/{what}");
    let artifact = artifact("media_type", "image", "image/png", "png");
    let hero = artifact.get("url");
    let mut receipt = json!({
        "request_id": request_id, "run_id": id, "kind": kind, "status": "completed",
        "created_at": at, "updated_at": at,
        "status_url": url("status"), "result_url": url("result"),
        "events_url": if kind == "format" { url("events").into() } else { Value::Null },
        "cancel_url": url("cancel"), "error": null, "output_error": null,
        "output": {"headline": "Warm boots", "hero": hero}, "artifacts": [artifact],
        "primary_output_url": hero, "primary_output_key": "hero",
        "usage": {"billable_amount_usd_micros": 0, "generation_spend_cap_usd_micros": 400_000_000},
        "webhook_delivery": null, "next_poll_after_seconds": 0,
        "previous_run_id": null, "queue_id": null, "item_index": null,
    });
    let saved = match kind {
        "action" => Some(("action_id", "act_sample")),
        "format" => Some(("format_id", "fmt_sample")),
        _ => None,
    };
    if let (Some((name, id)), Some(fields)) = (saved, receipt.as_object_mut()) {
        fields.insert(name.to_owned(), id.into());
    }
    json!({
        "event": format!("{kind}.run.terminal"), "request_id": request_id, "run_id": id,
        "status": "OK", "outcome": "success", "payload": receipt, "error": null,
    })
}

/// The media type's field is `type` in a job's event and `media_type` in a receipt.
fn artifact(type_name: &str, media_type: &str, content_type: &str, suffix: &str) -> Value {
    json!({
        "id": "art_sample", "url": format!("https://media.svc.example/art_sample.{suffix}"),
        type_name: media_type, "content_type": content_type,
    })
}
