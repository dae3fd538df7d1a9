//! Agent Completions and their runs.

use super::Client;
use crate::call::{Call, Request};
use crate::contract::Operation;
use crate::runs::{AgentRun, RunHandle};
use crate::submit::Submit;
use crate::types::{AgentCompletionCreate, Page, RunId, RunReceipt, RunStatusPayload};

impl Client {
    /// `POST /v1/agent/completions`: starts a run of an ad-hoc prompt. It is never answered with
    /// the result itself.
    pub fn agent_completions_create(
        &self,
        body: &AgentCompletionCreate,
    ) -> Submit<RunHandle<AgentRun>> {
        self.start_typed(Operation::AgentCompletionsCreate, &[], body)
    }

    /// `GET /v1/agent-runs`: the workspace's Agent Completion runs, newest first.
    pub fn agent_runs_list(&self) -> Call<Page<RunReceipt>> {
        let request = Request::new::<&str>(Operation::AgentRunsList, &[]);
        Call::list(&self.core, request)
    }

    /// Takes up a run of an Agent Completion again, from its id alone.
    #[must_use]
    pub fn agent_run(&self, id: impl Into<RunId>) -> RunHandle<AgentRun> {
        RunHandle::from_id(self.clone(), id.into())
    }

    /// `GET /v1/agent-runs/{run_id}`: a run's receipt, as far as it is.
    pub fn agent_runs_get(&self, id: &RunId) -> Call<RunReceipt> {
        Call::new(&self.core, Request::new(Operation::AgentRunsGet, &[id]))
    }

    /// `GET /v1/agent-runs/{run_id}/status`: one poll. [`RunHandle`] does it at the right moments.
    pub fn agent_runs_status(&self, id: &RunId) -> Call<RunStatusPayload> {
        Call::new(&self.core, Request::new(Operation::AgentRunsStatus, &[id]))
    }

    /// `GET /v1/agent-runs/{run_id}/result`: the terminal receipt.
    pub fn agent_runs_result(&self, id: &RunId) -> Call<RunReceipt> {
        Call::new(&self.core, Request::new(Operation::AgentRunsResult, &[id]))
    }

    /// `POST /v1/agent-runs/{run_id}/cancel`: cancels the run; what it did is billed.
    pub fn agent_runs_cancel(&self, id: &RunId) -> Call<RunReceipt> {
        Call::new(&self.core, Request::new(Operation::AgentRunsCancel, &[id]))
    }
}
