//! Runs of Actions, Formats and Agent Completions. All three have the same receipt.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::id::id_in_url;
use super::response::response_body;
use super::{
    ActionId, Artifact, ErrorBody, FormatId, JobId, QueueId, RequestId, RunId, Timestamp, Usd,
    WebhookDelivery,
};
use crate::contract::{ErrorCode, RunStatus};
use crate::open_enum::open_enum;

open_enum! {
    /// The kind of a run. Assumed.
    pub enum RunKind {
        /// A run of an Action.
        Action = "action",
        /// A run of a Format.
        Format = "format",
        /// An Agent Completion.
        Agent = "agent",
    }
}

response_body! {
    /// The receipt of a run.
    ///
    /// ```
    /// use svc_sdk::types::RunReceipt;
    ///
    /// let json = r#"{"run_id": "run_1", "status": "completed", "output": {"title": "Fox"}, "usage": null}"#;
    /// let receipt: RunReceipt = serde_json::from_str(json)?;
    /// #[derive(serde::Deserialize)]
    /// struct Teaser { title: String }
    /// let teaser: Teaser = receipt.output_as()?;
    /// assert_eq!(teaser.title, "Fox");
    /// assert_eq!(receipt.billable_amount(), None, "unknown, which differs from 0");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct RunReceipt {
        /// The run's status, empty if the service did not send it.
        text status: RunStatus,
        /// The run's identifier, if the receipt has it; see [`id`](Self::id). Assumed.
        optional run_id: RunId,
        /// The request that was answered with the receipt.
        optional request_id: RequestId,
        /// The kind of the run. Assumed.
        optional kind: RunKind,
        /// The URL of the run's status.
        optional status_url: String,
        /// The URL of the run's result.
        optional result_url: String,
        /// The URL of the run's timeline. It is always null for runs of Actions.
        optional events_url: String,
        /// Why the run failed.
        failure error: ErrorBody,
        /// Why the output is missing or partial; usually present if the run failed.
        failure output_error: ErrorBody,
        /// The output that matches the requested `output_schema`, or a part of it.
        optional output: Value,
        /// All generated files, also of a failed run.
        objects artifacts: Artifact,
        /// The URL of the deliverable. It is null if there is none.
        optional primary_output_url: String,
        /// The key of the primary output in `output`.
        optional primary_output_key: String,
        /// The spend of the run. Null means that it could not be read, which differs from 0.
        optional usage: RunUsage,
        /// The state of the webhook delivery.
        object webhook_delivery: WebhookDelivery,
        /// How long to wait before the next poll, in seconds. Assumed.
        seconds poll_after as "next_poll_after_seconds": Duration,
        /// When the run was created. Assumed.
        optional created_at: Timestamp,
        /// The Format of the run. Assumed.
        optional format_id: FormatId,
        /// The Action of the run. Assumed.
        optional action_id: ActionId,
        /// What started a run of an Action: `api` or `schedule`. Assumed.
        optional trigger_type: String,
        /// The run that this run continues. Assumed.
        optional previous_run_id: RunId,
        /// The conversation with the agent, which a continued run shares. Assumed.
        optional thread_id: String,
        /// The bulk queue that the run belongs to. Assumed.
        optional queue_id: QueueId,
    }
}

impl RunReceipt {
    /// Returns the run's identifier, from the receipt's fields or from its URLs.
    #[must_use]
    pub fn id(&self) -> Option<RunId> {
        let urls = [&self.status_url, &self.result_url, &self.events_url];
        let in_urls = || {
            let mut urls = urls.into_iter().flatten();
            urls.find_map(|url| id_in_url(url, &RUN_COLLECTIONS))
        };
        let own = self.run_id.clone().or_else(|| self.extra.get_as("id"));
        own.filter(|id| !id.as_str().is_empty()).or_else(|| in_urls().map(RunId::from))
    }

    /// Returns the run's identifier in the JSON of a receipt.
    pub(crate) fn id_in(receipt: &Value) -> Option<RunId> {
        Self::deserialize(receipt).ok()?.id()
    }

    /// Deserializes the output. A missing output is deserialized from `null`.
    ///
    /// # Errors
    ///
    /// Returns an error if the output is not a `T`.
    pub fn output_as<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(self.output.as_ref().unwrap_or(&Value::Null))
    }

    /// Returns the reserved and captured spend on generations, or `None` if it could not be read.
    ///
    /// It is a figure of the receipt and not an invoice.
    #[must_use]
    pub fn billable_amount(&self) -> Option<Usd> {
        Some(Usd::from_micros(self.usage.as_ref()?.billable_amount_usd_micros?))
    }

    /// Returns `true` if the run completed without an output that matches its schema.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.status == RunStatus::Completed && self.output.is_none() && self.output_error.is_some()
    }

    /// Returns `true` if the run completed and a later read will have its output.
    #[must_use]
    pub fn is_output_pending(&self) -> bool {
        let Some(error) = self.output_error.as_ref().or(self.error.as_ref()) else { return false };
        self.status == RunStatus::Completed
            && self.output.is_none()
            && error.code == ErrorCode::OutputExtractionFailed
            && error.details().reason.as_deref() == Some("harvest_unavailable")
    }
}

