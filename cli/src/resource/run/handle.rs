//! Handles of runs, as resources.

use std::path::Path;
use std::time::Duration;

use svc_sdk::contract::RunStatus;
use svc_sdk::contract::limits::SUGGESTED_VIDEO_DEADLINE;
use svc_sdk::developer::Client;
use svc_sdk::download::OnProgress;
use svc_sdk::runs::{Kind, RunHandle};
use svc_sdk::types::{RequestId, RunReceipt, RunStatusPayload, Usd};
use svc_sdk::{Error, Update, Updates};

use super::finished::RunEnd;
use super::kind::RunOf;
use super::summary::{self, Verdict, download_command};
use super::tables;
use crate::args::SurfaceChoice;
use crate::error::Failure;
use crate::output::Live;
use crate::pricing::{Cap, Price};
use crate::resource::{Stopped, StoredFile, Subject, Told};
use crate::session::Session;
use crate::text::clean;
use crate::types::{Order, SubjectId};

impl<K: RunOf> Subject for RunHandle<K> {
    type End = RunEnd;

    const NOUN: &'static str = "run";
    const VERB: &'static str = "Start";
    const PATIENCE: Option<Duration> = Some(SUGGESTED_VIDEO_DEADLINE);

    fn taken_up(client: &Client, id: &str) -> Self {
        K::take_up(client, id)
    }

    fn subject_id(&self) -> SubjectId {
        SubjectId::Run(self.id().as_str().to_owned())
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

    async fn price(client: &Client, order: &Order) -> Result<Price, Failure> {
        if let Some(cap) = Cap::of(&order.body) {
            return Ok(Price::Cap(cap));
        }
        let own = K::own_cap(client, order).await;
        Ok(own.map_or(Price::Unknown, |cap| Price::Owners(cap, 1)))
    }

    fn listing(session: &Session, order: &Order) -> String {
        let words = K::listing(order);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        session.resume(SurfaceChoice::Developer, &words)
    }

    fn again(&self, session: &Session, folder: Option<&Path>) -> String {
        let folder = folder.map(|folder| folder.display().to_string());
        let kind = K::KIND;
        let mut words = vec!["run", "wait", self.id().as_str(), "--kind", kind.as_str()];
        if let Some(folder) = &folder {
            words.extend(["--download", folder]);
        }
        session.resume(SurfaceChoice::Developer, &words)
    }

    fn fetch_again(&self, session: &Session, folder: &Path) -> String {
        download_command(session, self.id().as_str(), K::KIND.as_str(), folder)
    }

    fn watch(&self) -> Updates<Self> {
        self.updates()
    }

    fn show(live: &Live<'_>, update: &Update<RunStatusPayload>) {
        let status = update.status.status.as_ref().map(RunStatus::as_str);
        let spent = update
            .status
            .usage
            .as_ref()
            .and_then(|usage| usage.billable_amount_usd_micros)
            .filter(|spent| *spent > 0);
        let word = match (status, spent) {
            (Some(status), Some(spent)) => {
                Some(format!("{status}, spent {} USD", Usd::from_micros(spent)))
            }
            (status, _) => status.map(str::to_owned),
        };
        live.update(update, word.as_deref());
    }

    async fn end(&self, _: RunStatusPayload) -> Result<RunEnd, Failure> {
        let receipt = terminal_receipt(self).await?;
        Ok(RunEnd {
            receipt,
            files: None,
        })
    }

    async fn fetch(
        &self,
        end: &mut RunEnd,
        folder: &Path,
        on_progress: OnProgress,
    ) -> Result<(), Failure> {
        let files = self.download_receipt(&end.receipt, folder, Some(on_progress));
        end.files = Some(files.await?.into_iter().map(StoredFile::from).collect());
        Ok(())
    }

    async fn stop(&self) -> Result<Stopped, Error> {
        let status = self.cancel().await?.status;
        let canceled = status == RunStatus::Canceled;
        Ok(Stopped {
            said: match canceled {
                true => "canceled; what it did before that is billed".to_owned(),
                false => status.to_string(),
            },
            canceled,
        })
    }

    fn tell(&self, session: &Session, end: &RunEnd, told: Told) -> Result<(), Failure> {
        let printer = &session.printer;
        let receipt = &end.receipt;
        let printed = match &receipt.output {
            Some(output) if receipt.status == RunStatus::Completed && !told.receipt => {
                let printed = printer.value(output, || tables::finished(end));
                for file in end.files.iter().flatten() {
                    printer.note(&format!("stored {} ({} bytes)", file.path, file.bytes));
                }
                printed
            }
            _ => printer.one(end, tables::finished),
        };
        match summary::of(
            session,
            self.id().as_str(),
            receipt,
            K::KIND.as_str(),
            end.files.is_some(),
        ) {
            Verdict::Good(sentence) => printer.note(&sentence),
            Verdict::Short(sentence, points) => {
                printer.warn(&sentence);
                points
                    .iter()
                    .for_each(|point| printer.note(&format!("  {}", clean(point))));
            }
            // How it ended is the exit code, whether or not its receipt could be printed.
            Verdict::Bad(failure) => return Err(failure),
        }
        printed
    }

    async fn tell_receipt(&self, session: &Session) -> Result<(), Failure> {
        let receipt = match self.receipt() {
            Some(receipt) => receipt.clone(),
            None => self.get().await?,
        };
        let end = RunEnd {
            receipt,
            files: None,
        };
        session.printer.one(&end, tables::finished)
    }
}

/// The terminal receipt of a run, however it ended.
pub(crate) async fn terminal_receipt<K: Kind>(run: &RunHandle<K>) -> Result<RunReceipt, Error> {
    match run.outcome().await {
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
