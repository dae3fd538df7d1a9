//! Handlers of runs of every kind: start, list, get, status, result, events, cancel and redelivery.

use std::time::Duration;

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, RunStatus};

use super::receipt::{receipt, with_delivery};
use super::request::{RunDefaults, RunRequest, check_funds, check_requested_error};
use crate::api::announcements::announce_ended;
use crate::api::api_error::{ApiError, seconds};
use crate::api::pagination;
use crate::api::request::{Created, Request};
use crate::api::response::{ApiResponse, ApiResult};
use crate::engine::runs::{Run, RunFilter, RunKind};
use crate::engine::{State, Time};
use crate::json_object::set_field;

/// Checks spend limit and funds, and starts a run whose fields are valid.
pub(in crate::api) fn start(
    request: &mut Request<'_>,
    run_request: RunRequest,
    defaults: RunDefaults,
) -> Created {
    // The request is consumed below, but this error is only returned if nothing else is wrong.
    let (run_request, given) = run_request.applicable(request);
    let requested_error = check_requested_error(&run_request, request.hosts);
    let config = run_request.into_config(request, defaults);
    request.check_max_spend(config.cap)?;
    check_funds(request, std::slice::from_ref(&config))?;
    request.apply_directives(&given);
    requested_error?;
    let now = request.now();
    let number = request.state.start_new_run(config, None, now);
    let receipt = match request.state.runs.get(number) {
        Some(run) => receipt(run, request.hosts, now),
        None => Value::Null,
    };
    let stored = request.receipt_to_store(&receipt);
    Ok((ApiResponse::data(202, receipt), stored))
}

/// Lists the runs that match a filter, newest first. `limit` and `cursor` page through them.
pub(in crate::api) fn list(request: &Request<'_>, filter: &RunFilter) -> ApiResult {
    let limit = pagination::limit(request)?;
    let runs = &request.state.runs;
    let before = pagination::before(request, |id| {
        let is_listed = runs.by_id(id).is_some_and(|run| RunFilter::of_run(run) == *filter);
        runs.number(id).filter(|_| is_listed)
    })?;
    let (page, next) = pagination::page(runs.newest_first(filter, before), limit);
    let items = page.iter().map(|run| with_delivery(request.state, run, request.hosts)).collect();
    Ok(ApiResponse::page(items, next.map(|run| run.id.as_str())))
}

/// Responds with the receipt. If the output is not readable yet, it is in the next receipt.
pub(in crate::api) fn get(request: &mut Request<'_>, kind: RunKind) -> ApiResult {
    check_readable(request, kind)?;
    read(request, kind)
}

/// Responds with the status alone, for polls.
pub(in crate::api) fn status(request: &mut Request<'_>, kind: RunKind) -> ApiResult {
    check_readable(request, kind)?;
    let run = find(request, kind)?;
    let terminal = run.status.is_terminal();
    let wait = run.timeline.next_poll(terminal, request.now(), request.hosts);
    let payload = json!({
        "run_id": run.id,
        "kind": run.config.kind.as_str(),
        "status": run.status,
        "terminal": terminal,
        "result_ready": terminal,
        "next_poll_after_seconds": seconds(wait),
    });
    Ok(ApiResponse::data(200, payload))
}

/// Responds with the receipt of a run that has ended.
pub(in crate::api) fn result(request: &mut Request<'_>, kind: RunKind) -> ApiResult {
    check_readable(request, kind)?;
    let run = find(request, kind)?;
    if !run.status.is_terminal() {
        return Err(not_terminal(request, ErrorCode::RunNotCompleted, run));
    }
    read(request, kind)
}

/// Cancels a run, unless it has already ended, and responds with the receipt.
pub(in crate::api) fn cancel(request: &mut Request<'_>, kind: RunKind) -> ApiResult {
    let id = find(request, kind)?.id.clone();
    request.deny_body_fields()?;
    let now = request.now();
    if let Some(number) = request.state.runs.number(&id) {
        let state = &mut request.state;
        state.end_run(number, RunStatus::Canceled, None, now);
        announce_ended(state);
    }
    let run = find(request, kind)?;
    let receipt = with_delivery(request.state, run, request.hosts);
    Ok(ApiResponse::data(200, receipt))
}

/// `POST /v1/format-runs/{run_id}/webhook/redeliver`.
pub(in crate::api) fn redeliver(request: &mut Request<'_>) -> ApiResult {
    let run = find(request, RunKind::Format)?;
    request.deny_body_fields()?;
    if run.config.webhook_url.is_none() {
        let message = "run was started without a `webhook_url`";
        return Err(ApiError::new(ErrorCode::WebhookNotConfigured, message));
    }
    if !run.status.is_terminal() {
        return Err(not_terminal(request, ErrorCode::RunNotTerminal, run));
    }
    let id = run.id.clone();
    let delivery = request.state.redeliver(&id);
    let event = request.state.webhook_queue.event(&id);
    let payload = json!({"run_id": id, "event": event, "webhook_delivery": delivery});
    Ok(ApiResponse::data(202, payload))
}

