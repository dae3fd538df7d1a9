//! Runs of Actions, Formats and Agent Completions.

pub(crate) mod report;

use serde_json::Value;
use svc_sdk::contract::RunStatus;
use svc_sdk::developer::Client;
use svc_sdk::handle::{ActionRun, AgentRun, FormatRun, Handle, RunHandle, RunResource};
use svc_sdk::types::{FormatRef, RequestId, RunReceipt, RunStatusPayload, Usd};
use svc_sdk::{Error, Update, Updates};

use crate::args::{ReceiptArgs, SurfaceChoice};
use crate::download::DownloadPlan;
use crate::error::{Failure, Result, SuggestedCommand};
use crate::follow::{OnProgress, ResourceKind, Stopped, WaitTogether};
use crate::output::json::to_value;
use crate::output::object::Shown;
use crate::output::values::money;
use crate::output::{ObjectKind, ProgressLine, Table};
use crate::request::SubmitRequest;
use crate::request::pricing::{Price, SpendCap};
use crate::session::Session;

pub(crate) use self::report::{FinishedRun, spend};

/// Evaluates `$body` with `$K` as the type of the run.
macro_rules! by_kind {
    ($kind:expr, $K:ident => $body:expr) => {
        match $kind {
            $crate::args::RunKindChoice::Action => {
                type $K = svc_sdk::handle::ActionRun;
                $body
            }
            $crate::args::RunKindChoice::Format => {
                type $K = svc_sdk::handle::FormatRun;
                $body
            }
            $crate::args::RunKindChoice::Agent => {
                type $K = svc_sdk::handle::AgentRun;
                $body
            }
        }
    };
}
pub(crate) use by_kind;

impl<K: RunKind> ResourceKind for K {
    type Finished = FinishedRun;

    const KIND: ObjectKind = ObjectKind::Run;
    const NOUN: &'static str = "run";
    const VERB: &'static str = "Start";

    fn handle(client: &Client, id: &str) -> Handle<Self> {
        K::run_handle(client, id)
    }

    fn set_reused(finished: &mut FinishedRun) {
        finished.reused = true;
    }

    fn request_id(handle: &Handle<Self>) -> Option<&str> {
        let id = handle.receipt()?.request_id.as_ref();
        id.map(RequestId::as_str)
    }

    async fn price(client: &Client, request: &SubmitRequest) -> Result<Price> {
        // An Action's cap is its own, and its runs take none.
        if K::KIND.as_str() == "action" {
            return Ok(Price::ActionCap);
        }
        if let Some(cap) = SpendCap::from_body(&request.body) {
            return Ok(Price::SpendCap(cap));
        }
        Ok(match K::default_cap(client, request).await {
            Some(cap) => Price::OwnerCap(cap, SpendCap { max_usd: cap, runs: 1 }),
            None => Price::Uncapped,
        })
    }

    fn list_command(session: &Session, request: &SubmitRequest) -> SuggestedCommand {
        let (kind, path) = (K::KIND, request.segments.join("/"));
        let words = [kind.as_str(), "runs", &path];
        let words = words.split_at(if path.is_empty() { 2 } else { 3 }).0;
        session.resume_command(SurfaceChoice::Developer, words)
    }

    fn kind_flag() -> Vec<String> {
        vec!["--kind".to_owned(), K::KIND.as_str().to_owned()]
    }

    fn show_status(live: &ProgressLine<'_>, update: &Update<RunStatusPayload>, _: &[u64]) {
        let status = update.status.status.as_ref().map(RunStatus::as_str);
        live.see(status);
        let spent = update
            .status
            .usage
            .as_ref()
            .and_then(|usage| usage.billable_amount_usd_micros)
            .filter(|spent| *spent > 0);
        let text = match (status, spent) {
            (Some(status), Some(spent)) => {
                Some(format!("{status}, spent {}", money(Usd::from_micros(spent))))
            }
            (status, _) => status.map(str::to_owned),
        };
        live.update(update, text.as_deref());
    }

