//! `svc job`: jobs of either surface.

use std::cell::Cell;
use std::convert::Infallible;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use svc_sdk::contract::{self, JobStatus, Operation};
use svc_sdk::types::{JobResult, JobStatusPayload, JobType};
use svc_sdk::{ClientSurface, Developer, Open};

use crate::args::{
    DownloadArgs, FileArgs, ListArgs, ReceiptArgs, SurfaceArg, SurfaceChoice, Timeout, WaitArgs,
    headings, parse_download_path,
};
use crate::commands::history::newest_entry;
use crate::download::DownloadPlan;
use crate::error::{Exit, Failure, Result};
use crate::follow::job::{self, FinishedJob};
use crate::follow::wait::{self, WaitOptions};
use crate::follow::watch::{WatchOptions, watch};
use crate::follow::{print_each, with_download_flags};
use crate::journal::Entry;
use crate::listing::Listing;
use crate::output::values::{money, redelivery as redelivery_table};
use crate::output::{ObjectKind, Table};
use crate::request::pricing::EstimateSource;
use crate::resource::{Outcome, ResourceId};
use crate::session::{Access, Session, surface_choice};
use crate::text::{nearest, sanitize};

#[derive(Debug, Subcommand)]
pub(crate) enum Job {
    /// List jobs, newest first
    List(ListJobs),
    /// Show a job
    Get(JobIdsArgs),
    /// Show a job's status
    Status(JobIdsArgs),
    /// Show a job's result
    Result(JobIdsArgs),
    /// Cancel a job whose generation has not started; the charge is refunded
    Cancel(JobIdsArgs),
    /// Show a job's timeline (developer surface only)
    Events(ListEvents),
    /// Redeliver a job's final event to its webhook (developer surface only)
    Redeliver(JobIdArgs),
    /// Wait for jobs, and print their results
    Wait(WaitForJobs),
    /// Wait for jobs, and download their results
    Download(DownloadJobs),
    /// Watch jobs on a live screen, or print a line for each change of status
    ///
    /// Keys: ↑↓ move, enter details, d download, o open, c cancel, q quit. What -v logs is printed
    /// when the screen is closed.
    ///
    /// Without a terminal, prints a line for each change of status, and exits when all given jobs have
    /// ended: with 7 if one failed, or 8 if one was canceled.
    Watch(Watch),
}

#[derive(Args, Debug)]
pub(crate) struct ListJobs {
    /// Only jobs with this status: queued, processing, completed, failed or canceled
    #[arg(long, help_heading = headings::FILTERS)]
    status: Option<JobStatus>,
    /// Only jobs of this type: image, video, music or avatar (short for `image_generation` and so on),
    /// `avatar_video_generation`, `avatar_video_preview`, `avatar_face_swap` or `video_captions`
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_job_type, help_heading = headings::FILTERS)]
    job_type: Option<JobType>,
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    surface: SurfaceArg,
}

#[derive(Args, Debug)]
pub(crate) struct ListEvents {
    #[command(flatten)]
    job: JobIdArgs,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Args, Debug)]
pub(crate) struct JobIdArgs {
    /// Job id
    #[arg(value_name = "JOB_ID")]
    id: String,
    #[command(flatten)]
    surface: SurfaceArg,
}

#[derive(Args, Debug)]
pub(crate) struct JobIdsArgs {
    /// Job ids
    #[arg(value_name = "JOB_ID", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    surface: SurfaceArg,
}

/// The jobs that a command waits for.
#[derive(Args, Debug)]
pub(crate) struct JobsToWait {
    /// Job ids, such as job_123 (required unless --last)
    #[arg(value_name = "JOB_ID")]
    ids: Vec<String>,
    /// Take the newest job that this machine submitted
    #[arg(long, conflicts_with = "ids", help_heading = headings::REQUEST)]
    last: bool,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    surface: SurfaceArg,
}

#[derive(Args, Debug)]
pub(crate) struct WaitForJobs {
    #[command(flatten)]
    jobs: JobsToWait,
    #[command(flatten)]
    download: DownloadArgs,
}

