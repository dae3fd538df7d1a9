//! Error codes: those that the specification names, and a few that are assumed and marked so.

use crate::open_enum::open_enum;

open_enum! {
    /// The recommended reaction to an error.
    pub enum NextAction {
        /// Use another API key.
        Authenticate = "authenticate",
        /// Correct the request.
        FixInput = "fix_input",
        /// Top up the balance.
        AddFunds = "add_funds",
        /// Send the same request again later.
        RetryLater = "retry_later",
        /// Poll the status of the job or run.
        PollStatus = "poll_status",
        /// Contact the service's support.
        ContactSupport = "contact_support",
        /// No action helps.
        None = "none",
    }
}

open_enum! {
    /// The category of an error. The specification does not show the values: these are assumed.
    pub enum ErrorCategory {
        /// The request is invalid.
        Validation = "validation",
        /// The credential is invalid.
        Authentication = "authentication",
        /// The credential lacks a permission.
        Permission = "permission",
        /// The balance is too low.
        Funds = "funds",
        /// The resource does not exist.
        NotFound = "not_found",
        /// The state of the resource does not allow the request.
        Conflict = "conflict",
        /// Too many requests, or too many concurrent jobs.
        RateLimit = "rate_limit",
        /// The service is briefly overloaded.
        Overload = "overload",
        /// A service that this one depends on failed.
        Upstream = "upstream",
        /// A job failed.
        Job = "job",
        /// A run failed.
        Run = "run",
    }
}

