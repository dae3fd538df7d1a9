//! Runs of Actions, Formats and Agent Completions.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use svc_sdk::contract::limits::SUGGESTED_VIDEO_TIMEOUT;
use svc_sdk::contract::{Operation, RunStatus};
use svc_sdk::developer::Client;
use svc_sdk::download::OnProgress;
use svc_sdk::runs::{ActionRun, AgentRun, FormatRun, Kind, RunHandle};
use svc_sdk::types::{FormatRef, RequestId, RunReceipt, RunStatusPayload, RunUsage, Usd};
use svc_sdk::{Error, Update, Updates};

use super::verdict::{self, Verdict};
use super::{Stopped, StoredFile, Subject, SubjectId, Told};
use crate::args::{KindChoice, SurfaceChoice};
use crate::failure::Failure;
use crate::output::Table;
use crate::output::live::Live;
use crate::output::untrusted::clean;
use crate::price::{Cap, Price};
use crate::session::Session;
use crate::submit::Order;

/// A kind of run, and what the command line has to know of it.
pub(crate) trait RunOf: Kind {
    /// Takes a run up again, from its id alone.
    fn take_up(client: &Client, id: &str) -> RunHandle<Self>;

    /// The words of the command that lists the runs of what was ordered.
    fn listing(order: &Order) -> Vec<String>;

    /// What its generations may cost where the order says nothing.
    async fn own_cap(client: &Client, order: &Order) -> Option<Usd>;
}

impl RunOf for ActionRun {
    fn take_up(client: &Client, id: &str) -> RunHandle<Self> {
        client.action_run(id)
    }

    fn listing(order: &Order) -> Vec<String> {
        let action = order.segments.join("/");
        vec!["action".to_owned(), "runs".to_owned(), action]
    }

    async fn own_cap(_: &Client, _: &Order) -> Option<Usd> {
        None
    }
}

impl RunOf for FormatRun {
    fn take_up(client: &Client, id: &str) -> RunHandle<Self> {
        client.format_run(id)
    }

    fn listing(order: &Order) -> Vec<String> {
        let format = order.segments.join("/");
        vec!["format".to_owned(), "runs".to_owned(), format]
    }

    async fn own_cap(client: &Client, order: &Order) -> Option<Usd> {
        let format = match order.segments.as_slice() {
            [handle, slug] => FormatRef::slug(handle, slug),
            segments => FormatRef::id(segments.concat()),
        };
        // Whoever may run a Format but not read it learns its cap from the receipt.
        let format = client.formats_get(format).send().await.ok()?;
        format.generation_spend_cap()
    }
}

impl RunOf for AgentRun {
    fn take_up(client: &Client, id: &str) -> RunHandle<Self> {
        client.agent_run(id)
    }

    fn listing(_: &Order) -> Vec<String> {
        vec!["agent".to_owned(), "runs".to_owned()]
    }

    async fn own_cap(_: &Client, _: &Order) -> Option<Usd> {
        None
    }
}

/// The kind of run that an operation starts.
pub(crate) fn kind_started_by(operation: &str) -> Option<KindChoice> {
    let starts = |starts: &[Operation]| starts.iter().any(|it| it.name() == operation);
    if starts(ActionRun::STARTS) {
        Some(KindChoice::Action)
    } else if starts(FormatRun::STARTS) {
        Some(KindChoice::Format)
    } else if starts(AgentRun::STARTS) {
        Some(KindChoice::Agent)
    } else {
        None
    }
}

/// What a run came to, with its files where they were downloaded.
#[derive(Debug, Serialize)]
pub(crate) struct RunEnd {
    #[serde(flatten)]
    pub(crate) receipt: RunReceipt,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<StoredFile>>,
}

impl<K: RunOf> Subject for RunHandle<K> {
    type End = RunEnd;

