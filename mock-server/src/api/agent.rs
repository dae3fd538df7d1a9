//! Agent Completions: the agent on an instruction, with nothing saved.

use super::fields::Fields;
use super::request::Request;
use super::response::{Answer, Outcome};
use super::runs::{self, Asked, COMMUNICATION, Terms};
use crate::engine::runs::{RunKind, Shelf};

/// `POST /v1/agent/completions`.
pub(super) fn create(request: &mut Request<'_>) -> Outcome {
    let body = request.body()?;
    let once = match request.replay()? {
        Ok(receipt) => return Ok(Answer::data(200, receipt)),
        Err(once) => once,
    };
    let fields = Fields::of_body(body)?;
    let known = [
        &["instruction", "generation_spend_cap_usd"],
        COMMUNICATION.as_slice(),
    ]
    .concat();
    runs::only(fields, &known, "an Agent Completion")?;
    fields.required_text("instruction")?;
    let asked = Asked::of(fields)?;
    // There is no default, and nothing does not mean the most.
    let cap = match fields.value("generation_spend_cap_usd") {
        Some(value) if !value.is_null() => runs::spend_cap(fields)?,
        _ => None,
    };
    let cap = cap.ok_or_else(|| {
        let problem = "is required: a number above 0 and at most 500";
        fields.wrong("generation_spend_cap_usd", problem)
    })?;
    let terms = Terms {
        kind: RunKind::Agent,
        subject: None,
        cap,
        makes_image: true,
    };
    runs::begin(request, once, asked, terms)
}

/// `GET /v1/agent-runs`: newest first.
pub(super) fn list(request: &mut Request<'_>) -> Outcome {
    let shelf = Shelf {
        workspace: request.workspace().to_owned(),
        kind: RunKind::Agent,
        subject: None,
    };
    runs::list(request, &shelf)
}
