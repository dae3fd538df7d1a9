//! The error codes of each operation.
//!
//! Most codes follow from the operation's credential, scope, method and retry class. The others are
//! listed here, in a `match` that is exhaustive so that an operation cannot be added without its codes.

use svc_sdk::contract::{ErrorCode, Method, Operation, RetryClass, Surface, exhaustive};

use crate::parameters;

/// The codes of starting Format runs.
const FORMAT_RUN_CREATE: &[ErrorCode] = &[
    ErrorCode::UnknownParameter,
    ErrorCode::OutputSchemaInvalid,
    ErrorCode::InvalidAttachment,
    ErrorCode::AttachmentNotFound,
    ErrorCode::PreviousRunFormatMismatch,
    ErrorCode::PreviousRunNotResumable,
    ErrorCode::InsufficientCredits,
    ErrorCode::OrganizationWalletNotProvisioned,
    ErrorCode::WorkspaceKeyRequired,
    ErrorCode::FormatNotFound,
    ErrorCode::PreviousRunNotFound,
    ErrorCode::FormatInactive,
    ErrorCode::FormatApiTriggerDisabled,
    ErrorCode::FormatRunInProgress,
    ErrorCode::FormatNotForkable,
    ErrorCode::PreviousRunNotTerminal,
    ErrorCode::IdempotencyKeyInUse,
    ErrorCode::AttachmentTooLarge,
    ErrorCode::AttachmentFetchFailed,
    ErrorCode::StudioAgentUpstreamUnavailable,
    ErrorCode::FormatRunFailedToStart,
];

/// The codes of starting an agent run.
const AGENT_RUN_CREATE: &[ErrorCode] = &[
    ErrorCode::UnknownParameter,
    ErrorCode::OutputSchemaInvalid,
    ErrorCode::InvalidAttachment,
    ErrorCode::AttachmentNotFound,
    ErrorCode::InsufficientCredits,
    ErrorCode::OrganizationWalletNotProvisioned,
    ErrorCode::IdempotencyKeyInUse,
    ErrorCode::AttachmentTooLarge,
    ErrorCode::AttachmentFetchFailed,
    ErrorCode::StudioAgentUpstreamUnavailable,
    ErrorCode::FormatRunFailedToStart,
];

/// The codes of submitting a job on the developer surface.
const DEVELOPER_SUBMIT: &[ErrorCode] =
    &[ErrorCode::InsufficientCredits, ErrorCode::ConcurrencyLimitReached];

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
    let specific = specific_codes(operation);
    let known = ErrorCode::KNOWN.iter();
    known.filter(|code| is_general(operation, code) || specific.contains(code)).cloned().collect()
}

/// Returns whether the code follows from the operation's attributes.
fn is_general(operation: Operation, code: &ErrorCode) -> bool {
    let is_write = operation.method() == Method::Post;
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
        ErrorCode::IdempotencyConflict => {
            matches!(operation.retry(), RetryClass::Key | RetryClass::Unsent)
        }
        _ => false,
    }
}

