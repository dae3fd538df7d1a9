//! `GET /v1/format-runs/{run_id}/events`: a run's phases so far and the
//! attempts to deliver its webhook, oldest first.

use serde_json::{Value, json};
use svc_sdk::contract::RunStatus;

use super::handlers::find;
use crate::api::request::Request;
use crate::api::response::{ApiResponse, ApiResult};
use crate::engine::Time;
use crate::engine::runs::{Run, RunKind};

/// What a run does, from which tenth of its time on.
const PHASES: [(&str, u64); 5] = [
    ("queued", 0),
    ("started", 1),
    ("planning", 2),
    ("generating", 3),
    ("assembling", 9),
];

pub(in crate::api) fn list(request: &mut Request<'_>) -> ApiResult {
    let now = request.now();
    let run = find(request, RunKind::Format)?;
    let mut events = timeline(run, now);
    for (at, delivery) in request.state.webhook_queue.attempts(&run.id) {
        let told = |name| delivery.get(name).unwrap_or(&Value::Null);
        let mut event = event(run, events.len(), "webhook_delivery", told("status"), at);
        let why = [told("last_error"), told("last_status_code")];
        let why = why.into_iter().find(|why| !why.is_null());
        if let (Some(why), Some(fields)) = (why, event.as_object_mut()) {
            let text = why.as_str().map_or_else(|| why.to_string(), str::to_owned);
            fields.insert("message".to_owned(), json!(text));
        }
        events.push(event);
    }
    Ok(ApiResponse::list(events))
}

fn timeline(run: &Run, now: Time) -> Vec<Value> {
    let ended = run.status.is_terminal();
    // What ended did not go on, and what never started went nowhere.
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
    }
    if ended {
        let mut last = event(
            run,
            events.len(),
            "ended",
            &json!(run.status),
            run.updated_at,
        );
        if let (Some(run_error), Some(fields)) = (&run.error, last.as_object_mut()) {
            fields.insert("message".to_owned(), json!(run_error.message));
        }
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
