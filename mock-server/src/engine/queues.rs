//! Bulk queues: Format runs that begin in order, so many at a time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::RunStatus;
use svc_sdk::contract::limits::BULK_CONCURRENCY;

use super::runs::{QueuePosition, RunConfig};
use super::serde_list::serialize_as_list;
use super::{State, Time};

/// A bulk queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Queue {
    pub(crate) id: String,
    pub(crate) workspace: String,
    pub(crate) format_id: String,
    /// How many of its runs may be in flight at once.
    pub(crate) concurrency: usize,
    pub(crate) created_at: Time,
    pub(crate) items: Vec<Item>,
}

/// A run that waits, or one that has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    /// What it will be asked for; taken by the run when that begins.
    #[serde(rename = "order")]
    pub(crate) config: Option<RunConfig>,
    pub(crate) run_id: Option<String>,
}

/// All queues, found by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Queues {
    /// In the order of their submits.
    all: Vec<Queue>,
    by_id: BTreeMap<String, usize>,
}

impl Queues {
    fn add(&mut self, queue: Queue) {
        self.by_id.insert(queue.id.clone(), self.all.len());
        self.all.push(queue);
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&Queue> {
        self.all.get(*self.by_id.get(id)?)
    }

    fn all(&self) -> &[Queue] {
        &self.all
    }

    fn by_id_mut(&mut self, id: &str) -> Option<&mut Queue> {
        self.all.get_mut(*self.by_id.get(id)?)
    }
}

impl State {
    /// Takes in a queue; the first of its runs begin.
    pub(crate) fn accept_queue(&mut self, queue: Queue) {
        let (id, at) = (queue.id.clone(), queue.created_at);
        self.queues.add(queue);
        self.start_queued_runs(&id, at);
    }

    /// Begins as many of the runs that wait as there is room for, in order.
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

    /// The next run that may begin, taken out of the queue.
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

    /// How an item stands: as its run does, or queued while it has none.
    pub(crate) fn item_status(&self, item: &Item) -> RunStatus {
        let run = item.run_id.as_deref().and_then(|id| self.runs.by_id(id));
        run.map_or(RunStatus::Queued, |run| run.status.clone())
    }

    /// Whether these can be the queues of a service.
    pub(crate) fn check_queues(&self) -> Result<(), String> {
        for (number, queue) in self.queues.all.iter().enumerate() {
            let id = &queue.id;
            if self.queues.by_id.get(id) != Some(&number) {
                return Err(format!("there are two queues {id}"));
            }
            if self.ledger.account(&queue.workspace).is_none() {
                return Err(format!("{id} is of an unknown workspace"));
            }
            let concurrency = u64::try_from(queue.concurrency).unwrap_or(u64::MAX);
            if !BULK_CONCURRENCY.contains(&concurrency) {
                return Err(format!("{id} has an impossible concurrency"));
            }
            for (index, item) in queue.items.iter().enumerate() {
                let sound = match (&item.config, &item.run_id) {
                    (Some(_), None) => true,
                    (None, Some(run_id)) => {
                        let place = self
                            .runs
                            .by_id(run_id)
                            .and_then(|run| run.queue_position.as_ref());
                        place.is_some_and(|place| place.queue_id == *id && place.index == index)
                    }
                    _ => false,
                };
                if !sound {
                    return Err(format!("item {index} of {id} neither waits nor runs"));
                }
                if let Some(config) = &item.config {
                    self.check_run_config(config)
                        .map_err(|problem| format!("item {index} of {id} {problem}"))?;
                }
            }
        }
        Ok(())
    }
}

serialize_as_list!(Queues, Queue);
