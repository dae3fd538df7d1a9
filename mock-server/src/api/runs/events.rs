//! Run events: the phases of a run so far, and the attempts to deliver its webhook.

use serde_json::{Value, json};
use svc_sdk::contract::RunStatus;

use super::handlers::{check_readable, find};
use crate::api::request::Request;
use crate::api::response::{ApiResponse, ApiResult};
use crate::engine::runs::{Run, RunKind};
use crate::engine::{State, Time};
use crate::json_object::set_field;

/// The phases of a run, with the tenth of its duration at which each one starts.
const PHASES: [(&str, u64); 5] =
    [("queued", 0), ("started", 1), ("planning", 2), ("generating", 3), ("assembling", 9)];

/// `GET /v1/format-runs/{run_id}/events`: oldest first.
pub(in crate::api) fn list(request: &mut Request<'_>) -> ApiResult {
    let now = request.now();
    check_readable(request, RunKind::Format)?;
    let run = find(request, RunKind::Format)?;
    Ok(ApiResponse::list(events(request.state, run, now)))
}

/// Returns the events of a run so far, oldest first.
pub(crate) fn events(state: &State, run: &Run, now: Time) -> Vec<Value> {
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
