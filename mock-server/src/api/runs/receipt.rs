//! Receipts of runs, for responses and webhooks.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, Operation, RunStatus};

use crate::api::api_error::seconds;
use crate::api::error_details::{ErrorContext, details};
use crate::api::job_view::ArtifactView;
use crate::engine::runs::{GenerationJob, PlannedOutcome, Run, RunKind, RunOutput};
use crate::engine::{Host, Hosts, State, Time};
use crate::json_object::set_field;

/// Returns the receipt of a run, with its webhook delivery if there is one.
pub(crate) fn with_delivery(state: &State, run: &Run, hosts: &Hosts) -> Value {
    let mut receipt = receipt(run, hosts, state.now);
    set_field(&mut receipt, "webhook_delivery", state.webhook_queue.view(&run.id));
    receipt
}

/// Returns the receipt of a run, without its webhook delivery.
pub(in crate::api) fn receipt(run: &Run, hosts: &Hosts, now: Time) -> Value {
    let artifacts = ArtifactView::of_all(run.ready_artifacts(), hosts);
    let url = artifacts.first().map(|artifact| artifact.url.as_str());
    let run_output = RunOutput::for_run(run, url);
    let context = context(run, &run_output);
    let (error, output_error) = errors(run, &context);
    let base = hosts.base(Host::Developer);
    let link = |operation: Operation| {
        // Expanding the path cannot fail: IDs that the mock generates are valid path segments.
        format!("{base}{}", operation.expand(&[&run.id]).unwrap_or_default())
    };
    let [status, result, cancel] = operations(run.config.kind);
    let events = (run.config.kind == RunKind::Format).then_some(Operation::FormatRunsEvents);
    let wait = run.timeline.next_poll(run.status.is_terminal(), now, hosts);
    let mut receipt = json!({
        "request_id": run.config.request_id,
        "run_id": run.id,
        "kind": run.config.kind.as_str(),
        "status": run.status,
        "created_at": run.timeline.created_at().to_string(),
        "updated_at": run.updated_at.to_string(),
        "status_url": link(status),
        "result_url": link(result),
        "events_url": events.map(link),
        "cancel_url": link(cancel),
        "error": error,
        "output_error": output_error,
        "output": run_output.output,
        "artifacts": artifacts,
        "primary_output_url": url.filter(|_| run_output.has_primary),
        "primary_output_key": run_output.primary_key,
        "usage": usage(run),
        "webhook_delivery": null,
        "next_poll_after_seconds": seconds(wait),
        "previous_run_id": run.config.previous_run_id,
        "queue_id": run.queue_position.as_ref().map(|position| &position.queue_id),
        "item_index": run.queue_position.as_ref().map(|position| position.index),
    });
    let subject = match run.config.kind {
        RunKind::Format => Some("format_id"),
        RunKind::Action => Some("action_id"),
        RunKind::Agent => None,
    };
    if let Some(name) = subject {
        set_field(&mut receipt, name, json!(run.config.subject));
    }
    if run.config.continued_thread.is_some() {
        let thread = run.thread().map(|thread| thread.id);
        set_field(&mut receipt, "thread_id", json!(thread));
    }
    if run.config.kind == RunKind::Action {
        let trigger_type = if run.config.scheduled { "schedule" } else { "api" };
        set_field(&mut receipt, "trigger_type", json!(trigger_type));
    }
    receipt
}

/// Returns the status, result and cancel operations for runs of a kind.
pub(in crate::api) const fn operations(kind: RunKind) -> [Operation; 3] {
    match kind {
        RunKind::Action => {
            [Operation::ActionRunsStatus, Operation::ActionRunsResult, Operation::ActionRunsCancel]
        }
        RunKind::Format => {
            [Operation::FormatRunsStatus, Operation::FormatRunsResult, Operation::FormatRunsCancel]
        }
        RunKind::Agent => {
            [Operation::AgentRunsStatus, Operation::AgentRunsResult, Operation::AgentRunsCancel]
        }
    }
}

/// Returns what the run has spent so far, unless a directive made that unreadable.
fn usage(run: &Run) -> Option<Value> {
    let usage = json!({
        "billable_amount_usd_micros": run.spend.billable().as_micros(),
        "generation_spend_cap_usd_micros": run.config.cap.as_micros(),
    });
    (!run.config.usage_unreadable).then_some(usage)
}

fn context(run: &Run, run_output: &RunOutput) -> ErrorContext {
    ErrorContext {
        images: run.ready_artifacts().len(),
        rejected_urls: run_output.rejected_urls.clone(),
        violations: run_output.violations.clone(),
        pending_jobs: run.unfinished_job(run.updated_at).iter().map(GenerationJob::view).collect(),
    }
}

/// Returns the values of `error` and `output_error`.
fn errors(run: &Run, context: &ErrorContext) -> (Value, Value) {
    if let Some(run_error) = &run.error {
        let code = &run_error.code;
        let retryable = code.defaults().is_some_and(|entry| entry.retryable);
        let mut error = json!({"code": code, "message": run_error.message, "retryable": retryable});
        let mut output_error = json!({"code": code, "message": run_error.message});
        let details = details(code, context);
        set_field(&mut error, "details", details.clone());
        set_field(&mut output_error, "details", details);
        return (error, output_error);
    }
    let output_error = match run.status {
        RunStatus::Completed if run.config.planned_outcome == PlannedOutcome::Degraded => json!({
            "code": ErrorCode::OutputSchemaUnsatisfied,
            "message": "run created media but no output that fits the schema",
            "details": details(&ErrorCode::OutputSchemaUnsatisfied, context),
        }),
        RunStatus::Completed if run.output_pending => json!({
            "code": ErrorCode::OutputExtractionFailed,
            "message": "output is not readable yet: read the run again",
            "details": {"reason": "harvest_unavailable"},
        }),
        _ => Value::Null,
    };
    (Value::Null, output_error)
}
