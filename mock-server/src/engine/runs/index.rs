//! The collection of runs and its indexes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use svc_sdk::contract::RunStatus;

use super::{Run, RunError, RunKind};
use crate::engine::Time;
use crate::engine::jobs::Artifact;
use crate::engine::serde_list::serialize_as_list;
use crate::engine::shared_list::SharedList;

/// All runs, indexed by id, by artifact token and by kind and subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runs {
    /// The runs in the order in which they were created.
    runs: SharedList<Run>,
    by_id: BTreeMap<String, usize>,
    by_token: BTreeMap<Arc<str>, (usize, usize)>,
    index: BTreeMap<RunFilter, BTreeSet<usize>>,
    in_flight: BTreeSet<usize>,
}

/// A filter for the runs of an Action, a Format or the agent in a workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunFilter {
    pub(crate) workspace: String,
    pub(crate) kind: RunKind,
    pub(crate) subject: Option<String>,
}

impl RunFilter {
    pub(crate) fn of_run(run: &Run) -> Self {
        Self {
            workspace: run.config.workspace.clone(),
            kind: run.config.kind,
            subject: run.config.subject.clone(),
        }
    }
}

impl Runs {
    pub(super) fn add(&mut self, run: Run) -> usize {
        let number = self.runs.next_number();
        self.by_id.insert(run.id.clone(), number);
        for (index, artifact) in run.artifacts.iter().enumerate() {
            self.by_token.insert(artifact.token.clone(), (number, index));
        }
        self.index.entry(RunFilter::of_run(&run)).or_default().insert(number);
        if !run.status.is_terminal() {
            self.in_flight.insert(number);
        }
        self.runs.push(run)
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Run> {
        self.runs.get(number)
    }

    /// Returns a run for modification. Indexed fields must not be changed through it; see
    /// [`set_status`](Self::set_status).
    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut Run> {
        self.runs.get_mut(number)
    }

    pub(crate) fn number(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&Run> {
        self.get(self.number(id)?)
    }

    pub(crate) fn by_token(&self, token: &str) -> Option<(&Run, &Artifact)> {
        let (number, index) = self.by_token.get(token)?;
        let run = self.get(*number)?;
        Some((run, run.artifacts.get(*index)?))
    }

    pub(super) fn set_status(
        &mut self,
        number: usize,
        status: RunStatus,
        run_error: Option<RunError>,
        at: Time,
    ) {
        let Some(run) = self.runs.get_mut(number) else { return };
        if status.is_terminal() {
            self.in_flight.remove(&number);
        }
        (run.status, run.error, run.updated_at) = (status, run_error, at);
    }

    /// Returns the runs that match a filter and are older than `before`, newest first.
    pub(crate) fn newest_first(
        &self,
        filter: &RunFilter,
        before: Option<usize>,
    ) -> impl Iterator<Item = &Run> {
        let numbers = self.index.get(filter).into_iter();
        let before = before.unwrap_or(usize::MAX);
        numbers
            .flat_map(move |numbers| numbers.range(..before).rev())
            .filter_map(|number| self.get(*number))
    }

    /// Returns `true` if a run that matches the filter has not ended.
    pub(crate) fn any_in_flight(&self, filter: &RunFilter) -> bool {
        let mut running = self.in_flight.iter().filter_map(|number| self.get(*number));
        running.any(|run| RunFilter::of_run(run) == *filter)
    }

    pub(crate) fn remove(&mut self, number: usize) -> Option<Run> {
        let run = self.runs.remove(number)?;
        self.by_id.remove(&run.id);
        for artifact in &run.artifacts {
            self.by_token.remove(&artifact.token);
        }
        let filter = RunFilter::of_run(&run);
        if let Some(numbers) = self.index.get_mut(&filter) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.index.remove(&filter);
            }
        }
        self.in_flight.remove(&number);
        Some(run)
    }

    /// Returns all runs, oldest first.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &Run> {
        self.runs.iter()
    }

    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &Run)> {
        self.runs.numbered()
    }

    /// Returns the positions that the runs with these numbers have in a snapshot.
    pub(crate) fn positions(&self, numbers: Vec<usize>) -> BTreeMap<usize, usize> {
        self.runs.positions(numbers)
    }

    /// Returns a copy without indexes, which shares the runs.
    pub(crate) fn without_indexes(&self) -> Self {
        Self { runs: self.runs.clone(), ..Self::default() }
    }

    pub(crate) fn mark_output_readable(&mut self, id: &str) {
        if let Some(run) = self.number(id).and_then(|number| self.get_mut(number)) {
            run.output_pending = false;
        }
    }

    /// Consumes one of the remaining outages of a run; returns `false` if there are none.
    pub(crate) fn take_outage(&mut self, id: &str) -> bool {
        let run = self.number(id).and_then(|number| self.get_mut(number));
        match run {
            Some(run) if run.remaining_outages > 0 => {
                run.remaining_outages -= 1;
                true
            }
            _ => false,
        }
    }
}

serialize_as_list!(Runs, Run);
