//! The error codes of each operation.
//!
//! Most codes follow from the operation's path, credential, scope, method and retry class. The others are
//! listed here.

use svc_sdk::contract::{ErrorCode, Method, Operation, RetryClass, Surface};

use crate::parameters;

/// What a path that begins so names, and the code of the error that it does not exist.
const NOT_FOUND: [(&str, ErrorCode); 13] = [
    ("/v1/image-router/models/{", ErrorCode::ModelNotFound),
    ("/v1/video-router/models/{", ErrorCode::ModelNotFound),
    ("/v1/open/catalog/{", ErrorCode::ModelNotFound),
    // The compatibility aliases.
    ("/v1/models/{", ErrorCode::ModelNotFound),
    ("/v1/jobs/{", ErrorCode::JobNotFound),
    ("/v1/open/top-ups/{", ErrorCode::TopUpNotFound),
    ("/v1/actions/{", ErrorCode::ActionNotFound),
    ("/v1/actions/{action_id}/runs/{", ErrorCode::ActionRunNotFound),
    ("/v1/action-runs/{", ErrorCode::ActionRunNotFound),
    ("/v1/formats/{", ErrorCode::FormatNotFound),
    ("/v1/format-run-queues/{", ErrorCode::FormatRunQueueNotFound),
    ("/v1/format-runs/{", ErrorCode::FormatRunNotFound),
    ("/v1/agent-runs/{", ErrorCode::AgentRunNotFound),
];

/// The codes of starting a run, whatever runs.
const RUN_CREATE: [ErrorCode; 5] = [
    ErrorCode::UnknownParameter,
    ErrorCode::InsufficientCredits,
    ErrorCode::OrganizationWalletNotProvisioned,
    ErrorCode::IdempotencyKeyInUse,
    ErrorCode::FormatRunFailedToStart,
];

/// The codes of starting a run with attachments and an output schema.
const RUN_WITH_FILES_CREATE: [ErrorCode; 5] = [
    ErrorCode::OutputSchemaInvalid,
    ErrorCode::InvalidAttachment,
    ErrorCode::AttachmentNotFound,
    ErrorCode::AttachmentTooLarge,
    ErrorCode::AttachmentFetchFailed,
];

/// Returns the error codes that an operation can respond with, in the order of [`ErrorCode::KNOWN`].
///
/// The service may respond with other codes as well.
///
/// ```
/// use svc_sdk::contract::{ErrorCode, Operation};
///
/// let codes = svc_openapi::error_codes(Operation::JobsCancel);
/// assert!(codes.contains(&ErrorCode::JobGenerationAlreadyStarted));
/// assert!(!codes.contains(&ErrorCode::InsufficientFunds));
/// ```
#[must_use]
pub fn error_codes(operation: Operation) -> Vec<ErrorCode> {
    let mut specific = specific_codes(operation).to_vec();
    if is_run(operation) && operation.name().ends_with("_create") {
        specific.extend(RUN_CREATE);
        // An Action has them already.
        if operation != Operation::ActionsRunsCreate {
            specific.extend(RUN_WITH_FILES_CREATE);
        }
    }
    let not_found = NOT_FOUND.into_iter().filter(|(start, _)| operation.path().starts_with(start));
    specific.extend(not_found.map(|(_, code)| code));
    let known = ErrorCode::KNOWN.iter();
    known.filter(|code| is_general(operation, code) || specific.contains(code)).cloned().collect()
}

/// Returns whether the operation is about Actions, Formats and agents, and their runs.
fn is_run(operation: Operation) -> bool {
    let scope = operation.scope();
    let scope = scope.as_ref().and_then(|scope| scope.as_str().split(':').next());
    matches!(scope, Some("actions" | "formats" | "agent_completions"))
}

