//! Formats.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::{Operation, idempotency_text};
use crate::handle::{FormatRun, QueueHandle, RunHandle};
use crate::surface::Developer;
use crate::types::{BulkRunCreate, Format, FormatRef, FormatRunCreate, Page, RunReceipt};

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

impl Formats<'_> {
    /// Lists the Formats that the key can see, its own and the service's: `GET /v1/formats`.
    pub fn list(&self) -> Call<Page<Format>> {
        Call::list::<&str>(&self.client.core, Operation::FormatsList, &[])
    }

    /// Reads a Format: `GET /v1/formats/{format_id}` or `GET /v1/formats/{handle}/{slug}`.
    pub fn get(&self, format: impl Into<FormatRef>) -> Call<Format> {
        let format = format.into();
        let (operation, segments) =
            format.select_operation(Operation::FormatsGet, Operation::FormatsBySlugGet);
        Call::new(&self.client.core, operation, &segments)
    }

    /// Starts a run of a Format: `POST /v1/formats/{format_id}/runs` or
    /// `POST /v1/formats/{handle}/{slug}/runs`.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Documented)]
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
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Documented)]
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
