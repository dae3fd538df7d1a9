//! The catalogue of error codes: every code that the specification names, and the few that this
//! project assumes (marked so).

use crate::open_enum::open_enum;

open_enum! {
    /// What to do about an error.
    pub enum NextAction {
        /// Bring another key.
        Authenticate = "authenticate",
        /// Change the request.
        FixInput = "fix_input",
        /// Top up.
        AddFunds = "add_funds",
        /// Send the same again later.
        RetryLater = "retry_later",
        /// Ask how the job or run stands.
        PollStatus = "poll_status",
        /// Ask the service's support.
        ContactSupport = "contact_support",
        /// Nothing can be done.
        None = "none",
    }
}

open_enum! {
    /// A coarse label of an error. The specification does not show the values: these are assumed.
    pub enum ErrorCategory {
        /// The request is wrong.
        Validation = "validation",
        /// The credential is wrong.
        Authentication = "authentication",
        /// The credential may not do this.
        Permission = "permission",
        /// Too little money.
        Funds = "funds",
        /// Nothing there.
        NotFound = "not_found",
        /// The state of the resource forbids it.
        Conflict = "conflict",
        /// Too many requests, or too many jobs at once.
        RateLimit = "rate_limit",
        /// A short overload.
        Overload = "overload",
        /// A service behind the service.
        Upstream = "upstream",
        /// A job's own failure.
        Job = "job",
        /// A run's own failure.
        Run = "run",
    }
}