/// Returns the run in the last parameter of the path, if it is of this kind and in the key's
/// workspace.
pub(in crate::api) fn find<'r>(
    request: &'r Request<'_>,
    kind: RunKind,
) -> Result<&'r Run, ApiError> {
    let id = request.segments.last().map_or("", String::as_str);
    let run = request.state.runs.by_id(id);
    let run =
        run.filter(|run| run.config.workspace == request.workspace() && run.config.kind == kind);
    run.ok_or_else(|| {
        let code = match kind {
            RunKind::Action => ErrorCode::ActionRunNotFound,
            RunKind::Format => ErrorCode::FormatRunNotFound,
            RunKind::Agent => ErrorCode::AgentRunNotFound,
        };
        ApiError::new(code, "run not found in this workspace")
    })
}

fn read(request: &mut Request<'_>, kind: RunKind) -> ApiResult {
    let run = find(request, kind)?;
    let id = run.id.clone();
    let is_terminal = run.status.is_terminal();
    let receipt = with_delivery(request.state, run, request.hosts);
    if is_terminal {
        request.state.runs.mark_output_readable(&id);
    }
    Ok(ApiResponse::data(200, receipt))
}

/// Checks that the run in the path can be read: a directive may have requested an outage for this
/// read, which does not affect the run itself.
fn check_readable(request: &mut Request<'_>, kind: RunKind) -> Result<(), ApiError> {
    let id = find(request, kind)?.id.clone();
    if !request.state.runs.take_outage(&id) {
        return Ok(());
    }
    let message = "agent service is unavailable; the run is not affected";
    let error = ApiError::new(ErrorCode::StudioAgentUpstreamUnavailable, message);
    let wait = request.hosts.client_time(Duration::from_secs(1));
    Err(error.retry_after(wait))
}

/// Returns the error for a run that has not ended.
fn not_terminal(request: &Request<'_>, code: ErrorCode, run: &Run) -> ApiError {
    let wait = run.timeline.next_poll(false, request.now(), request.hosts);
    ApiError::not_terminal(code, "run", &run.status, wait)
}

/// The phases of a run, with the tenth of its duration at which each one starts.
const PHASES: [(&str, u64); 5] =
    [("queued", 0), ("started", 1), ("planning", 2), ("generating", 3), ("assembling", 9)];

/// `GET /v1/format-runs/{run_id}/events`: the phases of a run so far, and the attempts to deliver its
/// webhook, oldest first.
pub(in crate::api) fn events(request: &mut Request<'_>) -> ApiResult {
    let now = request.now();
    check_readable(request, RunKind::Format)?;
    let run = find(request, RunKind::Format)?;
    Ok(ApiResponse::list(run_events(request.state, run, now)))
}

/// Returns the events of a run so far, oldest first.
pub(crate) fn run_events(state: &State, run: &Run, now: Time) -> Vec<Value> {
    let mut events = phase_events(run, now);
    for (at, delivery) in state.webhook_queue.attempts(&run.id) {
        let field = |name| delivery.get(name).unwrap_or(&Value::Null);
        let mut event = event(run, events.len(), "webhook_delivery", field("status"), at);
        let mut failures = [field("last_error"), field("last_status_code")].into_iter();
        let failure = failures.find(|failure| !failure.is_null());
        let message = failure.map(|failure| match failure.as_str() {
            Some(text) => json!(text),
            None => json!(failure.to_string()),
        });
        set_field(&mut event, "message", message);
        events.push(event);
    }
    events
}

/// Returns an event for each phase that the run has reached, and one for its end.
fn phase_events(run: &Run, now: Time) -> Vec<Value> {
    let ended = run.status.is_terminal();
    // A run that ended early never reached its later phases, and one that never started only has
    // the first.
    let until = if ended { run.updated_at } else { now };
    let reached = PHASES.iter().filter(|(phase, tenths)| {
        *phase == "queued" || run.started && run.timeline.after_tenths(*tenths) <= until
    });
    let mut events: Vec<Value> = Vec::new();
    for (phase, tenths) in reached {
        let status = match *phase {
            "queued" => RunStatus::Queued,
            _ => RunStatus::Running,
        };
        let at = run.timeline.after_tenths(*tenths);
        events.push(event(run, events.len(), phase, &json!(status), at));
        if *phase == "generating"
            && let Some(job) = run.unfinished_job(now)
        {
            let status = json!(job.status);
            let mut event = event(run, events.len(), "generation_job", &status, job.started_at);
            set_field(&mut event, "job_id", json!(job.id));
            events.push(event);
        }
    }
    if ended {
        let mut last = event(run, events.len(), "ended", &json!(run.status), run.updated_at);
        let message = run.error.as_ref().map(|error| json!(error.message));
        set_field(&mut last, "message", message);
        events.push(last);
    }
    events
}

fn event(run: &Run, number: usize, phase: &str, status: &Value, at: Time) -> Value {
    let token = run.id.trim_start_matches("run_");
    json!({
        "id": format!("evt_{token}_{number}"),
        "phase": phase,
        "status": status,
        "created_at": at.to_string(),
    })
}
