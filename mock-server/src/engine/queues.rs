//! Bulk queues, which start Format runs in order with limited concurrency.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::RunStatus;
use svc_sdk::contract::limits::BULK_CONCURRENCY_RANGE;

use super::runs::{QueuePosition, RunConfig};
use super::serde_list::serialize_as_list;
use super::shared_list::SharedList;
use super::{State, Time};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Queue {
    pub(crate) id: String,
    pub(crate) workspace: String,
    pub(crate) format_id: String,
    /// The maximum number of runs in flight.
    pub(crate) concurrency: usize,
    pub(crate) created_at: Time,
    pub(crate) items: Vec<Item>,
}

/// An item of a queue: a waiting configuration, or a run that was started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    /// The configuration of the run, which is removed when the run starts.
    #[serde(rename = "order")]
    pub(crate) config: Option<RunConfig>,
    pub(crate) run_id: Option<String>,
}

/// All queues, indexed by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Queues {
    /// The queues in the order of their submits.
    queues: SharedList<Queue>,
    by_id: BTreeMap<String, usize>,
}

impl Queues {
    fn add(&mut self, queue: Queue) {
        self.by_id.insert(queue.id.clone(), self.queues.next_number());
        self.queues.push(queue);
    }

    pub(crate) fn remove(&mut self, id: &str) -> Option<Queue> {
        self.queues.remove(self.by_id.remove(id)?)
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&Queue> {
        self.queues.get(*self.by_id.get(id)?)
    }

    fn all(&self) -> impl Iterator<Item = &Queue> {
        self.queues.iter()
    }

    pub(crate) fn without_indexes(&self) -> Self {
        Self { queues: self.queues.clone(), ..Self::default() }
    }

    fn by_id_mut(&mut self, id: &str) -> Option<&mut Queue> {
        self.queues.get_mut(*self.by_id.get(id)?)
    }
}

impl State {
    pub(crate) fn accept_queue(&mut self, queue: Queue) {
        let (id, at) = (queue.id.clone(), queue.created_at);
        self.queues.add(queue);
        self.start_queued_runs(&id, at);
    }

    /// Starts waiting runs in order until the concurrency limit is reached.
    pub(crate) fn start_queued_runs(&mut self, id: &str, at: Time) {
        while let Some((index, config)) = self.take_next_queued(id) {
            let queue_id = id.to_owned();
            let number = self.start_new_run(config, Some(QueuePosition { queue_id, index }), at);
            let run_id = self.runs.get(number).map(|run| run.id.clone());
            let queue = self.queues.by_id_mut(id);
            if let Some(item) = queue.and_then(|queue| queue.items.get_mut(index)) {
                item.run_id = run_id;
            }
        }
    }

    /// Removes and returns the configuration of the next run, unless the limit is reached.
    fn take_next_queued(&mut self, id: &str) -> Option<(usize, RunConfig)> {
        let queue = self.queues.by_id(id)?;
        let in_flight = queue.items.iter().filter(|item| {
            let run = item.run_id.as_deref().and_then(|id| self.runs.by_id(id));
            run.is_some_and(|run| !run.status.is_terminal())
        });
        if in_flight.count() >= queue.concurrency {
            return None;
        }
        let index = queue.items.iter().position(|item| item.config.is_some())?;
        let item = self.queues.by_id_mut(id)?.items.get_mut(index)?;
        Some((index, item.config.take()?))
    }

    /// Returns the status of an item: that of its run, or `queued` if it has none yet.
    pub(crate) fn item_status(&self, item: &Item) -> RunStatus {
        let run = item.run_id.as_deref().and_then(|id| self.runs.by_id(id));
        run.map_or(RunStatus::Queued, |run| run.status.clone())
    }

    /// Checks that the queues are consistent with their runs and workspaces.
    pub(crate) fn check_queues(&self) -> Result<(), String> {
        for (number, queue) in self.queues.queues.numbered() {
            let id = &queue.id;
            if self.queues.by_id.get(id) != Some(&number) {
                return Err(format!("duplicate queue {id}"));
            }
            if self.ledger.account(&queue.workspace).is_none() {
                return Err(format!("{id}: unknown workspace"));
            }
            let concurrency = u64::try_from(queue.concurrency).unwrap_or(u64::MAX);
            if !BULK_CONCURRENCY_RANGE.contains(&concurrency) {
                return Err(format!("{id}: invalid concurrency"));
            }
            for (index, item) in queue.items.iter().enumerate() {
                let is_consistent = match (&item.config, &item.run_id) {
                    (Some(_), None) => true,
                    (None, Some(run_id)) => {
                        let position =
                            self.runs.by_id(run_id).and_then(|run| run.queue_position.as_ref());
                        position.is_some_and(|position| {
                            position.queue_id == *id && position.index == index
                        })
                    }
                    _ => false,
                };
                if !is_consistent {
                    return Err(format!(
                        "{id}: item {index} has neither a configuration nor a run"
                    ));
                }
                if let Some(config) = &item.config {
                    self.check_run_config(config)
                        .map_err(|problem| format!("{id}: item {index}: {problem}"))?;
                }
            }
        }
        Ok(())
    }
}

serialize_as_list!(Queues, Queue);
