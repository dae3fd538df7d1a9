//! Jobs.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use svc_sdk::contract::JobStatus;
use svc_sdk::contract::limits::SUGGESTED_VIDEO_TIMEOUT;
use svc_sdk::download::OnProgress;
use svc_sdk::types::{JobResult, JobStatusPayload, RequestId, SubmitReceipt, Usd};
use svc_sdk::{Client, JobHandle, Update, Updates};

use super::{Stopped, StoredFile, Subject, SubjectId, Told};
use crate::commands::job::tables;
use crate::failure::Failure;
use crate::output::Table;
use crate::output::live::Live;
use crate::price::{self, Price, Priced};
use crate::session::{Session, choice};
use crate::submit::Order;

/// What a job came to, with its files where they were downloaded.
#[derive(Debug, Serialize)]
pub(crate) struct JobEnd {
    #[serde(flatten)]
    pub(crate) result: JobResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<StoredFile>>,
}

impl<S: Priced> Subject for JobHandle<S> {
    type End = JobEnd;

    const NOUN: &'static str = "job";
    const VERB: &'static str = "Make";
    const PATIENCE: Option<Duration> = Some(SUGGESTED_VIDEO_TIMEOUT);

    fn taken_up(client: &Client<S>, id: &str) -> Self {
        client.job(id)
    }

    fn subject_id(&self) -> SubjectId {
        SubjectId::Job(self.id().as_str().to_owned())
    }

    fn was_there(&self) -> bool {
        self.is_replay()
    }

    fn is_receipted(&self) -> bool {
        self.receipt().is_some()
    }

    fn started_by(&self) -> Option<&str> {
        let id = self.receipt()?.request_id.as_ref();
        id.map(RequestId::as_str)
    }

    fn charge(&self) -> Option<Usd> {
        self.receipt()?.job.price_usd
    }

    async fn price(client: &Client<S>, order: &Order) -> Result<Price, Failure> {
        let estimate = price::ask(client, &order.body).await?;
        Ok(estimate.map_or(Price::Unknown, Price::Charge))
    }

    fn listing(session: &Session, _: &Order) -> String {
        session.resume_on(choice::<S>(), &["job", "list"])
    }

    fn again(&self, session: &Session, folder: Option<&Path>) -> String {
        let folder = folder.map(|folder| folder.display().to_string());
        let mut words = vec!["job", "wait", self.id().as_str()];
        if let Some(folder) = &folder {
            words.extend(["--download", folder]);
        }
        session.resume_on(choice::<S>(), &words)
    }

    fn fetch_again(&self, session: &Session, folder: &Path) -> String {
        let folder = folder.display().to_string();
        let words = ["job", "download", self.id().as_str(), "--dir", &folder];
        session.resume_on(choice::<S>(), &words)
    }

    fn watch(&self) -> Updates<Self> {
        self.updates()
    }

    fn show(live: &Live<'_>, update: &Update<JobStatusPayload>) {
        live.update(update, update.status.status.as_ref().map(JobStatus::as_str));
    }

    async fn end(&self, status: JobStatusPayload) -> Result<JobEnd, Failure> {
        let result = self.outcome(status.status).await?;
        Ok(JobEnd {
            result,
            files: None,
        })
    }

    async fn fetch(
        &self,
        end: &mut JobEnd,
        folder: &Path,
        on_progress: OnProgress,
    ) -> Result<(), Failure> {
        let files = self.download_result(&end.result, folder, Some(on_progress));
        end.files = Some(files.await?.into_iter().map(StoredFile::from).collect());
        Ok(())
    }

    async fn stop(&self) -> Result<Stopped, svc_sdk::Error> {
        let status = self.cancel().await?.status;
        Ok(Stopped {
            said: status.to_string(),
            canceled: status == JobStatus::Canceled,
        })
    }

    fn tell(&self, session: &Session, end: &JobEnd, _: Told) -> Result<(), Failure> {
        session.printer.one(end, table)
    }

    async fn tell_receipt(&self, session: &Session) -> Result<(), Failure> {
        if let Some(receipt) = self.receipt() {
            return session.printer.one(receipt, receipt_table);
        }
        let envelope = self.get().await?;
        session
            .printer
            .one(&json!({ "job": envelope }), |_| tables::envelope(&envelope))
    }
}

/// What a job came to, as a table.
pub(crate) fn table(end: &JobEnd) -> Table {
    let result = &end.result;
    let mut table = Table::of_fields();
    table.field("job", result.job_id.as_ref());
    table.field("status", result.status.as_ref());
    for artifact in result.artifacts() {
        table.field(
            artifact.content_type.as_deref().unwrap_or("artifact"),
            Some(&artifact.url),
        );
    }
    for file in end.files.iter().flatten() {
        table.field(
            "file",
            Some(format!("{} ({} bytes)", file.path, file.bytes)),
        );
    }
    if let Some(error) = &result.error {
        table.field("error", Some(format!("{} ({})", error.message, error.code)));
    }
    table
}

fn receipt_table(receipt: &SubmitReceipt) -> Table {
    let mut table = Table::of_fields();
    table.field("job", Some(&receipt.job.id));
    table.field("status", Some(&receipt.job.status));
    table.field(
        "price",
        receipt
            .job
            .price_usd
            .map(|price: Usd| format!("{price} USD")),
    );
    table.field("status url", receipt.status_url.as_ref());
    table.field("result url", receipt.result_url.as_ref());
    table.field("request", receipt.request_id.as_ref());
    table
}