open_enum! {
    /// A stable error code: branch on this, never on a message.
    ///
    /// ```
    /// use svc_sdk::contract::{ErrorCode, NextAction};
    ///
    /// let code = ErrorCode::from("insufficient_funds");
    /// assert_eq!(code, ErrorCode::InsufficientFunds);
    /// assert_eq!(code.entry().map(|entry| entry.next_action.clone()), Some(NextAction::AddFunds));
    /// ```
    pub enum ErrorCode {
        /// A field is missing, unknown for the model or out of range, or a header value is bad.
        InvalidRequest = "invalid_request",
        /// The key is missing, malformed, revoked or of the other host, or two credentials were sent.
        Unauthorized = "unauthorized",
        /// The balance cannot cover the price; `details` has `required_usd` and `available_usd`.
        InsufficientFunds = "insufficient_funds",
        /// The key lacks the scope, or may not use this surface; `details` may have `required_scope`.
        InsufficientScope = "insufficient_scope",
        /// The idempotency key was used for a different request.
        IdempotencyConflict = "idempotency_conflict",
        /// The budget is spent; `details.scope` is `read` or `write`.
        RateLimited = "rate_limited",
        /// A short overload.
        DatabaseBusy = "database_busy",
        /// The workspace is at its cap of jobs in flight.
        ConcurrencyLimitReached = "concurrency_limit_reached",
        /// Too late to cancel: generation has started.
        JobGenerationAlreadyStarted = "job_generation_already_started",
        /// A result was read before the job was terminal; `details.status`. Assumed.
        JobNotCompleted = "job_not_completed",
        /// No such job in this workspace. Assumed.
        JobNotFound = "job_not_found",
        /// Redelivery of a job that is still running. Assumed.
        JobNotTerminal = "job_not_terminal",
        /// No such model. Assumed.
        ModelNotFound = "model_not_found",
        /// No such top-up in this workspace. Assumed.
        TopUpNotFound = "top_up_not_found",
        /// No such path or resource. Assumed.
        NotFound = "not_found",
        /// The path exists, with another method. Assumed.
        MethodNotAllowed = "method_not_allowed",
        /// Under 500 cents, over 1000000 cents, or not whole cents.
        InvalidAmount = "invalid_amount",
        /// Top-ups take a key of the open surface.
        OpenKeyRequired = "open_key_required",
        /// The payment processor could not open the checkout; retry with the same key.
        StripeError = "stripe_error",
        /// Top-ups are unavailable in this environment.
        StripeNotConfigured = "stripe_not_configured",
        /// An unknown top-level field; `details.errors[].suggestion` names the likely one.
        UnknownParameter = "unknown_parameter",
        /// The schema is outside the supported subset; `details.violations[]`.
        OutputSchemaInvalid = "output_schema_invalid",
        /// A bad attachment, or the shared media budget is exceeded.
        InvalidAttachment = "invalid_attachment",
        /// Unknown `asset_id` in this workspace.
        AttachmentNotFound = "attachment_not_found",
        /// `previous_run_id` belongs to another Format.
        PreviousRunFormatMismatch = "previous_run_format_mismatch",
        /// Nothing to continue; `details` has `previous_run_status`, `has_thread`, `artifact_count`.
        PreviousRunNotResumable = "previous_run_not_resumable",
        /// The wallet cannot fund the run.
        InsufficientCredits = "insufficient_credits",
        /// An organization workspace without a funded wallet.
        OrganizationWalletNotProvisioned = "organization_wallet_not_provisioned",
        /// A team Format was called with a personal key.
        WorkspaceKeyRequired = "workspace_key_required",
        /// Unknown, archived, outside the key's workspace, or no accepted grant.
        FormatNotFound = "format_not_found",
        /// Unknown or foreign run id.
        PreviousRunNotFound = "previous_run_not_found",
        /// The owner set the Format inactive.
        FormatInactive = "format_inactive",
        /// The owner turned the API-call trigger off.
        FormatApiTriggerDisabled = "format_api_trigger_disabled",
        /// `on_active_run` is `reject` and a run is in flight.
        FormatRunInProgress = "format_run_in_progress",
        /// A built-in capability was addressed, not a Format.
        FormatNotForkable = "format_not_forkable",
        /// The run to continue is still in flight.
        PreviousRunNotTerminal = "previous_run_not_terminal",
        /// The same key is in flight; wait about a second.
        IdempotencyKeyInUse = "idempotency_key_in_use",
        /// The body is too large; `details.limit_bytes`. In a webhook: the receipt exceeded 1 MiB.
        PayloadTooLarge = "payload_too_large",
        /// An image over 30 MB, or a set over 500 MB.
        AttachmentTooLarge = "attachment_too_large",
        /// The body is not `application/json`; `details.received_content_type`.
        UnsupportedMediaType = "unsupported_media_type",
        /// An attachment could not be fetched; `details.index`.
        AttachmentFetchFailed = "attachment_fetch_failed",
        /// An outage on the service's side; retry with the same key. A run keeps executing.
        StudioAgentUpstreamUnavailable = "studio_agent_upstream_unavailable",
        /// The run could not be started, and no more specific code applies; any 4xx or 5xx.
        FormatRunFailedToStart = "format_run_failed_to_start",
        /// Unknown, or another owner's.
        FormatRunNotFound = "format_run_not_found",
        /// Unknown, or another owner's.
        FormatRunQueueNotFound = "format_run_queue_not_found",
        /// A result was read before the run was terminal; `details.status`.
        RunNotCompleted = "run_not_completed",
        /// Redelivery of something without a `webhook_url`.
        WebhookNotConfigured = "webhook_not_configured",
        /// Redelivery while the run is going on.
        RunNotTerminal = "run_not_terminal",
        /// No such Action. Assumed.
        ActionNotFound = "action_not_found",
        /// No such Action run. Assumed.
        ActionRunNotFound = "action_run_not_found",
        /// The Action has no API-call trigger. Assumed.
        ActionApiTriggerDisabled = "action_api_trigger_disabled",
        /// No such agent run. Assumed.
        AgentRunNotFound = "agent_run_not_found",
        /// The run hit a gate that needs a person.
        UnattendedBlocked = "unattended_blocked",
        /// The result did not match `output_schema`; `details` has `rejected_urls[]` or `violations[]`, and `harvested`.
        OutputSchemaUnsatisfied = "output_schema_unsatisfied",
        /// The Format declares media output and none was made.
        DeliverableMissing = "deliverable_missing",
        /// The named `primary_output_key` was left empty.
        PrimaryOutputMissing = "primary_output_missing",
        /// The run's own output reported that it did not deliver; `details.reason`.
        AgentReportedFailure = "agent_reported_failure",
        /// The time limit came with generation jobs unfinished; `details.pending_job_count`, `details.pending_jobs[]`.
        IncompleteAssembly = "incomplete_assembly",
        /// The output could not be read; `details.reason` is `harvest_unavailable` or `harvest_threw`.
        OutputExtractionFailed = "output_extraction_failed",
        /// Required tools did not attach; nothing was charged.
        McpUnavailable = "mcp_unavailable",
        /// The provider's stream was cut.
        ProviderUnavailable = "provider_unavailable",
        /// The run failed; also when it tried to spend past its cap.
        FormatRunFailed = "format_run_failed",
        /// The job failed. Assumed.
        GenerationFailed = "generation_failed",
        /// The job was canceled. Assumed.
        JobCanceled = "job_canceled",
    }
}

