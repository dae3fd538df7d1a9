//! Jobs: what they are, how they stand, what they made.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::assumed::told;
use super::received::received;
use super::{ArtifactId, Assumed, ErrorBody, Extra, JobId, RequestId, RunId, Usd};
use crate::contract::{DeliveryStatus, JobStatus};
use crate::open_enum::open_enum;

open_enum! {
    /// What a job makes. `video_generation` is named by the specification; the others are assumed.
    pub enum JobType {
        /// An image.
        ImageGeneration = "image_generation",
        /// A video.
        VideoGeneration = "video_generation",
        /// A piece of music.
        MusicGeneration = "music_generation",
        /// An avatar.
        AvatarGeneration = "avatar_generation",
        /// A video that an avatar speaks in.
        AvatarVideoGeneration = "avatar_video_generation",
        /// An avatar's face in another video.
        AvatarFaceSwap = "avatar_face_swap",
        /// A preview of an avatar video.
        AvatarVideoPreview = "avatar_video_preview",
        /// The captions of a video.
        VideoCaptions = "video_captions",
    }
}

/// A job, as its envelope says it.
///
/// What is assumed, or not the job's own, is kept in `extra` where it comes in another shape: a
/// receipt of what was paid for is never unreadable for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(from = "JobBody")]
#[non_exhaustive]
pub struct Job {
    /// Identifies the job.
    pub id: JobId,
    /// Where it is in its life.
    pub status: JobStatus,
    /// What it makes.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub job_type: Option<JobType>,
    /// The model that makes it. Assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it made; present once completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<JobOutput>,
    /// Why it failed. Assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// What it costs; open surface. Assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_usd: Option<Usd>,
    /// The caller's own data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Extra>,
    /// When it was submitted (RFC 3339). Assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// When it last changed (RFC 3339). Assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// How its webhook fares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook_delivery: Option<WebhookDelivery>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A job as it is read.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct JobBody {
    id: JobId,
    status: JobStatus,
    #[serde(default, rename = "type", deserialize_with = "told")]
    job_type: Option<Assumed<JobType>>,
    #[serde(default, deserialize_with = "told")]
    model: Option<Assumed<String>>,
    #[serde(default, deserialize_with = "told")]
    result: Option<Option<JobOutput>>,
    #[serde(default, deserialize_with = "told")]
    error: Option<Assumed<ErrorBody>>,
    #[serde(default, deserialize_with = "told")]
    price_usd: Option<Assumed<Usd>>,
    #[serde(default, deserialize_with = "told")]
    metadata: Option<Assumed<Extra>>,
    #[serde(default, deserialize_with = "told")]
    created_at: Option<Assumed<String>>,
    #[serde(default, deserialize_with = "told")]
    updated_at: Option<Assumed<String>>,
    #[serde(default, deserialize_with = "told")]
    webhook_delivery: Option<Assumed<WebhookDelivery>>,
    #[serde(flatten)]
    extra: Extra,
}

impl From<JobBody> for Job {
    fn from(body: JobBody) -> Self {
        let mut extra = body.extra;
        Self {
            id: body.id,
            status: body.status,
            job_type: fitting("type", body.job_type, &mut extra),
            model: fitting("model", body.model, &mut extra),
            result: not_null("result", body.result, &mut extra),
            error: fitting("error", body.error, &mut extra),
            price_usd: fitting("price_usd", body.price_usd, &mut extra),
            metadata: fitting("metadata", body.metadata, &mut extra),
            created_at: fitting("created_at", body.created_at, &mut extra),
            updated_at: fitting("updated_at", body.updated_at, &mut extra),
            webhook_delivery: fitting("webhook_delivery", body.webhook_delivery, &mut extra),
            extra,
        }
    }
}

fn fitting<T>(name: &str, value: Option<Assumed<T>>, extra: &mut Extra) -> Option<T> {
    match value? {
        Assumed::Known(value) => Some(value),
        Assumed::Other(value) => {
            extra.insert(name.to_owned(), value);
            None
        }
    }
}

/// What is there; that it was null is kept.
fn not_null<T>(name: &str, value: Option<Option<T>>, extra: &mut Extra) -> Option<T> {
    if let Some(None) = value {
        extra.insert(name.to_owned(), Value::Null);
    }
    value?
}

