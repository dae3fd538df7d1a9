//! Formats: list and get, their runs, and starting one.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, RunStatus};

use super::api_error::ApiError;
use super::fields::Fields;
use super::request::{IdempotencySlot, Request};
use super::response::{ApiResponse, ApiResult};
use super::runs::{self, COMMUNICATION_FIELDS, RunDefaults, RunRequest};
use super::{pagination, strict_json};
use crate::engine::formats::{CREATED_AT, FORMATS, Format, FormatState, NotCallable, Owner};
use crate::engine::runs::{RunFilter, RunKind};
use crate::engine::workspaces::WorkspaceKind;

/// The fields of a run beside those of communication.
const FIELDS: [&str; 9] = [
    "instruction",
    "input",
    "previous_run_id",
    "attachments",
    "output_schema",
    "response_format",
    "generation_spend_cap_usd",
    "model",
    "on_active_run",
];

/// `GET /v1/formats`: those that the key sees; `limit` and `cursor` page through them.
pub(super) fn list(request: &mut Request<'_>) -> ApiResult {
    let limit = pagination::limit(request)?;
    let workspace = request.workspace();
    let find_visible = || {
        FORMATS
            .iter()
            .filter(|format| format.is_visible_to(workspace))
    };
    let after = match request.parameter("cursor")? {
        None => 0,
        Some(id) => {
            let last = find_visible().position(|format| format.id == id);
            last.ok_or_else(pagination::invalid_cursor)? + 1
        }
    };
    let (shown, next) = pagination::page(find_visible().skip(after), limit);
    let items = shown.into_iter().map(view).collect();
    Ok(ApiResponse::page(items, next.map(|format| format.id)))
}

/// `GET /v1/formats/{format_id}` and `GET /v1/formats/{handle}/{slug}`.
pub(super) fn get(request: &mut Request<'_>) -> ApiResult {
    Ok(ApiResponse::data(200, view(find_visible(request)?)))
}

/// `GET …/runs`: the workspace's runs of a Format, newest first.
pub(super) fn list_runs(request: &mut Request<'_>) -> ApiResult {
    let format = find_visible(request)?;
    runs::list(request, &filter(request, format))
}

/// `POST …/runs`.
pub(super) fn run(request: &mut Request<'_>) -> ApiResult {
    let format = find_callable(request)?;
    let slot = match replay(request, "formats_runs_create", format)? {
        Ok(receipt) => return Ok(ApiResponse::data(200, receipt)),
        Err(slot) => slot,
    };
    let (run_request, rejects) = read(request, format, Fields::of_body(request.body()?)?)?;
    check_state(format)?;
    check_previous_run_ended(request, &run_request)?;
    if rejects {
        check_no_active_run(request, format)?;
    }
    runs::start(request, slot, run_request, defaults(format))
}

/// What the idempotency key says; one is kept for a Format, whichever way that is addressed.
pub(super) fn replay(
    request: &Request<'_>,
    operation: &str,
    format: &Format,
) -> Result<Result<Value, IdempotencySlot>, ApiError> {
    let what = format!("{operation} {}", format.id);
    request.replay_for(&what, strict_json::digest(request.body()?))
}

/// Reads the fields of a run, and whether it wants to be the only one.
pub(super) fn read(
    request: &Request<'_>,
    format: &Format,
    fields: Fields<'_>,
) -> Result<(RunRequest, bool), ApiError> {
    let known = [FIELDS.as_slice(), COMMUNICATION_FIELDS.as_slice()].concat();
    runs::deny_unknown(fields, &known, "a Format run")?;
    let run_request = RunRequest::parse(fields)?;
    run_request.check_content(fields)?;
    let rejects = fields.one_of("on_active_run", &["reject"])?.is_some();
    validate_previous_run(request, format, &run_request)?;
    Ok((run_request, rejects))
}

/// What holds for a run of a Format.
pub(super) fn defaults(format: &Format) -> RunDefaults {
    RunDefaults {
        kind: RunKind::Format,
        subject: Some(format.id.to_owned()),
        cap: format.cap,
        makes_image: format.makes_image,
    }
}

