//! `svc run`: runs of Actions, Formats and Agent Completions.

mod kind;
mod many;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::contract::RunStatus;
use svc_sdk::types::{RunId, RunReceipt};

use self::kind::{by_kind, kind_of, remembered};
use self::many::{Wanted, wait_for_all};
use crate::args::{KindChoice, ToldArgs, WaitArgs};
use crate::error::Failure;
use crate::resource::run::{RunEnd, RunOf, outcome_of, spend, tables, terminal_receipt};
use crate::resource::{Subject, Told};
use crate::session::{Access, Session};
use crate::tables::redelivery as redelivery_table;
use crate::text::clean;
use crate::types::SubjectId;

/// Runs.
#[derive(Debug, Subcommand)]
pub(crate) enum Run {
    /// Shows a run's receipt, as far as it is.
    Get(One),
    /// Looks how a run stands, lightly.
    Status(One),
    /// Shows the receipt of a run that has ended.
    Result(One),
    /// Shows the phases of a Format's run, as they are now, oldest first.
    Events(One),
    /// Cancels a run; what it did until then is billed.
    Cancel(One),
    /// Waits for runs, and prints what they came to: of one that completed its output, where it has
    /// one, else the receipt.
    Wait(Wait),
    /// Stores what runs made, even those that failed, waiting for those that are at work.
    Download(Download),
    /// Sends the end of a Format's run to its webhook URL again.
    Redeliver(One),
}

/// `--kind`.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct KindArg {
    /// What it is a run of; without it, the history of this machine knows, else all are asked.
    #[arg(long, value_name = "KIND")]
    kind: Option<KindChoice>,
}

/// The flags of a command about one run.
#[derive(Args, Debug)]
pub(crate) struct One {
    /// The run's id.
    #[arg(value_name = "RUN_ID")]
    id: String,
    #[command(flatten)]
    kind: KindArg,
}

/// The flags of `svc run wait`.
#[derive(Args, Debug)]
pub(crate) struct Wait {
    /// The runs' ids.
    #[arg(value_name = "RUN_ID", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    kind: KindArg,
    #[command(flatten)]
    told: ToldArgs,
    #[command(flatten)]
    wait: WaitArgs,
    /// Stores what was made in that folder.
    #[arg(long, value_name = "DIR")]
    download: Option<PathBuf>,
}

/// The flags of `svc run download`.
#[derive(Args, Debug)]
pub(crate) struct Download {
    /// The runs' ids.
    #[arg(value_name = "RUN_ID", required = true)]
    ids: Vec<String>,
    /// The folder, made where it is missing.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    #[command(flatten)]
    kind: KindArg,
    #[command(flatten)]
    wait: WaitArgs,
}

/// Runs it.
pub(crate) async fn run(session: &Session, run: Run) -> Result<(), Failure> {
    let access = session.access::<Developer>()?;
    match run {
        Run::Get(args) => {
            let kind = kind_of(session, &access, args.kind.kind, &args.id).await?;
            let receipt = by_kind!(kind, K => K::take_up(&access.client, &args.id).get().await)?;
            print(session, &access, &args.id, receipt)
        }
        Run::Status(args) => {
            let kind = kind_of(session, &access, args.kind.kind, &args.id).await?;
            let status = by_kind!(kind, K => K::take_up(&access.client, &args.id).status().await)?;
            session.printer.one(&status, tables::status)
        }
        Run::Result(args) => result(session, &access, &args).await,
        Run::Events(args) => {
            only_formats(session, &access, &args, "a timeline")?;
            let id = RunId::from(args.id);
            let events = access.client.format_runs_events(&id).send().await?;
            session.printer.many(&events.items, tables::timeline)
        }
        Run::Cancel(args) => cancel(session, &access, &args).await,
        Run::Wait(args) => {
            let wanted = Wanted {
                ids: args.ids,
                kind: args.kind.kind,
                args: &args.wait,
                download: args.download.as_deref(),
                told: args.told.into(),
            };
            wait_for_all(session, &access, wanted).await
        }
        Run::Download(args) => {
            let wanted = Wanted {
                ids: args.ids,
                kind: args.kind.kind,
                args: &args.wait,
                download: Some(&args.dir),
                told: Told { receipt: true },
            };
            wait_for_all(session, &access, wanted).await
        }
        Run::Redeliver(args) => redeliver(session, &access, args).await,
    }
}

async fn result(session: &Session, access: &Access<Developer>, args: &One) -> Result<(), Failure> {
    let kind = kind_of(session, access, args.kind.kind, &args.id).await?;
    by_kind!(kind, K => {
        let run = K::take_up(&access.client, &args.id);
        // One look: who wants to wait has a command for it.
        let receipt = run.result().await?;
        let receipt = match receipt.is_settling() {
            true => terminal_receipt(&run).await?,
            false => receipt,
        };
        settle(session, access, &args.id, &receipt);
        let end = RunEnd { receipt, files: None };
        run.tell(session, &end, Told { receipt: true })
    })
}

async fn cancel(session: &Session, access: &Access<Developer>, args: &One) -> Result<(), Failure> {
    let kind = kind_of(session, access, args.kind.kind, &args.id).await?;
    let canceled = by_kind!(kind, K => K::take_up(&access.client, &args.id).cancel().await);
    let receipt =
        canceled.map_err(|error| Failure::from(error).during("could not cancel the run"))?;
    let id = clean(&args.id);
    let spend = spend(&receipt);
    session.printer.note(&match &receipt.status {
        RunStatus::Canceled => {
            format!("run {id} is canceled; what it did before that is billed: {spend}")
        }
        status => format!(
            "run {id} is {}, which nothing changed: {spend}",
            clean(status.as_str())
        ),
    });
    print(session, access, &args.id, receipt)
}

async fn redeliver(
    session: &Session,
    access: &Access<Developer>,
    args: One,
) -> Result<(), Failure> {
    only_formats(session, access, &args, "a webhook that can be sent again")?;
    let id = RunId::from(args.id);
    let call = access.client.format_runs_webhook_redeliver(&id);
    let sent = tokio::select! {
        biased;
        sent = call.send() => sent.map_err(Failure::from),
        () = session.interrupts.first() => Err(Failure::unanswered()),
    };
    let redelivery = sent.map_err(|failure| {
        failure
            .during("could not send it again")
            .about(SubjectId::Run(id.as_str().to_owned()))
    })?;
    session.printer.one(&redelivery, redelivery_table)
}

fn only_formats(
    session: &Session,
    access: &Access<Developer>,
    args: &One,
    what: &str,
) -> Result<(), Failure> {
    match args
        .kind
        .kind
        .or_else(|| remembered(session, access, &args.id))
    {
        None | Some(KindChoice::Format) => Ok(()),
        Some(kind) => Err(Failure::usage(format!(
            "only runs of Formats have {what}, and this is one of kind {}",
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
    let end = RunEnd {
        receipt,
        files: None,
    };
    session.printer.one(&end, tables::finished)?;
    settle(session, access, id, &end.receipt);
    Ok(())
}

/// A person who saw how a run ended needs no run of the program that tells it again.
fn settle(session: &Session, access: &Access<Developer>, id: &str, receipt: &RunReceipt) {
    if let Some(outcome) = outcome_of(&receipt.status)
        && let Ok(Some(journal)) = session.journal()
    {
        let subject = SubjectId::Run(id.to_owned());
        journal.settle(&access.base_url, &subject, outcome);
    }
}
