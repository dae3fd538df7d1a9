//! `svc run`: runs of Actions, Formats and Agent Completions.

pub(super) mod kind;
mod wait_all;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::contract::RunStatus;
use svc_sdk::types::{RunId, RunReceipt};

use self::kind::{by_kind, kind_from_history, resolve_kind};
use self::wait_all::{WaitRequest, wait_for_all};
use super::history::newest_entry;
use crate::args::{
    DownloadArgs, FileArgs, ListArgs, ReceiptArgs, RunKindChoice, WaitArgs, headings,
};
use crate::download::DownloadPlan;
use crate::error::Failure;
use crate::listing::Listing;
use crate::resource::run::{
    FinishedRun, RunKind, kind_of_operation, outcome_of, spend, tables, terminal_receipt,
};
use crate::resource::{ReceiptMode, Resource};
use crate::session::{Access, Session};
use crate::tables::redelivery as redelivery_table;
use crate::text::sanitize;
use crate::types::ResourceId;
use crate::wait;

/// The subcommands of `svc run`.
#[derive(Debug, Subcommand)]
pub(crate) enum Run {
    /// Show a run's receipt
    Get(RunIdArgs),
    /// Show a run's status
    Status(RunIdArgs),
    /// Show the receipt of a run that has ended
    Result(RunIdArgs),
    /// List the phases of a Format run, oldest first
    Events(Events),
    /// Cancel a run; work done until then is billed
    Cancel(RunIdArgs),
    /// Wait for runs, and print their outputs
    ///
    /// Prints the receipt of a run that has no output, and the receipts of several runs.
    Wait(Wait),
    /// Wait for runs, and download their files, including those of failed runs
    Download(Download),
    /// Redeliver the final event of a Format run to its webhook
    Redeliver(RunIdArgs),
}

/// The flag `--kind`.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct KindArg {
    /// Kind of run [default: from the local history, or else by asking the service]
    #[arg(long, value_name = "KIND", help_heading = headings::REQUEST)]
    kind: Option<RunKindChoice>,
}

/// The flags of a command that acts on one run.
#[derive(Args, Debug)]
pub(crate) struct RunIdArgs {
    /// Run id
    #[arg(value_name = "RUN_ID")]
    id: String,
    #[command(flatten)]
    kind: KindArg,
}

/// The flags of `svc run events`.
#[derive(Args, Debug)]
pub(crate) struct Events {
    #[command(flatten)]
    run: RunIdArgs,
    #[command(flatten)]
    list: ListArgs,
}

/// The flags of `svc run wait`.
#[derive(Args, Debug)]
pub(crate) struct Wait {
    /// Run ids, such as run_123 (required unless --last)
    #[arg(value_name = "RUN_ID")]
    ids: Vec<String>,
    /// Wait for the newest run that this machine submitted
    #[arg(long, conflicts_with = "ids", help_heading = headings::REQUEST)]
    last: bool,
    #[command(flatten)]
    kind: KindArg,
    #[command(flatten)]
    receipt_mode: ReceiptArgs,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    download: DownloadArgs,
}

/// The flags of `svc run download`.
#[derive(Args, Debug)]
pub(crate) struct Download {
    /// Run ids, such as run_123 (required unless --last)
    #[arg(value_name = "RUN_ID")]
    ids: Vec<String>,
    /// Download the files of the newest run that this machine submitted
    #[arg(long, conflicts_with = "ids", help_heading = headings::REQUEST)]
    last: bool,
    /// Directory to download to; created if missing
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = headings::FILES)]
    dir: PathBuf,
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    kind: KindArg,
    #[command(flatten)]
    wait: WaitArgs,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, run: Run) -> Result<(), Failure> {
    match &run {
        Run::Wait(Wait {
            ids, last: false, ..
        })
        | Run::Download(Download {
            ids, last: false, ..
        }) if ids.is_empty() => {
            return Err(wait::no_ids("run"));
        }
        _ => {}
    }
    let access = session.access::<Developer>()?;
    match run {
        Run::Get(args) => {
            let kind = resolve_kind(session, &access, args.kind.kind, &args.id).await?;
            let receipt = by_kind!(kind, K => K::handle(&access.client, &args.id).get().await)?;
            print(session, &access, &args.id, receipt)
        }
        Run::Status(args) => {
            let kind = resolve_kind(session, &access, args.kind.kind, &args.id).await?;
            let status = by_kind!(kind, K => K::handle(&access.client, &args.id).status().await)?;
            session.printer.print_item(&status, tables::status)
        }
        Run::Result(args) => result(session, &access, &args).await,
        Run::Events(args) => {
            require_format_run(session, &access, &args.run, "a timeline")?;
            let run = access.client.format_runs().handle(args.run.id.as_str());
            let listing = Listing::new(session, &args.list, "events").without_limit_parameter();
            listing.print(|| run.events(), tables::timeline).await
        }
        Run::Cancel(args) => cancel(session, &access, &args).await,
        Run::Wait(args) => {
            let plan = DownloadPlan::from_args(session, &args.download)?;
            let wait_request = WaitRequest {
                ids: ids_or_last(session, args.ids, args.last, args.kind)?,
                kind: args.kind.kind,
                args: &args.wait,
                download: plan.as_ref(),
                receipt_mode: args.receipt_mode.into(),
            };
            wait_for_all(session, &access, wait_request).await
        }
        Run::Download(args) => {
            let plan = DownloadPlan::to_folder(session, &args.dir, &args.files)?;
            let wait_request = WaitRequest {
                ids: ids_or_last(session, args.ids, args.last, args.kind)?,
                kind: args.kind.kind,
                args: &args.wait,
                download: Some(&plan),
                receipt_mode: ReceiptMode::Full,
            };
            wait_for_all(session, &access, wait_request).await
        }
        Run::Redeliver(args) => redeliver(session, &access, args).await,
    }
}

