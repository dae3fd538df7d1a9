//! Runs of Actions, Formats and Agent Completions.

use super::resource;
use crate::call::Call;
use crate::contract::Operation;
use crate::handle::{ActionRun, AgentRun, FormatRun, RunHandle};
use crate::surface::Developer;
use crate::types::{Page, RunId, RunReceipt};

resource! {
    /// Runs of Actions.
    ActionRuns, /// Runs of Actions: get a handle of one.
    action_runs of Developer
}

impl ActionRuns<'_> {
    /// Returns a handle of the run with that id. Nothing is requested.
    #[must_use]
    pub fn handle(&self, id: impl Into<RunId>) -> RunHandle<ActionRun> {
        RunHandle::from_id(self.client, id.into())
    }
}

resource! {
    /// Runs of Formats.
    FormatRuns, /// Runs of Formats: get a handle of one.
    format_runs of Developer
}

impl FormatRuns<'_> {
    /// Returns a handle of the run with that id. Nothing is requested.
    #[must_use]
    pub fn handle(&self, id: impl Into<RunId>) -> RunHandle<FormatRun> {
        RunHandle::from_id(self.client, id.into())
    }
}

resource! {
    /// Runs of Agent Completions.
    AgentRuns, /// Runs of Agent Completions: get a handle of one.
    agent_runs of Developer
}

impl AgentRuns<'_> {
    /// Lists the runs of Agent Completions, newest first: `GET /v1/agent-runs`.
    pub fn list(&self) -> Call<Page<RunReceipt>> {
        Call::list::<&str>(&self.client.core, Operation::AgentRunsList, &[])
    }

    /// Returns a handle of the run with that id. Nothing is requested.
    #[must_use]
    pub fn handle(&self, id: impl Into<RunId>) -> RunHandle<AgentRun> {
        RunHandle::from_id(self.client, id.into())
    }
}
