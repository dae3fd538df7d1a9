//! Webhook events as a receiver reads them, and the administration of their signing secret.
//!
//! Verify a delivery before it is read: `svc-webhook-verify` does that.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::invalid::webhook_url;
use super::received::received;
use super::{Artifact, ErrorBody, InvalidField, JobId, RequestId, RunId, RunReceipt, Validate};
use crate::contract::{DeliveryStatus, JobStatus};
use crate::open_enum::open_enum;

open_enum! {
    /// What a webhook tells.
    pub enum WebhookEventType {
        /// A job completed, and its result exists.
        JobCompleted = "job.completed",
        /// A job failed.
        JobFailed = "job.failed",
        /// A job was canceled.
        JobCanceled = "job.canceled",
        /// A run of an Action ended.
        ActionRunTerminal = "action.run.terminal",
        /// A run of a Format ended.
        FormatRunTerminal = "format.run.terminal",
        /// A run of an Agent Completion ended.
        AgentRunTerminal = "agent.run.terminal",
        /// A test delivery; about no job and no run.
        WebhookTest = "webhook.test",
    }
}

open_enum! {
    /// Whether what a webhook is about ended well.
    pub enum WebhookStatus {
        /// It did.
        Ok = "OK",
        /// It failed or was canceled.
        Error = "ERROR",
    }
}

open_enum! {
    /// How a run ended, as its webhook says. `error` and `degraded` are named by the specification;
    /// the others are assumed.
    pub enum RunOutcome {
        /// It completed.
        Success = "success",
        /// It completed and could not fill its schema: media, and no output.
        Degraded = "degraded",
        /// It failed.
        Error = "error",
        /// It was skipped.
        Skipped = "skipped",
        /// It was canceled.
        Canceled = "canceled",
    }
}

received! {
    /// A webhook's body. Route on `event`; one that this build does not know is a value like any
    /// other, and is answered with 204.
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
    pub struct WebhookEvent (
        /// What it tells.
        event: WebhookEventType,
    ) {
        /// The request that started what it is about.
        request_id: maybe RequestId,
        /// The job, where it is about one.
        job_id: maybe JobId,
        /// The run, where the body names it here; see [`run_id`](Self::run_id). Assumed.
        run_id: maybe RunId,
        /// Whether it ended well.
        status: maybe WebhookStatus,
        /// How a run ended.
        outcome: maybe RunOutcome,
        /// What a job made, or a run's receipt. None where that exceeds 1 MiB.
        payload: maybe Value,
        /// Why it failed, or that the receipt is too large to be sent along.
        error: maybe ErrorBody,
        /// When it was made (RFC 3339). Assumed.
        created_at: maybe String,
    }
}

impl WebhookEvent {
    /// What was made, of a job or a run.
    #[must_use]
    pub fn artifacts(&self) -> Vec<Artifact> {
        let artifacts = self.payload.as_ref().and_then(|it| it.get("artifacts"));
        let artifacts = artifacts.and_then(Value::as_array).into_iter().flatten();
        artifacts
            .filter_map(|artifact| Artifact::deserialize(artifact).ok())
            .collect()
    }

    /// The receipt of the run; none where it is too large to be sent along, or of another shape.
    #[must_use]
    pub fn run_receipt(&self) -> Option<RunReceipt> {
        RunReceipt::deserialize(self.payload.as_ref()?).ok()
    }

    /// The run that it is about, wherever the body says so: in itself, in the receipt, or in the URL
    /// of a receipt that was too large.
    #[must_use]
    pub fn run_id(&self) -> Option<RunId> {
        let in_receipt = || RunReceipt::id_in(self.payload.as_ref()?);
        let in_url = || {
            let urls = Value::from_iter([("result_url", self.result_url()?)]);
            RunReceipt::id_in(&urls)
        };
        self.run_id.clone().or_else(in_receipt).or_else(in_url)
    }

