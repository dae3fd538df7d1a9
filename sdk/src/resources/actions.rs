//! Actions.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::{Operation, idempotency_text};
use crate::handle::{ActionRun, RunHandle};
use crate::surface::Developer;
use crate::types::{Action, ActionId, ActionRunCreate, Page, RunId, RunReceipt};

resource! {
    /// Actions: agent work on a schedule, which can also be started by a call.
    Actions, /// Actions: list and run them.
    actions of Developer
}

impl Actions<'_> {
    /// Lists the Actions of the workspace: `GET /v1/actions`.
    pub fn list(&self) -> Call<Page<Action>> {
        Call::list::<&str>(&self.client.core, Operation::ActionsList, &[])
    }

    /// Reads an Action: `GET /v1/actions/{action_id}`.
    pub fn get(&self, id: impl Into<ActionId>) -> Call<Action> {
        Call::new(&self.client.core, Operation::ActionsGet, &[id.into()])
    }

    /// Starts a run of an Action: `POST /v1/actions/{action_id}/runs`.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn run(
        &self,
        id: impl Into<ActionId>,
        body: impl Borrow<ActionRunCreate>,
    ) -> Call<RunHandle<ActionRun>> {
        let operation = Operation::ActionsRunsCreate;
        Call::submit(&self.client.core, operation, &[id.into().as_str()]).json(body.borrow())
    }

    /// Lists the runs of an Action: `GET /v1/actions/{action_id}/runs`.
    pub fn list_runs(&self, id: impl Into<ActionId>) -> Call<Page<RunReceipt>> {
        Call::list(&self.client.core, Operation::ActionsRunsList, &[id.into()])
    }

    /// Reads the receipt of a run of an Action: `GET /v1/actions/{action_id}/runs/{run_id}`.
    ///
    /// [`ActionRuns::handle`](super::ActionRuns::handle) needs only the run's id.
    pub fn get_run(&self, id: impl Into<ActionId>, run_id: impl Into<RunId>) -> Call<RunReceipt> {
        let (id, run_id) = (id.into(), run_id.into());
        let segments = [id.as_str(), run_id.as_str()];
        Call::new(&self.client.core, Operation::ActionsRunsGet, &segments)
    }
}

impl Call<Page<Action>> {
    /// Lists only Actions with that status, such as `active`.
    pub fn status(self, status: impl AsRef<str>) -> Self {
        self.query("status", status.as_ref())
    }

    /// Lists only Actions with that type of trigger, such as `api_call`.
    pub fn trigger_type(self, trigger_type: impl AsRef<str>) -> Self {
        self.query("trigger_type", trigger_type.as_ref())
    }
}