/// The Format that the path names, if the key sees it.
fn find_visible(request: &Request<'_>) -> Result<&'static Format, ApiError> {
    let format = find_named(request).filter(|format| format.is_visible_to(request.workspace()));
    format.ok_or_else(not_found)
}

/// The Format that the path names, if the key may call it.
pub(super) fn find_callable(request: &Request<'_>) -> Result<&'static Format, ApiError> {
    let format = find_named(request).ok_or_else(not_found)?;
    let workspace = request.workspace();
    let kind = request.state.workspaces.get(workspace);
    let kind = kind.map_or(WorkspaceKind::Personal, |workspace| workspace.kind);
    match format.check_callable(workspace, kind) {
        Ok(()) => Ok(format),
        Err(NotCallable::Unknown) => Err(not_found()),
        Err(NotCallable::NeedsTeamKey) => Err(ApiError::new(
            ErrorCode::WorkspaceKeyRequired,
            "The Format is a team's: it takes a key of the team's workspace.",
        )),
    }
}

fn find_named(request: &Request<'_>) -> Option<&'static Format> {
    match request.segments.as_slice() {
        [id] => Format::by_id(id),
        [handle, slug] => Format::by_slug(handle, slug),
        _ => None,
    }
}

fn not_found() -> ApiError {
    ApiError::new(ErrorCode::FormatNotFound, "There is no such Format.")
}

/// The run to continue has to be one of this Format's, with something to continue.
fn validate_previous_run(
    request: &Request<'_>,
    format: &Format,
    run_request: &RunRequest,
) -> Result<(), ApiError> {
    let Some(id) = &run_request.previous_run_id else {
        return Ok(());
    };
    let run = request.state.runs.by_id(id).filter(|run| {
        run.config.workspace == request.workspace() && run.config.kind == RunKind::Format
    });
    let Some(run) = run else {
        let message = "There is no such run to continue.";
        return Err(ApiError::new(ErrorCode::PreviousRunNotFound, message));
    };
    if run.config.subject.as_deref() != Some(format.id) {
        let message = "The run to continue is one of another Format.";
        let error = ApiError::new(ErrorCode::PreviousRunFormatMismatch, message);
        return Err(error.detail("previous_format_id", json!(run.config.subject)));
    }
    let (has_thread, artifacts) = (run.has_thread(), run.ready_artifacts().len());
    if run.status.is_terminal() && !has_thread && artifacts == 0 {
        let message = "There is nothing to continue.";
        let error = ApiError::new(ErrorCode::PreviousRunNotResumable, message);
        return Err(error
            .detail("previous_run_status", json!(run.status))
            .detail("has_thread", json!(has_thread))
            .detail("artifact_count", json!(artifacts)));
    }
    Ok(())
}

/// A Format that is there and may be called may still not be run.
pub(super) fn check_state(format: &Format) -> Result<(), ApiError> {
    let (code, message) = match format.state {
        FormatState::Active => return Ok(()),
        FormatState::Inactive => (ErrorCode::FormatInactive, "The Format is set inactive."),
        FormatState::NoTrigger => (
            ErrorCode::FormatApiTriggerDisabled,
            "The Format's API-call trigger is off.",
        ),
        FormatState::BuiltIn => (
            ErrorCode::FormatNotForkable,
            "This is a capability of the service, and not a Format.",
        ),
        FormatState::Archived => return Err(not_found()),
    };
    Err(ApiError::new(code, message).detail("format_id", json!(format.id)))
}

/// The run to continue has to have ended.
pub(super) fn check_previous_run_ended(
    request: &Request<'_>,
    run_request: &RunRequest,
) -> Result<(), ApiError> {
    let previous = run_request.previous_run_id.as_deref();
    let status: Option<&RunStatus> = previous
        .and_then(|id| request.state.runs.by_id(id))
        .map(|run| &run.status);
    match status.filter(|status| !status.is_terminal()) {
        None => Ok(()),
        Some(status) => {
            let message = format!("The run to continue is {status}.");
            let error = ApiError::new(ErrorCode::PreviousRunNotTerminal, message);
            Err(error.detail("previous_run_status", json!(status)))
        }
    }
}

/// What `on_active_run` asks for.
pub(super) fn check_no_active_run(request: &Request<'_>, format: &Format) -> Result<(), ApiError> {
    if !request.state.runs.any_in_flight(&filter(request, format)) {
        return Ok(());
    }
    let message = "A run of the Format is in flight.";
    Err(ApiError::new(ErrorCode::FormatRunInProgress, message))
}

fn filter(request: &Request<'_>, format: &Format) -> RunFilter {
    RunFilter {
        workspace: request.workspace().to_owned(),
        kind: RunKind::Format,
        subject: Some(format.id.to_owned()),
    }
}

/// A Format as it is read. The recipe is never told.
fn view(format: &Format) -> Value {
    let owner = match format.owner {
        Owner::FirstParty => "studio",
        Owner::Workspace(workspace) => workspace,
    };
    let status = match format.state {
        FormatState::Inactive => "inactive",
        _ => "active",
    };
    json!({
        "id": format.id,
        "handle": format.handle,
        "slug": format.slug,
        "name": format.name,
        "description": format.description,
        "status": status,
        "owner": owner,
        "first_party": format.owner == Owner::FirstParty,
        "generation_spend_cap_usd_micros": format.cap.micros(),
        "io": if format.makes_image { json!({"output_kind": "image"}) } else { json!({}) },
        "created_at": CREATED_AT,
        "updated_at": CREATED_AT,
    })
}
