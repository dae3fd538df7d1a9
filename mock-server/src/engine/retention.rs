//! Retention: jobs, runs and deliveries that ended long ago are dropped, oldest first.
//!
//! What a job or run leaves behind is dropped with it: its resources, its webhook, and its ledger
//! entries, which are carried forward. The runs of a bulk queue are dropped together with the
//! queue. Idempotency keys expire earlier, except those of top-ups.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::ledger::Subject;
use super::timers::TimerEvent;
use super::{Ended, State, Time};

/// What is to be dropped next, in the order of its age. It is not part of a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Retention {
    /// The time after its end for which a job or run is kept.
    period: Duration,
    /// The jobs and runs in the order in which they ended.
    ended: VecDeque<(Time, Ended)>,
    /// The sequence number of the first ledger entry that was not old enough.
    next_entry: usize,
    /// The ledger entries before `next_entry` whose subject has not been dropped, by its id.
    waiting_entries: HashMap<Arc<str>, Vec<usize>>,
}

impl Retention {
    pub(super) fn note_ended(&mut self, at: Time, ended: Ended) {
        self.ended.push_back((at, ended));
    }

    /// Removes and returns the next job or run that ended up to a time.
    fn next_until(&mut self, until: Time) -> Option<Ended> {
        self.ended.front().filter(|(at, _)| *at <= until)?;
        self.ended.pop_front().map(|(_, ended)| ended)
    }
}

impl State {
    /// Sets how long jobs and runs are kept after their end; `None` for ever.
    pub(crate) fn set_retention(&mut self, period: Option<Duration>) {
        let jobs = self.jobs.numbered();
        let jobs = jobs
            .filter(|(_, job)| job.status.is_terminal())
            .map(|(number, job)| (job.updated_at, Ended::Job(number)));
        let runs = self.runs.numbered();
        let runs = runs
            .filter(|(_, run)| run.status.is_terminal())
            .map(|(number, run)| (run.updated_at, Ended::Run(number)));
        self.retention = period.map(|period| {
            let mut ended: Vec<_> = jobs.chain(runs).collect();
            ended.sort_by_key(|(at, _)| *at);
            Retention {
                period,
                ended: ended.into(),
                next_entry: 0,
                waiting_entries: HashMap::new(),
            }
        });
    }

    /// Drops everything that is older than the retention period.
    pub(super) fn drop_expired(&mut self) {
        let Some(mut retention) = self.retention.take() else { return };
        if let Some(until) = self.now.before(retention.period) {
            while let Some(ended) = retention.next_until(until) {
                match ended {
                    Ended::Job(number) => self.drop_job(number, &mut retention),
                    Ended::Run(number) => self.drop_run(number, until, &mut retention),
                }
            }
            self.top_ups.remove_settled_until(until);
            self.idempotency.remove_top_ups_until(until);
            self.carry_forward_until(until, &mut retention);
            self.request_log.remove_until(until);
            self.delivery_log.remove_until(until);
        }
        self.retention = Some(retention);
    }

    fn drop_job(&mut self, number: usize, retention: &mut Retention) {
        if let Some(job) = self.jobs.remove(number) {
            self.resources.remove_of_job(&job.id);
            self.drop_traces(&job.id, retention);
        }
    }

    /// Drops a run. A run of a queue is dropped with its queue, when the last run of the queue is
    /// old enough.
    fn drop_run(&mut self, number: usize, until: Time, retention: &mut Retention) {
        let Some(run) = self.runs.get(number) else { return };
        let Some(position) = &run.queue_position else {
            self.drop_runs([number], retention);
            return;
        };
        let queue_id = position.queue_id.clone();
        let items = self.queues.by_id(&queue_id).map(|queue| &queue.items);
        // An item that is still waiting has no run and keeps the queue.
        let runs = items.into_iter().flatten().map(|item| {
            let number = self.runs.number(item.run_id.as_deref()?)?;
            let run = self.runs.get(number)?;
            (run.status.is_terminal() && run.updated_at <= until).then_some(number)
        });
        if let Some(numbers) = runs.collect::<Option<Vec<usize>>>() {
            self.drop_runs(numbers, retention);
            self.queues.remove(&queue_id);
        }
    }

    fn drop_runs(&mut self, numbers: impl IntoIterator<Item = usize>, retention: &mut Retention) {
        for number in numbers {
            if let Some(run) = self.runs.remove(number) {
                self.drop_traces(&run.id, retention);
            }
        }
    }

    /// Drops the webhook and the old ledger entries of a job or run.
    fn drop_traces(&mut self, id: &str, retention: &mut Retention) {
        if let Some((at, number)) = self.webhook_queue.forget(id) {
            self.timers.cancel(at, TimerEvent::WebhookAttempt(number));
        }
        for seq in retention.waiting_entries.remove(id).into_iter().flatten() {
            self.ledger.carry_forward(seq);
        }
    }

    /// Carries the old ledger entries forward whose subjects have been dropped.
    fn carry_forward_until(&mut self, until: Time, retention: &mut Retention) {
        while let Some((seq, subject)) = self.entry_until(until, retention.next_entry) {
            retention.next_entry = seq + 1;
            let is_stored = match &subject {
                Subject::Job(id) => self.jobs.number(id).is_some(),
                Subject::Run(id) => self.runs.number(id).is_some(),
                Subject::TopUp(id) => self.top_ups.get(id).is_some(),
            };
            if is_stored {
                let waiting = &mut retention.waiting_entries;
                waiting.entry(subject.into_id()).or_default().push(seq);
            } else {
                self.ledger.carry_forward(seq);
            }
        }
    }

    /// Returns the first ledger entry from a sequence number on, if it was created up to a time.
    fn entry_until(&self, until: Time, start: usize) -> Option<(usize, Subject)> {
        let (seq, entry) = self.ledger.entries_from(start).next()?;
        (entry.created_at <= until).then(|| (seq, entry.subject.clone()))
    }
}
