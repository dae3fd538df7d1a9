//! Runs of Actions, Formats and Agent Completions: one receipt for the three.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::id::id_in_url;
use super::received::received;
use super::{
    ActionId, Artifact, ErrorBody, FormatId, QueueId, RequestId, RunId, SchemaViolation, Seconds,
    Usd, WebhookDelivery,
};
use crate::contract::{ErrorCode, RunStatus};
use crate::open_enum::open_enum;

open_enum! {
    /// What a run is a run of. Assumed.
    pub enum RunKind {
        /// An Action: scheduled agent work.
        Action = "action",
        /// A Format: a reusable recipe.
        Format = "format",
        /// An Agent Completion: an ad-hoc prompt.
        Agent = "agent",
    }
}

received! {
    /// A run, as far as it is.
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
    /// assert_eq!(receipt.billable_amount(), None, "not read, which is not 0");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct RunReceipt (
        /// Where it is in its life.
        status: RunStatus,
    ) {
        /// Identifies the run, where the receipt says so; see [`id`](Self::id). Assumed.
        run_id: maybe RunId,
        /// The request that this answers.
        request_id: maybe RequestId,
        /// What it is a run of. Assumed.
        kind: maybe RunKind,
        /// Where to poll.
        status_url: maybe String,
        /// Where the result will be.
        result_url: maybe String,
        /// Where the timeline is; always null on a run of an Action.
        events_url: maybe String,
        /// Why it failed.
        error: maybe ErrorBody,
        /// What is wrong with its output; usually there on a failure.
        output_error: maybe ErrorBody,
        /// What it made of the `output_schema`, or a part of that.
        output: maybe Value,
        /// Everything that it generated, even where it failed.
        artifacts: many Artifact,
        /// The deliverable: there is one only where this is there.
        primary_output_url: maybe String,
        /// Which key of `output` is the primary one.
        primary_output_key: maybe String,
        /// What it spent. None means that this could not be read, which is not 0.
        usage: maybe RunUsage,
        /// How its webhook fares.
        webhook_delivery: maybe WebhookDelivery,
        /// Seconds until the next poll makes sense. Assumed.
        next_poll_after_seconds: maybe Seconds,
        /// When it was created (RFC 3339). Assumed.
        created_at: maybe String,
        /// The Format that it ran. Assumed.
        format_id: maybe FormatId,
        /// The Action that it ran. Assumed.
        action_id: maybe ActionId,
        /// The run that it continues. Assumed.
        previous_run_id: maybe RunId,
        /// The bulk queue that it belongs to. Assumed.
        queue_id: maybe QueueId,
    }
}

impl RunReceipt {
    /// Identifies the run: as the receipt says, or as its URLs do.
    #[must_use]
    pub fn id(&self) -> Option<RunId> {
        let urls = [&self.status_url, &self.result_url, &self.events_url];
        let in_urls = || {
            let mut urls = urls.into_iter().flatten();
            urls.find_map(|url| id_in_url(url, &RUNS))
        };
        let own = self.run_id.clone().or_else(|| self.extra.field("id"));
        own.filter(|id| !id.as_str().is_empty())
            .or_else(|| in_urls().map(RunId::from))
    }

    /// The run that a receipt is of, even one that lacks what a receipt must have.
    pub(crate) fn id_in(receipt: &Value) -> Option<RunId> {
        let mut fields = receipt.as_object()?.clone();
        fields.insert("status".to_owned(), "".into());
        Self::deserialize(Value::Object(fields)).ok()?.id()
    }

    /// The output as the caller's own type. One that is not there reads as `null`.
    ///
    /// # Errors
    ///
    /// Where the output is of another shape.
    pub fn output_as<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(self.output.as_ref().unwrap_or(&Value::Null))
    }

    /// Generation spend, reserved and captured; `None` where it could not be read. A figure of the
    /// receipt, no invoice.
    #[must_use]
    pub fn billable_amount(&self) -> Option<Usd> {
        Some(Usd::from_micros(
            self.usage.as_ref()?.billable_amount_usd_micros?,
        ))
    }

    /// Whether it completed but could not fill its schema: there may be media, and no output.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.status == RunStatus::Completed && self.output.is_none() && self.output_error.is_some()
    }

    /// Whether the output exists and could not be read yet: it is filled in at a later read.
    #[must_use]
    pub fn is_settling(&self) -> bool {
        let Some(error) = self.output_error.as_ref().or(self.error.as_ref()) else {
            return false;
        };
        self.status == RunStatus::Completed
            && self.output.is_none()
            && error.code == ErrorCode::OutputExtractionFailed
            && error.detail::<String>("reason").as_deref() == Some("harvest_unavailable")
    }
}