/// A list; that it was null or empty is kept.
fn listed<T>(name: &str, value: Option<Option<Vec<T>>>, extra: &mut Extra) -> Vec<T> {
    let items = not_null(name, value, extra);
    if items.as_ref().is_some_and(Vec::is_empty) {
        extra.insert(name.to_owned(), Value::Array(Vec::new()));
    }
    items.unwrap_or_default()
}

/// The `result` of a completed job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(from = "OutputBody")]
#[non_exhaustive]
pub struct JobOutput {
    /// What was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An output as it is read.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct OutputBody {
    #[serde(default, deserialize_with = "told")]
    artifacts: Option<Option<Vec<Artifact>>>,
    #[serde(flatten)]
    extra: Extra,
}

impl From<OutputBody> for JobOutput {
    fn from(body: OutputBody) -> Self {
        let mut extra = body.extra;
        Self {
            artifacts: listed("artifacts", body.artifacts, &mut extra),
            extra,
        }
    }
}

/// A file that a job or run made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Artifact {
    /// Identifies the artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<ArtifactId>,
    /// Its public URL, on the service's media host.
    pub url: String,
    /// For example `image`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The same as `media_type`, in webhook payloads.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The MIME type, for example `image/png`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

received! {
    /// How a webhook delivery fares.
    #[derive(Default)]
    pub struct WebhookDelivery () {
        /// What became of it.
        status: maybe DeliveryStatus,
        /// Attempts so far. Assumed name.
        attempts: maybe u32,
        /// When the next attempt is due (RFC 3339).
        next_attempt_at: maybe String,
        /// The receiver's last answer.
        last_status_code: maybe u16,
        /// Why the last attempt failed.
        last_error: maybe String,
        /// The fingerprint of the newest signing secret.
        signing_secret_fingerprint: maybe String,
    }
}

received! {
    /// The answer to a redelivery. The specification shows no field: all are assumed.
    #[derive(Default)]
    pub struct Redelivery () {
        /// The job, where it is one.
        job_id: maybe JobId,
        /// The run, where it is one.
        run_id: maybe RunId,
        /// The event that is sent again.
        event: maybe String,
        /// How the delivery fares.
        webhook_delivery: maybe WebhookDelivery,
    }
}

/// The answer to a submit: what will be paid for, and where to ask for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(from = "ReceiptBody")]
#[non_exhaustive]
pub struct SubmitReceipt {
    /// The request that submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// The job.
    pub job: Job,
    /// Where to poll.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_url: Option<String>,
    /// Where the result will be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_url: Option<String>,
    /// Where to cancel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_url: Option<String>,
    /// Seconds until the first poll makes sense.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "super::seconds::serialize"
    )]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<f64>"))]
    pub next_poll_after_seconds: Option<f64>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A receipt as it is read.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct ReceiptBody {
    #[serde(default, deserialize_with = "told")]
    request_id: Option<Option<RequestId>>,
    job: Job,
    #[serde(default, deserialize_with = "told")]
    status_url: Option<Option<String>>,
    #[serde(default, deserialize_with = "told")]
    result_url: Option<Option<String>>,
    #[serde(default, deserialize_with = "told")]
    cancel_url: Option<Option<String>>,
    #[serde(default, deserialize_with = "told")]
    next_poll_after_seconds: Option<Option<f64>>,
    #[serde(flatten)]
    extra: Extra,
}

impl From<ReceiptBody> for SubmitReceipt {
    fn from(body: ReceiptBody) -> Self {
        const HINT: &str = "next_poll_after_seconds";

        let mut extra = body.extra;
        Self {
            request_id: not_null("request_id", body.request_id, &mut extra),
            job: body.job,
            status_url: not_null("status_url", body.status_url, &mut extra),
            result_url: not_null("result_url", body.result_url, &mut extra),
            cancel_url: not_null("cancel_url", body.cancel_url, &mut extra),
            next_poll_after_seconds: not_null(HINT, body.next_poll_after_seconds, &mut extra),
            extra,
        }
    }
}

