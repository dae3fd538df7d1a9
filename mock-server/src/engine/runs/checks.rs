//! Consistency checks of the runs in a snapshot.

use svc_sdk::contract::RunStatus;
use svc_sdk::types::Usd;

use super::{QueuePosition, RunConfig, RunKind};
use crate::engine::State;
use crate::engine::formats::Format;

impl State {
    /// Checks that runs and queues are consistent.
    pub(crate) fn check_runs(&self) -> Result<(), String> {
        for (number, run) in self.runs.numbered() {
            let id = &run.id;
            self.check_run_config(&run.config).map_err(|problem| format!("{id}: {problem}"))?;
            if matches!(run.status, RunStatus::Other(_)) {
                return Err(format!("{id}: unknown status"));
            }
            if self.runs.number(id) != Some(number) {
                return Err(format!("duplicate run {id}"));
            }
            if run.status.is_terminal() && run.spend.pending() != Some(Usd::ZERO) {
                return Err(format!("{id}: a finished run has pending spend"));
            }
            let is_in_queue =
                run.queue_position.as_ref().is_none_or(|position| self.is_at(position, id));
            if !is_in_queue {
                return Err(format!("{id}: wrong queue position"));
            }
        }
        self.check_queues()
    }

    /// Checks that a configuration could be that of an accepted run.
    pub(crate) fn check_run_config(&self, config: &RunConfig) -> Result<(), &'static str> {
        let has_account = self.ledger.account(&config.account()).is_some();
        if self.workspaces.get(&config.workspace).is_none() || !has_account {
            return Err("unknown workspace");
        }
        let format = config.subject.as_deref().and_then(Format::by_id);
        if config.kind == RunKind::Format && format.is_none() {
            return Err("unknown Format");
        }
        if config.cost < Usd::ZERO || config.cap <= Usd::ZERO {
            return Err("invalid cost or cap");
        }
        Ok(())
    }

    fn is_at(&self, position: &QueuePosition, run_id: &str) -> bool {
        let queue = self.queues.by_id(&position.queue_id);
        let item = queue.and_then(|queue| queue.items.get(position.index));
        item.is_some_and(|item| item.run_id.as_deref() == Some(run_id))
    }
}
