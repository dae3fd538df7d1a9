//! `svc run` and `svc queue`: runs of Actions, Formats and Agent Completions, and bulk queues of Format runs.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::contract::RunStatus;
use svc_sdk::handle::QueueResource;
use svc_sdk::types::{RunId, RunReceipt};

use crate::args::{
    DownloadArgs, FileArgs, ListArgs, PageArgs, ReceiptArgs, RunKindChoice, SurfaceChoice,
    WaitArgs, headings, parse_download_path,
};
use crate::commands::history::{self, newest_entry};
use crate::download::DownloadPlan;
use crate::error::{Exit, Failure, Result};
use crate::follow::queue::report as queue_report;
use crate::follow::run::{FinishedRun, by_kind, report, spend, terminal_receipt};
use crate::follow::wait::{self, WaitOptions, Waiter};
use crate::follow::{ResourceKind, print_each, with_download_flags};
use crate::journal::Entry;
use crate::listing::Listing;
use crate::output::ObjectKind;
use crate::output::values::redelivery as redelivery_table;
use crate::resource::{Outcome, ResourceId};
use crate::session::{Access, EMPTY_SANDBOX, Session};
use crate::text::sanitize;

#[derive(Debug, Subcommand)]
pub(crate) enum Run {
    /// Show a run's receipt
    Get(RunIdsArgs),
    /// Show a run's status
    Status(RunIdsArgs),
    /// Show the receipt of a run that has ended
    Result(RunIdArgs),
    /// List the phases of a Format run, oldest first
    Events(ListPhases),
    /// Cancel a run; work done until then is billed
    Cancel(RunIdsArgs),
    /// Wait for runs, and print their outputs
    ///
    /// A terminal shows only the output of one completed run, unless --receipt is given; a pipe, -o json
    /// and --jq get the whole receipts, with the output in the field `output`.
    Wait(WaitForRuns),
    /// Wait for runs, and download their files, including those of failed runs
    Download(DownloadRuns),
    /// Redeliver the final event of a Format run to its webhook
    Redeliver(RunIdArgs),
}

#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct KindArg {
    /// Kind of run [default: from the local history, or else by asking the service]
    #[arg(long, value_name = "KIND", help_heading = headings::REQUEST)]
    kind: Option<RunKindChoice>,
}

#[derive(Args, Debug)]
pub(crate) struct RunIdArgs {
    /// Run id
    #[arg(value_name = "RUN_ID")]
    id: String,
    #[command(flatten)]
    kind: KindArg,
}

#[derive(Args, Debug)]
pub(crate) struct RunIdsArgs {
    /// Run ids
    #[arg(value_name = "RUN_ID", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    kind: KindArg,
}

#[derive(Args, Debug)]
pub(crate) struct ListPhases {
    #[command(flatten)]
    run: RunIdArgs,
    #[command(flatten)]
    list: ListArgs,
}

/// The runs that a command waits for.
#[derive(Args, Debug)]
pub(crate) struct RunsToWait {
    /// Run ids, such as run_123 (required unless --last)
    #[arg(value_name = "RUN_ID")]
    ids: Vec<String>,
    /// Take the newest run that this machine submitted
    #[arg(long, conflicts_with = "ids", help_heading = headings::REQUEST)]
    last: bool,
    #[command(flatten)]
    kind: KindArg,
    #[command(flatten)]
    wait: WaitArgs,
}

#[derive(Args, Debug)]
pub(crate) struct WaitForRuns {
    #[command(flatten)]
    runs: RunsToWait,
    #[command(flatten)]
    receipt_mode: ReceiptArgs,
    #[command(flatten)]
    download: DownloadArgs,
}

#[derive(Args, Debug)]
pub(crate) struct DownloadRuns {
    #[command(flatten)]
    runs: RunsToWait,
    /// Directory to download to, created if missing; or one file, such as fox.png
    #[arg(long, alias = "download", value_name = "DIR", default_value = ".", value_parser = parse_download_path, help_heading = headings::FILES)]
    dir: PathBuf,
    #[command(flatten)]
    files: FileArgs,
}