/// The answer to a poll.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(from = "StatusBody")]
#[non_exhaustive]
pub struct StatusPayload {
    /// The job. Assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
    /// Where it is in its life. Assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<JobStatus>,
    /// Whether it will never change again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<bool>,
    /// Whether the result can be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_ready: Option<bool>,
    /// Seconds until the next poll makes sense.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "super::seconds::serialize"
    )]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<f64>"))]
    pub next_poll_after_seconds: Option<f64>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The answer to a poll as it is read.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct StatusBody {
    #[serde(default, deserialize_with = "told")]
    job_id: Option<Option<JobId>>,
    #[serde(default, deserialize_with = "told")]
    status: Option<Option<JobStatus>>,
    #[serde(default, deserialize_with = "told")]
    terminal: Option<Option<bool>>,
    #[serde(default, deserialize_with = "told")]
    result_ready: Option<Option<bool>>,
    #[serde(default, deserialize_with = "told")]
    next_poll_after_seconds: Option<Option<f64>>,
    #[serde(flatten)]
    extra: Extra,
}

impl From<StatusBody> for StatusPayload {
    fn from(body: StatusBody) -> Self {
        const HINT: &str = "next_poll_after_seconds";

        let mut extra = body.extra;
        Self {
            job_id: not_null("job_id", body.job_id, &mut extra),
            status: not_null("status", body.status, &mut extra),
            terminal: not_null("terminal", body.terminal, &mut extra),
            result_ready: not_null("result_ready", body.result_ready, &mut extra),
            next_poll_after_seconds: not_null(HINT, body.next_poll_after_seconds, &mut extra),
            extra,
        }
    }
}

impl StatusPayload {
    /// Whether the job will never change again: the payload's `terminal` decides; without it, a
    /// known terminal status does.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.terminal
            .unwrap_or_else(|| self.status.as_ref().is_some_and(JobStatus::is_terminal))
    }
}

/// What a terminal job came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(from = "ResultBody")]
#[non_exhaustive]
pub struct JobResult {
    /// The job; also read from `id`. Assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
    /// How it ended. Assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<JobStatus>,
    /// What it made, where the body says it at the top.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// What it made, where the body says it under `result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Assumed<JobOutput>>,
    /// Why it failed. Assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A result as it is read: it may name the job in either way, or in both.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct ResultBody {
    #[serde(default, deserialize_with = "told")]
    job_id: Option<Option<JobId>>,
    #[serde(default, deserialize_with = "told")]
    id: Option<Option<JobId>>,
    #[serde(default, deserialize_with = "told")]
    status: Option<Option<JobStatus>>,
    #[serde(default, deserialize_with = "told")]
    artifacts: Option<Option<Vec<Artifact>>>,
    #[serde(default, deserialize_with = "told")]
    result: Option<Assumed<JobOutput>>,
    #[serde(default, deserialize_with = "told")]
    error: Option<Assumed<ErrorBody>>,
    #[serde(flatten)]
    extra: Extra,
}

impl From<ResultBody> for JobResult {
    fn from(body: ResultBody) -> Self {
        let mut extra = body.extra;
        let id = not_null("id", body.id, &mut extra);
        let job_id = not_null("job_id", body.job_id, &mut extra);
        if let (Some(id), Some(_)) = (&id, &job_id) {
            extra.insert("id".to_owned(), id.as_str().into());
        }
        Self {
            job_id: job_id.or(id),
            status: not_null("status", body.status, &mut extra),
            artifacts: listed("artifacts", body.artifacts, &mut extra),
            result: match body.result {
                Some(Assumed::Other(Value::Null)) => {
                    extra.insert("result".to_owned(), Value::Null);
                    None
                }
                result => result,
            },
            error: fitting("error", body.error, &mut extra),
            extra,
        }
    }
}

