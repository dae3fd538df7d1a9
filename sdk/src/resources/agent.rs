//! Work of the agent: Actions, Formats, Agent Completions, their runs and bulk queues.

use std::borrow::Borrow;

use super::{methods, resource};
use crate::call::Call;
use crate::contract::{Operation, idempotency_section};
use crate::handle::{ActionRun, AgentRun, FormatRun, QueueHandle, RunHandle};
use crate::surface::Developer;
use crate::types::{
    Action, ActionId, ActionRunCreate, AgentCompletionCreate, BulkRunCreate, Format, FormatRef,
    FormatRunCreate, Page, QueueId, RunId, RunReceipt,
};

resource! {
    /// Actions: agent work on a schedule, which can also be started by a call.
    Actions, /// Actions: list and run them.
    actions of Developer
}

methods! { Actions<'_> {
    /// Lists the Actions of the workspace: `GET /v1/actions`.
    list -> Page<Action>: list Operation::ActionsList;
    /// Reads an Action: `GET /v1/actions/{action_id}`.
    get[id: Into<ActionId>] -> Action: new Operation::ActionsGet;
    /// Starts a run of an Action: `POST /v1/actions/{action_id}/runs`.
    #[doc = idempotency_section!(Undocumented)]
    run[id: Into<ActionId>](ActionRunCreate)
        -> RunHandle<ActionRun>: submit Operation::ActionsRunsCreate;
    /// Lists the runs of an Action: `GET /v1/actions/{action_id}/runs`.
    list_runs[id: Into<ActionId>] -> Page<RunReceipt>: list Operation::ActionsRunsList;
    /// Reads the receipt of a run of an Action: `GET /v1/actions/{action_id}/runs/{run_id}`.
    ///
    /// [`ActionRuns::handle`](super::ActionRuns::handle) needs only the run's id.
    get_run[id: Into<ActionId>, run_id: Into<RunId>] -> RunReceipt: new Operation::ActionsRunsGet;
} }

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

resource! {
    /// Formats: reusable recipes for the agent, run singly or in bulk.
    ///
    /// A Format is given by its id, or by `handle/slug`.
    ///
    /// ```no_run
    /// use svc_sdk::types::{FormatRunCreate, OutputSchema};
    ///
    /// # async fn run(client: svc_sdk::developer::Client) -> svc_sdk::Result<()> {
    /// #[derive(serde::Deserialize)]
    /// struct Teaser { title: String }
    ///
    /// let schema = OutputSchema::new(serde_json::json!({
    ///     "type": "object",
    ///     "properties": {"title": {"type": "string"}},
    ///     "required": ["title"],
    /// }))?;
    /// let body = FormatRunCreate::new("A jazz night in Lisbon").output_schema(schema);
    /// let run = client.formats().run("demo/teaser", body).await?;
    /// let receipt = run.wait().await?;
    /// println!("{:?}", receipt.output_as::<Teaser>().map(|teaser| teaser.title));
    /// # Ok(())
    /// # }
    /// ```
    Formats, /// Formats: list and run them.
    formats of Developer
}

methods! { Formats<'_> {
    /// Lists the Formats that the key can see, its own and the service's: `GET /v1/formats`.
    list -> Page<Format>: list Operation::FormatsList;
} }

impl Formats<'_> {
    /// Reads a Format: `GET /v1/formats/{format_id}` or `GET /v1/formats/{handle}/{slug}`.
    pub fn get(&self, format: impl Into<FormatRef>) -> Call<Format> {
        let format = format.into();
        let (operation, segments) =
            format.select_operation(Operation::FormatsGet, Operation::FormatsBySlugGet);
        Call::new(&self.client.core, operation, &segments)
    }

    /// Starts a run of a Format: `POST /v1/formats/{format_id}/runs` or
    /// `POST /v1/formats/{handle}/{slug}/runs`.
    #[doc = idempotency_section!(Documented)]
    pub fn run(
        &self,
        format: impl Into<FormatRef>,
        body: impl Borrow<FormatRunCreate>,
    ) -> Call<RunHandle<FormatRun>> {
        let format = format.into();
        let (operation, segments) = format
            .select_operation(Operation::FormatsRunsCreate, Operation::FormatsBySlugRunsCreate);
        Call::submit(&self.client.core, operation, &segments).json(body.borrow())
    }

    /// Starts up to 100 runs of a Format, at most 16 at a time:
    /// `POST /v1/formats/{format_id}/bulk-runs` or `POST /v1/formats/{handle}/{slug}/bulk-runs`.
    #[doc = idempotency_section!(Documented)]
    pub fn bulk_run(
        &self,
        format: impl Into<FormatRef>,
        body: impl Borrow<BulkRunCreate>,
    ) -> Call<QueueHandle> {
        let format = format.into();
        let (operation, segments) = format
            .select_operation(Operation::FormatsBulkCreate, Operation::FormatsBySlugBulkCreate);
        Call::submit(&self.client.core, operation, &segments).json(body.borrow())
    }

    /// Lists the runs of a Format, newest first: `GET /v1/formats/{format_id}/runs` or
    /// `GET /v1/formats/{handle}/{slug}/runs`.
    pub fn list_runs(&self, format: impl Into<FormatRef>) -> Call<Page<RunReceipt>> {
        let format = format.into();
        let (operation, segments) =
            format.select_operation(Operation::FormatsRunsList, Operation::FormatsBySlugRunsList);
        Call::list(&self.client.core, operation, &segments)
    }
}

resource! {
    /// The agent, run on an instruction of your own.
    Agents, /// The agent: run it on an instruction.
    agents of Developer
}

methods! { Agents<'_> {
    /// Starts a run of the agent: `POST /v1/agent/completions`.
    ///
    /// The response is a handle, never the result itself.
    #[doc = idempotency_section!(Documented)]
    run(AgentCompletionCreate) -> RunHandle<AgentRun>: submit Operation::AgentCompletionsCreate;
} }

resource! {
    /// Runs of Actions.
    ActionRuns, /// Runs of Actions: get a handle of one.
    action_runs of Developer, with handles RunHandle<ActionRun>, RunId
}

resource! {
    /// Runs of Formats.
    FormatRuns, /// Runs of Formats: get a handle of one.
    format_runs of Developer, with handles RunHandle<FormatRun>, RunId
}

resource! {
    /// Runs of Agent Completions.
    AgentRuns, /// Runs of Agent Completions: get a handle of one.
    agent_runs of Developer, with handles RunHandle<AgentRun>, RunId
}

methods! { AgentRuns<'_> {
    /// Lists the runs of Agent Completions, newest first: `GET /v1/agent-runs`.
    list -> Page<RunReceipt>: list Operation::AgentRunsList;
} }

resource! {
    /// Bulk queues of Format runs.
    Queues, /// Bulk queues of Format runs: get a handle of one.
    queues of Developer, with handles QueueHandle, QueueId
}
