//! Webhook events, and the administration of the signing secret.
//!
//! Verify the signature of a delivery before reading its event, for example with
//! `svc-webhook-verify`: `webhook.event_as::<WebhookEvent>()`.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::request::request_body;
use super::response::response_body;
use super::validation::webhook_url;
use super::{
    Artifact, ErrorBody, InvalidField, JobId, RequestId, RunId, RunReceipt, Timestamp, Validate,
};
use crate::contract::{DeliveryStatus, JobStatus};
use crate::open_enum::open_enum;

open_enum! {
    /// The type of a webhook event.
    pub enum WebhookEventType {
        /// A job completed.
        JobCompleted = "job.completed",
        /// A job failed.
        JobFailed = "job.failed",
        /// A job was canceled.
        JobCanceled = "job.canceled",
        /// A run of an Action ended.
        ActionRunTerminal = "action.run.terminal",
        /// A run of a Format ended.
        FormatRunTerminal = "format.run.terminal",
        /// An Agent Completion ended.
        AgentRunTerminal = "agent.run.terminal",
        /// A test delivery, which belongs to no job or run.
        WebhookTest = "webhook.test",
    }
}

open_enum! {
    /// The status of a webhook event.
    pub enum WebhookEventStatus {
        /// The job or run completed.
        Ok = "OK",
        /// The job or run failed or was canceled.
        Error = "ERROR",
    }
}

open_enum! {
    /// The outcome of a run in its webhook event. `error` and `degraded` are named by the
    /// specification; the others are assumed.
    pub enum RunOutcome {
        /// The run completed.
        Success = "success",
        /// The run completed with media but without an output that matches its schema.
        Degraded = "degraded",
        /// The run failed.
        Error = "error",
        /// The run was skipped.
        Skipped = "skipped",
        /// The run was canceled.
        Canceled = "canceled",
    }
}

response_body! {
    /// The body of a webhook delivery. Route on `event`, and answer unknown events with 204.
    ///
    /// ```
    /// use svc_sdk::types::{WebhookEvent, WebhookEventType};
    ///
    /// let body = br#"{"event": "job.completed", "job_id": "job_1", "status": "OK",
    ///     "payload": {"artifacts": [{"url": "https://media.example/fox.png", "type": "image"}]}}"#;
    /// let event: WebhookEvent = serde_json::from_slice(body)?;
    /// match event.event {
    ///     WebhookEventType::JobCompleted => assert_eq!(event.artifacts().len(), 1),
    ///     WebhookEventType::FormatRunTerminal => println!("{:?}", event.run_receipt()),
    ///     _ => {}
    /// }
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct WebhookEvent {
        /// The type of the event.
        required event: WebhookEventType,
        /// The request that started the job or run.
        optional request_id: RequestId,
        /// The job, if the event is about one.
        optional job_id: JobId,
        /// The run, if the body has it here; see [`run_id`](Self::run_id). Assumed.
        optional run_id: RunId,
        /// Whether the job or run completed.
        optional status: WebhookEventStatus,
        /// The outcome of the run.
        optional outcome: RunOutcome,
        /// The artifacts of a job or the receipt of a run. Null if the receipt exceeds 1 MiB.
        optional payload: Value,
        /// Why the job or run failed, or `payload_too_large` if the receipt exceeds 1 MiB.
        optional error: ErrorBody,
        /// When the event was created. Assumed.
        optional created_at: Timestamp,
    }
}

impl WebhookEvent {
    /// Returns the artifacts of the job or run.
    #[must_use]
    pub fn artifacts(&self) -> Vec<Artifact> {
        let artifacts = self.payload.as_ref().and_then(|it| it.get("artifacts"));
        let artifacts = artifacts.and_then(Value::as_array).into_iter().flatten();
        artifacts.filter_map(|artifact| Artifact::deserialize(artifact).ok()).collect()
    }

    /// Returns the receipt of the run, or `None` if the event is not about a run or the receipt
    /// exceeds 1 MiB.
    #[must_use]
    pub fn run_receipt(&self) -> Option<RunReceipt> {
        let receipt = RunReceipt::deserialize(self.payload.as_ref()?).ok();
        // The payload of another event has no status.
        receipt.filter(|receipt| !receipt.status.as_str().is_empty())
    }

    /// Returns the run's identifier, from the body, the receipt or the receipt's URL.
    #[must_use]
    pub fn run_id(&self) -> Option<RunId> {
        let in_receipt = || RunReceipt::id_in(self.payload.as_ref()?);
        let in_url = || {
            let urls = Value::from_iter([("result_url", self.result_url()?)]);
            RunReceipt::id_in(&urls)
        };
        self.run_id.clone().or_else(in_receipt).or_else(in_url)
    }

