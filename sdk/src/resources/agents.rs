//! Agent Completions.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::{Operation, idempotency_text};
use crate::handle::{AgentRun, RunHandle};
use crate::surface::Developer;
use crate::types::AgentCompletionCreate;

resource! {
    /// The agent, run on an instruction of your own.
    Agents, /// The agent: run it on an instruction.
    agents of Developer
}

impl Agents<'_> {
    /// Starts a run of the agent: `POST /v1/agent/completions`.
    ///
    /// The response is a handle, never the result itself.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Documented)]
    pub fn run(&self, body: impl Borrow<AgentCompletionCreate>) -> Call<RunHandle<AgentRun>> {
        let operation = Operation::AgentCompletionsCreate;
        Call::submit(&self.client.core, operation, &[]).json(body.borrow())
    }
}
