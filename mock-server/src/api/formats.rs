//! Formats: list and get Formats, list and start their runs.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, RunStatus};

use super::api_error::ApiError;
use super::fields::Fields;
use super::pagination;
use super::request::{Created, Request};
use super::response::{ApiResponse, ApiResult};
use super::runs::{self, COMMUNICATION_FIELDS, RunDefaults, RunRequest};
use crate::engine::formats::{CREATED_AT, FORMATS, Format, FormatState, NotCallable, Owner};
use crate::engine::runs::{RunFilter, RunKind};

/// The fields of a run besides the communication fields.
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

/// `GET /v1/formats`: the Formats that the key can read. `limit` and `cursor` page through them.
pub(super) fn list(request: &mut Request<'_>) -> ApiResult {
    let limit = pagination::limit(request)?;
    let workspace = request.workspace();
    let visible =
        || FORMATS.iter().filter(|format| format.is_visible_to(workspace, &request.state.grants));
    let offset = pagination::offset(request, visible().map(|format| format.id))?;
    let (page, next) = pagination::page(visible().skip(offset), limit);
    let items = page.into_iter().map(view).collect();
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
    create_once(request, "formats_runs_create", format, |request| {
        let (run_request, reject_if_active) = read(request, format, request.fields()?)?;
        check_state(format)?;
        check_previous_run_ended(request, &run_request)?;
        if reject_if_active {
            check_no_active_run(request, format)?;
        }
        runs::start(request, run_request, defaults(format))
    })
}