/// Returns whether the code follows from the operation's attributes.
fn is_general(operation: Operation, code: &ErrorCode) -> bool {
    let is_write = operation.method() == Method::Post;
    let has_key = matches!(operation.retry(), RetryClass::Key | RetryClass::Unsent);
    let submits_developer_job =
        has_key && operation.surface() == Surface::Developer && operation.scope().is_none();
    match code {
        // Public routes answer `unauthorized` to a request with two credentials.
        ErrorCode::Unauthorized | ErrorCode::RateLimited | ErrorCode::DatabaseBusy => true,
        // For requests to the other host, and for empty path segments.
        ErrorCode::NotFound => {
            operation.surface() != Surface::Both || operation.placeholders().next().is_some()
        }
        ErrorCode::InsufficientScope => operation.scope().is_some(),
        ErrorCode::InvalidRequest => is_write || parameters::has_query(operation),
        ErrorCode::PayloadTooLarge | ErrorCode::UnsupportedMediaType => is_write,
        ErrorCode::IdempotencyConflict => has_key,
        ErrorCode::InsufficientCredits | ErrorCode::ConcurrencyLimitReached => {
            submits_developer_job
        }
        ErrorCode::StudioAgentUpstreamUnavailable => is_run(operation),
        _ => false,
    }
}

/// Returns the codes that do not follow from the operation's attributes and its path.
fn specific_codes(operation: Operation) -> &'static [ErrorCode] {
    use ErrorCode as Code;
    use Operation as Op;

    match operation {
        Op::ImageGenerate | Op::VideoGenerate => {
            &[Code::InsufficientFunds, Code::ConcurrencyLimitReached]
        }
        Op::JobsResult | Op::AvatarPreviewsRegenerate | Op::AvatarPreviewsGenerateVideo => {
            &[Code::JobNotCompleted]
        }
        Op::JobsCancel => &[Code::JobGenerationAlreadyStarted],
        Op::JobsWebhookRedeliver => &[Code::WebhookNotConfigured, Code::JobNotTerminal],
        Op::TopUpsCreate => &[
            Code::InvalidAmount,
            Code::OpenKeyRequired,
            Code::StripeError,
            Code::StripeNotConfigured,
        ],
        Op::TopUpsGet => &[Code::OpenKeyRequired],
        Op::ActionsRunsCreate => &[Code::ActionApiTriggerDisabled],
        Op::FormatsRunsCreate
        | Op::FormatsBySlugRunsCreate
        | Op::FormatsBulkCreate
        | Op::FormatsBySlugBulkCreate => &[
            Code::PreviousRunFormatMismatch,
            Code::PreviousRunNotResumable,
            Code::WorkspaceKeyRequired,
            Code::PreviousRunNotFound,
            Code::FormatInactive,
            Code::FormatApiTriggerDisabled,
            Code::FormatRunInProgress,
            Code::FormatNotForkable,
            Code::PreviousRunNotTerminal,
        ],
        Op::ActionRunsResult | Op::FormatRunsResult | Op::AgentRunsResult => {
            &[Code::RunNotCompleted]
        }
        Op::FormatRunsWebhookRedeliver => &[Code::WebhookNotConfigured, Code::RunNotTerminal],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_with_a_status_belongs_to_an_operation() {
        for code in ErrorCode::KNOWN {
            let has_status = code.defaults().unwrap().status.is_some();
            // A request with the wrong method addresses no operation.
            let expected = has_status && *code != ErrorCode::MethodNotAllowed;
            let answered = Operation::ALL.iter().any(|op| error_codes(*op).contains(code));
            assert_eq!(answered, expected, "{code}");
        }
    }

    #[test]
    fn codes_match_the_specification() {
        let has = |operation: Operation, code| error_codes(operation).contains(&code);
        assert!(has(Operation::TopUpsGet, ErrorCode::OpenKeyRequired));
        assert!(has(Operation::FormatsGet, ErrorCode::InsufficientScope));
        assert!(has(Operation::Health, ErrorCode::Unauthorized));
        assert!(has(Operation::VideoGenerate, ErrorCode::IdempotencyConflict));
        assert!(!has(Operation::JobsGet, ErrorCode::InvalidRequest));
        assert!(!has(Operation::VideoGenerate, ErrorCode::InsufficientCredits));
    }
}
