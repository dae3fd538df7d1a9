//! Answers that wait for their job: `sync` and `subscribe`.

use serde_json::{Value, json};

use super::response::{ApiResponse, json_response};
use super::{apply_fault, job_view, resources};
use crate::engine::jobs::Job;
use crate::engine::{Hosts, PendingReply, Reply, State};

/// The answer now, or the hold again where there is still something to wait for.
pub(crate) fn resume(state: &mut State, hosts: &Hosts, pending: &PendingReply) -> Reply {
    let job = state.jobs.by_id(&pending.job_id);
    // A job that is gone, after a reset, will not end.
    let waiting = job.is_some_and(|job| !job.status.is_terminal()) && state.now < pending.until;
    let answer = answer(state, job, hosts, pending);
    let mut reply = reply(pending, &answer);
    if waiting {
        reply.pending = Some(pending.clone());
    } else {
        apply_fault::apply_fault(&mut reply, pending.fault);
        let status = apply_fault::status_of(&reply);
        state.journal.answered(pending.journal_seq, status);
    }
    reply
}

/// The answer at the end of the hold, if nothing intervenes.
pub(crate) fn predict(state: &State, hosts: &Hosts, pending: &PendingReply) -> Reply {
    let job = state
        .jobs
        .by_id(&pending.job_id)
        .map(|job| job.predicted_at(pending.until));
    let mut reply = reply(pending, &answer(state, job.as_ref(), hosts, pending));
    apply_fault::apply_fault(&mut reply, pending.fault);
    reply
}

/// The receipt: with the whole job and `200` once that has ended, else as it was, and `202`.
fn answer(state: &State, job: Option<&Job>, hosts: &Hosts, pending: &PendingReply) -> ApiResponse {
    let ended = job.filter(|job| job.status.is_terminal());
    let mut receipt = pending.receipt.clone();
    if let (Some(job), Value::Object(fields)) = (ended, &mut receipt) {
        fields.insert("job".to_owned(), job_view::view(job, pending.host, hosts));
        fields.insert("next_poll_after_seconds".to_owned(), json!(0));
        if let Some((field, view)) = resources::receipt_field(state, job, hosts) {
            fields.insert(field.to_owned(), view);
        }
    }
    ApiResponse::data(if ended.is_some() { 200 } else { 202 }, receipt)
}

fn reply(pending: &PendingReply, answer: &ApiResponse) -> Reply {
    let response = json_response(
        answer.status,
        &pending.request_id,
        &pending.headers,
        &answer.body,
    );
    Reply::immediate(response)
}