#[derive(Args, Debug)]
pub(crate) struct DownloadJobs {
    #[command(flatten)]
    jobs: JobsToWait,
    /// Directory to download to, created if missing; or one file, such as fox.png
    #[arg(long, alias = "download", value_name = "DIR", default_value = ".", value_parser = parse_download_path, help_heading = headings::FILES)]
    dir: PathBuf,
    #[command(flatten)]
    files: FileArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Watch {
    /// Job ids [default: all jobs of the API key, newest first]
    #[arg(value_name = "JOB_ID")]
    ids: Vec<String>,
    /// How long to watch: `30s`, `5m`, a number of seconds, or `none` [default: none]
    #[arg(long, value_name = "TIME", help_heading = headings::WAITING)]
    timeout: Option<Timeout>,
    /// Directory that the key `d` downloads to; created if missing
    #[arg(long, value_name = "DIR", default_value = ".", value_parser = parse_download_path, help_heading = headings::FILES)]
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
            Self::Events(ListEvents { job: args, .. }) | Self::Redeliver(args) => {
                args.surface.surface.or(Some(SurfaceChoice::Developer))
            }
            Self::Wait(WaitForJobs { jobs, .. }) | Self::Download(DownloadJobs { jobs, .. }) => {
                jobs.surface.surface
            }
            Self::Watch(args) => args.surface.surface,
        }
    }
}

/// The types that are written as their first word.
const SHORT_TYPES: [&str; 4] = ["image", "video", "music", "avatar"];

pub(crate) fn job_types() -> impl Iterator<Item = &'static str> {
    SHORT_TYPES.into_iter().chain(JobType::KNOWN.iter().map(JobType::as_str))
}

fn parse_job_type(text: &str) -> Result<JobType, Infallible> {
    if SHORT_TYPES.contains(&text) { format!("{text}_generation").parse() } else { text.parse() }
}

/// With `--last`, sets the id and the surface of the newest job in the journal.
async fn resolve_last(session: &Session, jobs: &mut JobsToWait) -> Result {
    match (jobs.last, jobs.ids.is_empty()) {
        (true, _) => {}
        (false, true) => return Err(wait::no_ids("job")),
        (false, false) => return Ok(()),
    }
    let on_surface = |entry: &Entry| {
        jobs.surface.surface.is_none_or(|surface| entry.surface == surface.as_str())
    };
    let (id, entry) = newest_entry(session, ObjectKind::Job, on_surface).await?;
    jobs.ids.push(id.id().to_owned());
    let mut surfaces = SurfaceChoice::ALL.into_iter();
    jobs.surface.surface = surfaces.find(|surface| entry.surface == surface.as_str());
    Ok(())
}

pub(crate) async fn run(session: &Session, mut job: Job) -> Result {
    if let Job::Wait(WaitForJobs { jobs, .. }) | Job::Download(DownloadJobs { jobs, .. }) = &mut job
    {
        resolve_last(session, jobs).await?;
    }
    match session.surface(job.surface())? {
        SurfaceChoice::Open => run_on(session, &session.access::<Open>()?, job).await,
        SurfaceChoice::Developer => run_on(session, &session.access::<Developer>()?, job).await,
    }
}

async fn run_on<S: EstimateSource>(session: &Session, access: &Access<S>, job: Job) -> Result {
    let is_open = S::SURFACE == contract::Surface::Open;
    let refused =
        |why: &str| Err(Failure::usage(why).hint("use --surface developer, or omit --surface"));
    match job {
        Job::List(args) => list(session, access, args).await,
        Job::Get(args) => {
            let get = async |id: &str| {
                let job = access.client.jobs().handle(id).get().await?;
                close_intent(session, access, id, &job.status).await;
                Ok(job)
            };
            print_each(session, ObjectKind::Job, args.ids, get, job::envelope::<S>).await
        }
        Job::Status(args) => {
            let status = async |id: &str| Ok(access.client.jobs().handle(id).status().await?);
            print_each(session, ObjectKind::Job, args.ids, status, status_table).await
        }
        Job::Result(args) => {
            let exit = Cell::new(None);
            let result = async |id: &str| {
                let result = access.client.jobs().handle(id).result().await?;
                if let Some(status) = final_status(&result) {
                    close_intent(session, access, id, &status).await;
                    let ended = match status {
                        JobStatus::Failed => Some(Exit::JobFailed),
                        JobStatus::Canceled => Some(Exit::JobCanceled),
                        _ => None,
                    };
                    exit.set(exit.get().or(ended));
                }
                Ok(FinishedJob::new(result))
            };
            let table = job::finished_table;
            print_each(session, ObjectKind::Job, args.ids, result, table).await?;
            exit.get().map_or(Ok(()), |exit| Err(Failure::already_reported(exit)))
        }
        Job::Cancel(args) => {
            let seen = session.seen_statuses();
            let was_canceled = |id: &str| {
                seen.get(id).is_some_and(|status| status == JobStatus::Canceled.as_str())
            };
            let cancel = async |id: &str| {
                let job = access.client.jobs().handle(id).cancel().await.map_err(|error| {
                    Failure::from(error).context("could not cancel the job").for_job(id)
                })?;
                close_intent(session, access, id, &job.status).await;
                if let Some(price) = job::refund::<S>(&job) {
                    let (shown, price) = (sanitize(id), money(price));
                    session.printer.note(&match was_canceled(id) {
                        true => {
                            format!("job {shown} was canceled before; {price} was refunded then")
                        }
                        false => format!("canceled job {shown}; {price} was refunded"),
                    });
                }
                Ok(job)
            };
            print_each(session, ObjectKind::Job, args.ids, cancel, job::envelope::<S>).await
        }
        Job::Events(_) if is_open => refused("the open surface does not provide job timelines"),
        Job::Events(args) => events(session, &args).await,
        Job::Redeliver(_) if is_open => {
            refused("the open surface does not support webhook redelivery")
        }
        Job::Redeliver(args) => redeliver(session, &args.id).await,
        Job::Wait(args) => {
            let plan = DownloadPlan::from_args(session, &args.download)?;
            wait_for_all(session, access, args.jobs, plan.as_ref()).await
        }
        Job::Download(args) => {
            wait::check_no_folder(&args.jobs.ids)?;
            let plan = DownloadPlan::to_folder(session, &args.dir, &args.files)?;
            wait_for_all(session, access, args.jobs, Some(&plan)).await
        }
        Job::Watch(args) => {
            let ids = wait::without_duplicates(args.ids);
            check_ids(&ids)?;
            let options = WatchOptions {
                ids,
                timeout: args.timeout.and_then(|timeout| timeout.0),
                folder: args.dir,
            };
            watch(session, access, options).await
        }
    }
}