response_body! {
    /// The spend of a run, in USD micros. The agent's own model turns are not included.
    #[derive(Default)]
    pub struct RunUsage {
        /// The reserved and captured spend on generations. It rises during the run and is final
        /// at its end.
        optional billable_amount_usd_micros: i64,
        /// The spend cap of the run.
        optional generation_spend_cap_usd_micros: i64,
    }
}

impl RunUsage {
    /// Returns the spend cap of the run.
    #[must_use]
    pub fn generation_spend_cap(&self) -> Option<Usd> {
        self.generation_spend_cap_usd_micros.map(Usd::from_micros)
    }
}

response_body! {
    /// The status payload of a run, returned by polling. The specification shows no field: all are
    /// assumed.
    #[derive(Default)]
    pub struct RunStatusPayload {
        /// The run's identifier.
        optional run_id: RunId,
        /// The kind of the run.
        optional kind: RunKind,
        /// The run's status.
        optional status: RunStatus,
        /// Whether the run is terminal; see [`is_terminal`](Self::is_terminal).
        optional terminal: bool,
        /// Whether the result can be fetched.
        optional result_ready: bool,
        /// How long to wait before the next poll, in seconds.
        seconds poll_after as "next_poll_after_seconds": Duration,
        /// The spend so far.
        optional usage: RunUsage,
    }
}

impl RunStatusPayload {
    /// Returns `true` if the run is terminal: as the field `terminal` says, or else its status.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.terminal.unwrap_or_else(|| self.status.as_ref().is_some_and(RunStatus::is_terminal))
    }
}

response_body! {
    /// An entry of a Format run's phase timeline. The specification shows no field: all are assumed.
    #[derive(Default)]
    pub struct RunEvent {
        /// The event's identifier.
        optional id: String,
        /// The phase that started.
        optional phase: String,
        /// The run's status at that time.
        optional status: String,
        /// When the event happened.
        optional created_at: Timestamp,
        /// The generation job that the event is about.
        optional job_id: JobId,
        /// A description for people.
        optional message: String,
    }
}

/// The names of the collections of runs in URLs.
const RUN_COLLECTIONS: [&str; 4] = ["action-runs", "format-runs", "agent-runs", "runs"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn receipt(json: Value) -> RunReceipt {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn unknown_usage_differs_from_zero() {
        let with = |usage: Value| {
            receipt(json!({"run_id": "run_1", "status": "completed", "usage": usage}))
        };
        assert_eq!(with(Value::Null).billable_amount(), None);
        let nothing = with(json!({"billable_amount_usd_micros": 0}));
        assert_eq!(nothing.billable_amount(), Some(Usd::ZERO));
    }

    #[test]
    fn id_is_read_from_fields_and_urls() {
        let url = "https://api.example/v1/agent-runs/run_1/status?x=1";
        for json in [
            json!({"run_id": "run_1", "status": "queued"}),
            json!({"id": "run_1", "status": "queued"}),
            json!({"status": "queued", "status_url": url}),
            json!({"status": "queued", "result_url": url}),
        ] {
            assert_eq!(receipt(json.clone()).id(), Some("run_1".into()), "{json}");
            assert_eq!(serde_json::to_value(receipt(json.clone())).unwrap(), json);
        }
        assert_eq!(
            receipt(json!({"status": "queued", "status_url": "https://a/v1/agent-runs/"})).id(),
            None
        );
    }

    #[test]
    fn terminal_field_overrides_the_status() {
        let payload = |json| serde_json::from_value::<RunStatusPayload>(json).unwrap();
        assert!(payload(json!({"terminal": true, "status": "paused"})).is_terminal());
        assert!(!payload(json!({"terminal": false, "status": "completed"})).is_terminal());
        assert!(payload(json!({"status": "skipped"})).is_terminal());
        assert!(!payload(json!({"status": "paused"})).is_terminal());
    }

    #[test]
    fn distinguishes_pending_and_degraded_outputs() {
        let with = |status: &str, error: Value| {
            receipt(json!({"run_id": "r", "status": status, "output": null, "output_error": error}))
        };
        let extraction = |reason: &str| json!({"code": "output_extraction_failed", "details": {"reason": reason}});
        assert!(with("completed", extraction("harvest_unavailable")).is_output_pending());
        assert!(!with("failed", extraction("harvest_threw")).is_output_pending());
        let unsatisfied = with("completed", json!({"code": "output_schema_unsatisfied"}));
        assert!(unsatisfied.is_degraded() && !unsatisfied.is_output_pending());
        assert!(!with("completed", Value::Null).is_degraded());
    }
}
