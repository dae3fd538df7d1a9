//! Answers that wait for their job: `sync` and `subscribe`.

use serde_json::{Value, json};

use super::response::{Answer, json_response};
use super::{apply_fault, job_view, resources};
use crate::engine::jobs::Job;
use crate::engine::{Hold, Hosts, Reply, State};

/// The answer now, or the hold again where there is still something to wait for.
pub(crate) fn resume(state: &mut State, hosts: &Hosts, hold: &Hold) -> Reply {
    let job = state.jobs.by_id(&hold.job_id);
    // A job that is gone, after a reset, will not end.
    let waiting = job.is_some_and(|job| !job.status.is_terminal()) && state.now < hold.until;
    let answer = answer(state, job, hosts, hold);
    let mut reply = reply(hold, &answer);
    if waiting {
        reply.hold = Some(hold.clone());
    } else {
        apply_fault::befall(&mut reply, hold.fault);
        let status = apply_fault::status_of(&reply);
        state.journal.answered(hold.journal_seq, status);
    }
    reply
}

/// The answer at the end of the hold, if nothing intervenes.
pub(crate) fn foresee(state: &State, hosts: &Hosts, hold: &Hold) -> Reply {
    let job = state
        .jobs
        .by_id(&hold.job_id)
        .map(|job| job.foreseen(hold.until));
    let mut reply = reply(hold, &answer(state, job.as_ref(), hosts, hold));
    apply_fault::befall(&mut reply, hold.fault);
    reply
}

/// The receipt: with the whole job and `200` once that has ended, else as it was, and `202`.
fn answer(state: &State, job: Option<&Job>, hosts: &Hosts, hold: &Hold) -> Answer {
    let ended = job.filter(|job| job.status.is_terminal());
    let mut receipt = hold.receipt.clone();
    if let (Some(job), Value::Object(fields)) = (ended, &mut receipt) {
        fields.insert("job".to_owned(), job_view::view(job, hold.host, hosts));
        fields.insert("next_poll_after_seconds".to_owned(), json!(0));
        if let Some((field, view)) = resources::beside(state, job, hosts) {
            fields.insert(field.to_owned(), view);
        }
    }
    Answer::data(if ended.is_some() { 200 } else { 202 }, receipt)
}

fn reply(hold: &Hold, answer: &Answer) -> Reply {
    let response = json_response(answer.status, &hold.request_id, &hold.headers, &answer.body);
    Reply::now(response)
}
