//! The lifecycle of a job: it is accepted and paid for, starts, and ends.

use svc_sdk::contract::{ErrorCode, JobStatus};
use svc_sdk::types::Usd;

use super::{Ended, State};
use crate::engine::Time;
use crate::engine::jobs::Job;
use crate::engine::ledger::{EntryKind, InsufficientBalance, Subject};
use crate::engine::timeline::Timeline;
use crate::engine::timers::TimerEvent;

impl State {
    /// Reserves the price of a job, adds the job and returns its index.
    pub(crate) fn accept_job(&mut self, job: Job) -> Result<usize, InsufficientBalance> {
        if let Some(price) = job.price {
            self.post_job_entry(&job, EntryKind::Reservation, price)?;
        }
        let timeline = job.timeline;
        let number = self.jobs.add(job);
        for (at, event) in job_timers(number, timeline) {
            self.timers.set(at, event);
        }
        Ok(number)
    }

    pub(super) fn start_job(&mut self, number: usize, at: Time) {
        let job = self.jobs.get(number);
        if job.is_some_and(|job| job.status == JobStatus::Queued) {
            self.jobs.set_status(number, JobStatus::Processing, None, at);
        }
    }

    pub(super) fn finish_job(&mut self, number: usize, at: Time) {
        if let Some((status, error)) = self.jobs.get(number).map(Job::end) {
            self.end_job(number, status, error, at);
        }
    }

    /// Ends a job that is still in flight. Its reservation is captured if the job completed, and
    /// refunded otherwise.
    pub(crate) fn end_job(
        &mut self,
        number: usize,
        status: JobStatus,
        error: Option<ErrorCode>,
        at: Time,
    ) {
        let Some(job) = self.jobs.get(number).filter(|job| !job.status.is_terminal()).cloned()
        else {
            return;
        };
        for (at, event) in job_timers(number, job.timeline) {
            self.timers.cancel(at, event);
        }
        if let Some(price) = job.price {
            let kind = match status {
                JobStatus::Completed => EntryKind::Capture,
                _ => EntryKind::Refund,
            };
            // The reservation made at the submit covers this entry.
            let booked = self.post_job_entry(&job, kind, price);
            debug_assert!(booked.is_ok(), "{kind:?} of {}: {booked:?}", job.id);
        }
        if status == JobStatus::Completed {
            self.resources.mark_completed(&job.id);
        }
        self.jobs.set_status(number, status, error, at);
        self.note_ended(at, Ended::Job(number));
    }

    fn post_job_entry(
        &mut self,
        job: &Job,
        kind: EntryKind,
        price: Usd,
    ) -> Result<(), InsufficientBalance> {
        let id = self.rng.id("ent");
        let subject = Subject::Job(job.id.clone());
        self.ledger.book(&job.workspace, id, kind, price, subject, self.now)
    }
}

pub(super) fn job_timers(
    number: usize,
    timeline: Timeline,
) -> impl Iterator<Item = (Time, TimerEvent)> {
    let start = (timeline.starts_at(), TimerEvent::JobStarts(number));
    let end = timeline.ends_at().map(|at| (at, TimerEvent::JobEnds(number)));
    [start].into_iter().chain(end)
}