open_enum! {
    /// A stable error code. Branch on the code, never on a message.
    ///
    /// # Examples
    ///
    /// ```
    /// use svc_sdk::contract::{ErrorCode, NextAction};
    ///
    /// let code = ErrorCode::from("insufficient_funds");
    /// assert_eq!(code, ErrorCode::InsufficientFunds);
    /// assert_eq!(code.defaults().map(|defaults| defaults.next_action.clone()), Some(NextAction::AddFunds));
    /// ```
    pub enum ErrorCode {
        /// A field is missing, unknown for the model or out of range, or a header value is invalid.
        InvalidRequest = "invalid_request",
        /// The API key is missing, malformed, revoked or for the other host, or two credentials were sent.
        Unauthorized = "unauthorized",
        /// The balance is lower than the price; `details` has `required_usd` and `available_usd`.
        InsufficientFunds = "insufficient_funds",
        /// The key lacks the scope, or may not use this surface; `details` may have `required_scope`.
        InsufficientScope = "insufficient_scope",
        /// The idempotency key was used for a different request.
        IdempotencyConflict = "idempotency_conflict",
        /// The rate limit is exceeded; `details.scope` is `read` or `write`.
        RateLimited = "rate_limited",
        /// The service is briefly overloaded.
        DatabaseBusy = "database_busy",
        /// The workspace has reached its limit of concurrent jobs.
        ConcurrencyLimitReached = "concurrency_limit_reached",
        /// The job cannot be canceled because its generation has started.
        JobGenerationAlreadyStarted = "job_generation_already_started",
        /// The result was requested before the job was terminal; see `details.status`. Assumed.
        JobNotCompleted = "job_not_completed",
        /// The job does not exist in this workspace. Assumed.
        JobNotFound = "job_not_found",
        /// Redelivery was requested for a job that is not terminal. Assumed.
        JobNotTerminal = "job_not_terminal",
        /// The model does not exist. Assumed.
        ModelNotFound = "model_not_found",
        /// The top-up does not exist in this workspace. Assumed.
        TopUpNotFound = "top_up_not_found",
        /// The path or the resource does not exist. Assumed.
        NotFound = "not_found",
        /// The path exists, but not with this method. Assumed.
        MethodNotAllowed = "method_not_allowed",
        /// The amount is less than 500 cents, more than 1000000 cents, or not in whole cents.
        InvalidAmount = "invalid_amount",
        /// Top-ups require an API key of the open surface.
        OpenKeyRequired = "open_key_required",
        /// The payment processor failed to create the checkout; retry with the same idempotency key.
        StripeError = "stripe_error",
        /// Top-ups are unavailable in this environment.
        StripeNotConfigured = "stripe_not_configured",
        /// A top-level field is unknown; `details.errors[].suggestion` has a similar name.
        UnknownParameter = "unknown_parameter",
        /// The schema is outside the supported subset; see `details.violations[]`.
        OutputSchemaInvalid = "output_schema_invalid",
        /// An attachment is invalid, or the shared media limit is exceeded.
        InvalidAttachment = "invalid_attachment",
        /// The `asset_id` does not exist in this workspace.
        AttachmentNotFound = "attachment_not_found",
        /// The run of `previous_run_id` belongs to another Format.
        PreviousRunFormatMismatch = "previous_run_format_mismatch",
        /// The previous run has nothing to continue; `details` has `previous_run_status`, `has_thread`, `artifact_count`.
        PreviousRunNotResumable = "previous_run_not_resumable",
        /// The wallet has too few credits.
        InsufficientCredits = "insufficient_credits",
        /// The organization workspace has no funded wallet.
        OrganizationWalletNotProvisioned = "organization_wallet_not_provisioned",
        /// A team Format requires a workspace key.
        WorkspaceKeyRequired = "workspace_key_required",
        /// The Format is unknown, archived, outside the key's workspace, or not granted to it.
        FormatNotFound = "format_not_found",
        /// The previous run is unknown or belongs to another workspace.
        PreviousRunNotFound = "previous_run_not_found",
        /// The owner deactivated the Format.
        FormatInactive = "format_inactive",
        /// The owner disabled the API-call trigger.
        FormatApiTriggerDisabled = "format_api_trigger_disabled",
        /// Another run is in progress, and `on_active_run` is `reject`.
        FormatRunInProgress = "format_run_in_progress",
        /// The id is that of a built-in capability, not of a Format.
        FormatNotForkable = "format_not_forkable",
        /// The previous run is still in progress.
        PreviousRunNotTerminal = "previous_run_not_terminal",
        /// A request with the same idempotency key is in progress; wait about a second.
        IdempotencyKeyInUse = "idempotency_key_in_use",
        /// The body is too large; see `details.limit_bytes`. In a webhook event, the receipt exceeded 1 MiB.
        PayloadTooLarge = "payload_too_large",
        /// An image exceeds 30 MB, or all attachments together exceed 500 MB.
        AttachmentTooLarge = "attachment_too_large",
        /// The body is not `application/json`; see `details.received_content_type`.
        UnsupportedMediaType = "unsupported_media_type",
        /// An attachment could not be fetched; see `details.index`.
        AttachmentFetchFailed = "attachment_fetch_failed",
        /// The service has an outage; retry with the same idempotency key. Runs keep executing.
        StudioAgentUpstreamUnavailable = "studio_agent_upstream_unavailable",
        /// The run could not be started, and no other code applies; any 4xx or 5xx.
        FormatRunFailedToStart = "format_run_failed_to_start",
        /// The run is unknown or belongs to another owner.
        FormatRunNotFound = "format_run_not_found",
        /// The queue is unknown or belongs to another owner.
        FormatRunQueueNotFound = "format_run_queue_not_found",
        /// The result was requested before the run was terminal; see `details.status`.
        RunNotCompleted = "run_not_completed",
        /// Redelivery was requested for a job or run without a `webhook_url`.
        WebhookNotConfigured = "webhook_not_configured",
        /// Redelivery was requested for a run that is not terminal.
        RunNotTerminal = "run_not_terminal",
        /// The Action does not exist. Assumed.
        ActionNotFound = "action_not_found",
        /// The Action run does not exist. Assumed.
        ActionRunNotFound = "action_run_not_found",
        /// The Action has no API-call trigger. Assumed.
        ActionApiTriggerDisabled = "action_api_trigger_disabled",
        /// The agent run does not exist. Assumed.
        AgentRunNotFound = "agent_run_not_found",
        /// The run reached a step that needs a person.
        UnattendedBlocked = "unattended_blocked",
        /// The result did not match `output_schema`; `details` has `rejected_urls[]` or `violations[]`, and `harvested`.
        OutputSchemaUnsatisfied = "output_schema_unsatisfied",
        /// The Format declares media output, but the run made none.
        DeliverableMissing = "deliverable_missing",
        /// The output named by `primary_output_key` is empty.
        PrimaryOutputMissing = "primary_output_missing",
        /// The agent reported that it did not deliver; see `details.reason`.
        AgentReportedFailure = "agent_reported_failure",
        /// The time limit was reached with unfinished generation jobs; see `details.pending_job_count` and `details.pending_jobs[]`.
        IncompleteAssembly = "incomplete_assembly",
        /// The output could not be read; `details.reason` is `harvest_unavailable` or `harvest_threw`.
        OutputExtractionFailed = "output_extraction_failed",
        /// Required tools were not available; nothing was charged.
        McpUnavailable = "mcp_unavailable",
        /// The provider's stream was interrupted.
        ProviderUnavailable = "provider_unavailable",
        /// The run failed, or tried to exceed its spend cap.
        FormatRunFailed = "format_run_failed",
        /// The job failed. Assumed.
        GenerationFailed = "generation_failed",
        /// The job was canceled. Assumed.
        JobCanceled = "job_canceled",
    }
}

