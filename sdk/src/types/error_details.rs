//! The documented `details` of error codes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::response::response_body;
use super::{QueueId, SchemaViolation, Usd};
use crate::contract::{RunStatus, Scope};
use crate::open_enum::open_enum;

open_enum! {
    /// The [rate-limit bucket](crate::contract::RateLimitBucket) that is exhausted.
    pub enum RateLimitScope {
        /// The bucket of reads.
        Read = "read",
        /// The bucket of all other requests.
        Write = "write",
    }
}

response_body! {
    /// Information specific to an error code. Undocumented details are in `extra`.
    #[derive(Default)]
    pub struct ErrorDetails {
        /// The scope that the key lacks (`insufficient_scope`).
        optional required_scope: Scope,
        /// The workspace that the error refers to.
        optional workspace_id: String,
        /// The invalid field (`invalid_request`). Assumed.
        optional field: String,
        /// The unknown fields (`unknown_parameter`).
        list errors: UnknownParameter,
        /// The parts of a schema outside the supported subset (`output_schema_invalid`), or of an
        /// output that do not match its schema (`output_schema_unsatisfied`).
        list violations: SchemaViolation,
        /// The position of the attachment (`attachment_fetch_failed`).
        optional index: u64,
        /// The current status of the job or run (`run_not_completed`, `job_not_completed`).
        optional status: String,
        /// The exhausted budget (`rate_limited`).
        optional scope: RateLimitScope,
        /// The maximum size in bytes (`payload_too_large`).
        optional limit_bytes: u64,
        /// The content type of the request (`unsupported_media_type`).
        optional received_content_type: String,
        /// The queue that the idempotency key was used for (`idempotency_conflict`).
        optional queue_id: QueueId,
        /// The price of the request (`insufficient_funds`).
        amount required_usd: Usd,
        /// The available balance (`insufficient_funds`).
        amount available_usd: Usd,
        /// The status of the previous run (`previous_run_not_resumable`).
        optional previous_run_status: RunStatus,
        /// Whether the previous run has a thread to continue (`previous_run_not_resumable`).
        optional has_thread: bool,
        /// The number of artifacts of the previous run (`previous_run_not_resumable`).
        optional artifact_count: u64,
        /// The reason: a description (`agent_reported_failure`), `harvest_unavailable` or
        /// `harvest_threw` (`output_extraction_failed`), or
        /// `service_account_format_runs_unsupported` (`insufficient_scope`).
        optional reason: String,
        /// The URLs in the output that are not the run's own (`output_schema_unsatisfied`).
        list rejected_urls: String,
        /// The number of generated artifacts by media type (`output_schema_unsatisfied`).
        optional harvested: BTreeMap<String, u64>,
        /// The number of unfinished generation jobs (`incomplete_assembly`).
        optional pending_job_count: u64,
        /// The unfinished generation jobs (`incomplete_assembly`). The shape is not shown.
        list pending_jobs: Value,
        /// Whether a new run can succeed (`mcp_unavailable`, `provider_unavailable`).
        optional retryable: bool,
        /// Whether anything was charged (`mcp_unavailable`).
        optional charged: bool,
    }
}

impl ErrorDetails {
    /// Returns `true` if there are no details.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self == Self::empty()
    }

    pub(super) fn empty() -> &'static Self {
        static EMPTY: LazyLock<ErrorDetails> = LazyLock::new(ErrorDetails::default);
        &EMPTY
    }
}

response_body! {
    /// A field of a request that the service does not know.
    #[derive(Default)]
    pub struct UnknownParameter {
        /// The name of the field. Assumed.
        optional field: String,
        /// A description for people. Assumed.
        optional message: String,
        /// The name of the field that was probably meant.
        optional suggestion: String,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_the_details_that_have_the_expected_type() {
        let json = json!({
            "errors": [{"field": "prompt", "suggestion": "instruction"}],
            "violations": [{"path": "/hero", "rule": "required", "message": "is missing"}],
            "rejected_urls": ["https://elsewhere.example/a.png"],
            "harvested": {"image": 2}, "retryable": "perhaps", "scope": "write",
            "required_usd": "0.7035", "lane": 1
        });
        let details: ErrorDetails = serde_json::from_value(json.clone()).unwrap();
        let suggestion = details.errors[0].suggestion.as_deref();
        assert_eq!(suggestion, Some("instruction"));
        assert_eq!(details.violations[0].path, "/hero");
        assert_eq!(details.harvested.as_ref().unwrap()["image"], 2);
        assert_eq!(details.scope, Some(RateLimitScope::Write));
        assert_eq!(details.required_usd, Some(Usd::from_micros(703_500)));
        assert_eq!(details.retryable, None);
        assert_eq!(details.extra.get("retryable"), Some(&json!("perhaps")));
        assert_eq!(serde_json::to_value(details).unwrap(), json);
    }
}