/// Returns the given ids, or with `--last` the id of the newest run in the journal.
fn ids_or_last(
    session: &Session,
    ids: Vec<String>,
    is_last: bool,
    kind: KindArg,
) -> Result<Vec<String>, Failure> {
    if !is_last {
        return Ok(ids);
    }
    let (id, _) = newest_entry(session, "run", |id, entry| {
        let is_kind = |kind| kind_of_operation(&entry.intent.operation) == Some(kind);
        matches!(id, ResourceId::Run(_)) && kind.kind.is_none_or(is_kind)
    })?;
    Ok(vec![id.id().to_owned()])
}

async fn result(
    session: &Session,
    access: &Access<Developer>,
    args: &RunIdArgs,
) -> Result<(), Failure> {
    let kind = resolve_kind(session, access, args.kind.kind, &args.id).await?;
    by_kind!(kind, K => {
        let run = K::handle(&access.client, &args.id);
        // One look: who wants to wait has a command for it.
        let receipt = run.result().await?;
        let receipt = match receipt.is_output_pending() {
            true => terminal_receipt(run.updates()).await?,
            false => receipt,
        };
        close_intent(session, access, &args.id, &receipt);
        let finished = FinishedRun::new(receipt);
        K::print_result(&run, session, finished, ReceiptMode::Full)
    })
}

async fn cancel(
    session: &Session,
    access: &Access<Developer>,
    args: &RunIdArgs,
) -> Result<(), Failure> {
    let kind = resolve_kind(session, access, args.kind.kind, &args.id).await?;
    let canceled = by_kind!(kind, K => K::handle(&access.client, &args.id).cancel().await);
    let receipt =
        canceled.map_err(|error| Failure::from(error).context("could not cancel the run"))?;
    let id = sanitize(&args.id);
    let spend = spend(&receipt);
    session.printer.note(&match &receipt.status {
        RunStatus::Canceled => {
            format!("canceled run {id}; work done until then is billed: {spend}")
        }
        status => format!(
            "run {id} was not canceled: its status is {}; {spend}",
            sanitize(status.as_str())
        ),
    });
    print(session, access, &args.id, receipt)
}

async fn redeliver(
    session: &Session,
    access: &Access<Developer>,
    args: RunIdArgs,
) -> Result<(), Failure> {
    require_format_run(session, access, &args, "a webhook to redeliver")?;
    let id = RunId::from(args.id);
    let call = access.client.format_runs().handle(&id).redeliver_webhook();
    let sent = session.send(call).await;
    let redelivery = sent.map_err(|failure| {
        failure
            .context("could not redeliver the event")
            .for_resource(ResourceId::Run(id.as_str().to_owned()))
    })?;
    session.printer.print_item(&redelivery, redelivery_table)
}

fn require_format_run(
    session: &Session,
    access: &Access<Developer>,
    args: &RunIdArgs,
    what: &str,
) -> Result<(), Failure> {
    match args
        .kind
        .kind
        .or_else(|| kind_from_history(session, access, &args.id))
    {
        None | Some(RunKindChoice::Format) => Ok(()),
        Some(kind) => Err(Failure::usage(format!(
            "only runs of Formats have {what}: this run is of kind {}",
            kind.as_str()
        ))),
    }
}

fn print(
    session: &Session,
    access: &Access<Developer>,
    id: &str,
    receipt: RunReceipt,
) -> Result<(), Failure> {
    let finished = FinishedRun::new(receipt);
    session.printer.print_item(&finished, tables::finished)?;
    close_intent(session, access, id, &finished.result);
    Ok(())
}

fn close_intent(session: &Session, access: &Access<Developer>, id: &str, receipt: &RunReceipt) {
    let id = ResourceId::Run(id.to_owned());
    session.close_intent(&access.base_url, &id, outcome_of(&receipt.status));
}
