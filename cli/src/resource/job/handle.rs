//! Handles of jobs, as resources.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use svc_sdk::contract::JobStatus;
use svc_sdk::contract::limits::SUGGESTED_VIDEO_DEADLINE;
use svc_sdk::download::OnProgress;
use svc_sdk::types::{RequestId, StatusPayload, Usd};
use svc_sdk::{Client, JobHandle, Update, Updates};

use super::finished::JobEnd;
use super::tables;
use crate::error::Failure;
use crate::output::Live;
use crate::pricing::{self, Price, Priced};
use crate::resource::{Stopped, StoredFile, Subject, Told};
use crate::session::{Session, choice};
use crate::types::{Order, SubjectId};

impl<S: Priced> Subject for JobHandle<S> {
    type End = JobEnd;

    const NOUN: &'static str = "job";
    const VERB: &'static str = "Make";
    const PATIENCE: Option<Duration> = Some(SUGGESTED_VIDEO_DEADLINE);

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
        let estimate = pricing::ask(client, &order.body).await?;
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

    fn show(live: &Live<'_>, update: &Update<StatusPayload>) {
        live.update(update, update.status.status.as_ref().map(JobStatus::as_str));
    }

    async fn end(&self, status: StatusPayload) -> Result<JobEnd, Failure> {
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
        session.printer.one(end, tables::finished)
    }

    async fn tell_receipt(&self, session: &Session) -> Result<(), Failure> {
        if let Some(receipt) = self.receipt() {
            return session.printer.one(receipt, tables::receipt);
        }
        let envelope = self.get().await?;
        session
            .printer
            .one(&json!({ "job": envelope }), |_| tables::envelope(&envelope))
    }
}