    const NOUN: &'static str = "run";
    const VERB: &'static str = "Start";
    const PATIENCE: Option<Duration> = Some(SUGGESTED_VIDEO_TIMEOUT);

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
                let printed = printer.value(output, || table(end));
                for file in end.files.iter().flatten() {
                    printer.note(&format!("stored {} ({} bytes)", file.path, file.bytes));
                }
                printed
            }
            _ => printer.one(end, table),
        };
        match verdict::of(
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
        session.printer.one(&end, table)
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

/// The command that fetches a run's files.
pub(in crate::subject) fn download_command(
    session: &Session,
    id: &str,
    kind: &str,
    folder: &Path,
) -> String {
    let folder = folder.display().to_string();
    let words = ["run", "download", id, "--kind", kind, "--dir", &folder];
    session.resume(SurfaceChoice::Developer, &words)
}

/// What a run spent, of what: never a 0 for what could not be read.
pub(crate) fn spend(receipt: &RunReceipt) -> String {
    let cap = receipt
        .usage
        .as_ref()
        .and_then(RunUsage::generation_spend_cap);
    match (receipt.billable_amount(), cap) {
        (Some(spent), Some(cap)) => format!("spent {spent} of a cap of {cap} USD"),
        (Some(spent), None) => format!("spent {spent} USD"),
        (None, Some(cap)) => format!("spend unknown, of a cap of {cap} USD"),
        (None, None) => "spend unknown".to_owned(),
    }
}

/// A run, as a table.
pub(crate) fn table(end: &RunEnd) -> Table {
    let receipt = &end.receipt;
    let mut table = Table::of_fields();
    table.field("run", receipt.id());
    table.field("kind", receipt.kind.as_ref());
    table.field("status", Some(&receipt.status));
    table.field("format", receipt.format_id.as_ref());
    table.field("action", receipt.action_id.as_ref());
    table.field("continues", receipt.previous_run_id.as_ref());
    table.field("queue", receipt.queue_id.as_ref());
    table.field("created", receipt.created_at.as_ref());
    table.field("usage", Some(spend(receipt)));
    table.field("output", receipt.output.as_ref());
    table.field("primary output", receipt.primary_output_url.as_ref());
    for artifact in &receipt.artifacts {
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
    for (name, error) in [
        ("error", &receipt.error),
        ("output error", &receipt.output_error),
    ] {
        let said = error.as_ref();
        table.field(
            name,
            said.map(|error| format!("{} ({})", error.message, error.code)),
        );
    }
    let delivery = receipt.webhook_delivery.as_ref();
    table.field("webhook", delivery.and_then(|it| it.status.as_ref()));
    table.field("request", receipt.request_id.as_ref());
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_spend_that_could_not_be_read_is_not_zero() {
        let of = |usage: serde_json::Value| {
            let receipt = json!({"run_id": "run_1", "status": "completed", "usage": usage});
            spend(&serde_json::from_value(receipt).unwrap())
        };
        let rows = [
            (json!(null), "spend unknown"),
            (
                json!({"generation_spend_cap_usd_micros": 2_000_000}),
                "spend unknown, of a cap of 2.0000 USD",
            ),
            (json!({"billable_amount_usd_micros": 0}), "spent 0.0000 USD"),
            (
                json!({"billable_amount_usd_micros": 420_000, "generation_spend_cap_usd_micros": 2_000_000}),
                "spent 0.4200 of a cap of 2.0000 USD",
            ),
        ];
        for (usage, said) in rows {
            assert_eq!(of(usage), said);
        }
    }

    #[test]
    fn a_kind_is_known_by_what_started_it() {
        assert_eq!(
            kind_started_by("formats_by_slug_runs_create"),
            Some(KindChoice::Format)
        );
        assert_eq!(
            kind_started_by("agent_completions_create"),
            Some(KindChoice::Agent)
        );
        assert_eq!(
            kind_started_by("actions_runs_create"),
            Some(KindChoice::Action)
        );
        assert_eq!(kind_started_by("formats_bulk_create"), None);
        assert_eq!(kind_started_by("video_generate"), None);
    }
}
