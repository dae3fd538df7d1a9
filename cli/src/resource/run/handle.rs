//! Handles of runs, as resources.

use svc_sdk::contract::RunStatus;
use svc_sdk::developer::Client;
use svc_sdk::handle::Handle;
use svc_sdk::types::{RequestId, RunReceipt, RunStatusPayload, Usd};
use svc_sdk::{Error, Update, Updates};

use super::FinishedRun;
use super::kind::RunKind;
use super::summary::{self, RunSummary};
use super::tables;
use crate::args::SurfaceChoice;
use crate::download::DownloadPlan;
use crate::error::Failure;
use crate::output::{ProgressLine, Table};
use crate::pricing::{Price, SpendCap};
use crate::resource::{OnProgress, ReceiptMode, Resource, Stopped, with_download_flags};
use crate::session::Session;
use crate::text::sanitize;
use crate::types::{ResourceId, SubmitRequest};

impl<K: RunKind> Resource for K {
    type Finished = FinishedRun;
    type ShownReceipt = FinishedRun;

    const NOUN: &'static str = "run";
    const VERB: &'static str = "Start";

    fn from_id(client: &Client, id: &str) -> Handle<Self> {
        K::handle(client, id)
    }

    fn resource_id(handle: &Handle<Self>) -> ResourceId {
        ResourceId::Run(handle.id().as_str().to_owned())
    }

    fn request_id(handle: &Handle<Self>) -> Option<&str> {
        let id = handle.receipt()?.request_id.as_ref();
        id.map(RequestId::as_str)
    }

    async fn price(client: &Client, request: &SubmitRequest) -> Result<Price, Failure> {
        if let Some(cap) = SpendCap::from_body(&request.body) {
            return Ok(Price::SpendCap(cap));
        }
        let default_cap = K::default_cap(client, request).await;
        Ok(default_cap.map_or(Price::Unknown, |cap| Price::OwnerCap(cap, 1)))
    }

    fn list_command(session: &Session, request: &SubmitRequest) -> String {
        let words = K::list_command(request);
        session.resume_command(SurfaceChoice::Developer, &words)
    }

    fn wait_command(
        handle: &Handle<Self>,
        session: &Session,
        download: Option<&DownloadPlan>,
    ) -> String {
        let kind = K::KIND;
        let words = ["run", "wait", handle.id().as_str(), "--kind", kind.as_str()];
        let words = with_download_flags(&words, "--download", download);
        session.resume_command(SurfaceChoice::Developer, &words)
    }

    fn download_command(handle: &Handle<Self>, session: &Session, plan: &DownloadPlan) -> String {
        let kind = K::KIND;
        let words = [
            "run",
            "download",
            handle.id().as_str(),
            "--kind",
            kind.as_str(),
        ];
        let words = with_download_flags(&words, "--dir", Some(plan));
        session.resume_command(SurfaceChoice::Developer, &words)
    }

    fn show_status(live: &ProgressLine<'_>, update: &Update<RunStatusPayload>) {
        let status = update.status.status.as_ref().map(RunStatus::as_str);
        let spent = update
            .status
            .usage
            .as_ref()
            .and_then(|usage| usage.billable_amount_usd_micros)
            .filter(|spent| *spent > 0);
        let text = match (status, spent) {
            (Some(status), Some(spent)) => {
                Some(format!("{status}, spent {} USD", Usd::from_micros(spent)))
            }
            (status, _) => status.map(str::to_owned),
        };
        live.update(update, text.as_deref());
    }

    async fn result(_: &Handle<Self>, updates: Updates<Self>) -> Result<FinishedRun, Failure> {
        let receipt = terminal_receipt(updates).await?;
        Ok(FinishedRun::new(receipt))
    }

    async fn download(
        handle: &Handle<Self>,
        session: &Session,
        finished: &mut FinishedRun,
        plan: &DownloadPlan,
        on_progress: OnProgress,
    ) {
        let download = handle.download_result(&finished.result, plan.folder());
        finished
            .download(download, handle, session, plan, on_progress)
            .await;
    }

    async fn stop(handle: &Handle<Self>) -> Result<Stopped, Error> {
        let status = handle.cancel().await?.status;
        let canceled = status == RunStatus::Canceled;
        Ok(Stopped {
            description: match canceled {
                true => "canceled; work done before that is billed".to_owned(),
                false => status.to_string(),
            },
            is_canceled: canceled,
        })
    }

    fn print_result(
        handle: &Handle<Self>,
        session: &Session,
        finished: FinishedRun,
        receipt_mode: ReceiptMode,
    ) -> Result<(), Failure> {
        let printer = &session.printer;
        let receipt = &finished.result;
        let printed = match &receipt.output {
            Some(output)
                if receipt.status == RunStatus::Completed
                    && receipt_mode == ReceiptMode::OutputOnly =>
            {
                let printed = printer.print_value(output, || tables::finished(&finished));
                for file in finished.files.iter().flatten() {
                    printer.note(&format!("downloaded {file}"));
                }
                printed
            }
            _ => printer.print_item(&finished, tables::finished),
        };
        match summary::summarize(
            session,
            handle.id().as_str(),
            receipt,
            K::KIND.as_str(),
            finished.files.is_some(),
        ) {
            RunSummary::Completed(sentence) => printer.note(&sentence),
            RunSummary::Degraded(sentence, issues) => {
                printer.warn(&sentence);
                issues
                    .iter()
                    .for_each(|issue| printer.note(&format!("  {}", sanitize(issue))));
            }
            // The result of the run decides the exit code, even if printing failed.
            RunSummary::Failed(failure) => {
                return Err(match finished.failure {
                    Some(download) => failure.with_part(download),
                    None => failure,
                });
            }
        }
        finished.failure.map_or(printed, Err)
    }

    async fn shown_receipt(handle: &Handle<Self>) -> Result<FinishedRun, Error> {
        let receipt = match handle.receipt() {
            Some(receipt) => receipt.clone(),
            None => handle.get().await?,
        };
        Ok(FinishedRun::new(receipt))
    }

    fn receipt_table(receipt: &FinishedRun) -> Table {
        tables::finished(receipt)
    }
}

/// Waits for the terminal receipt of a run, whatever its outcome.
///
/// # Errors
///
/// Returns an error if the wait fails or times out.
pub(crate) async fn terminal_receipt<K: RunKind>(updates: Updates<K>) -> Result<RunReceipt, Error> {
    match updates.result().await {
        Ok(receipt) => Ok(receipt),
        Err(error) => {
            let ended = error.is_run_failed() || error.is_run_canceled() || error.is_run_skipped();
            match error.run_receipt() {
                Some(receipt) if ended => Ok(receipt.clone()),
                _ => Err(error),
            }
        }
    }
}
