//! Whether what a document says of runs and queues can be.

use svc_sdk::contract::RunStatus;
use svc_sdk::types::Usd;

use super::{QueuePosition, RunConfig, RunKind};
use crate::engine::State;
use crate::engine::formats::Format;

impl State {
    /// Whether these can be the runs and queues of a service.
    pub(crate) fn check_runs(&self) -> Result<(), String> {
        for (number, run) in self.runs.all().iter().enumerate() {
            let id = &run.id;
            self.check_run_config(&run.config)
                .map_err(|problem| format!("{id} {problem}"))?;
            if matches!(run.status, RunStatus::Other(_)) {
                return Err(format!("{id} has an unknown status"));
            }
            if self.runs.number(id) != Some(number) {
                return Err(format!("there are two runs {id}"));
            }
            if run.status.is_terminal() && run.spend.pending() != Some(Usd::ZERO) {
                return Err(format!("{id} has ended and still spends"));
            }
            let placed = run
                .queue_position
                .as_ref()
                .is_none_or(|place| self.has(place, id));
            if !placed {
                return Err(format!("{id} is not where it says in its queue"));
            }
        }
        self.check_queues()
    }

    /// Whether somebody could have asked for this.
    pub(crate) fn check_run_config(&self, config: &RunConfig) -> Result<(), &'static str> {
        if self.ledger.account(&config.workspace).is_none() {
            return Err("is of an unknown workspace");
        }
        let format = config.subject.as_deref().and_then(Format::by_id);
        if config.kind == RunKind::Format && format.is_none() {
            return Err("is of an unknown Format");
        }
        if config.cost < Usd::ZERO || config.cap <= Usd::ZERO {
            return Err("has an impossible cost or cap");
        }
        Ok(())
    }

    fn has(&self, place: &QueuePosition, run_id: &str) -> bool {
        let queue = self.queues.by_id(&place.queue_id);
        let item = queue.and_then(|queue| queue.items.get(place.index));
        item.is_some_and(|item| item.run_id.as_deref() == Some(run_id))
    }
}
