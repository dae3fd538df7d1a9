//! Errors that a directive or a fault rule requests, with example details.

use std::time::Duration;

use serde_json::{Value, json};
use svc_sdk::contract::limits::{MAX_ATTACHMENT_IMAGE_BYTES, MAX_REQUEST_BODY_BYTES};
use svc_sdk::contract::{ErrorCode, JobStatus, Operation, Plan, RateLimitBucket, RunStatus};
use svc_sdk::types::Usd;

use super::api_error::ApiError;
use crate::engine::directives::Refusal;
use crate::engine::{Hosts, PlanLimits};

/// How long to wait before a retryable request is repeated.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Returns the error that a directive requests.
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
