//! What the receiver of a run's webhook is told of its end, and having it told again.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, Operation, RunStatus};

use super::{find, next_poll, receipt};
use crate::api::answer::{Answer, Outcome};
use crate::api::failure::Failure;
use crate::api::kept::unaddressed;
use crate::api::request::Request;
use crate::engine::Host;
use crate::engine::outbox::Announcement;
use crate::engine::runs::{Fate, Run, RunKind};

/// What is announced; nothing of a run that goes on, or that has no webhook.
pub(crate) fn announcement(run: &Run) -> Option<Announcement> {
    let url = run.order.webhook_url.clone()?;
    let (status, outcome) = match run.status {
        RunStatus::Completed if run.order.fate == Fate::Degraded => ("OK", "degraded"),
        RunStatus::Completed => ("OK", "success"),
        RunStatus::Skipped => ("OK", "skipped"),
        RunStatus::Canceled => ("ERROR", "canceled"),
        RunStatus::Failed => ("ERROR", "error"),
        _ => return None,
    };
    let hosts = unaddressed();
    let receipt = receipt(run, &hosts, run.updated_at);
    let event = format!("{}.run.terminal", run.order.kind.as_str());
    let error = receipt.get("error").cloned().unwrap_or_default();
    let body = json!({
        "event": event,
        "request_id": run.order.request_id,
        "run_id": run.id,
        "status": status,
        "outcome": outcome,
        "payload": receipt,
        "error": error,
    });
    let operation = match run.order.kind {
        RunKind::Action => Operation::ActionRunsResult,
        RunKind::Format => Operation::FormatRunsResult,
        RunKind::Agent => Operation::AgentRunsResult,
    };
    let path = operation.expand(&[&run.id]).unwrap_or_default();
    Some(Announcement {
        workspace: run.order.workspace.clone(),
        subject_id: run.id.clone(),
        event,
        url,
        body,
        result_url: format!("{}{path}", hosts.base(Host::Developer)),
    })
}

/// `POST /v1/format-runs/{run_id}/webhook/redeliver`.
pub(in crate::api) fn redeliver(request: &mut Request<'_>) -> Outcome {
    let run = find(request, RunKind::Format)?;
    request.no_body_needed()?;
    if run.order.webhook_url.is_none() {
        let message = "The run was started without a `webhook_url`.";
        return Err(Failure::new(ErrorCode::WebhookNotConfigured, message));
    }
    if !run.status.is_terminal() {
        let message = format!("The run is {}.", run.status);
        let failure = Failure::new(ErrorCode::RunNotTerminal, message);
        let wait = next_poll(request, run);
        return Err(failure.detail("status", json!(run.status)).after(wait));
    }
    let id = run.id.clone();
    let delivery = request.state.redeliver(&id);
    let event = request.state.outbox.event(&id);
    let answer: Value = json!({"run_id": id, "event": event, "webhook_delivery": delivery});
    Ok(Answer::data(202, answer))
}