/// What the catalogue says of a code.
///
/// An error body of the service overrules it field by field: the catalogue is what holds where
/// the body says nothing (as on the open surface).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogueEntry {
    /// The code.
    pub code: ErrorCode,
    /// The HTTP status that it comes with; `None` for the failure of a job or a run, which is read
    /// with `200`.
    pub status: Option<u16>,
    /// Its category.
    pub category: ErrorCategory,
    /// Whether the same request can succeed later.
    pub retryable: bool,
    /// What to do.
    pub next_action: NextAction,
}

impl ErrorCode {
    /// The catalogue's entry; `None` for a code that this build does not know.
    #[must_use]
    pub fn entry(&self) -> Option<CatalogueEntry> {
        let (status, category, retryable, next_action) = row(self)?;
        let code = self.clone();
        Some(CatalogueEntry {
            code,
            status,
            category,
            retryable,
            next_action,
        })
    }
}

type Row = (Option<u16>, ErrorCategory, bool, NextAction);

fn row(code: &ErrorCode) -> Option<Row> {
    use ErrorCategory as Is;
    use ErrorCode as Code;
    use NextAction as Do;

    const AGAIN: bool = true;
    const FINAL: bool = false;

    Some(match code {
        Code::InvalidRequest => (Some(400), Is::Validation, FINAL, Do::FixInput),
        Code::Unauthorized => (Some(401), Is::Authentication, FINAL, Do::Authenticate),
        Code::InsufficientFunds => (Some(402), Is::Funds, FINAL, Do::AddFunds),
        Code::InsufficientScope => (Some(403), Is::Permission, FINAL, Do::Authenticate),
        Code::IdempotencyConflict => (Some(409), Is::Conflict, FINAL, Do::FixInput),
        Code::RateLimited => (Some(429), Is::RateLimit, AGAIN, Do::RetryLater),
        Code::DatabaseBusy => (Some(503), Is::Overload, AGAIN, Do::RetryLater),
        Code::ConcurrencyLimitReached => (Some(400), Is::RateLimit, AGAIN, Do::RetryLater),
        Code::JobGenerationAlreadyStarted => (Some(409), Is::Conflict, FINAL, Do::PollStatus),
        Code::JobNotCompleted => (Some(409), Is::Conflict, AGAIN, Do::PollStatus),
        Code::JobNotFound => (Some(404), Is::NotFound, FINAL, Do::FixInput),
        Code::JobNotTerminal => (Some(409), Is::Conflict, AGAIN, Do::PollStatus),
        Code::ModelNotFound => (Some(404), Is::NotFound, FINAL, Do::FixInput),
        Code::TopUpNotFound => (Some(404), Is::NotFound, FINAL, Do::FixInput),
        Code::NotFound => (Some(404), Is::NotFound, FINAL, Do::FixInput),
        Code::MethodNotAllowed => (Some(405), Is::Validation, FINAL, Do::FixInput),
        Code::InvalidAmount => (Some(400), Is::Validation, FINAL, Do::FixInput),
        Code::OpenKeyRequired => (Some(403), Is::Permission, FINAL, Do::Authenticate),
        Code::StripeError => (Some(502), Is::Upstream, AGAIN, Do::RetryLater),
        Code::StripeNotConfigured => (Some(503), Is::Upstream, FINAL, Do::ContactSupport),
        Code::UnknownParameter => (Some(400), Is::Validation, FINAL, Do::FixInput),
        Code::OutputSchemaInvalid => (Some(400), Is::Validation, FINAL, Do::FixInput),
        Code::InvalidAttachment => (Some(400), Is::Validation, FINAL, Do::FixInput),
        Code::AttachmentNotFound => (Some(400), Is::Validation, FINAL, Do::FixInput),
        Code::PreviousRunFormatMismatch => (Some(400), Is::Validation, FINAL, Do::FixInput),
        Code::PreviousRunNotResumable => (Some(400), Is::Validation, FINAL, Do::FixInput),
        Code::InsufficientCredits => (Some(402), Is::Funds, FINAL, Do::AddFunds),
        Code::OrganizationWalletNotProvisioned => (Some(402), Is::Funds, FINAL, Do::ContactSupport),
        Code::WorkspaceKeyRequired => (Some(403), Is::Permission, FINAL, Do::Authenticate),
        Code::FormatNotFound => (Some(404), Is::NotFound, FINAL, Do::FixInput),
        Code::PreviousRunNotFound => (Some(404), Is::NotFound, FINAL, Do::FixInput),
        Code::FormatInactive => (Some(409), Is::Conflict, FINAL, Do::None),
        Code::FormatApiTriggerDisabled => (Some(409), Is::Conflict, FINAL, Do::None),
        Code::FormatRunInProgress => (Some(409), Is::Conflict, AGAIN, Do::RetryLater),
        Code::FormatNotForkable => (Some(409), Is::Conflict, FINAL, Do::FixInput),
        Code::PreviousRunNotTerminal => (Some(409), Is::Conflict, AGAIN, Do::PollStatus),
        Code::IdempotencyKeyInUse => (Some(409), Is::Conflict, AGAIN, Do::RetryLater),
        Code::PayloadTooLarge => (Some(413), Is::Validation, FINAL, Do::FixInput),
        Code::AttachmentTooLarge => (Some(413), Is::Validation, FINAL, Do::FixInput),
        Code::UnsupportedMediaType => (Some(415), Is::Validation, FINAL, Do::FixInput),
        Code::AttachmentFetchFailed => (Some(502), Is::Validation, FINAL, Do::FixInput),
        Code::StudioAgentUpstreamUnavailable => (Some(503), Is::Upstream, AGAIN, Do::RetryLater),
        Code::FormatRunFailedToStart => (Some(500), Is::Upstream, FINAL, Do::ContactSupport),
        Code::FormatRunNotFound => (Some(404), Is::NotFound, FINAL, Do::FixInput),
        Code::FormatRunQueueNotFound => (Some(404), Is::NotFound, FINAL, Do::FixInput),
        Code::RunNotCompleted => (Some(409), Is::Conflict, AGAIN, Do::PollStatus),
        Code::WebhookNotConfigured => (Some(409), Is::Conflict, FINAL, Do::None),
        Code::RunNotTerminal => (Some(409), Is::Conflict, AGAIN, Do::PollStatus),
        Code::ActionNotFound => (Some(404), Is::NotFound, FINAL, Do::FixInput),
        Code::ActionRunNotFound => (Some(404), Is::NotFound, FINAL, Do::FixInput),
        Code::ActionApiTriggerDisabled => (Some(409), Is::Conflict, FINAL, Do::None),
        Code::AgentRunNotFound => (Some(404), Is::NotFound, FINAL, Do::FixInput),
        Code::UnattendedBlocked => (None, Is::Run, FINAL, Do::FixInput),
        Code::OutputSchemaUnsatisfied => (None, Is::Run, FINAL, Do::FixInput),
        Code::DeliverableMissing => (None, Is::Run, FINAL, Do::FixInput),
        Code::PrimaryOutputMissing => (None, Is::Run, FINAL, Do::FixInput),
        Code::AgentReportedFailure => (None, Is::Run, FINAL, Do::FixInput),
        Code::IncompleteAssembly => (None, Is::Run, FINAL, Do::RetryLater),
        Code::OutputExtractionFailed => (None, Is::Run, FINAL, Do::RetryLater),
        Code::McpUnavailable => (None, Is::Run, AGAIN, Do::RetryLater),
        Code::ProviderUnavailable => (None, Is::Run, AGAIN, Do::RetryLater),
        Code::FormatRunFailed => (None, Is::Run, FINAL, Do::None),
        Code::GenerationFailed => (None, Is::Job, FINAL, Do::None),
        Code::JobCanceled => (None, Is::Job, FINAL, Do::None),
        Code::Other(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_code_has_an_entry_and_a_lowercase_token() {
        for code in ErrorCode::KNOWN {
            let entry = code.entry().unwrap();
            assert_eq!(entry.code, *code);
            let token = code.as_str();
            assert!(
                token
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            );
            assert_eq!(ErrorCode::from(token), *code);
        }
    }

    #[test]
    fn what_the_specification_says_of_single_codes_holds() {
        let entry = |code: ErrorCode| code.entry().unwrap();
        assert_eq!(
            entry(ErrorCode::InsufficientCredits).next_action,
            NextAction::AddFunds
        );
        assert_eq!(
            entry(ErrorCode::AttachmentFetchFailed).next_action,
            NextAction::FixInput
        );
        assert!(entry(ErrorCode::IdempotencyKeyInUse).retryable);
        assert!(entry(ErrorCode::McpUnavailable).retryable);
        assert!(entry(ErrorCode::ProviderUnavailable).retryable);
        assert_eq!(entry(ErrorCode::ConcurrencyLimitReached).status, Some(400));
    }

    #[test]
    fn an_unknown_code_is_kept() {
        let code = ErrorCode::from("quota_of_tomorrow");
        assert_eq!(code.as_str(), "quota_of_tomorrow");
        assert_eq!(code.entry(), None);
    }
}