struct Runs<'a> {
    session: &'a Session,
    access: Access<Developer>,
}

pub(crate) async fn run(session: &Session, run: Run) -> Result {
    if let Run::Wait(WaitForRuns { runs, .. }) | Run::Download(DownloadRuns { runs, .. }) = &run
        && runs.ids.is_empty()
        && !runs.last
    {
        return Err(wait::no_ids("run"));
    }
    let runs = Runs { session, access: session.access()? };
    let client = &runs.access.client;
    match run {
        Run::Get(args) => {
            let get = async |id: &str| {
                let kind = runs.kind_of(args.kind, id).await?;
                let receipt = by_kind!(kind, K => K::handle(client, id).get().await)?;
                runs.close_intent(id, &receipt).await;
                Ok(FinishedRun::new(receipt))
            };
            print_each(session, ObjectKind::Run, args.ids, get, report::finished).await
        }
        Run::Status(args) => {
            let status = async |id: &str| {
                let kind = runs.kind_of(args.kind, id).await?;
                Ok(by_kind!(kind, K => K::handle(client, id).status().await)?)
            };
            let table = report::status_table;
            print_each(session, ObjectKind::Run, args.ids, status, table).await
        }
        Run::Result(args) => runs.result(&args).await,
        Run::Events(args) => {
            runs.require_format_run(&args.run, "a timeline").await?;
            let run = client.format_runs().handle(args.run.id.as_str());
            let listing = Listing::new(session, &args.list, "events").without_limit_parameter();
            listing.print(|| run.events(), report::timeline).await
        }
        Run::Cancel(args) => {
            let cancel = async |id: &str| runs.cancel(args.kind, id).await;
            print_each(session, ObjectKind::Run, args.ids, cancel, report::finished).await
        }
        Run::Wait(args) => {
            let plan = DownloadPlan::from_args(session, &args.download)?;
            runs.wait_for_all(args.runs, plan.as_ref(), args.receipt_mode).await
        }
        Run::Download(args) => {
            wait::check_no_folder(&args.runs.ids)?;
            let plan = DownloadPlan::to_folder(session, &args.dir, &args.files)?;
            runs.wait_for_all(args.runs, Some(&plan), ReceiptArgs { receipt: true }).await
        }
        Run::Redeliver(args) => runs.redeliver(args).await,
    }
}