/// Creates something of a Format. Idempotency keys belong to the Format, whether the path names it by
/// ID or by slug.
pub(super) fn create_once(
    request: &mut Request<'_>,
    operation: &str,
    format: &Format,
    create: impl FnOnce(&mut Request<'_>) -> Created,
) -> ApiResult {
    request.body()?;
    let scope = format!("{operation} {}", format.id);
    request.create_once_in(&scope, Request::body_digest, create)
}

/// Reads the fields of a run, and whether it is to be rejected if another run is active.
pub(super) fn read(
    request: &Request<'_>,
    format: &Format,
    fields: Fields<'_>,
) -> Result<(RunRequest, bool), ApiError> {
    let known = [FIELDS.as_slice(), COMMUNICATION_FIELDS.as_slice()].concat();
    runs::deny_unknown(fields, &known, "a Format run")?;
    let run_request = RunRequest::parse(fields)?;
    run_request.check_content(fields)?;
    let reject_if_active = fields.one_of("on_active_run", &["reject"])?.is_some();
    validate_previous_run(request, format, &run_request)?;
    Ok((run_request, reject_if_active))
}

pub(super) fn defaults(format: &Format) -> RunDefaults {
    RunDefaults {
        kind: RunKind::Format,
        subject: Some(format.id.to_owned()),
        cap: format.cap,
        makes_image: format.makes_image,
    }
}

/// Returns the Format that the path names, if the key can read it.
fn find_visible(request: &Request<'_>) -> Result<&'static Format, ApiError> {
    let grants = &request.state.grants;
    let format =
        find_named(request).filter(|format| format.is_visible_to(request.workspace(), grants));
    format.ok_or_else(not_found)
}

/// Returns the Format that the path names, if the key can run it.
pub(super) fn find_callable(request: &Request<'_>) -> Result<&'static Format, ApiError> {
    let format = find_named(request).ok_or_else(not_found)?;
    let state = &request.state;
    match format.check_callable(request.workspace(), &state.workspaces, &state.grants) {
        Ok(()) => Ok(format),
        Err(NotCallable::Unknown) => Err(not_found()),
        Err(NotCallable::NeedsTeamKey) => Err(ApiError::new(
            ErrorCode::WorkspaceKeyRequired,
            "this Format belongs to a team: use an API key of the team's workspace",
        )),
    }
}

fn find_named(request: &Request<'_>) -> Option<&'static Format> {
    match request.segments {
        [id] => Format::by_id(id),
        [handle, slug] => Format::by_slug(handle, slug),
        _ => None,
    }
}

fn not_found() -> ApiError {
    ApiError::new(ErrorCode::FormatNotFound, "Format not found")
}

/// Checks that the previous run is a run of this Format that can be continued.
fn validate_previous_run(
    request: &Request<'_>,
    format: &Format,
    run_request: &RunRequest,
) -> Result<(), ApiError> {
    let Some(id) = &run_request.previous_run_id else { return Ok(()) };
    let run = request.state.runs.by_id(id).filter(|run| {
        run.config.workspace == request.workspace() && run.config.kind == RunKind::Format
    });
    let Some(run) = run else {
        let message = "previous run not found";
        return Err(ApiError::new(ErrorCode::PreviousRunNotFound, message));
    };
    if run.config.subject.as_deref() != Some(format.id) {
        let message = "previous run belongs to another Format";
        let error = ApiError::new(ErrorCode::PreviousRunFormatMismatch, message);
        return Err(error.detail("previous_format_id", json!(run.config.subject)));
    }
    let (has_thread, artifacts) = (run.thread().is_some(), run.ready_artifacts().len());
    if run.status.is_terminal() && !has_thread && artifacts == 0 {
        let message = "previous run has no thread and no artifacts to continue from";
        let error = ApiError::new(ErrorCode::PreviousRunNotResumable, message);
        return Err(error
            .detail("previous_run_status", json!(run.status))
            .detail("has_thread", json!(has_thread))
            .detail("artifact_count", json!(artifacts)));
    }
    Ok(())
}

/// Checks that a callable Format is in a state in which it can be run.
pub(super) fn check_state(format: &Format) -> Result<(), ApiError> {
    let (code, message) = match format.state {
        FormatState::Active => return Ok(()),
        FormatState::Inactive => (ErrorCode::FormatInactive, "Format is inactive"),
        FormatState::NoTrigger => {
            (ErrorCode::FormatApiTriggerDisabled, "API-call trigger of the Format is disabled")
        }
        FormatState::BuiltIn => {
            (ErrorCode::FormatNotForkable, "built-in capabilities cannot be run as a Format")
        }
        FormatState::Archived => return Err(not_found()),
    };
    Err(ApiError::new(code, message).detail("format_id", json!(format.id)))
}

/// Checks that the previous run, if there is one, has ended.
pub(super) fn check_previous_run_ended(
    request: &Request<'_>,
    run_request: &RunRequest,
) -> Result<(), ApiError> {
    let previous = run_request.previous_run_id.as_deref();
    let status: Option<&RunStatus> =
        previous.and_then(|id| request.state.runs.by_id(id)).map(|run| &run.status);
    match status.filter(|status| !status.is_terminal()) {
        None => Ok(()),
        Some(status) => {
            let message = format!("previous run is {status}: wait until it has ended");
            let error = ApiError::new(ErrorCode::PreviousRunNotTerminal, message);
            Err(error.detail("previous_run_status", json!(status)))
        }
    }
}

/// Checks that no run of the Format is active, as `on_active_run` requests.
pub(super) fn check_no_active_run(request: &Request<'_>, format: &Format) -> Result<(), ApiError> {
    if !request.state.runs.any_in_flight(&filter(request, format)) {
        return Ok(());
    }
    let message = "another run of the Format is in progress";
    Err(ApiError::new(ErrorCode::FormatRunInProgress, message))
}

fn filter(request: &Request<'_>, format: &Format) -> RunFilter {
    RunFilter {
        workspace: request.workspace().to_owned(),
        kind: RunKind::Format,
        subject: Some(format.id.to_owned()),
    }
}

/// Returns the JSON view of a Format, which never contains the recipe.
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
        "generation_spend_cap_usd_micros": format.cap.as_micros(),
        "io": if format.makes_image { json!({"output_kind": "image"}) } else { json!({}) },
        "created_at": CREATED_AT,
        "updated_at": CREATED_AT,
    })
}