received! {
    /// What a run spent, in USD micros. The agent's own model turns are not in it.
    pub struct RunUsage () {
        /// Generation spend, reserved and captured. It rises during the run and settles at its end.
        billable_amount_usd_micros: maybe i64,
        /// The cap that holds for the run.
        generation_spend_cap_usd_micros: maybe i64,
    }
}

impl RunUsage {
    /// The cap that holds for the run.
    #[must_use]
    pub fn generation_spend_cap(&self) -> Option<Usd> {
        self.generation_spend_cap_usd_micros.map(Usd::from_micros)
    }
}

received! {
    /// The answer to a poll of a run. The specification calls it trimmed and shows no field: all
    /// are assumed.
    #[derive(Default)]
    pub struct RunStatusPayload () {
        /// The run.
        run_id: maybe RunId,
        /// What it is a run of.
        kind: maybe RunKind,
        /// Where it is in its life.
        status: maybe RunStatus,
        /// Whether it will never change again.
        terminal: maybe bool,
        /// Whether the result can be fetched.
        result_ready: maybe bool,
        /// Seconds until the next poll makes sense.
        next_poll_after_seconds: maybe Seconds,
        /// What it spent so far.
        usage: maybe RunUsage,
    }
}

impl RunStatusPayload {
    /// Whether the run will never change again: the payload's `terminal` decides; without it, a
    /// known terminal status does.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.terminal
            .unwrap_or_else(|| self.status.as_ref().is_some_and(RunStatus::is_terminal))
    }
}

received! {
    /// A moment of a Format run's phase timeline. The specification shows no field: all are assumed.
    #[derive(Default)]
    pub struct RunEvent () {
        /// Identifies the event.
        id: maybe String,
        /// The phase that began.
        phase: maybe String,
        /// The run's status then.
        status: maybe String,
        /// When (RFC 3339).
        created_at: maybe String,
        /// Text for people.
        message: maybe String,
    }
}

received! {
    /// The particulars of a failed run's code.
    ///
    /// ```
    /// use svc_sdk::types::ErrorBody;
    ///
    /// let json = r#"{"code": "incomplete_assembly", "details": {"pending_job_count": 1, "pending_jobs": [{"id": "job_1"}]}}"#;
    /// let error: ErrorBody = serde_json::from_str(json)?;
    /// assert_eq!(error.run_details().pending_job_count, Some(1));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[derive(Default)]
    pub struct RunErrorDetails () {
        /// URLs in the output that are none of the run's own (`output_schema_unsatisfied`).
        rejected_urls: many String,
        /// Where the output does not fit the schema (`output_schema_unsatisfied`), or the schema the
        /// supported subset (`output_schema_invalid`).
        violations: many SchemaViolation,
        /// What was made all the same, counted by media type (`output_schema_unsatisfied`).
        harvested: maybe BTreeMap<String, u64>,
        /// Generation jobs that were not finished (`incomplete_assembly`).
        pending_job_count: maybe u64,
        /// Those jobs, as far as they are told (`incomplete_assembly`).
        pending_jobs: many Value,
        /// The run's own words (`agent_reported_failure`), or `harvest_unavailable` or
        /// `harvest_threw` (`output_extraction_failed`).
        reason: maybe String,
        /// Whether a new run can succeed (`mcp_unavailable`, `provider_unavailable`).
        retryable: maybe bool,
        /// Whether anything was charged (`mcp_unavailable`).
        charged: maybe bool,
    }
}

/// The collections of runs, as URLs name them.
const RUNS: [&str; 4] = ["action-runs", "format-runs", "agent-runs", "runs"];

