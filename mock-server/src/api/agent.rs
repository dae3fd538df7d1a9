//! Agent Completions: the agent on an instruction, with nothing saved.

use super::fields::Fields;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use super::runs::{self, COMMUNICATION_FIELDS, RunDefaults, RunRequest};
use crate::engine::runs::{RunFilter, RunKind};

/// `POST /v1/agent/completions`.
pub(super) fn create(request: &mut Request<'_>) -> ApiResult {
    let body = request.body()?;
    let slot = match request.replay()? {
        Ok(receipt) => return Ok(ApiResponse::data(200, receipt)),
        Err(slot) => slot,
    };
    let fields = Fields::of_body(body)?;
    let known = [
        &["instruction", "generation_spend_cap_usd"],
        COMMUNICATION_FIELDS.as_slice(),
    ]
    .concat();
    runs::deny_unknown(fields, &known, "an Agent Completion")?;
    fields.required_text("instruction")?;
    let run_request = RunRequest::parse(fields)?;
    // There is no default, and nothing does not mean the most.
    let cap = match fields.value("generation_spend_cap_usd") {
        Some(value) if !value.is_null() => runs::spend_cap(fields)?,
        _ => None,
    };
    let cap = cap.ok_or_else(|| {
        let problem = "is required: a number above 0 and at most 500";
        fields.error("generation_spend_cap_usd", problem)
    })?;
    let defaults = RunDefaults {
        kind: RunKind::Agent,
        subject: None,
        cap,
        makes_image: true,
    };
    runs::start(request, slot, run_request, defaults)
}

/// `GET /v1/agent-runs`: newest first.
pub(super) fn list(request: &mut Request<'_>) -> ApiResult {
    let filter = RunFilter {
        workspace: request.workspace().to_owned(),
        kind: RunKind::Agent,
        subject: None,
    };
    runs::list(request, &filter)
}
