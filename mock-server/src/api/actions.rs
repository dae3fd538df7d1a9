//! Actions: list and get, their runs, and starting one through its API-call trigger.

use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;

use super::api_error::ApiError;
use super::fields::Fields;
use super::pagination;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use super::runs::{self, COMMUNICATION_FIELDS, RunDefaults, RunRequest};
use crate::engine::actions::{Action, CREATED_AT, Trigger};
use crate::engine::formats::DEFAULT_CAP;
use crate::engine::runs::{RunFilter, RunKind};

/// `GET /v1/actions`: by `status` and `trigger_type`; `limit` and `cursor` page through them.
pub(super) fn list(request: &mut Request<'_>) -> ApiResult {
    let limit = pagination::limit(request)?;
    let status = filter(request, "status", &["active", "inactive"])?;
    let trigger = filter(request, "trigger_type", &["schedule", "api_call"])?;
    let wanted = || {
        // All of them are active.
        let active = status.as_deref() != Some("inactive");
        let actions = Action::visible_to(request.workspace()).filter(move |_| active);
        actions.filter(|action| {
            let mut kinds = action.triggers.iter().map(|trigger| trigger.as_str());
            let trigger = trigger.as_deref();
            trigger.is_none_or(|wanted| kinds.any(|kind| kind == wanted))
        })
    };
    let after = match request.parameter("cursor")? {
        None => 0,
        Some(id) => {
            let last = wanted().position(|action| action.id == id);
            last.ok_or_else(pagination::invalid_cursor)? + 1
        }
    };
    let (shown, next) = pagination::page(wanted().skip(after), limit);
    let items = shown.into_iter().map(view).collect();
    Ok(ApiResponse::page(items, next.map(|action| action.id)))
}

/// `GET /v1/actions/{action_id}`.
pub(super) fn get(request: &mut Request<'_>) -> ApiResult {
    Ok(ApiResponse::data(200, view(find(request)?)))
}

/// `GET /v1/actions/{action_id}/runs`: newest first.
pub(super) fn list_runs(request: &mut Request<'_>) -> ApiResult {
    let action = find(request)?;
    let filter = RunFilter {
        workspace: request.workspace().to_owned(),
        kind: RunKind::Action,
        subject: Some(action.id.to_owned()),
    };
    runs::list(request, &filter)
}

/// `GET /v1/actions/{action_id}/runs/{run_id}`.
pub(super) fn get_run(request: &mut Request<'_>) -> ApiResult {
    let action = find(request)?;
    let run = runs::find(request, RunKind::Action)?;
    if run.config.subject.as_deref() != Some(action.id) {
        let message = "The run is one of another Action.";
        return Err(ApiError::new(ErrorCode::ActionRunNotFound, message));
    }
    runs::get(request, RunKind::Action)
}

/// `POST /v1/actions/{action_id}/runs`. Nothing has to be said.
pub(super) fn run(request: &mut Request<'_>) -> ApiResult {
    let action = find(request)?;
    let slot = match request.replay()? {
        Ok(receipt) => return Ok(ApiResponse::data(200, receipt)),
        Err(slot) => slot,
    };
    let empty_body = json!({});
    let fields = Fields::of_body(request.body.as_ref().unwrap_or(&empty_body))?;
    let known = [&["instruction", "input"], COMMUNICATION_FIELDS.as_slice()].concat();
    runs::deny_unknown(fields, &known, "an Action run")?;
    let run_request = RunRequest::parse(fields)?;
    if !action.has_api_trigger() {
        let message = "The Action has no API-call trigger.";
        return Err(ApiError::new(ErrorCode::ActionApiTriggerDisabled, message));
    }
    let defaults = RunDefaults {
        kind: RunKind::Action,
        subject: Some(action.id.to_owned()),
        cap: DEFAULT_CAP,
        makes_image: true,
    };
    runs::start(request, slot, run_request, defaults)
}

/// The Action of the path, in the key's workspace.
fn find(request: &Request<'_>) -> Result<&'static Action, ApiError> {
    let id = request.id();
    let action = Action::visible_to(request.workspace()).find(|action| action.id == id);
    action.ok_or_else(|| {
        let message = "There is no such Action in this workspace.";
        ApiError::new(ErrorCode::ActionNotFound, message)
    })
}

fn filter(request: &Request<'_>, name: &str, known: &[&str]) -> Result<Option<String>, ApiError> {
    let value = request.parameter(name)?;
    match value.as_deref() {
        Some(word) if !known.contains(&word) => {
            let problem = format!("must be one of {}", known.join(", "));
            Err(ApiError::field(name, problem))
        }
        _ => Ok(value),
    }
}

/// An Action as it is read.
fn view(action: &Action) -> Value {
    let trigger = |trigger: &Trigger| match trigger {
        Trigger::Schedule(schedule) => json!({"type": trigger.as_str(), "schedule": schedule}),
        Trigger::ApiCall => json!({"type": trigger.as_str()}),
    };
    json!({
        "id": action.id,
        "name": action.name,
        "description": action.description,
        "status": "active",
        "triggers": action.triggers.iter().map(trigger).collect::<Vec<_>>(),
        "created_at": CREATED_AT,
        "updated_at": CREATED_AT,
    })
}
