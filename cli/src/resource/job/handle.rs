//! Handles of jobs, as resources.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use svc_sdk::contract::JobStatus;
use svc_sdk::contract::limits::SUGGESTED_VIDEO_DEADLINE;
use svc_sdk::download::OnProgress;
use svc_sdk::types::{RequestId, StatusPayload, Usd};
use svc_sdk::{Client, JobHandle, Update, Updates};

use super::finished::FinishedJob;
use super::tables;
use crate::error::Failure;
use crate::output::ProgressLine;
use crate::pricing::{self, EstimateSource, Price};
use crate::resource::{ReceiptMode, Resource, Stopped, StoredFile};
use crate::session::{Session, surface_choice};
use crate::types::{ResourceId, SubmitRequest};

impl<S: EstimateSource> Resource for JobHandle<S> {
    type Finished = FinishedJob;

    const NOUN: &'static str = "job";
    const VERB: &'static str = "Make";
    const DEFAULT_TIMEOUT: Option<Duration> = Some(SUGGESTED_VIDEO_DEADLINE);

    fn from_id(client: &Client<S>, id: &str) -> Self {
        client.job(id)
    }

    fn resource_id(&self) -> ResourceId {
        ResourceId::Job(self.id().as_str().to_owned())
    }

    fn is_replay(&self) -> bool {
        self.is_replay()
    }

    fn is_receipted(&self) -> bool {
        self.receipt().is_some()
    }

    fn request_id(&self) -> Option<&str> {
        let id = self.receipt()?.request_id.as_ref();
        id.map(RequestId::as_str)
    }

    fn charge(&self) -> Option<Usd> {
        self.receipt()?.job.price_usd
    }

    async fn price(client: &Client<S>, request: &SubmitRequest) -> Result<Price, Failure> {
        let estimate = pricing::fetch_estimate(client, &request.body).await?;
        Ok(estimate.map_or(Price::Unknown, Price::Estimate))
    }

    fn list_command(session: &Session, _: &SubmitRequest) -> String {
        session.resume_command_on(surface_choice::<S>(), &["job", "list"])
    }

    fn wait_command(&self, session: &Session, folder: Option<&Path>) -> String {
        let folder = folder.map(|folder| folder.display().to_string());
        let mut words = vec!["job", "wait", self.id().as_str()];
        if let Some(folder) = &folder {
            words.extend(["--download", folder]);
        }
        session.resume_command_on(surface_choice::<S>(), &words)
    }

    fn download_command(&self, session: &Session, folder: &Path) -> String {
        let folder = folder.display().to_string();
        let words = ["job", "download", self.id().as_str(), "--dir", &folder];
        session.resume_command_on(surface_choice::<S>(), &words)
    }

    fn status_updates(&self) -> Updates<Self> {
        self.updates()
    }

    fn show_status(live: &ProgressLine<'_>, update: &Update<StatusPayload>) {
        live.update(update, update.status.status.as_ref().map(JobStatus::as_str));
    }

    async fn result(&self, status: StatusPayload) -> Result<FinishedJob, Failure> {
        let result = self.outcome(status.status).await?;
        Ok(FinishedJob {
            result,
            files: None,
        })
    }

    async fn download(
        &self,
        finished: &mut FinishedJob,
        folder: &Path,
        on_progress: OnProgress,
    ) -> Result<(), Failure> {
        let files = self.download_result(&finished.result, folder, Some(on_progress));
        finished.files = Some(files.await?.into_iter().map(StoredFile::from).collect());
        Ok(())
    }

    async fn stop(&self) -> Result<Stopped, svc_sdk::Error> {
        let status = self.cancel().await?.status;
        Ok(Stopped {
            description: status.to_string(),
            is_canceled: status == JobStatus::Canceled,
        })
    }

    fn print_result(
        &self,
        session: &Session,
        finished: &FinishedJob,
        _: ReceiptMode,
    ) -> Result<(), Failure> {
        session.printer.print_item(finished, tables::finished)
    }

    #[cfg(feature = "mcp")]
    async fn receipt_json(&self) -> Result<serde_json::Value, svc_sdk::Error> {
        Ok(match self.receipt() {
            Some(receipt) => serde_json::json!(receipt),
            None => serde_json::json!({ "job": self.get().await? }),
        })
    }

    async fn print_receipt(&self, session: &Session) -> Result<(), Failure> {
        if let Some(receipt) = self.receipt() {
            return session.printer.print_item(receipt, tables::receipt);
        }
        let envelope = self.get().await?;
        session
            .printer
            .print_item(&json!({ "job": envelope }), |_| tables::envelope(&envelope))
    }
}