impl Runs<'_> {
    async fn result(&self, args: &RunIdArgs) -> Result {
        let kind = self.kind_of(args.kind, &args.id).await?;
        by_kind!(kind, K => {
            let run = K::handle(&self.access.client, &args.id);
            // One look: who wants to wait has a command for it.
            let receipt = run.result().await?;
            let receipt = match receipt.is_output_pending() {
                true => terminal_receipt(run.updates()).await?,
                false => receipt,
            };
            self.close_intent(&args.id, &receipt).await;
            let finished = FinishedRun::new(receipt);
            K::print_result(&run, self.session, finished, ReceiptArgs { receipt: true })
        })
    }

    async fn cancel(&self, kind: KindArg, id: &str) -> Result<FinishedRun> {
        let kind = self.kind_of(kind, id).await?;
        let canceled = by_kind!(kind, K => K::handle(&self.access.client, id).cancel().await);
        let receipt =
            canceled.map_err(|error| Failure::from(error).context("could not cancel the run"))?;
        self.close_intent(id, &receipt).await;
        let (id, spend) = (sanitize(id), spend(&receipt));
        let status = sanitize(receipt.status.as_str());
        self.session.printer.note(&match &receipt.status {
            RunStatus::Canceled => {
                format!("canceled run {id}; work done until then is billed: {spend}")
            }
            _ => format!("run {id} was not canceled: its status is {status}; {spend}"),
        });
        Ok(FinishedRun::new(receipt))
    }

    async fn redeliver(&self, args: RunIdArgs) -> Result {
        self.require_format_run(&args, "a webhook to redeliver").await?;
        let id = RunId::from(args.id);
        let call = self.access.client.format_runs().handle(&id).redeliver_webhook();
        let sent = self.session.send(call).await;
        let redelivery = sent.map_err(|failure| {
            failure
                .context("could not redeliver the event")
                .for_resource(ResourceId::Run(id.as_str().to_owned()))
        })?;
        self.session.printer.print_item(&redelivery, redelivery_table)
    }

    async fn require_format_run(&self, args: &RunIdArgs, what: &str) -> Result {
        match self.known_kind(args.kind, &args.id).await {
            None | Some(RunKindChoice::Format) => Ok(()),
            Some(kind) => {
                let kind = kind.as_str();
                let why = format!("only runs of Formats have {what}: this run is of kind {kind}");
                Err(Failure::usage(why))
            }
        }
    }

    async fn close_intent(&self, id: &str, receipt: &RunReceipt) {
        let id = ResourceId::Run(id.to_owned());
        let outcome = Outcome::of_status(receipt.status.as_str());
        self.session.close_intent(&self.access.base_url, &id, outcome).await;
    }

    async fn kind_of(&self, given: KindArg, id: &str) -> Result<RunKindChoice> {
        if let Some(kind) = self.known_kind(given, id).await {
            return Ok(kind);
        }
        let mut forbidden = None;
        for kind in RunKindChoice::ALL {
            let client = &self.access.client;
            let found = by_kind!(kind, K => K::handle(client, id).status().await.map(|_| ()));
            match found {
                Ok(()) => return Ok(kind),
                Err(error) if error.is_not_found() => {}
                // A key without access to one kind may have access to another.
                Err(error) if error.status() == Some(403) => forbidden = Some(error),
                Err(error) => return Err(error.into()),
            }
        }
        let id = ResourceId::Run(id.to_owned());
        Err(match forbidden {
            Some(error) => Failure::from(error)
                .context("could not determine the kind of the run")
                .for_resource(id)
                .hint("pass --kind action, --kind format or --kind agent"),
            None => Failure::new(Exit::NotFound, "no run with this id was found").for_resource(id),
        })
    }

    /// Returns the given kind, or that in the history.
    async fn known_kind(&self, given: KindArg, id: &str) -> Option<RunKindChoice> {
        if given.kind.is_some() {
            return given.kind;
        }
        let entries = self.session.submitted().await.ok()?;
        let entry = entries.into_iter().find(|entry| {
            let is_it = matches!(&entry.resource, Some(ResourceId::Run(known)) if known == id);
            is_it && entry.base_url == self.access.base_url
        })?;
        RunKindChoice::of_operation(&entry.operation)
    }

    async fn wait_for_all(
        &self,
        runs: RunsToWait,
        download: Option<&DownloadPlan>,
        receipt_mode: ReceiptArgs,
    ) -> Result {
        let (session, access, given_kind) = (self.session, &self.access, runs.kind);
        let mut ids = wait::without_duplicates(runs.ids);
        if runs.last {
            let is_of_kind = |entry: &Entry| {
                let kind = RunKindChoice::of_operation(&entry.operation);
                given_kind.kind.is_none() || given_kind.kind == kind
            };
            let (id, _) = newest_entry(session, ObjectKind::Run, is_of_kind).await?;
            ids.push(id.id().to_owned());
        }
        let mut kinds = HashMap::new();
        for id in &ids {
            match self.kind_of(given_kind, id).await {
                Ok(kind) => kinds.insert(id.clone(), kind),
                // The others are waited for. Reading this one fails again, and is reported.
                Err(failure) if ids.len() > 1 && failure.exit() == Exit::NotFound => None,
                Err(failure) => return Err(failure),
            };
        }
        let (args, kind) = (&runs.wait, ObjectKind::Run);
        let options = WaitOptions { session, args, download, kind, receipt_mode };
        let wait = async |id: &str, is_only: bool| {
            let kind = kinds.get(id).copied().unwrap_or(RunKindChoice::Format);
            by_kind!(kind, K => options.wait(K::handle(&access.client, id), is_only).await)
        };
        let resume = |ids: &[&str]| {
            let mut words = [&["run", "wait"], ids].concat();
            if let Some(kind) = given_kind.kind {
                words.extend(["--kind", kind.as_str()]);
            }
            let words = with_download_flags(&words, "--download", download);
            session.resume_command(SurfaceChoice::Developer, &words)
        };
        options.wait_for_all(ids, &access.base_url, wait, resume).await
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Queue {
    /// List the bulk queues that this machine submitted, newest first
    List(ListQueues),
    /// Show the status of a queue and of its items
    Get {
        /// Queue id
        #[arg(value_name = "QUEUE_ID")]
        id: String,
    },
    /// Wait until all items have ended, and print their results
    ///
    /// With --download, the files are named after the items: 1.png, and 1-2.png for a second one. The
    /// exit code is 7 if an item failed, or else 8 if one was canceled or skipped.
    Wait(WaitForQueue),
}

#[derive(Args, Debug)]
pub(crate) struct ListQueues {
    /// Ask the service for the current status of each listed queue
    #[arg(long)]
    refresh: bool,
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Args, Debug)]
pub(crate) struct WaitForQueue {
    /// Queue id, such as frq_123 (required unless --last)
    #[arg(value_name = "QUEUE_ID")]
    id: Option<String>,
    /// Wait for the newest queue that this machine submitted
    #[arg(long, conflicts_with = "id", help_heading = headings::REQUEST)]
    last: bool,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    download: DownloadArgs,
}

