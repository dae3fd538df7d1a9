//! `svc job`: jobs of either surface.

mod wait_all;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use svc_sdk::contract::JobStatus;
use svc_sdk::types::{JobId, JobResult, JobType};
use svc_sdk::{Developer, Open, Surface, contract};

use self::wait_all::wait_for_all;
use super::history::newest_entry;
use crate::args::{
    DownloadArgs, FileArgs, ListArgs, SurfaceArg, SurfaceChoice, Timeout, WaitArgs, headings,
};
use crate::download::DownloadPlan;
use crate::error::{Exit, Failure};
use crate::listing::Listing;
use crate::output::Table;
use crate::pricing::EstimateSource;
use crate::resource::job::{FinishedJob, tables};
use crate::session::{Access, Session};
use crate::tables::redelivery as redelivery_table;
use crate::types::{Outcome, ResourceId};
use crate::wait;
use crate::watch::{WatchOptions, watch};

/// The subcommands of `svc job`.
#[derive(Debug, Subcommand)]
pub(crate) enum Job {
    /// List jobs, newest first
    List(List),
    /// Show a job
    Get(JobIdArgs),
    /// Show a job's status
    Status(JobIdArgs),
    /// Show a job's result
    Result(JobIdArgs),
    /// Cancel a job whose generation has not started; the charge is refunded
    Cancel(JobIdArgs),
    /// Show a job's timeline (developer surface only)
    Events(Events),
    /// Redeliver a job's final event to its webhook (developer surface only)
    Redeliver(JobIdArgs),
    /// Wait for jobs, and print their results
    Wait(Wait),
    /// Wait for jobs, and download their results
    Download(Download),
    /// Watch jobs on a live screen, or print a line for each change of status
    ///
    /// Keys: ↑↓ move, enter details, d download, o open, c cancel, q quit. What -v logs is printed
    /// when the screen is closed.
    ///
    /// Without a terminal, prints a line for each change of status, and exits when all given jobs have
    /// ended: with 7 if one failed, or 8 if one was canceled.
    Watch(Watch),
}

/// The flags of `svc job list`.
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Only jobs with this status: queued, processing, completed, failed or canceled
    #[arg(long, help_heading = headings::FILTERS)]
    status: Option<JobStatus>,
    /// Only jobs of this type, such as `image_generation` or `video_generation`
    #[arg(long = "type", value_name = "TYPE", help_heading = headings::FILTERS)]
    job_type: Option<JobType>,
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    surface: SurfaceArg,
}

/// The flags of `svc job events`.
#[derive(Args, Debug)]
pub(crate) struct Events {
    #[command(flatten)]
    job: JobIdArgs,
    #[command(flatten)]
    list: ListArgs,
}

/// The flags of a command that acts on one job.
#[derive(Args, Debug)]
pub(crate) struct JobIdArgs {
    /// Job id
    #[arg(value_name = "JOB_ID")]
    id: String,
    #[command(flatten)]
    surface: SurfaceArg,
}

/// The flags of `svc job wait`.
#[derive(Args, Debug)]
pub(crate) struct Wait {
    /// Job ids, such as job_123 (required unless --last)
    #[arg(value_name = "JOB_ID")]
    ids: Vec<String>,
    /// Wait for the newest job that this machine submitted
    #[arg(long, conflicts_with = "ids", help_heading = headings::REQUEST)]
    last: bool,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    download: DownloadArgs,
    #[command(flatten)]
    surface: SurfaceArg,
}

/// The flags of `svc job download`.
#[derive(Args, Debug)]
pub(crate) struct Download {
    /// Job ids, such as job_123 (required unless --last)
    #[arg(value_name = "JOB_ID")]
    ids: Vec<String>,
    /// Download the result of the newest job that this machine submitted
    #[arg(long, conflicts_with = "ids", help_heading = headings::REQUEST)]
    last: bool,
    /// Directory to download to; created if missing
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = headings::FILES)]
    dir: PathBuf,
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    surface: SurfaceArg,
}

