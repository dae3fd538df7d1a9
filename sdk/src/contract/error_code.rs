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

/// Declares the error codes, one row each: the code; the HTTP status, or `result` for the failure of a job
/// or a run; the category, whether the same request may succeed later, and the recommended reaction.
macro_rules! error_codes {
    ($($(#[doc = $doc:expr])+ $code:ident = $wire:literal,
        $status:tt $category:ident $retry:ident $next_action:ident;)+) => {
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
            /// assert_eq!(code.defaults().map(|it| it.next_action), Some(NextAction::AddFunds));
            /// ```
            pub enum ErrorCode { $($(#[doc = $doc])+ $code = $wire,)+ }
        }

        impl ErrorCode {
            /// Returns the default attributes of errors with this code; `None` for an unknown code.
            #[must_use]
            pub fn defaults(&self) -> Option<ErrorDefaults> {
                Some(match self {
                    $(Self::$code => ErrorDefaults {
                        status: error_codes!(@status $status),
                        category: ErrorCategory::$category,
                        retryable: error_codes!(@is_retryable $retry),
                        next_action: NextAction::$next_action,
                    },)+
                    Self::Other(_) => return None,
                })
            }
        }
    };
    (@status result) => { None };
    (@status $status:literal) => { Some($status) };
    (@is_retryable retryable) => { true };
    (@is_retryable permanent) => { false };
}

error_codes! {
    /// A field is missing, unknown for the model or out of range, or a header value is invalid.
    InvalidRequest = "invalid_request", 400 Validation permanent FixInput;
    /// The API key is missing, malformed, revoked or for the other host, or two credentials were sent.
    Unauthorized = "unauthorized", 401 Authentication permanent Authenticate;
    /// The balance is lower than the price; `details` has `required_usd` and `available_usd`.
    InsufficientFunds = "insufficient_funds", 402 Funds permanent AddFunds;
    /// The key lacks the scope, or may not use this surface; `details` may have `required_scope`.
    InsufficientScope = "insufficient_scope", 403 Permission permanent Authenticate;
    /// The idempotency key was used for a different request.
    IdempotencyConflict = "idempotency_conflict", 409 Conflict permanent FixInput;
    /// The rate limit is exceeded; `details.scope` is `read` or `write`.
    RateLimited = "rate_limited", 429 RateLimit retryable RetryLater;
    /// The service is briefly overloaded.
    DatabaseBusy = "database_busy", 503 Overload retryable RetryLater;
    /// The workspace has reached its limit of concurrent jobs.
    ConcurrencyLimitReached = "concurrency_limit_reached", 400 RateLimit retryable RetryLater;
    /// The job cannot be canceled because its generation has started.
    JobGenerationAlreadyStarted = "job_generation_already_started", 409 Conflict permanent PollStatus;
    /// The result was requested before the job was terminal; see `details.status`. Assumed.
    JobNotCompleted = "job_not_completed", 409 Conflict retryable PollStatus;
    /// The job does not exist in this workspace. Assumed.
    JobNotFound = "job_not_found", 404 NotFound permanent FixInput;
    /// Redelivery was requested for a job that is not terminal. Assumed.
    JobNotTerminal = "job_not_terminal", 409 Conflict retryable PollStatus;
    /// The model does not exist. Assumed.
    ModelNotFound = "model_not_found", 404 NotFound permanent FixInput;
    /// The top-up does not exist in this workspace. Assumed.
    TopUpNotFound = "top_up_not_found", 404 NotFound permanent FixInput;
    /// The path or the resource does not exist. Assumed.
    NotFound = "not_found", 404 NotFound permanent FixInput;
    /// The path exists, but not with this method. Assumed.
    MethodNotAllowed = "method_not_allowed", 405 Validation permanent FixInput;
    /// The amount is less than 500 cents, more than 1000000 cents, or not in whole cents.
    InvalidAmount = "invalid_amount", 400 Validation permanent FixInput;
    /// Top-ups require an API key of the open surface.
    OpenKeyRequired = "open_key_required", 403 Permission permanent Authenticate;
    /// The payment processor failed to create the checkout; retry with the same idempotency key.
    StripeError = "stripe_error", 502 Upstream retryable RetryLater;
    /// Top-ups are unavailable in this environment.
    StripeNotConfigured = "stripe_not_configured", 503 Upstream permanent ContactSupport;
    /// A top-level field is unknown; `details.errors[].suggestion` has a similar name.
    UnknownParameter = "unknown_parameter", 400 Validation permanent FixInput;
    /// The schema is outside the supported subset; see `details.violations[]`.
    OutputSchemaInvalid = "output_schema_invalid", 400 Validation permanent FixInput;
    /// An attachment is invalid, or the shared media limit is exceeded.
    InvalidAttachment = "invalid_attachment", 400 Validation permanent FixInput;
    /// The `asset_id` does not exist in this workspace.
    AttachmentNotFound = "attachment_not_found", 400 Validation permanent FixInput;
    /// The run of `previous_run_id` belongs to another Format.
    PreviousRunFormatMismatch = "previous_run_format_mismatch", 400 Validation permanent FixInput;
    /// The previous run has nothing to continue; `details` has `previous_run_status`, `has_thread`, `artifact_count`.
    PreviousRunNotResumable = "previous_run_not_resumable", 400 Validation permanent FixInput;
    /// The wallet has too few credits.
    InsufficientCredits = "insufficient_credits", 402 Funds permanent AddFunds;
    /// The organization workspace has no funded wallet.
    OrganizationWalletNotProvisioned = "organization_wallet_not_provisioned", 402 Funds permanent ContactSupport;
    /// A team Format requires a workspace key.
    WorkspaceKeyRequired = "workspace_key_required", 403 Permission permanent Authenticate;
    /// The Format is unknown, archived, outside the key's workspace, or not granted to it.
    FormatNotFound = "format_not_found", 404 NotFound permanent FixInput;
    /// The previous run is unknown or belongs to another workspace.
    PreviousRunNotFound = "previous_run_not_found", 404 NotFound permanent FixInput;
    /// The owner deactivated the Format.
    FormatInactive = "format_inactive", 409 Conflict permanent None;
    /// The owner disabled the API-call trigger.
    FormatApiTriggerDisabled = "format_api_trigger_disabled", 409 Conflict permanent None;
    /// Another run is in progress, and `on_active_run` is `reject`.
    FormatRunInProgress = "format_run_in_progress", 409 Conflict permanent None;
    /// The id is that of a built-in capability, not of a Format.
    FormatNotForkable = "format_not_forkable", 409 Conflict permanent FixInput;
    /// The previous run is still in progress.
    PreviousRunNotTerminal = "previous_run_not_terminal", 409 Conflict retryable PollStatus;
    /// A request with the same idempotency key is in progress; wait about a second.
    IdempotencyKeyInUse = "idempotency_key_in_use", 409 Conflict retryable RetryLater;
    /// The body is too large; see `details.limit_bytes`. In a webhook event, the receipt exceeded 1 MiB.
    PayloadTooLarge = "payload_too_large", 413 Validation permanent FixInput;
    /// An image exceeds 30 MB, or all attachments together exceed 500 MB.
    AttachmentTooLarge = "attachment_too_large", 413 Validation permanent FixInput;
    /// The body is not `application/json`; see `details.received_content_type`.
    UnsupportedMediaType = "unsupported_media_type", 415 Validation permanent FixInput;
    /// An attachment could not be fetched; see `details.index`.
    AttachmentFetchFailed = "attachment_fetch_failed", 502 Validation permanent FixInput;
    /// The service has an outage; retry with the same idempotency key. Runs keep executing.
    StudioAgentUpstreamUnavailable = "studio_agent_upstream_unavailable", 503 Upstream retryable RetryLater;
    /// The run could not be started, and no other code applies; any 4xx or 5xx.
    FormatRunFailedToStart = "format_run_failed_to_start", 500 Upstream permanent ContactSupport;
    /// The run is unknown or belongs to another owner.
    FormatRunNotFound = "format_run_not_found", 404 NotFound permanent FixInput;
    /// The queue is unknown or belongs to another owner.
    FormatRunQueueNotFound = "format_run_queue_not_found", 404 NotFound permanent FixInput;
    /// The result was requested before the run was terminal; see `details.status`.
    RunNotCompleted = "run_not_completed", 409 Conflict retryable PollStatus;
    /// Redelivery was requested for a job or run without a `webhook_url`.
    WebhookNotConfigured = "webhook_not_configured", 409 Conflict permanent None;
    /// Redelivery was requested for a run that is not terminal.
    RunNotTerminal = "run_not_terminal", 409 Conflict retryable PollStatus;
    /// The Action does not exist. Assumed.
    ActionNotFound = "action_not_found", 404 NotFound permanent FixInput;
    /// The Action run does not exist. Assumed.
    ActionRunNotFound = "action_run_not_found", 404 NotFound permanent FixInput;
    /// The Action has no API-call trigger. Assumed.
    ActionApiTriggerDisabled = "action_api_trigger_disabled", 409 Conflict permanent None;
    /// The agent run does not exist. Assumed.
    AgentRunNotFound = "agent_run_not_found", 404 NotFound permanent FixInput;
    /// The run reached a step that needs a person.
    UnattendedBlocked = "unattended_blocked", result Run permanent FixInput;
    /// The result did not match `output_schema`; `details` has `rejected_urls[]` or `violations[]`, and `harvested`.
    OutputSchemaUnsatisfied = "output_schema_unsatisfied", result Run permanent FixInput;
    /// The Format declares media output, but the run made none.
    DeliverableMissing = "deliverable_missing", result Run permanent FixInput;
    /// The output named by `primary_output_key` is empty.
    PrimaryOutputMissing = "primary_output_missing", result Run permanent FixInput;
    /// The agent reported that it did not deliver; see `details.reason`.
    AgentReportedFailure = "agent_reported_failure", result Run permanent FixInput;
    /// The time limit was reached with unfinished generation jobs; see `details.pending_job_count` and `details.pending_jobs[]`.
    IncompleteAssembly = "incomplete_assembly", result Run permanent RetryLater;
    /// The output could not be read; `details.reason` is `harvest_unavailable` or `harvest_threw`.
    OutputExtractionFailed = "output_extraction_failed", result Run permanent RetryLater;
    /// Required tools were not available; nothing was charged.
    McpUnavailable = "mcp_unavailable", result Run retryable RetryLater;
    /// The provider's stream was interrupted.
    ProviderUnavailable = "provider_unavailable", result Run retryable RetryLater;
    /// The run failed, or tried to exceed its spend cap.
    FormatRunFailed = "format_run_failed", result Run permanent None;
    /// The job failed. Assumed.
    GenerationFailed = "generation_failed", result Job permanent None;
    /// The job was canceled. Assumed.
    JobCanceled = "job_canceled", result Job permanent None;
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
}