    /// Returns the URL of a receipt that exceeds 1 MiB.
    #[must_use]
    pub fn result_url(&self) -> Option<String> {
        self.error.as_ref()?.extra.get_as("result_url")
    }

    /// Returns the terminal status of the job that the event is about.
    #[must_use]
    pub fn job_status(&self) -> Option<JobStatus> {
        match self.event {
            WebhookEventType::JobCompleted => Some(JobStatus::Completed),
            WebhookEventType::JobFailed => Some(JobStatus::Failed),
            WebhookEventType::JobCanceled => Some(JobStatus::Canceled),
            _ => None,
        }
    }
}

response_body! {
    redacted
    /// The signing secret of the workspace. The fields other than `secret`, `fingerprint` and
    /// `rotation` are assumed.
    #[derive(Default)]
    pub struct SigningSecret {
        /// The newest secret.
        optional secret: SecretString,
        /// The fingerprint of the secret, also sent with each delivery. It is safe to share.
        optional fingerprint: String,
        /// When the secret was created.
        optional created_at: Timestamp,
        /// The current or last rotation.
        optional rotation: SecretRotation,
    }
}

response_body! {
    redacted
    /// A rotation of the signing secret.
    #[derive(Default)]
    pub struct SecretRotation {
        /// When deliveries stop being signed with the previous secret as well.
        optional previous_valid_until: Timestamp,
        /// The fingerprint of the previous secret. Assumed.
        optional previous_fingerprint: String,
    }
}

/// The text of a signing secret. `Debug` is redacted, and `Display` is not implemented.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SecretString(String);

impl SecretString {
    /// Returns the secret. Do not log it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretString(…)")
    }
}

request_body! {
    /// The body of a test delivery.
    pub struct TestDeliveryCreate (
        /// The URL that receives the test event: public HTTPS, at most 2048 characters.
        url: text,
    ) {}
}

impl Validate for TestDeliveryCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        webhook_url(Some(&self.url))
            .map_err(|field| InvalidField::new("url", field.reason().to_owned()))
    }
}

response_body! {
    /// The response to a test delivery. The specification shows no field: all are assumed.
    #[derive(Default)]
    pub struct TestDelivery {
        /// The delivery's identifier.
        optional delivery_id: String,
        /// The type of the event, `webhook.test`.
        optional event: WebhookEventType,
        /// The URL that receives the event.
        optional url: String,
        /// The status of the delivery.
        optional status: DeliveryStatus,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(json: Value) -> WebhookEvent {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn unknown_events_are_read() {
        let json = json!({"event": "job.paused", "job_id": 7, "payload": null, "lane": {"n": 1}});
        let event = event(json);
        assert_eq!(event.event, WebhookEventType::Other("job.paused".into()));
        assert_eq!((event.job_id.as_ref(), event.run_id()), (None, None));
    }

    #[test]
    fn run_id_is_read_from_body_receipt_and_urls() {
        let rows = [
            json!({"event": "agent.run.terminal", "run_id": "run_1"}),
            json!({"event": "agent.run.terminal", "payload": {"run_id": "run_1", "status": "failed"}}),
            json!({"event": "agent.run.terminal", "payload": {"id": "run_1"}}),
            json!({"event": "agent.run.terminal", "payload": {
                "status": "failed", "status_url": "https://a-runs/format-runs/v1/agent-runs/run_1/status"}}),
            json!({"event": "format.run.terminal", "payload": null, "error": {
                "code": "payload_too_large",
                "result_url": "https://api.example/v1/format-runs/run_1/result"}}),
        ];
        for row in rows {
            assert_eq!(event(row.clone()).run_id(), Some("run_1".into()), "{row}");
        }
    }

    #[test]
    fn unreadable_artifacts_do_not_hide_others() {
        let event = event(json!({"event": "job.completed", "payload": {"artifacts": [
            "art_0", {"id": "art_1", "url": null}, {"id": "art_2", "url": "https://m/a.png"}]}}));
        assert_eq!(event.artifacts().len(), 2);
    }

    #[test]
    fn debug_output_redacts_secrets() {
        for json in [
            json!({"secret": "canary", "rotation": {"previous_valid_until": null}}),
            json!({"signing_secret": "canary"}),
            json!({"secret": {"value": "canary"}}),
            json!({"rotation": {"previous_secret": "canary"}}),
            json!({"rotation": "canary"}),
        ] {
            let secret: SigningSecret = serde_json::from_value(json.clone()).unwrap();
            assert!(!format!("{secret:?}").contains("canary"), "{secret:?}");
            assert_eq!(serde_json::to_value(&secret).unwrap(), json);
        }
    }
}