/// The flags of `svc job watch`.
#[derive(Args, Debug)]
pub(crate) struct Watch {
    /// Job ids [default: all jobs of the API key, newest first]
    #[arg(value_name = "JOB_ID")]
    ids: Vec<String>,
    /// How long to watch: `30s`, `5m`, a number of seconds, or `none` [default: none]
    #[arg(long, value_name = "TIME", help_heading = headings::WAITING)]
    timeout: Option<Timeout>,
    /// Directory that the key `d` downloads to; created if missing
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = headings::FILES)]
    dir: PathBuf,
    #[command(flatten)]
    surface: SurfaceArg,
}

impl Job {
    fn surface(&self) -> Option<SurfaceChoice> {
        match self {
            Self::List(args) => args.surface.surface,
            Self::Get(args) | Self::Status(args) | Self::Result(args) | Self::Cancel(args) => {
                args.surface.surface
            }
            Self::Events(Events { job: args, .. }) | Self::Redeliver(args) => {
                args.surface.surface.or(Some(SurfaceChoice::Developer))
            }
            Self::Wait(args) => args.surface.surface,
            Self::Download(args) => args.surface.surface,
            Self::Watch(args) => args.surface.surface,
        }
    }
}

/// Sets the id and the surface of the newest job in the journal.
fn resolve_last(
    session: &Session,
    ids: &mut Vec<String>,
    surface: &mut SurfaceArg,
) -> Result<(), Failure> {
    let (id, entry) = newest_entry(session, "job", |id, entry| {
        let is_on = |surface: SurfaceChoice| entry.intent.surface == surface.as_str();
        matches!(id, ResourceId::Job(_)) && surface.surface.is_none_or(is_on)
    })?;
    ids.push(id.id().to_owned());
    let surfaces = [SurfaceChoice::Open, SurfaceChoice::Developer];
    surface.surface = surfaces
        .into_iter()
        .find(|surface| entry.intent.surface == surface.as_str());
    Ok(())
}

/// Runs the command.
pub(crate) async fn run(session: &Session, mut job: Job) -> Result<(), Failure> {
    match &mut job {
        Job::Wait(args) if args.last => {
            resolve_last(session, &mut args.ids, &mut args.surface)?;
        }
        Job::Download(args) if args.last => {
            resolve_last(session, &mut args.ids, &mut args.surface)?;
        }
        Job::Wait(Wait { ids, .. }) | Job::Download(Download { ids, .. }) if ids.is_empty() => {
            return Err(wait::no_ids("job"));
        }
        _ => {}
    }
    match session.surface(job.surface())? {
        SurfaceChoice::Open => run_on(session, &session.access::<Open>()?, job).await,
        SurfaceChoice::Developer => run_on(session, &session.access::<Developer>()?, job).await,
    }
}

