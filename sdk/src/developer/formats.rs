//! Formats: what there is, single runs and bulk queues.

use super::Client;
use crate::call::{Call, Request};
use crate::contract::Operation;
use crate::runs::{FormatRun, QueueHandle, RunHandle};
use crate::submit::Submit;
use crate::types::{
    BulkRunCreate, Format, FormatRef, FormatRunCreate, Page, Queue, QueueId, Redelivery, RunEvent,
    RunId, RunReceipt, RunStatusPayload,
};

impl Client {
    /// `GET /v1/formats`: the key's own Formats and those of the service.
    ///
    /// [`with_query("limit", …)`](Call::with_query) narrows it down.
    pub fn formats_list(&self) -> Call<Page<Format>> {
        let request = Request::new::<&str>(Operation::FormatsList, &[]);
        Call::list(&self.core, request)
    }

    /// `GET /v1/formats/{format_id}` or `GET /v1/formats/{handle}/{slug}`: a Format.
    pub fn formats_get(&self, format: impl Into<FormatRef>) -> Call<Format> {
        let format = format.into();
        let (operation, segments) =
            format.addressed(Operation::FormatsGet, Operation::FormatsBySlugGet);
        Call::new(&self.core, Request::new(operation, &segments))
    }

    /// `GET /v1/formats/{format_id}/runs`, or by handle and slug: its runs, newest first.
    pub fn formats_runs_list(&self, format: impl Into<FormatRef>) -> Call<Page<RunReceipt>> {
        let format = format.into();
        let (operation, segments) =
            format.addressed(Operation::FormatsRunsList, Operation::FormatsBySlugRunsList);
        Call::list(&self.core, Request::new(operation, &segments))
    }

    /// `POST /v1/formats/{format_id}/runs`, or by handle and slug: starts a run.
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
    /// let run = client.formats_runs_create("demo/teaser", &body).send().await?;
    /// let receipt = run.wait().await?;
    /// println!("{}", receipt.output_as::<Teaser>().map_or_else(|_| "?".to_owned(), |it| it.title));
    /// # Ok(())
    /// # }
    /// ```
    pub fn formats_runs_create(
        &self,
        format: impl Into<FormatRef>,
        body: &FormatRunCreate,
    ) -> Submit<RunHandle<FormatRun>> {
        let format = format.into();
        let (operation, segments) = format.addressed(
            Operation::FormatsRunsCreate,
            Operation::FormatsBySlugRunsCreate,
        );
        self.start_typed(operation, &segments, body)
    }

    /// `POST /v1/formats/{format_id}/bulk-runs`, or by handle and slug: starts up to 100 runs, at
    /// most 16 at a time.
    pub fn formats_bulk_create(
        &self,
        format: impl Into<FormatRef>,
        body: &BulkRunCreate,
    ) -> Submit<QueueHandle> {
        let format = format.into();
        let (operation, segments) = format.addressed(
            Operation::FormatsBulkCreate,
            Operation::FormatsBySlugBulkCreate,
        );
        self.start_typed(operation, &segments, body)
    }

    /// Takes up a run of a Format again, from its id alone.
    #[must_use]
    pub fn format_run(&self, id: impl Into<RunId>) -> RunHandle<FormatRun> {
        RunHandle::from_id(self.clone(), id.into())
    }

    /// Takes up a bulk queue again, from its id alone.
    #[must_use]
    pub fn format_queue(&self, id: impl Into<QueueId>) -> QueueHandle {
        QueueHandle::from_id(self.clone(), id.into())
    }

    /// `GET /v1/format-run-queues/{queue_id}`: how a bulk queue stands.
    pub fn format_queues_get(&self, id: &QueueId) -> Call<Queue> {
        Call::new(&self.core, Request::new(Operation::FormatQueuesGet, &[id]))
    }

    /// `GET /v1/format-runs/{run_id}`: a run's receipt, as far as it is.
    pub fn format_runs_get(&self, id: &RunId) -> Call<RunReceipt> {
        Call::new(&self.core, Request::new(Operation::FormatRunsGet, &[id]))
    }

    /// `GET /v1/format-runs/{run_id}/status`: one poll. [`RunHandle`] does it at the right moments.
    pub fn format_runs_status(&self, id: &RunId) -> Call<RunStatusPayload> {
        Call::new(&self.core, Request::new(Operation::FormatRunsStatus, &[id]))
    }

    /// `GET /v1/format-runs/{run_id}/result`: the terminal receipt.
    pub fn format_runs_result(&self, id: &RunId) -> Call<RunReceipt> {
        Call::new(&self.core, Request::new(Operation::FormatRunsResult, &[id]))
    }

    /// `GET /v1/format-runs/{run_id}/events`: the phase timeline, oldest first.
    pub fn format_runs_events(&self, id: &RunId) -> Call<Page<RunEvent>> {
        Call::list(&self.core, Request::new(Operation::FormatRunsEvents, &[id]))
    }

    /// `POST /v1/format-runs/{run_id}/cancel`: cancels the run; what it did is billed.
    pub fn format_runs_cancel(&self, id: &RunId) -> Call<RunReceipt> {
        Call::new(&self.core, Request::new(Operation::FormatRunsCancel, &[id]))
    }

    /// `POST /v1/format-runs/{run_id}/webhook/redeliver`: sends the terminal receipt again.
    pub fn format_runs_webhook_redeliver(&self, id: &RunId) -> Call<Redelivery> {
        let operation = Operation::FormatRunsWebhookRedeliver;
        Call::new(&self.core, Request::new(operation, &[id]))
    }
}
