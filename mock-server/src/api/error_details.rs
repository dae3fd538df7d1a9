//! The `details` that the specification defines for an error code: those of failed jobs and runs, and
//! examples for errors that a directive or a fault rule requests.

use std::time::Duration;

use serde_json::{Value, json};
use svc_sdk::contract::limits::{MAX_ATTACHMENT_IMAGE_BYTES, MAX_REQUEST_BODY_BYTES};
use svc_sdk::contract::{ErrorCode, JobStatus, Operation, Plan, RateLimitBucket, RunStatus};
use svc_sdk::types::Usd;

use super::api_error::ApiError;
use crate::engine::directives::Refusal;
use crate::engine::output_schema::Violation;
use crate::engine::runs::GenerationJob;
use crate::engine::{Hosts, PlanLimits};

/// The job or run that failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ErrorContext {
    /// The number of images that were generated.
    pub(super) images: usize,
    /// The URLs of the output that are not files of the run.
    pub(super) rejected_urls: Vec<String>,
    pub(super) violations: Vec<Violation>,
    /// The generation jobs that are unfinished, as they are shown.
    pub(super) pending_jobs: Vec<Value>,
}

impl ErrorContext {
    pub(super) fn for_job(id: &str) -> Self {
        // The job itself is what the service waited for in vain.
        let job = GenerationJob::view_of(id, &JobStatus::Processing);
        Self { pending_jobs: vec![job], ..Self::default() }
    }
}

pub(super) fn details(code: &ErrorCode, context: &ErrorContext) -> Option<Value> {
    Some(match code {
        ErrorCode::OutputSchemaUnsatisfied => {
            let harvested = match context.images {
                0 => json!({}),
                images => json!({"image": images}),
            };
            match context.rejected_urls.is_empty() {
                true => json!({"violations": context.violations, "harvested": harvested}),
                false => json!({"rejected_urls": context.rejected_urls, "harvested": harvested}),
            }
        }
        ErrorCode::AgentReportedFailure => {
            json!({"reason": "failure requested by a directive"})
        }
        ErrorCode::IncompleteAssembly => {
            let jobs = &context.pending_jobs;
            json!({"pending_job_count": jobs.len(), "pending_jobs": jobs})
        }
        ErrorCode::OutputExtractionFailed => json!({"reason": "harvest_threw"}),
        ErrorCode::McpUnavailable => json!({"retryable": true, "charged": false}),
        ErrorCode::ProviderUnavailable => json!({"retryable": true}),
        _ => return None,
    })
}

/// How long to wait before a retryable request is repeated.
const RETRY_AFTER: Duration = Duration::from_secs(1);

pub(super) fn requested_error(refusal: &Refusal, hosts: &Hosts) -> ApiError {
    let Refusal { code, status } = refusal;
    let message = format!("error requested by a directive: {code}");
    let error = with_details(ApiError::new(code.clone(), message), code, None);
    let error = match status {
        Some(status) => error.with_status(*status),
        None => error,
    };
    if is_retryable(code) { error.retry_after(hosts.client_time(RETRY_AFTER)) } else { error }
}

/// Returns the error that a fault rule injects. `wait` is the wait that the rule requests.
pub(super) fn injected_error(
    code: &ErrorCode,
    operation: Option<Operation>,
    wait: Option<Duration>,
) -> ApiError {
    let message = format!("error injected by a fault rule: {code}");
    let error = with_details(ApiError::new(code.clone(), message), code, operation);
    match wait.or_else(|| is_retryable(code).then_some(RETRY_AFTER)) {
        Some(wait) => error.retry_after(wait),
        None => error,
    }
}

fn is_retryable(code: &ErrorCode) -> bool {
    code.defaults().is_some_and(|entry| entry.retryable)
}

/// Adds the details that the specification gives for a code, with example values.
fn with_details(error: ApiError, code: &ErrorCode, operation: Option<Operation>) -> ApiError {
    let details = example_details(code, operation);
    details.into_iter().fold(error, |error, (name, value)| error.detail(name, value))
}

fn example_details(code: &ErrorCode, operation: Option<Operation>) -> Vec<(&'static str, Value)> {
    let bucket = operation.map_or(RateLimitBucket::Write, Operation::rate_limit_bucket);
    match code {
        ErrorCode::InvalidRequest => {
            let field = match bucket {
                RateLimitBucket::Read => "limit",
                _ => "body",
            };
            vec![("field", json!(field))]
        }
        ErrorCode::InvalidAmount => vec![("field", json!("amount_usd_cents"))],
        ErrorCode::InsufficientFunds | ErrorCode::InsufficientCredits => vec![
            ("required_usd", json!(Usd::from_micros(125_000))),
            ("available_usd", json!(Usd::ZERO)),
        ],
        ErrorCode::InsufficientScope => {
            let scope = operation.and_then(Operation::scope);
            scope.map(|scope| ("required_scope", json!(scope))).into_iter().collect()
        }
        ErrorCode::RateLimited => vec![("scope", json!(bucket.as_str()))],
        ErrorCode::ConcurrencyLimitReached => {
            vec![("limit", json!(PlanLimits::default().concurrent_jobs(&Plan::Free)))]
        }
        ErrorCode::JobNotCompleted | ErrorCode::JobNotTerminal => {
            vec![("status", json!(JobStatus::Processing))]
        }
        ErrorCode::RunNotCompleted | ErrorCode::RunNotTerminal => {
            vec![("status", json!(RunStatus::Running))]
        }
        ErrorCode::PreviousRunNotTerminal => {
            vec![("previous_run_status", json!(RunStatus::Running))]
        }
        ErrorCode::PreviousRunNotResumable => vec![
            ("previous_run_status", json!(RunStatus::Failed)),
            ("has_thread", json!(false)),
            ("artifact_count", json!(0)),
        ],
        ErrorCode::UnknownParameter => {
            let message = "`prompt` is not a field: did you mean `instruction`?";
            let error = json!({"field": "prompt", "message": message, "suggestion": "instruction"});
            vec![("errors", json!([error]))]
        }
        ErrorCode::OutputSchemaInvalid => {
            let message = "the root's `type` must be \"object\"";
            let violation = json!({"path": "", "rule": "root_not_object", "message": message});
            vec![("violations", json!([violation]))]
        }
        ErrorCode::PayloadTooLarge => vec![("limit_bytes", json!(MAX_REQUEST_BODY_BYTES))],
        ErrorCode::AttachmentTooLarge => vec![("limit_bytes", json!(MAX_ATTACHMENT_IMAGE_BYTES))],
        ErrorCode::UnsupportedMediaType => vec![("received_content_type", json!("text/plain"))],
        ErrorCode::InvalidAttachment
        | ErrorCode::AttachmentNotFound
        | ErrorCode::AttachmentFetchFailed => vec![("index", json!(0))],
        _ => Vec::new(),
    }
}
