//! The timer queue of the simulation.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Time;

/// A scheduled event.
///
/// Events that are due at the same time are handled in the order of these variants, and then in
/// the order in which the jobs, runs or webhooks were created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TimerEvent {
    /// A job, by its number, leaves the queue.
    JobStarts(usize),
    JobEnds(usize),
    /// A run, by its number, leaves the queue.
    RunStarts(usize),
    /// A run progresses: the given number of tenths of its duration has passed.
    RunWorks(usize, u8),
    RunEnds(usize),
    /// A webhook is due, by its number in the webhook queue.
    WebhookAttempt(u64),
    /// The schedule of an Action starts a run, by the index of the Action.
    ActionScheduled(usize),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Timers(BTreeSet<(Time, TimerEvent)>);

impl Timers {
    pub(crate) fn set(&mut self, at: Time, event: TimerEvent) {
        self.0.insert((at, event));
    }

    pub(crate) fn cancel(&mut self, at: Time, event: TimerEvent) {
        self.0.remove(&(at, event));
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Removes and returns the first event that is due by `now`.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Time, TimerEvent)> {
        if self.next()? <= now { self.0.pop_first() } else { None }
    }

    /// Returns the timers with other numbers of jobs and runs. Those without a new number are left
    /// out.
    pub(crate) fn renumbered(
        &self,
        jobs: &BTreeMap<usize, usize>,
        runs: &BTreeMap<usize, usize>,
    ) -> Self {
        let renumbered = self.0.iter().filter_map(|(at, event)| {
            let job = |number| jobs.get(number).copied();
            let run = |number| runs.get(number).copied();
            let event = match event {
                TimerEvent::JobStarts(number) => TimerEvent::JobStarts(job(number)?),
                TimerEvent::JobEnds(number) => TimerEvent::JobEnds(job(number)?),
                TimerEvent::RunStarts(number) => TimerEvent::RunStarts(run(number)?),
                TimerEvent::RunWorks(number, tenths) => TimerEvent::RunWorks(run(number)?, *tenths),
                TimerEvent::RunEnds(number) => TimerEvent::RunEnds(run(number)?),
                TimerEvent::WebhookAttempt(_) | TimerEvent::ActionScheduled(_) => *event,
            };
            Some((*at, event))
        });
        Self(renumbered.collect())
    }

    pub(crate) fn contains(&self, at: Time, event: TimerEvent) -> bool {
        self.0.contains(&(at, event))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &(Time, TimerEvent)> {
        self.0.iter()
    }
}