async fn run_on<S: EstimateSource>(
    session: &Session,
    access: &Access<S>,
    job: Job,
) -> Result<(), Failure> {
    let printer = &session.printer;
    match job {
        Job::List(args) => list(session, access, args).await,
        Job::Get(args) => {
            let job = access.client.jobs().handle(args.id).get().await?;
            printer.print_item(&job, tables::envelope)?;
            close_intent(session, access, job.id.as_str(), &job.status);
            Ok(())
        }
        Job::Status(args) => {
            let status = access.client.jobs().handle(args.id).status().await?;
            printer.print_item(&status, |status| {
                let mut table = Table::key_value();
                table.field("job", status.job_id.as_ref());
                table.status_field("status", status.status.as_ref());
                table.field("terminal", status.terminal);
                table.field("result ready", status.result_ready);
                table.field(
                    "next poll",
                    status
                        .poll_after
                        .filter(|_| status.terminal != Some(true))
                        .map(|hint| format!("in {} s", hint.as_secs_f64())),
                );
                table
            })
        }
        Job::Result(args) => {
            let id = JobId::from(args.id);
            let result = access.client.jobs().handle(&id).result().await?;
            let ended = final_status(&result);
            printer.print_item(&FinishedJob::new(result), tables::finished)?;
            if let Some(status) = &ended {
                close_intent(session, access, id.as_str(), status);
            }
            match ended {
                Some(JobStatus::Failed) => Err(Failure::already_reported(Exit::JobFailed)),
                Some(JobStatus::Canceled) => Err(Failure::already_reported(Exit::JobCanceled)),
                _ => Ok(()),
            }
        }
        Job::Cancel(args) => {
            let id = JobId::from(args.id);
            let job = access
                .client
                .jobs()
                .handle(&id)
                .cancel()
                .await
                .map_err(|error| {
                    Failure::from(error)
                        .context("could not cancel the job")
                        .for_job(id.as_str())
                })?;
            printer.print_item(&job, tables::envelope)?;
            close_intent(session, access, id.as_str(), &job.status);
            Ok(())
        }
        Job::Events(_) if S::SURFACE == contract::Surface::Open => {
            let why = "the open surface does not provide job timelines";
            Err(Failure::usage(why).hint("use --surface developer, or omit --surface"))
        }
        Job::Events(args) => events(session, &args).await,
        Job::Redeliver(_) if S::SURFACE == contract::Surface::Open => {
            let why = "the open surface does not support webhook redelivery";
            Err(Failure::usage(why).hint("use --surface developer, or omit --surface"))
        }
        Job::Redeliver(args) => redeliver(session, &args.id).await,
        Job::Wait(args) => {
            let plan = DownloadPlan::from_args(session, &args.download)?;
            wait_for_all(session, access, args.ids, &args.wait, plan.as_ref()).await
        }
        Job::Download(args) => {
            let plan = DownloadPlan::to_folder(session, &args.dir, &args.files)?;
            wait_for_all(session, access, args.ids, &args.wait, Some(&plan)).await
        }
        Job::Watch(args) => {
            let mut ids = args.ids;
            wait::remove_duplicates(&mut ids);
            wait_all::check_ids(&ids)?;
            let options = WatchOptions {
                ids,
                timeout: args.timeout.and_then(|timeout| timeout.0),
                folder: args.dir,
            };
            watch(session, access, options).await
        }
    }
}

async fn events(session: &Session, args: &Events) -> Result<(), Failure> {
    let client = session.access::<Developer>()?.client;
    let job = client.jobs().handle(args.job.id.as_str());
    let listing = Listing::new(session, &args.list, "events").without_limit_parameter();
    listing.print(|| job.events(), tables::timeline).await
}

async fn redeliver(session: &Session, id: &str) -> Result<(), Failure> {
    let client = session.access::<Developer>()?.client;
    let sent = session
        .send(client.jobs().handle(id).redeliver_webhook())
        .await;
    let redelivery = sent.map_err(|failure| {
        let failure = failure.context("could not redeliver the event");
        failure.for_job(id)
    })?;
    session.printer.print_item(&redelivery, redelivery_table)
}

async fn list<S: Surface>(
    session: &Session,
    access: &Access<S>,
    args: List,
) -> Result<(), Failure> {
    let call = || {
        let mut call = access.client.jobs().list();
        if let Some(status) = &args.status {
            call = call.status(status.as_str());
        }
        if let Some(job_type) = &args.job_type {
            call = call.job_type(job_type.as_str());
        }
        call
    };
    let listing = Listing::new(session, &args.list, "jobs");
    listing.print(call, tables::list).await
}

fn final_status(result: &JobResult) -> Option<JobStatus> {
    result
        .status
        .clone()
        .or_else(|| result.error.as_ref().map(|_| JobStatus::Failed))
}

fn close_intent<S>(session: &Session, access: &Access<S>, id: &str, status: &JobStatus) {
    let outcome = match status {
        JobStatus::Completed => Some(Outcome::Completed),
        JobStatus::Failed => Some(Outcome::Failed),
        JobStatus::Canceled => Some(Outcome::Canceled),
        _ => None,
    };
    session.close_intent(&access.base_url, &ResourceId::Job(id.to_owned()), outcome);
}