    /// Where the receipt is to be fetched that was too large to be sent along.
    #[must_use]
    pub fn result_url(&self) -> Option<String> {
        self.error.as_ref()?.extra.field("result_url")
    }

    /// How the job ended that it is about.
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

received! {
    redacted
    /// The workspace's signing secret. The fields but `secret`, `fingerprint` and `rotation` are
    /// assumed.
    #[derive(Default)]
    pub struct SigningSecret () {
        /// The newest secret.
        secret: maybe SecretText,
        /// Its fingerprint, which each delivery carries; safe to share.
        fingerprint: maybe String,
        /// When it was made (RFC 3339).
        created_at: maybe String,
        /// The rotation that is going on, or was the last.
        rotation: maybe SecretRotation,
    }
}

received! {
    redacted
    /// A rotation of the signing secret.
    #[derive(Default)]
    pub struct SecretRotation () {
        /// Until when deliveries are signed with the previous secret too (RFC 3339).
        previous_valid_until: maybe String,
        /// The previous secret's fingerprint. Assumed.
        previous_fingerprint: maybe String,
    }
}

/// A signing secret as it came: redacted in `Debug`, and without `Display`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    /// The secret itself, for storing it; do not log it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(…)")
    }
}

/// The body of a test delivery.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TestDeliveryCreate {
    /// Where a dummy event goes: public HTTPS.
    pub url: String,
    /// Any other field.
    #[serde(flatten)]
    pub extra: super::Extra,
}

impl TestDeliveryCreate {
    /// A test delivery to that URL.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            extra: super::Extra::default(),
        }
    }
}

impl Validate for TestDeliveryCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        webhook_url(Some(&self.url))
            .map_err(|field| InvalidField::new("url", field.reason().to_owned()))
    }
}

received! {
    /// The answer to a test delivery. The specification shows no field: all are assumed.
    #[derive(Default)]
    pub struct TestDelivery () {
        /// Identifies the delivery.
        delivery_id: maybe String,
        /// The event that is sent: `webhook.test`.
        event: maybe WebhookEventType,
        /// Where it goes.
        url: maybe String,
        /// What became of it.
        status: maybe DeliveryStatus,
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
    fn an_event_of_tomorrow_is_a_value_and_comes_back_unchanged() {
        let json = json!({"event": "job.paused", "job_id": 7, "payload": null, "lane": {"n": 1}});
        let event = event(json.clone());
        assert_eq!(event.event, WebhookEventType::Other("job.paused".into()));
        assert_eq!((event.job_id.as_ref(), event.run_id()), (None, None));
        assert_eq!(serde_json::to_value(event).unwrap(), json);
        assert!(serde_json::from_value::<WebhookEvent>(json!({"status": "OK"})).is_err());
    }

    #[test]
    fn the_run_is_found_wherever_the_body_names_it() {
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
    fn an_artifact_of_another_shape_hides_no_other() {
        let event = event(json!({"event": "job.completed", "payload": {"artifacts": [
            {"id": "art_1", "url": null}, {"id": "art_2", "url": "https://m/a.png"}]}}));
        assert_eq!(event.artifacts().len(), 1);
    }

    #[test]
    fn a_signing_secret_is_not_shown() {
        let json = json!({"secret": "canary", "rotation": {"previous_valid_until": null}});
        let secret: SigningSecret = serde_json::from_value(json.clone()).unwrap();
        assert!(!format!("{secret:?}").contains("canary"));
        for elsewhere in [
            json!({"signing_secret": "canary"}),
            json!({"secret": {"value": "canary"}}),
            json!({"rotation": {"previous_secret": "canary"}}),
            json!({"rotation": "canary"}),
        ] {
            let secret: SigningSecret = serde_json::from_value(elsewhere.clone()).unwrap();
            assert!(!format!("{secret:?}").contains("canary"), "{secret:?}");
            assert_eq!(serde_json::to_value(&secret).unwrap(), elsewhere);
        }
        assert_eq!(serde_json::to_value(&secret).unwrap(), json);
    }
}