    async fn result(
        handle: &Handle<Self>,
        updates: Updates<Self>,
        _: &[u64],
    ) -> Result<FinishedRun> {
        let receipt = terminal_receipt(updates).await?;
        Ok(FinishedRun::of(handle, receipt))
    }

    async fn download(
        handle: &Handle<Self>,
        session: &Session,
        finished: &mut FinishedRun,
        plan: &DownloadPlan,
        on_progress: OnProgress,
    ) {
        let download = handle.download_result(&finished.result, plan.folder());
        finished.download(download, handle, session, plan, on_progress).await;
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
        mut finished: FinishedRun,
        receipt_mode: ReceiptArgs,
    ) -> Result {
        let printer = &session.printer;
        let receipt = &finished.result;
        let printed = match &receipt.output {
            Some(output)
                if receipt.status == RunStatus::Completed
                    && !receipt_mode.receipt
                    && printer.is_table_by_default() =>
            {
                let printed = printer.print_value(output, || report::finished(&finished));
                for file in finished.files.iter().flatten() {
                    printer.note(&format!("downloaded {file}"));
                }
                printed
            }
            _ => printer.print_object(ObjectKind::Run, &finished, report::finished),
        };
        // The result of the run decides the exit code, even if printing failed.
        let id = handle.id().as_str();
        report::report_end(session, id, K::KIND.as_str(), &mut finished, true).map_or(printed, Err)
    }

    async fn receipt(handle: &Handle<Self>) -> Result<(Value, Table), Error> {
        let receipt = match handle.receipt() {
            Some(receipt) => receipt.clone(),
            None => handle.get().await?,
        };
        let run = FinishedRun::of(handle, receipt);
        Ok((to_value(&run).unwrap_or_default(), report::finished(&run)))
    }
}

impl<K: RunKind> WaitTogether for K {
    fn report(
        handle: &Handle<Self>,
        session: &Session,
        mut finished: FinishedRun,
    ) -> (Shown, Option<Failure>) {
        let (id, kind) = (handle.id().as_str(), K::KIND);
        let failure = report::report_end(session, id, kind.as_str(), &mut finished, false);
        (Shown::new(ObjectKind::Run, &finished), failure)
    }
}

pub(crate) async fn terminal_receipt<K: RunKind>(updates: Updates<K>) -> Result<RunReceipt, Error> {
    match updates.result().await {
        Ok(receipt) => Ok(receipt),
        Err(error) => {
            let has_ended = error.terminal_status().is_some();
            match error.run_receipt() {
                Some(receipt) if has_ended => Ok(receipt.clone()),
                _ => Err(error),
            }
        }
    }
}

pub(crate) trait RunKind: RunResource {
    fn run_handle(client: &Client, id: &str) -> RunHandle<Self>;

    /// Returns the spend cap of a run whose request has none.
    async fn default_cap(_: &Client, _: &SubmitRequest) -> Option<Usd> {
        None
    }
}

impl RunKind for ActionRun {
    fn run_handle(client: &Client, id: &str) -> RunHandle<Self> {
        client.action_runs().handle(id)
    }
}

impl RunKind for FormatRun {
    fn run_handle(client: &Client, id: &str) -> RunHandle<Self> {
        client.format_runs().handle(id)
    }

    async fn default_cap(client: &Client, request: &SubmitRequest) -> Option<Usd> {
        let format = match request.segments.as_slice() {
            [handle, slug] => FormatRef::slug(handle, slug),
            segments => FormatRef::id(segments.concat()),
        };
        // A key may be allowed to run a Format but not to read it. Then the cap is unknown.
        let format = client.formats().get(format).await.ok()?;
        format.generation_spend_cap()
    }
}

impl RunKind for AgentRun {
    fn run_handle(client: &Client, id: &str) -> RunHandle<Self> {
        client.agent_runs().handle(id)
    }
}
