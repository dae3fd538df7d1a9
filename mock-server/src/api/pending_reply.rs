//! Pending replies: responses to `sync` and `subscribe` submits, which wait for their job.

use serde_json::json;

use super::job_view::JobView;
use super::response::{ApiResponse, json_response};
use super::{apply_fault, resources};
use crate::engine::jobs::Job;
use crate::engine::{Hosts, PendingReply, Reply, State};
use crate::json_object::set_field;

/// Completes a pending reply if its job has ended or its time is up. Otherwise, the reply stays
/// pending.
pub(crate) fn resume(state: &mut State, hosts: &Hosts, pending: &PendingReply) -> Reply {
    let job = state.jobs.by_id(&pending.job_id);
    // After a reset the job no longer exists, and there is nothing to wait for.
    let is_waiting = job.is_some_and(|job| !job.status.is_terminal()) && state.now < pending.until;
    let mut reply = reply(pending, respond(state, job, hosts, pending));
    if is_waiting {
        reply.pending = Some(pending.clone());
    } else {
        apply_fault::apply_fault(&mut reply, pending.fault);
        let status = apply_fault::status_of(&reply);
        state.request_log.set_status(pending.request_seq, status);
    }
    reply
}

/// Returns the reply at the end of the wait, provided that nothing changes the job until then.
pub(crate) fn predict(state: &State, hosts: &Hosts, pending: &PendingReply) -> Reply {
    let job = state.jobs.by_id(&pending.job_id).map(|job| job.predicted_at(pending.until));
    let mut reply = reply(pending, respond(state, job.as_ref(), hosts, pending));
    apply_fault::apply_fault(&mut reply, pending.fault);
    reply
}

/// Returns the receipt: with the ended job and `200`, or unchanged and `202`.
fn respond(state: &State, job: Option<&Job>, hosts: &Hosts, pending: &PendingReply) -> ApiResponse {
    let ended = job.filter(|job| job.status.is_terminal());
    let mut receipt = pending.receipt.clone();
    if let Some(job) = ended {
        set_field(&mut receipt, "job", json!(JobView::without_delivery(job, pending.host, hosts)));
        set_field(&mut receipt, "next_poll_after_seconds", json!(0));
        if let Some((field, view)) = resources::receipt_field(state, job, hosts) {
            set_field(&mut receipt, field, view);
        }
    }
    ApiResponse::data(if ended.is_some() { 200 } else { 202 }, receipt)
}

fn reply(pending: &PendingReply, api_response: ApiResponse) -> Reply {
    let headers = pending.headers.clone();
    let ApiResponse { status, body, .. } = api_response;
    Reply::immediate(json_response(status, &pending.request_id, headers, body))
}
