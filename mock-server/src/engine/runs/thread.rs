//! Threads: the conversations with the agent that runs start and continue.

use serde::{Deserialize, Serialize};
use svc_sdk::contract::{ErrorCode, RunStatus};

use super::{Run, RunError};

/// A conversation, as of one of its runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Thread {
    pub(crate) id: String,
    /// The number of the run in the thread, from 1.
    pub(crate) turn: u32,
}

impl Thread {
    /// Returns the thread as of the run that continues it.
    pub(crate) fn next_turn(self) -> Self {
        Self { turn: self.turn.saturating_add(1), ..self }
    }
}

impl Run {
    /// Returns the thread of the run, which another run can continue.
    ///
    /// A run that continues a thread carries it even if the agent never started. A skipped run has
    /// none.
    pub(crate) fn thread(&self) -> Option<Thread> {
        if self.status == RunStatus::Skipped {
            return None;
        }
        let tools_missing = |run_error: &RunError| run_error.code == ErrorCode::McpUnavailable;
        let is_own = self.started && !self.error.as_ref().is_some_and(tools_missing);
        let own = || Thread { id: self.id.replacen("run", "thr", 1), turn: 1 };
        let continued = self.config.continued_thread.clone();
        continued.or_else(|| is_own.then(own))
    }
}