/// Returns the codes that do not follow from the operation's attributes.
fn specific_codes(operation: Operation) -> &'static [ErrorCode] {
    use ErrorCode as Code;
    use exhaustive::Operation as Op;

    match operation.exhaustive() {
        Op::ImageGenerate | Op::VideoGenerate => {
            &[Code::InsufficientFunds, Code::ConcurrencyLimitReached]
        }
        Op::ImageModelsGet | Op::VideoModelsGet | Op::OpenCatalogGet => &[Code::ModelNotFound],
        Op::JobsGet | Op::JobsStatus | Op::JobsEvents => &[Code::JobNotFound],
        Op::JobsResult => &[Code::JobNotFound, Code::JobNotCompleted],
        Op::JobsCancel => &[Code::JobNotFound, Code::JobGenerationAlreadyStarted],
        Op::JobsWebhookRedeliver => {
            &[Code::JobNotFound, Code::WebhookNotConfigured, Code::JobNotTerminal]
        }
        Op::TopUpsCreate => &[
            Code::InvalidAmount,
            Code::OpenKeyRequired,
            Code::StripeError,
            Code::StripeNotConfigured,
        ],
        Op::TopUpsGet => &[Code::TopUpNotFound, Code::OpenKeyRequired],
        Op::AvatarGenerate
        | Op::AvatarTalkingVideo
        | Op::Image1Generate
        | Op::Video1Generate
        | Op::Music1Generate
        | Op::AvatarPreviewsCreate
        | Op::VideoCaptionsCreate => DEVELOPER_SUBMIT,
        Op::AvatarPreviewsRegenerate | Op::AvatarPreviewsGenerateVideo => {
            &[Code::InsufficientCredits, Code::ConcurrencyLimitReached, Code::JobNotCompleted]
        }
        Op::AliasAvatarV10
        | Op::AliasAvatar10Generate
        | Op::AliasAvatar10TalkingVideo
        | Op::AliasAvatarVideoV10
        | Op::AliasAvatarFaceSwapV10
        | Op::AliasImage10
        | Op::AliasVideo10
        | Op::AliasMusic10 => {
            &[Code::InsufficientCredits, Code::ConcurrencyLimitReached, Code::ModelNotFound]
        }
        Op::ActionsList | Op::FormatsList | Op::AgentRunsList => {
            &[Code::StudioAgentUpstreamUnavailable]
        }
        Op::ActionsGet | Op::ActionsRunsList => {
            &[Code::ActionNotFound, Code::StudioAgentUpstreamUnavailable]
        }
        Op::ActionsRunsCreate => &[
            Code::ActionNotFound,
            Code::ActionApiTriggerDisabled,
            Code::UnknownParameter,
            Code::InsufficientCredits,
            Code::OrganizationWalletNotProvisioned,
            Code::IdempotencyKeyInUse,
            Code::StudioAgentUpstreamUnavailable,
            Code::FormatRunFailedToStart,
        ],
        Op::ActionsRunsGet => {
            &[Code::ActionNotFound, Code::ActionRunNotFound, Code::StudioAgentUpstreamUnavailable]
        }
        Op::ActionRunsGet | Op::ActionRunsStatus | Op::ActionRunsCancel => {
            &[Code::ActionRunNotFound, Code::StudioAgentUpstreamUnavailable]
        }
        Op::ActionRunsResult => {
            &[Code::ActionRunNotFound, Code::RunNotCompleted, Code::StudioAgentUpstreamUnavailable]
        }
        Op::FormatsGet | Op::FormatsBySlugGet | Op::FormatsRunsList | Op::FormatsBySlugRunsList => {
            &[Code::FormatNotFound, Code::StudioAgentUpstreamUnavailable]
        }
        Op::FormatsRunsCreate
        | Op::FormatsBySlugRunsCreate
        | Op::FormatsBulkCreate
        | Op::FormatsBySlugBulkCreate => FORMAT_RUN_CREATE,
        Op::FormatQueuesGet => {
            &[Code::FormatRunQueueNotFound, Code::StudioAgentUpstreamUnavailable]
        }
        Op::FormatRunsGet | Op::FormatRunsStatus | Op::FormatRunsEvents | Op::FormatRunsCancel => {
            &[Code::FormatRunNotFound, Code::StudioAgentUpstreamUnavailable]
        }
        Op::FormatRunsResult => {
            &[Code::FormatRunNotFound, Code::RunNotCompleted, Code::StudioAgentUpstreamUnavailable]
        }
        Op::FormatRunsWebhookRedeliver => &[
            Code::FormatRunNotFound,
            Code::WebhookNotConfigured,
            Code::RunNotTerminal,
            Code::StudioAgentUpstreamUnavailable,
        ],
        Op::AgentCompletionsCreate => AGENT_RUN_CREATE,
        Op::AgentRunsGet | Op::AgentRunsStatus | Op::AgentRunsCancel => {
            &[Code::AgentRunNotFound, Code::StudioAgentUpstreamUnavailable]
        }
        Op::AgentRunsResult => {
            &[Code::AgentRunNotFound, Code::RunNotCompleted, Code::StudioAgentUpstreamUnavailable]
        }
        // All their codes are general.
        Op::ImageModelsList
        | Op::VideoModelsList
        | Op::JobsList
        | Op::OpenCatalogList
        | Op::OpenEstimate
        | Op::Health
        | Op::Catalog
        | Op::Me
        | Op::Balance
        | Op::Usage
        | Op::Openapi
        | Op::Reference
        | Op::BgmCatalog
        | Op::BgmCategories
        | Op::BgmPick
        | Op::AvatarCanonicalList
        | Op::AvatarCanonicalGet
        | Op::AvatarsList
        | Op::AvatarsGet
        | Op::AvatarVideosList
        | Op::AvatarVideosGet
        | Op::AvatarCatalogSearch
        | Op::AvatarPreviewsGet
        | Op::VideoCaptionsGet
        | Op::TrendingVideosSearch
        | Op::SigningSecretGet
        | Op::SigningSecretRotate
        | Op::TestDeliveriesCreate
        | Op::Mcp
        | Op::HiddenHealth
        | Op::HiddenAdmissionPreview => &[],
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