pub(crate) async fn queue(session: &Session, queue: Queue) -> Result {
    if let Queue::Wait(WaitForQueue { id: None, last: false, .. }) = &queue {
        return Err(wait::no_ids("queue"));
    }
    if let Queue::List(args) = &queue {
        return list_queues(session, args).await;
    }
    let access = session.access::<Developer>()?;
    match queue {
        Queue::List(_) => Ok(()),
        Queue::Get { id } => {
            let call = access.client.queues().handle(id).get();
            session.printer.print_object(ObjectKind::Queue, &call.await?, queue_report::queue)
        }
        Queue::Wait(args) => {
            let plan = DownloadPlan::for_items(session, &args.download)?;
            if let Some(plan) = &plan {
                plan.check_is_folder("a bulk queue")?;
            }
            let id = match args.id {
                Some(id) => id,
                None => {
                    let (id, _) = newest_entry(session, ObjectKind::Queue, |_| true).await?;
                    id.id().to_owned()
                }
            };
            let waiter = Waiter {
                session,
                resource: access.client.queues().handle(id),
                args: &args.wait,
                download: plan.as_ref(),
            };
            let printed = match waiter.wait().await {
                Ok(finished) => QueueResource::print_result(
                    &waiter.resource,
                    session,
                    finished,
                    ReceiptArgs::default(),
                ),
                Err(failure) => Err(failure),
            };
            let id = QueueResource::resource_id(&waiter.resource);
            let outcome = wait::outcome_of(&printed);
            session.close_intent(&access.base_url, &id, outcome).await;
            printed
        }
    }
}

async fn list_queues(session: &Session, args: &ListQueues) -> Result {
    let mut entries = session.submitted().await?;
    entries.retain(|entry| matches!(entry.resource, Some(ResourceId::Queue(_))));
    history::print(session, entries, &args.page, args.refresh, "queues").await?;
    session.printer.note(match session.is_sandbox() {
        true => EMPTY_SANDBOX,
        false => "these are the queues that this machine submitted: the service does not list them",
    });
    Ok(())
}
