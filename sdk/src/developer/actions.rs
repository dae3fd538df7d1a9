//! Actions and their runs.

use super::Client;
use crate::call::{Call, Request};
use crate::contract::Operation;
use crate::error::Result;
use crate::runs::{ActionRun, RunHandle};
use crate::submit::Submit;
use crate::types::{Action, ActionId, ActionRunCreate, Page, RunId, RunReceipt, RunStatusPayload};

impl Client {
    /// `GET /v1/actions`: the workspace's Actions.
    pub fn actions_list(&self) -> ActionsList {
        let request = Request::new::<&str>(Operation::ActionsList, &[]);
        ActionsList {
            call: Call::list(&self.core, request),
        }
    }

    /// `GET /v1/actions/{action_id}`: an Action.
    pub fn actions_get(&self, id: &ActionId) -> Call<Action> {
        Call::new(&self.core, Request::new(Operation::ActionsGet, &[id]))
    }

    /// `GET /v1/actions/{action_id}/runs`: its runs.
    pub fn actions_runs_list(&self, id: &ActionId) -> Call<Page<RunReceipt>> {
        Call::list(&self.core, Request::new(Operation::ActionsRunsList, &[id]))
    }

    /// `POST /v1/actions/{action_id}/runs`: starts a run through the API-call trigger.
    ///
    /// The service does not document it as idempotent: a start that may have arrived is reported
    /// ([`is_ambiguous`](crate::Error::is_ambiguous)), and not repeated.
    pub fn actions_runs_create(
        &self,
        id: &ActionId,
        body: &ActionRunCreate,
    ) -> Submit<RunHandle<ActionRun>> {
        self.start_typed(Operation::ActionsRunsCreate, &[id.as_str()], body)
    }

    /// `GET /v1/actions/{action_id}/runs/{run_id}`: an alias of
    /// [`action_runs_get`](Self::action_runs_get).
    pub fn actions_runs_get(&self, id: &ActionId, run_id: &RunId) -> Call<RunReceipt> {
        let segments = [id.as_str(), run_id.as_str()];
        Call::new(
            &self.core,
            Request::new(Operation::ActionsRunsGet, &segments),
        )
    }

    /// Takes up a run of an Action again, from its id alone.
    #[must_use]
    pub fn action_run(&self, id: impl Into<RunId>) -> RunHandle<ActionRun> {
        RunHandle::from_id(self.clone(), id.into())
    }

    /// `GET /v1/action-runs/{run_id}`: a run's receipt, as far as it is.
    pub fn action_runs_get(&self, id: &RunId) -> Call<RunReceipt> {
        Call::new(&self.core, Request::new(Operation::ActionRunsGet, &[id]))
    }

    /// `GET /v1/action-runs/{run_id}/status`: one poll. [`RunHandle`] does it at the right moments.
    pub fn action_runs_status(&self, id: &RunId) -> Call<RunStatusPayload> {
        Call::new(&self.core, Request::new(Operation::ActionRunsStatus, &[id]))
    }

    /// `GET /v1/action-runs/{run_id}/result`: the terminal receipt.
    pub fn action_runs_result(&self, id: &RunId) -> Call<RunReceipt> {
        Call::new(&self.core, Request::new(Operation::ActionRunsResult, &[id]))
    }

    /// `POST /v1/action-runs/{run_id}/cancel`: cancels the run; what it did is billed.
    pub fn action_runs_cancel(&self, id: &RunId) -> Call<RunReceipt> {
        Call::new(&self.core, Request::new(Operation::ActionRunsCancel, &[id]))
    }
}

/// A list of Actions, to be narrowed down and sent.
#[must_use = "a call does nothing until it is sent"]
#[derive(Debug)]
pub struct ActionsList {
    call: Call<Page<Action>>,
}

impl ActionsList {
    /// At most so many.
    pub fn limit(self, limit: u64) -> Self {
        self.query("limit", limit)
    }

    /// Only Actions of that status.
    pub fn status(self, status: &str) -> Self {
        self.query("status", status)
    }

    /// Only Actions with that kind of trigger, such as `api_call`.
    pub fn trigger_type(self, trigger_type: &str) -> Self {
        self.query("trigger_type", trigger_type)
    }

    /// Any other query parameter.
    pub fn query(self, name: &str, value: impl ToString) -> Self {
        Self {
            call: self.call.with_query(name, value),
        }
    }

    /// The call itself, for its options.
    pub fn call(self) -> Call<Page<Action>> {
        self.call
    }

    /// Sends it.
    ///
    /// # Errors
    ///
    /// See [`Error`](crate::Error).
    pub async fn send(self) -> Result<Page<Action>> {
        self.call.send().await
    }
}
