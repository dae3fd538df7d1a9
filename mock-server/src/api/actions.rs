//! Actions: list and get Actions, list their runs, and start runs through the API-call trigger.

use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;

use super::api_error::ApiError;
use super::pagination;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use super::runs::{self, COMMUNICATION_FIELDS, RunDefaults, RunRequest};
use crate::engine::actions::{Action, CREATED_AT, Trigger};
use crate::engine::formats::DEFAULT_CAP;
use crate::engine::runs::{RunFilter, RunKind};

/// `GET /v1/actions`: filtered by `status` and `trigger_type`. `limit` and `cursor` page through the
/// list.
pub(super) fn list(request: &mut Request<'_>) -> ApiResult {
    let limit = pagination::limit(request)?;
    let status = request.parameter_one_of("status", &["active", "inactive"])?;
    let trigger = request.parameter_one_of("trigger_type", &["schedule", "api_call"])?;
    let matching = || {
        // All Actions of the mock are active.
        let includes_active = status.as_deref() != Some("inactive");
        let actions = Action::visible_to(request.workspace(), &request.state.grants);
        let actions = actions.filter(move |_| includes_active);
        actions.filter(|action| {
            let mut kinds = action.triggers.iter().map(|trigger| trigger.as_str());
            let trigger = trigger.as_deref();
            trigger.is_none_or(|expected| kinds.any(|kind| kind == expected))
        })
    };
    let offset = pagination::offset(request, matching().map(|action| action.id))?;
    let (page, next) = pagination::page(matching().skip(offset), limit);
    let items = page.into_iter().map(view).collect();
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
        let message = "run belongs to another Action";
        return Err(ApiError::new(ErrorCode::ActionRunNotFound, message));
    }
    runs::get(request, RunKind::Action)
}

/// `POST /v1/actions/{action_id}/runs`. The body is optional.
pub(super) fn run(request: &mut Request<'_>) -> ApiResult {
    let action = find(request)?;
    request.create_once(|request| {
        let fields = request.optional_fields()?;
        let known = [&["instruction", "input"], COMMUNICATION_FIELDS.as_slice()].concat();
        runs::deny_unknown(fields, &known, "an Action run")?;
        let run_request = RunRequest::parse(fields)?;
        if !action.triggers.contains(&Trigger::ApiCall) {
            let message = "Action has no API-call trigger";
            return Err(ApiError::new(ErrorCode::ActionApiTriggerDisabled, message));
        }
        let defaults = RunDefaults {
            kind: RunKind::Action,
            subject: Some(action.id.to_owned()),
            cap: DEFAULT_CAP,
            makes_image: true,
        };
        runs::start(request, run_request, defaults)
    })
}

/// Returns the Action that the path names, if it is in the key's workspace.
fn find(request: &Request<'_>) -> Result<&'static Action, ApiError> {
    let id = request.id();
    let mut actions = Action::visible_to(request.workspace(), &request.state.grants);
    let action = actions.find(|action| action.id == id);
    action.ok_or_else(|| {
        let message = "Action not found in this workspace";
        ApiError::new(ErrorCode::ActionNotFound, message)
    })
}

fn view(action: &Action) -> Value {
    let trigger = |trigger: &Trigger| match trigger {
        Trigger::Schedule(schedule) => {
            json!({"type": trigger.as_str(), "schedule": schedule.cron()})
        }
        Trigger::ApiCall => json!({"type": trigger.as_str()}),
    };
    json!({
        "id": action.id,
        "name": action.name,
        "description": action.description,
        "status": "active",
        "schedule": action
            .schedule()
            .map(|schedule| json!({"cron": schedule.cron(), "timezone": "UTC"})),
        "triggers": action.triggers.iter().map(trigger).collect::<Vec<_>>(),
        "created_at": CREATED_AT,
        "updated_at": CREATED_AT,
    })
}