impl JobResult {
    /// What the job made, wherever the body says it.
    #[must_use]
    pub fn artifacts(&self) -> &[Artifact] {
        match self.result.as_ref().and_then(Assumed::known) {
            Some(output) if self.artifacts.is_empty() => &output.artifacts,
            _ => &self.artifacts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_is_the_payloads_word_then_the_statuss() {
        let payload = |json: &str| serde_json::from_str::<StatusPayload>(json).unwrap();
        assert!(payload(r#"{"terminal": true, "status": "archived"}"#).is_terminal());
        assert!(!payload(r#"{"terminal": false, "status": "completed"}"#).is_terminal());
        assert!(payload(r#"{"status": "canceled"}"#).is_terminal());
        assert!(!payload(r#"{"status": "archived"}"#).is_terminal());
        assert!(!payload("{}").is_terminal());
    }

    #[test]
    fn artifacts_are_found_in_both_places() {
        let top: JobResult =
            serde_json::from_str(r#"{"artifacts": [{"url": "https://m/a"}]}"#).unwrap();
        let nested: JobResult = serde_json::from_str(
            r#"{"id": "job_1", "result": {"artifacts": [{"url": "https://m/a"}]}}"#,
        )
        .unwrap();
        assert_eq!(top.artifacts(), nested.artifacts());
        assert_eq!(nested.job_id, Some("job_1".into()));
    }

    #[test]
    fn a_result_may_name_its_job_twice() {
        let json = serde_json::json!({"id": "job_1", "job_id": "job_1", "status": "completed"});
        let result: JobResult = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(result.job_id, Some("job_1".into()));
        assert_eq!(serde_json::to_value(&result).unwrap(), json);
    }

    #[test]
    fn no_artifacts_may_be_written_as_null() {
        let json = r#"{"artifacts": null, "result": {"artifacts": null}, "error": null}"#;
        let result: JobResult = serde_json::from_str(json).unwrap();
        assert!(result.artifacts().is_empty());
        let json = r#"{"id": "job_1", "status": "queued", "result": {"artifacts": null}}"#;
        assert!(serde_json::from_str::<Job>(json).is_ok());
    }

    #[test]
    fn a_job_is_read_whatever_shape_the_assumed_has() {
        let json = serde_json::json!({
            "id": "job_1", "status": "queued", "type": ["video"], "model": {"id": "m"},
            "error": "none", "price_usd": 0.28900000000000003, "metadata": [],
            "created_at": 1_700_000_000, "updated_at": 7, "webhook_delivery": "off"
        });
        let job: Job = serde_json::from_value(json.clone()).unwrap();
        assert_eq!((job.price_usd, job.created_at.as_ref()), (None, None));
        assert_eq!(serde_json::to_value(&job).unwrap(), json);
    }

    #[test]
    fn what_is_null_or_empty_comes_back_as_it_was() {
        for json in [
            serde_json::json!({
                "id": "job_1", "status": "queued", "type": null, "model": null, "result": null,
                "error": null, "price_usd": null, "metadata": null, "created_at": null,
                "updated_at": null, "webhook_delivery": null
            }),
            serde_json::json!({"id": "job_1", "status": "completed", "result": {"artifacts": null}}),
            serde_json::json!({"id": "job_1", "status": "completed", "result": {"artifacts": []}}),
            serde_json::json!({"id": "job_1", "status": "completed", "result": {}}),
            serde_json::json!({"id": "job_1", "status": "failed", "webhook_delivery": {
                "status": "retrying", "last_status_code": null, "attempts": "three"}}),
        ] {
            let job: Job = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(serde_json::to_value(&job).unwrap(), json);
        }
        for json in [
            serde_json::json!({"job_id": null, "status": null, "artifacts": null, "result": null, "error": null}),
            serde_json::json!({"id": null, "artifacts": []}),
            serde_json::json!({"job_id": "job_1", "id": null}),
        ] {
            let result: JobResult = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(serde_json::to_value(&result).unwrap(), json);
        }
        let json = serde_json::json!({
            "job_id": null, "status": "completed", "terminal": true, "result_ready": null,
            "next_poll_after_seconds": null
        });
        let payload: StatusPayload = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&payload).unwrap(), json);
    }

    #[test]
    fn what_is_unknown_is_written_back_unchanged() {
        let json = serde_json::json!({
            "id": "job_1", "status": "archived", "type": "hologram_generation", "lane": {"n": 7},
            "result": {"artifacts": [{"url": "https://m/a", "frames": 3}], "seed": 4}
        });
        let job: Job = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&job).unwrap(), json);
    }
}