impl ErrorBody {
    /// The details that codes of runs have, typed.
    #[must_use]
    pub fn run_details(&self) -> RunErrorDetails {
        let details = serde_json::to_value(&self.details).unwrap_or_default();
        serde_json::from_value(details).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn receipt(json: Value) -> RunReceipt {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_usage_that_could_not_be_read_is_not_zero() {
        let of = |usage: Value| {
            receipt(json!({"run_id": "run_1", "status": "completed", "usage": usage}))
        };
        assert_eq!(of(Value::Null).billable_amount(), None);
        let nothing = of(json!({"billable_amount_usd_micros": 0}));
        assert_eq!(nothing.billable_amount(), Some(Usd::ZERO));
        for usage in [Value::Null, json!({"billable_amount_usd_micros": 0})] {
            let written = serde_json::to_value(of(usage.clone())).unwrap();
            assert_eq!(written["usage"], usage);
        }
    }

    #[test]
    fn a_receipt_comes_back_as_it_was_whatever_shape_the_assumed_has() {
        let json = json!({
            "run_id": "run_1", "status": "paused", "kind": "saga", "events_url": null,
            "error": "none", "output": null, "artifacts": [{"name": "no url"}], "usage": [1],
            "created_at": 7, "lane": {"n": 1}
        });
        let receipt = receipt(json.clone());
        assert!(receipt.artifacts.is_empty());
        assert_eq!(serde_json::to_value(receipt).unwrap(), json);
        assert!(serde_json::from_value::<RunReceipt>(json!({"run_id": "run_1"})).is_err());
    }

    #[test]
    fn an_artifact_of_another_shape_hides_no_other() {
        let json = json!({"run_id": "run_1", "status": "failed", "artifacts": [
            {"id": "art_1", "url": null}, {"id": "art_2", "url": "https://m/a.png"}]});
        let receipt = receipt(json.clone());
        assert_eq!(receipt.artifacts.len(), 1);
        assert_eq!(serde_json::to_value(&receipt).unwrap(), json);
        let written = serde_json::to_string(&receipt).unwrap();
        assert_eq!(written.matches("\"artifacts\"").count(), 1);
    }

    #[test]
    fn a_field_that_is_filled_in_later_is_written_once() {
        let mut receipt = receipt(json!({"run_id": "run_1", "status": "failed", "output": null}));
        receipt.output = Some(json!({"title": "Fox"}));
        let written = serde_json::to_string(&receipt).unwrap();
        assert_eq!(written.matches("\"output\"").count(), 1, "{written}");
        assert!(written.contains("Fox"), "{written}");
    }

    #[test]
    fn a_run_is_known_by_its_id_or_by_its_urls() {
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
    fn terminal_is_the_payloads_word_then_the_statuss() {
        let payload = |json| serde_json::from_value::<RunStatusPayload>(json).unwrap();
        assert!(payload(json!({"terminal": true, "status": "paused"})).is_terminal());
        assert!(!payload(json!({"terminal": false, "status": "completed"})).is_terminal());
        assert!(payload(json!({"status": "skipped"})).is_terminal());
        assert!(!payload(json!({"status": "paused"})).is_terminal());
    }

    #[test]
    fn an_output_to_come_is_told_from_one_that_never_will() {
        let with = |status: &str, error: Value| {
            receipt(json!({"run_id": "r", "status": status, "output": null, "output_error": error}))
        };
        let harvest = |reason: &str| json!({"code": "output_extraction_failed", "details": {"reason": reason}});
        assert!(with("completed", harvest("harvest_unavailable")).is_settling());
        assert!(!with("failed", harvest("harvest_threw")).is_settling());
        let unfilled = with("completed", json!({"code": "output_schema_unsatisfied"}));
        assert!(unfilled.is_degraded() && !unfilled.is_settling());
        assert!(!with("completed", Value::Null).is_degraded());
    }

    #[test]
    fn details_are_read_as_far_as_they_fit() {
        let body: ErrorBody = serde_json::from_value(json!({
            "code": "output_schema_unsatisfied",
            "details": {
                "violations": [{"path": "/hero", "rule": "required", "message": "is missing"}],
                "rejected_urls": ["https://elsewhere.example/a.png"],
                "harvested": {"image": 2}, "retryable": "perhaps"
            }
        }))
        .unwrap();
        let details = body.run_details();
        assert_eq!(details.violations[0].path, "/hero");
        assert_eq!(details.harvested.unwrap()["image"], 2);
        assert_eq!((details.rejected_urls.len(), details.retryable), (1, None));
        assert_eq!(details.extra.get("retryable"), Some(&json!("perhaps")));
    }
}
