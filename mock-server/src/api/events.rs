//! Job events: the steps of a job so far, and the attempts to deliver its webhook.

use serde_json::{Value, json};

use super::job_view::error_of;
use super::jobs::find;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::Time;
use crate::engine::jobs::Job;
use crate::json_object::set_field;

/// `GET /v1/jobs/{id}/events`: oldest first.
pub(super) fn list(request: &mut Request<'_>) -> ApiResult {
    let now = request.now();
    let job = find(request)?;
    let mut events = step_events(job, now);
    let attempts = request.state.webhook_queue.attempts(&job.id);
    events.extend(attempts.map(|(at, delivery)| {
        let mut event = event(job, "webhook_delivery", at);
        set_field(&mut event, "webhook_delivery", delivery);
        event
    }));
    Ok(ApiResponse::list(events))
}

/// Returns an event for each step that the job has reached, and one for its end.
fn step_events(job: &Job, now: Time) -> Vec<Value> {
    let terminal = job.status.is_terminal();
    // A job that was canceled or failed early never reached its later steps.
    let until = if terminal { job.updated_at } else { now };
    let steps = [
        ("queued", job.timeline.created_at()),
        ("processing", job.timeline.starts_at()),
        ("generation_started", job.timeline.generation_starts_at()),
    ];
    let mut events: Vec<Value> = steps
        .iter()
        .filter(|(_, at)| *at <= until)
        .map(|(name, at)| event(job, name, *at))
        .collect();
    if terminal {
        let mut last = event(job, job.status.as_str(), job.updated_at);
        set_field(&mut last, "error", error_of(job));
        events.push(last);
    }
    events
}

fn event(job: &Job, name: &str, at: Time) -> Value {
    json!({"type": name, "job_id": job.id, "created_at": at.to_string()})
}