fn status_table(status: &JobStatusPayload) -> Table {
    let mut table = Table::of(status, "id=job_id, status, terminal, result ready=result_ready");
    let next = status.poll_after.filter(|_| status.terminal != Some(true));
    table.field("next poll", next.map(|hint| format!("in {} s", hint.as_secs_f64())));
    table
}

async fn events(session: &Session, args: &ListEvents) -> Result {
    let client = session.access::<Developer>()?.client;
    let job = client.jobs().handle(args.job.id.as_str());
    let listing = Listing::new(session, &args.list, "events").without_limit_parameter();
    listing.print(|| job.events(), job::timeline).await
}

async fn redeliver(session: &Session, id: &str) -> Result {
    let client = session.access::<Developer>()?.client;
    let sent = session.send(client.jobs().handle(id).redeliver_webhook()).await;
    let redelivery = sent.map_err(|failure| {
        let failure = failure.context("could not redeliver the event");
        failure.for_job(id)
    })?;
    session.printer.print_item(&redelivery, redelivery_table)
}

async fn list<S: ClientSurface>(session: &Session, access: &Access<S>, args: ListJobs) -> Result {
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
    let listing = Listing::new(session, &args.list, "jobs").of(ObjectKind::Job);
    listing.print(call, job::list::<S>).await.map_err(|failure| {
        // The service may know types that are newer than this version.
        let unknown = args.job_type.as_ref().filter(|it| !JobType::KNOWN.contains(it));
        let near = unknown.and_then(|it| nearest(it.as_str(), job_types()));
        failure.with_some(near, |it, near| it.hint(format!("did you mean: --type {near}")))
    })
}

fn final_status(result: &JobResult) -> Option<JobStatus> {
    result.status.clone().or_else(|| result.error.as_ref().map(|_| JobStatus::Failed))
}

async fn close_intent<S>(session: &Session, access: &Access<S>, id: &str, status: &JobStatus) {
    // A status that is not known may be that of a job that still runs.
    let outcome = Outcome::of_status(status.as_str()).filter(|_| status.is_terminal());
    let id = ResourceId::Job(id.to_owned());
    session.close_intent(&access.base_url, &id, outcome).await;
}

fn check_ids(ids: &[String]) -> Result {
    for id in ids {
        let path = Operation::JobsStatus.expand(&[id]);
        path.map_err(|error| Failure::usage(error.to_string()))?;
    }
    Ok(())
}

async fn wait_for_all<S: EstimateSource>(
    session: &Session,
    access: &Access<S>,
    jobs: JobsToWait,
    download: Option<&DownloadPlan>,
) -> Result {
    let ids = wait::without_duplicates(jobs.ids);
    check_ids(&ids)?;
    let (args, kind, receipt_mode) = (&jobs.wait, ObjectKind::Job, ReceiptArgs::default());
    let options = WaitOptions { session, args, download, kind, receipt_mode };
    let wait = async |id: &str, is_only: bool| {
        options.wait(access.client.jobs().handle(id), is_only).await
    };
    let resume = |ids: &[&str]| {
        let words = [&["job", "wait"], ids].concat();
        let words = with_download_flags(&words, "--download", download);
        session.resume_command_on(surface_choice::<S>(), &words)
    };
    options.wait_for_all(ids, &access.base_url, wait, resume).await
}
