//! Runs of every kind, once they have begun: list, get, status, result, cancel, redelivery.

use std::time::Duration;

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, RunStatus};

use super::receipt::{receipt, with_delivery};
use super::request::{Asked, Terms, check_funds, check_magic};
use crate::api::announcements::announce_ended;
use crate::api::api_error::{Failure, seconds};
use crate::api::pagination;
use crate::api::request::{Once, Request};
use crate::api::response::{Answer, Outcome};
use crate::engine::runs::{Run, RunKind, Shelf};

/// What follows once the fields and the state are judged: funds, what goes wrong at last, accept.
pub(in crate::api) fn begin(
    request: &mut Request<'_>,
    once: Once,
    asked: Asked,
    terms: Terms,
) -> Outcome {
    let refused = check_magic(&asked);
    let order = asked.order(request, terms);
    request.check_ceiling(order.cap)?;
    check_funds(request, std::slice::from_ref(&order))?;
    refused?;
    let now = request.now();
    let number = request.state.begin_run(order, None, now);
    let receipt = match request.state.runs.get(number) {
        Some(run) => receipt(run, request.hosts, now),
        None => Value::Null,
    };
    request.keep(once, &receipt);
    Ok(Answer::data(202, receipt))
}

/// The runs of a shelf, newest first; `limit` and `cursor` page through them.
pub(in crate::api) fn list(request: &Request<'_>, shelf: &Shelf) -> Outcome {
    let limit = pagination::limit(request)?;
    let runs = &request.state.runs;
    let before = match request.parameter("cursor")? {
        None => None,
        Some(id) => {
            let ours = runs.by_id(&id).is_some_and(|run| Shelf::of(run) == *shelf);
            let number = runs.number(&id).filter(|_| ours);
            Some(number.ok_or_else(pagination::foreign_cursor)?)
        }
    };
    let (shown, next) = pagination::cut(runs.newest_first(shelf, before), limit);
    let items = shown
        .iter()
        .map(|run| with_delivery(request.state, run, request.hosts))
        .collect();
    Ok(Answer::page(items, next.map(|run| run.id.as_str())))
}

/// The receipt. Where it is not whole yet, the next one is.
pub(in crate::api) fn get(request: &mut Request<'_>, kind: RunKind) -> Outcome {
    let id = found(request, kind)?;
    check_outage(request, &id)?;
    read(request, kind)
}

/// The trimmed payload for polls.
pub(in crate::api) fn status(request: &mut Request<'_>, kind: RunKind) -> Outcome {
    let id = found(request, kind)?;
    check_outage(request, &id)?;
    let run = find(request, kind)?;
    let terminal = run.status.is_terminal();
    let payload = json!({
        "run_id": run.id,
        "kind": run.order.kind.as_str(),
        "status": run.status,
        "terminal": terminal,
        "result_ready": terminal,
        "next_poll_after_seconds": seconds(next_poll(request, run)),
    });
    Ok(Answer::data(200, payload))
}

/// The receipt of a run that has ended.
pub(in crate::api) fn result(request: &mut Request<'_>, kind: RunKind) -> Outcome {
    let id = found(request, kind)?;
    check_outage(request, &id)?;
    let run = find(request, kind)?;
    if !run.status.is_terminal() {
        let failure = Failure::new(
            ErrorCode::RunNotCompleted,
            format!("The run is {}.", run.status),
        );
        let wait = next_poll(request, run);
        return Err(failure.detail("status", json!(run.status)).after(wait));
    }
    read(request, kind)
}

/// Cancels a run that has not ended; of one that has, the receipt as it is.
pub(in crate::api) fn cancel(request: &mut Request<'_>, kind: RunKind) -> Outcome {
    let id = found(request, kind)?;
    request.no_body_needed()?;
    let now = request.now();
    if let Some(number) = request.state.runs.number(&id) {
        let state = &mut request.state;
        state.end_run(number, RunStatus::Canceled, None, now);
        announce_ended(state);
    }
    let run = find(request, kind)?;
    let receipt = with_delivery(request.state, run, request.hosts);
    Ok(Answer::data(200, receipt))
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

/// The run of that kind that the path names last, in the key's workspace.
pub(in crate::api) fn find<'r>(
    request: &'r Request<'_>,
    kind: RunKind,
) -> Result<&'r Run, Failure> {
    let id = request.segments.last().map_or("", String::as_str);
    let run = request.state.runs.by_id(id);
    let ours =
        run.filter(|run| run.order.workspace == request.workspace() && run.order.kind == kind);
    ours.ok_or_else(|| {
        let code = match kind {
            RunKind::Action => ErrorCode::ActionRunNotFound,
            RunKind::Format => ErrorCode::FormatRunNotFound,
            RunKind::Agent => ErrorCode::AgentRunNotFound,
        };
        Failure::new(code, "There is no such run in this workspace.")
    })
}

fn found(request: &Request<'_>, kind: RunKind) -> Result<String, Failure> {
    find(request, kind).map(|run| run.id.clone())
}

fn read(request: &mut Request<'_>, kind: RunKind) -> Outcome {
    let run = find(request, kind)?;
    let id = run.id.clone();
    let ended = run.status.is_terminal();
    let shown = with_delivery(request.state, run, request.hosts);
    if ended {
        request.state.runs.harvest(&id);
    }
    Ok(Answer::data(200, shown))
}

/// The outage that a magic word asked for. The run goes on.
fn check_outage(request: &mut Request<'_>, id: &str) -> Result<(), Failure> {
    if !request.state.runs.meets_an_outage(id) {
        return Ok(());
    }
    let message = "The agents cannot be asked; the run goes on.";
    let failure = Failure::new(ErrorCode::StudioAgentUpstreamUnavailable, message);
    Err(failure.after(Duration::from_secs(1)))
}

fn next_poll(request: &Request<'_>, run: &Run) -> Duration {
    let hint = run
        .course
        .poll_hint(run.status.is_terminal(), request.now());
    request.hosts.client_time(hint)
}
