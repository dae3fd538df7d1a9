//! Which error codes an operation can answer with.
//!
//! Most follow from the operation's row: its credential, scope, method and retry class. What is an
//! operation's own is named here, in a `match` that does not compile until a new one is dealt with.

use super::{ErrorCode, Method, Operation, RetryClass, Surface};

/// What the fields of a run of a Format can be refused for.
const RUN_CREATE: &[ErrorCode] = &[
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

/// What the start of a run can be refused for that has no Format.
const OTHER_RUN_CREATE: &[ErrorCode] = &[
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

/// What a submit of the developer surface can be refused for.
const DEVELOPER_SUBMIT: &[ErrorCode] = &[
    ErrorCode::InsufficientCredits,
    ErrorCode::ConcurrencyLimitReached,
];

impl Operation {
    /// The codes that the operation can answer with, in the catalogue's order. The set is open: the
    /// service may have others.
    ///
    /// ```
    /// use svc_sdk::contract::{ErrorCode, Operation};
    ///
    /// let codes = Operation::JobsCancel.codes();
    /// assert!(codes.contains(&ErrorCode::JobGenerationAlreadyStarted));
    /// assert!(!codes.contains(&ErrorCode::InsufficientFunds));
    /// ```
    #[must_use]
    pub fn codes(self) -> Vec<ErrorCode> {
        ErrorCode::KNOWN
            .iter()
            .filter(|code| self.follows_from_the_row(code) || self.own_codes().contains(code))
            .cloned()
            .collect()
    }

    /// What any operation of such a row answers.
    fn follows_from_the_row(self, code: &ErrorCode) -> bool {
        let writes = self.method() == Method::Post;
        match code {
            // Two credentials at once are refused on public routes, too.
            ErrorCode::Unauthorized | ErrorCode::RateLimited | ErrorCode::DatabaseBusy => true,
            // Asked at the other host, or with an empty segment.
            ErrorCode::NotFound => {
                self.surface() != Surface::Both || self.placeholders().next().is_some()
            }
            ErrorCode::InsufficientScope => self.scope().is_some(),
            ErrorCode::InvalidRequest => writes || self.takes_a_query(),
            ErrorCode::PayloadTooLarge | ErrorCode::UnsupportedMediaType => writes,
            ErrorCode::IdempotencyConflict => {
                matches!(self.retry(), RetryClass::Key | RetryClass::Unsent)
            }
            _ => false,
        }
    }

    /// Whether the operation reads query parameters: the lists do.
    #[must_use]
    pub const fn takes_a_query(self) -> bool {
        matches!(
            self,
            Self::JobsList
                | Self::Usage
                | Self::AvatarsList
                | Self::AvatarCanonicalList
                | Self::AvatarVideosList
                | Self::ActionsList
                | Self::ActionsRunsList
                | Self::FormatsList
                | Self::FormatsRunsList
                | Self::FormatsBySlugRunsList
                | Self::AgentRunsList
        )
    }

    /// What is this operation's own.
    fn own_codes(self) -> &'static [ErrorCode] {
        use ErrorCode as Code;

        match self {
            Self::ImageGenerate | Self::VideoGenerate => {
                &[Code::InsufficientFunds, Code::ConcurrencyLimitReached]
            }
            Self::ImageModelsGet | Self::VideoModelsGet | Self::OpenCatalogGet => {
                &[Code::ModelNotFound]
            }
            Self::JobsGet | Self::JobsStatus | Self::JobsEvents => &[Code::JobNotFound],
            Self::JobsResult => &[Code::JobNotFound, Code::JobNotCompleted],
            Self::JobsCancel => &[Code::JobNotFound, Code::JobGenerationAlreadyStarted],
            Self::JobsWebhookRedeliver => &[
                Code::JobNotFound,
                Code::WebhookNotConfigured,
                Code::JobNotTerminal,
            ],
            Self::TopUpsCreate => &[
                Code::InvalidAmount,
                Code::OpenKeyRequired,
                Code::StripeError,
                Code::StripeNotConfigured,
            ],
            Self::TopUpsGet => &[Code::TopUpNotFound, Code::OpenKeyRequired],
            Self::AvatarGenerate
            | Self::AvatarTalkingVideo
            | Self::Image1Generate
            | Self::Video1Generate
            | Self::Music1Generate
            | Self::AvatarPreviewsCreate
            | Self::VideoCaptionsCreate => DEVELOPER_SUBMIT,
            Self::AvatarPreviewsRegenerate | Self::AvatarPreviewsGenerateVideo => &[
                Code::InsufficientCredits,
                Code::ConcurrencyLimitReached,
                Code::JobNotCompleted,
            ],
            Self::AliasAvatarV10
            | Self::AliasAvatar10Generate
            | Self::AliasAvatar10TalkingVideo
            | Self::AliasAvatarVideoV10
            | Self::AliasAvatarFaceSwapV10
            | Self::AliasImage10
            | Self::AliasVideo10
            | Self::AliasMusic10 => &[
                Code::InsufficientCredits,
                Code::ConcurrencyLimitReached,
                Code::ModelNotFound,
            ],
            Self::ActionsGet | Self::ActionsRunsList => &[Code::ActionNotFound],
            Self::ActionsRunsCreate => &[
                Code::ActionNotFound,
                Code::ActionApiTriggerDisabled,
                Code::UnknownParameter,
                Code::InsufficientCredits,
                Code::OrganizationWalletNotProvisioned,
                Code::IdempotencyKeyInUse,
                Code::StudioAgentUpstreamUnavailable,
                Code::FormatRunFailedToStart,
            ],
            Self::ActionsRunsGet => &[
                Code::ActionNotFound,
                Code::ActionRunNotFound,
                Code::StudioAgentUpstreamUnavailable,
            ],
            Self::ActionRunsGet | Self::ActionRunsStatus | Self::ActionRunsCancel => &[
                Code::ActionRunNotFound,
                Code::StudioAgentUpstreamUnavailable,
            ],
            Self::ActionRunsResult => &[
                Code::ActionRunNotFound,
                Code::RunNotCompleted,
                Code::StudioAgentUpstreamUnavailable,
            ],
            Self::FormatsGet
            | Self::FormatsBySlugGet
            | Self::FormatsRunsList
            | Self::FormatsBySlugRunsList => {
                &[Code::FormatNotFound, Code::StudioAgentUpstreamUnavailable]
            }
            Self::FormatsRunsCreate
            | Self::FormatsBySlugRunsCreate
            | Self::FormatsBulkCreate
            | Self::FormatsBySlugBulkCreate => RUN_CREATE,
            Self::FormatQueuesGet => &[
                Code::FormatRunQueueNotFound,
                Code::StudioAgentUpstreamUnavailable,
            ],
            Self::FormatRunsGet
            | Self::FormatRunsStatus
            | Self::FormatRunsEvents
            | Self::FormatRunsCancel => &[
                Code::FormatRunNotFound,
                Code::StudioAgentUpstreamUnavailable,
            ],
            Self::FormatRunsResult => &[
                Code::FormatRunNotFound,
                Code::RunNotCompleted,
                Code::StudioAgentUpstreamUnavailable,
            ],
            Self::FormatRunsWebhookRedeliver => &[
                Code::FormatRunNotFound,
                Code::WebhookNotConfigured,
                Code::RunNotTerminal,
                Code::StudioAgentUpstreamUnavailable,
            ],
            Self::AgentCompletionsCreate => OTHER_RUN_CREATE,
            Self::AgentRunsGet | Self::AgentRunsStatus | Self::AgentRunsCancel => {
                &[Code::AgentRunNotFound, Code::StudioAgentUpstreamUnavailable]
            }
            Self::AgentRunsResult => &[
                Code::AgentRunNotFound,
                Code::RunNotCompleted,
                Code::StudioAgentUpstreamUnavailable,
            ],
            // What there is to refuse follows from their rows.
            Self::ImageModelsList
            | Self::VideoModelsList
            | Self::JobsList
            | Self::OpenCatalogList
            | Self::OpenEstimate
            | Self::Health
            | Self::Catalog
            | Self::Me
            | Self::Balance
            | Self::Usage
            | Self::Openapi
            | Self::Reference
            | Self::BgmCatalog
            | Self::BgmCategories
            | Self::BgmPick
            | Self::AvatarCanonicalList
            | Self::AvatarCanonicalGet
            | Self::AvatarsList
            | Self::AvatarsGet
            | Self::AvatarVideosList
            | Self::AvatarVideosGet
            | Self::AvatarCatalogSearch
            | Self::AvatarPreviewsGet
            | Self::VideoCaptionsGet
            | Self::TrendingVideosSearch
            | Self::ActionsList
            | Self::FormatsList
            | Self::AgentRunsList
            | Self::SigningSecretGet
            | Self::SigningSecretRotate
            | Self::TestDeliveriesCreate
            | Self::Mcp
            | Self::HiddenHealth
            | Self::HiddenAdmissionPreview => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_that_comes_with_a_status_is_some_operations() {
        for code in ErrorCode::KNOWN {
            let has_status = code.entry().unwrap().status.is_some();
            // A path that takes another method is no operation's.
            let expected = has_status && *code != ErrorCode::MethodNotAllowed;
            let answered = Operation::ALL.iter().any(|op| op.codes().contains(code));
            assert_eq!(answered, expected, "{code}");
        }
    }

    #[test]
    fn what_the_specification_says_of_single_operations_holds() {
        let has = |operation: Operation, code| operation.codes().contains(&code);
        assert!(has(Operation::TopUpsGet, ErrorCode::OpenKeyRequired));
        assert!(has(Operation::FormatsGet, ErrorCode::InsufficientScope));
        assert!(has(Operation::Health, ErrorCode::Unauthorized));
        assert!(has(
            Operation::VideoGenerate,
            ErrorCode::IdempotencyConflict
        ));
        assert!(!has(Operation::JobsGet, ErrorCode::InvalidRequest));
        assert!(!has(
            Operation::VideoGenerate,
            ErrorCode::InsufficientCredits
        ));
    }
}