/// The default attributes of errors with a code.
///
/// The fields of an error body take precedence. The defaults supply those that the body lacks, as
/// error bodies of the open surface do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorDefaults {
    /// The HTTP status; `None` for the failure of a job or a run, whose result has the status `200`.
    pub status: Option<u16>,
    /// The category.
    pub category: ErrorCategory,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// The recommended reaction.
    pub next_action: NextAction,
}

impl ErrorCode {
    /// Returns the default attributes of errors with this code; `None` for an unknown code.
    #[must_use]
    pub fn defaults(&self) -> Option<ErrorDefaults> {
        let (status, category, retryable, next_action) = row(self)?;
        Some(ErrorDefaults { status, category, retryable, next_action })
    }
}

type Row = (Option<u16>, ErrorCategory, bool, NextAction);

fn row(code: &ErrorCode) -> Option<Row> {
    use ErrorCategory as Category;
    use ErrorCode as Code;
    use NextAction as Next;

    const RETRYABLE: bool = true;
    const PERMANENT: bool = false;

    Some(match code {
        Code::InvalidRequest => (Some(400), Category::Validation, PERMANENT, Next::FixInput),
        Code::Unauthorized => (Some(401), Category::Authentication, PERMANENT, Next::Authenticate),
        Code::InsufficientFunds => (Some(402), Category::Funds, PERMANENT, Next::AddFunds),
        Code::InsufficientScope => (Some(403), Category::Permission, PERMANENT, Next::Authenticate),
        Code::IdempotencyConflict => (Some(409), Category::Conflict, PERMANENT, Next::FixInput),
        Code::RateLimited => (Some(429), Category::RateLimit, RETRYABLE, Next::RetryLater),
        Code::DatabaseBusy => (Some(503), Category::Overload, RETRYABLE, Next::RetryLater),
        Code::ConcurrencyLimitReached => {
            (Some(400), Category::RateLimit, RETRYABLE, Next::RetryLater)
        }
        Code::JobGenerationAlreadyStarted => {
            (Some(409), Category::Conflict, PERMANENT, Next::PollStatus)
        }
        Code::JobNotCompleted => (Some(409), Category::Conflict, RETRYABLE, Next::PollStatus),
        Code::JobNotFound => (Some(404), Category::NotFound, PERMANENT, Next::FixInput),
        Code::JobNotTerminal => (Some(409), Category::Conflict, RETRYABLE, Next::PollStatus),
        Code::ModelNotFound => (Some(404), Category::NotFound, PERMANENT, Next::FixInput),
        Code::TopUpNotFound => (Some(404), Category::NotFound, PERMANENT, Next::FixInput),
        Code::NotFound => (Some(404), Category::NotFound, PERMANENT, Next::FixInput),
        Code::MethodNotAllowed => (Some(405), Category::Validation, PERMANENT, Next::FixInput),
        Code::InvalidAmount => (Some(400), Category::Validation, PERMANENT, Next::FixInput),
        Code::OpenKeyRequired => (Some(403), Category::Permission, PERMANENT, Next::Authenticate),
        Code::StripeError => (Some(502), Category::Upstream, RETRYABLE, Next::RetryLater),
        Code::StripeNotConfigured => {
            (Some(503), Category::Upstream, PERMANENT, Next::ContactSupport)
        }
        Code::UnknownParameter => (Some(400), Category::Validation, PERMANENT, Next::FixInput),
        Code::OutputSchemaInvalid => (Some(400), Category::Validation, PERMANENT, Next::FixInput),
        Code::InvalidAttachment => (Some(400), Category::Validation, PERMANENT, Next::FixInput),
        Code::AttachmentNotFound => (Some(400), Category::Validation, PERMANENT, Next::FixInput),
        Code::PreviousRunFormatMismatch => {
            (Some(400), Category::Validation, PERMANENT, Next::FixInput)
        }
        Code::PreviousRunNotResumable => {
            (Some(400), Category::Validation, PERMANENT, Next::FixInput)
        }
        Code::InsufficientCredits => (Some(402), Category::Funds, PERMANENT, Next::AddFunds),
        Code::OrganizationWalletNotProvisioned => {
            (Some(402), Category::Funds, PERMANENT, Next::ContactSupport)
        }
        Code::WorkspaceKeyRequired => {
            (Some(403), Category::Permission, PERMANENT, Next::Authenticate)
        }
        Code::FormatNotFound => (Some(404), Category::NotFound, PERMANENT, Next::FixInput),
        Code::PreviousRunNotFound => (Some(404), Category::NotFound, PERMANENT, Next::FixInput),
        Code::FormatInactive => (Some(409), Category::Conflict, PERMANENT, Next::None),
        Code::FormatApiTriggerDisabled => (Some(409), Category::Conflict, PERMANENT, Next::None),
        Code::FormatRunInProgress => (Some(409), Category::Conflict, PERMANENT, Next::None),
        Code::FormatNotForkable => (Some(409), Category::Conflict, PERMANENT, Next::FixInput),
        Code::PreviousRunNotTerminal => {
            (Some(409), Category::Conflict, RETRYABLE, Next::PollStatus)
        }
        Code::IdempotencyKeyInUse => (Some(409), Category::Conflict, RETRYABLE, Next::RetryLater),
        Code::PayloadTooLarge => (Some(413), Category::Validation, PERMANENT, Next::FixInput),
        Code::AttachmentTooLarge => (Some(413), Category::Validation, PERMANENT, Next::FixInput),
        Code::UnsupportedMediaType => (Some(415), Category::Validation, PERMANENT, Next::FixInput),
        Code::AttachmentFetchFailed => (Some(502), Category::Validation, PERMANENT, Next::FixInput),
        Code::StudioAgentUpstreamUnavailable => {
            (Some(503), Category::Upstream, RETRYABLE, Next::RetryLater)
        }
        Code::FormatRunFailedToStart => {
            (Some(500), Category::Upstream, PERMANENT, Next::ContactSupport)
        }
        Code::FormatRunNotFound => (Some(404), Category::NotFound, PERMANENT, Next::FixInput),
        Code::FormatRunQueueNotFound => (Some(404), Category::NotFound, PERMANENT, Next::FixInput),
        Code::RunNotCompleted => (Some(409), Category::Conflict, RETRYABLE, Next::PollStatus),
        Code::WebhookNotConfigured => (Some(409), Category::Conflict, PERMANENT, Next::None),
        Code::RunNotTerminal => (Some(409), Category::Conflict, RETRYABLE, Next::PollStatus),
        Code::ActionNotFound => (Some(404), Category::NotFound, PERMANENT, Next::FixInput),
        Code::ActionRunNotFound => (Some(404), Category::NotFound, PERMANENT, Next::FixInput),
        Code::ActionApiTriggerDisabled => (Some(409), Category::Conflict, PERMANENT, Next::None),
        Code::AgentRunNotFound => (Some(404), Category::NotFound, PERMANENT, Next::FixInput),
        Code::UnattendedBlocked => (None, Category::Run, PERMANENT, Next::FixInput),
        Code::OutputSchemaUnsatisfied => (None, Category::Run, PERMANENT, Next::FixInput),
        Code::DeliverableMissing => (None, Category::Run, PERMANENT, Next::FixInput),
        Code::PrimaryOutputMissing => (None, Category::Run, PERMANENT, Next::FixInput),
        Code::AgentReportedFailure => (None, Category::Run, PERMANENT, Next::FixInput),
        Code::IncompleteAssembly => (None, Category::Run, PERMANENT, Next::RetryLater),
        Code::OutputExtractionFailed => (None, Category::Run, PERMANENT, Next::RetryLater),
        Code::McpUnavailable => (None, Category::Run, RETRYABLE, Next::RetryLater),
        Code::ProviderUnavailable => (None, Category::Run, RETRYABLE, Next::RetryLater),
        Code::FormatRunFailed => (None, Category::Run, PERMANENT, Next::None),
        Code::GenerationFailed => (None, Category::Job, PERMANENT, Next::None),
        Code::JobCanceled => (None, Category::Job, PERMANENT, Next::None),
        Code::Other(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_codes_have_defaults_and_a_snake_case_name() {
        for code in ErrorCode::KNOWN {
            assert!(code.defaults().is_some(), "{code}");
            let token = code.as_str();
            assert!(
                token.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            );
            assert_eq!(ErrorCode::from(token), *code);
        }
    }

    #[test]
    fn defaults_match_the_specification() {
        let defaults = |code: ErrorCode| code.defaults().unwrap();
        assert_eq!(defaults(ErrorCode::InsufficientCredits).next_action, NextAction::AddFunds);
        assert_eq!(defaults(ErrorCode::AttachmentFetchFailed).next_action, NextAction::FixInput);
        assert!(defaults(ErrorCode::IdempotencyKeyInUse).retryable);
        assert!(defaults(ErrorCode::McpUnavailable).retryable);
        assert!(defaults(ErrorCode::ProviderUnavailable).retryable);
        assert_eq!(defaults(ErrorCode::ConcurrencyLimitReached).status, Some(400));
    }

    #[test]
    fn unknown_code_round_trips() {
        let code = ErrorCode::from("quota_of_tomorrow");
        assert_eq!(code.as_str(), "quota_of_tomorrow");
        assert_eq!(code.defaults(), None);
    }
}
