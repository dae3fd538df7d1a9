//! Agent Completions: runs of the agent from an instruction alone, without a saved Format.

use super::request::Request;
use super::response::ApiResult;
use super::runs::{self, COMMUNICATION_FIELDS, RunDefaults, RunRequest};
use crate::engine::runs::{RunFilter, RunKind};

/// `POST /v1/agent/completions`.
pub(super) fn create(request: &mut Request<'_>) -> ApiResult {
    request.body()?;
    request.create_once(|request| {
        let fields = request.fields()?;
        let own_fields = ["instruction", "generation_spend_cap_usd"];
        let known = [own_fields.as_slice(), COMMUNICATION_FIELDS.as_slice()].concat();
        runs::deny_unknown(fields, &known, "an Agent Completion")?;
        fields.required_text("instruction")?;
        let run_request = RunRequest::parse(fields)?;
        // The cap has no default. Unlike in Format runs, `null` does not stand for the maximum.
        let cap = match fields.value("generation_spend_cap_usd") {
            Some(value) if !value.is_null() => runs::spend_cap(fields)?,
            _ => None,
        };
        let cap = cap.ok_or_else(|| {
            let problem = "is required: a number greater than 0 and at most 500";
            fields.error("generation_spend_cap_usd", problem)
        })?;
        let defaults = RunDefaults { kind: RunKind::Agent, subject: None, cap, makes_image: true };
        runs::start(request, run_request, defaults)
    })
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
