//! `GET /v1/jobs/{id}/events`: a job's public timeline, a snapshot of what has happened so far, the attempts to
//! deliver its webhook included.

use serde_json::{Value, json};

use super::job_view::error_of;
use super::jobs::find;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::Time;
use crate::engine::jobs::Job;

/// Oldest first.
pub(super) fn list(request: &mut Request<'_>) -> ApiResult {
    let now = request.now();
    let job = find(request)?;
    let mut events = timeline(job, now);
    let attempts = request.state.webhook_queue.attempts(&job.id);
    events.extend(attempts.map(|(at, delivery)| {
        let mut event = event(job, "webhook_delivery", at);
        if let Some(fields) = event.as_object_mut() {
            fields.insert("webhook_delivery".to_owned(), delivery);
        }
        event
    }));
    Ok(ApiResponse::list(events))
}

/// The stations of the job's course that it has come to, and its end.
fn timeline(job: &Job, now: Time) -> Vec<Value> {
    let terminal = job.status.is_terminal();
    // What ended did not go on.
    let until = if terminal { job.updated_at } else { now };
    let timeline = [
        ("queued", job.timeline.created_at()),
        ("processing", job.timeline.starts_at()),
        ("generation_started", job.timeline.generation_starts_at()),
    ];
    let mut events: Vec<Value> = timeline
        .iter()
        .filter(|(_, at)| *at <= until)
        .map(|(name, at)| event(job, name, *at))
        .collect();
    if terminal {
        let mut last = event(job, job.status.as_str(), job.updated_at);
        if let (Some(error), Some(fields)) = (error_of(job), last.as_object_mut()) {
            fields.insert("error".to_owned(), error);
        }
        events.push(last);
    }
    events
}

fn event(job: &Job, name: &str, at: Time) -> Value {
    json!({"type": name, "job_id": job.id, "created_at": at.to_string()})
}
