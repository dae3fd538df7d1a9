//! `svc job`: jobs of either surface.

use std::cell::Cell;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use svc_sdk::contract::{self, JobStatus, Operation};
use svc_sdk::types::{Job as SdkJob, JobResult, JobStatusPayload, JobType};
use svc_sdk::{ClientSurface, Developer, Open};

use crate::args::{
    DownloadArgs, FileArgs, ListArgs, SurfaceArg, SurfaceChoice, Timeout, WaitArgs, headings,
};
use crate::commands::each::print_each;
use crate::commands::history::newest_entry;
use crate::download::DownloadPlan;
use crate::error::{Exit, Failure};
use crate::listing::Listing;
use crate::output::layout::{required, status};
use crate::output::values::redelivery as redelivery_table;
use crate::output::{ObjectKind, Table};
use crate::pricing::EstimateSource;
use crate::resource::job::{self, FinishedJob};
use crate::resource::{Outcome, ResourceId, with_download_flags};
use crate::session::{Access, Session, surface_choice};
use crate::wait::{self, WaitGroup, WaitOptions};
use crate::watch::{WatchOptions, watch};

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
    /// Only jobs of this type, such as `image_generation` or `video_generation`
    #[arg(long = "type", value_name = "TYPE", help_heading = headings::FILTERS)]
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

/// The flags of a command that acts on one job.
#[derive(Args, Debug)]
pub(crate) struct JobIdArgs {
    /// Job id
    #[arg(value_name = "JOB_ID")]
    id: String,
    #[command(flatten)]
    surface: SurfaceArg,
}

/// The flags of a command that acts on one job or several.
#[derive(Args, Debug)]
pub(crate) struct JobIdsArgs {
    /// Job ids
    #[arg(value_name = "JOB_ID", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    surface: SurfaceArg,
}

#[derive(Args, Debug)]
pub(crate) struct WaitForJobs {
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

#[derive(Args, Debug)]
pub(crate) struct DownloadJobs {
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
            Self::Events(ListEvents { job: args, .. }) | Self::Redeliver(args) => {
                args.surface.surface.or(Some(SurfaceChoice::Developer))
            }
            Self::Wait(args) => args.surface.surface,
            Self::Download(args) => args.surface.surface,
            Self::Watch(args) => args.surface.surface,
        }
    }
}

/// Sets the id and the surface of the newest job in the journal.
async fn resolve_last(
    session: &Session,
    ids: &mut Vec<String>,
    surface: &mut SurfaceArg,
) -> Result<(), Failure> {
    let (id, entry) = newest_entry(session, "job", |id, entry| {
        let is_on = |surface: SurfaceChoice| entry.intent.surface == surface.as_str();
        matches!(id, ResourceId::Job(_)) && surface.surface.is_none_or(is_on)
    })
    .await?;
    ids.push(id.id().to_owned());
    let surfaces = SurfaceChoice::ALL;
    surface.surface = surfaces.into_iter().find(|surface| entry.intent.surface == surface.as_str());
    Ok(())
}

pub(crate) async fn run(session: &Session, mut job: Job) -> Result<(), Failure> {
    match &mut job {
        Job::Wait(args) if args.last => {
            resolve_last(session, &mut args.ids, &mut args.surface).await?;
        }
        Job::Download(args) if args.last => {
            resolve_last(session, &mut args.ids, &mut args.surface).await?;
        }
        Job::Wait(WaitForJobs { ids, .. }) | Job::Download(DownloadJobs { ids, .. })
            if ids.is_empty() =>
        {
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
    match job {
        Job::List(args) => list(session, access, args).await,
        Job::Get(args) => {
            let get = async |id: &str| {
                let job = access.client.jobs().handle(id).get().await?;
                close_intent(session, access, id, &job.status).await;
                Ok(job)
            };
            print_jobs(session, args.ids, get).await
        }
        Job::Status(args) => {
            let status = async |id: &str| Ok(access.client.jobs().handle(id).status().await?);
            let tables = (status_table, status_list);
            print_each(session, ObjectKind::Job, args.ids, status, tables).await
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
            let tables = (job::finished_table, job::finished_list);
            print_each(session, ObjectKind::Job, args.ids, result, tables).await?;
            exit.get().map_or(Ok(()), |exit| Err(Failure::already_reported(exit)))
        }
        Job::Cancel(args) => {
            let cancel = async |id: &str| {
                let job = access.client.jobs().handle(id).cancel().await.map_err(|error| {
                    Failure::from(error).context("could not cancel the job").for_job(id)
                })?;
                close_intent(session, access, id, &job.status).await;
                Ok(job)
            };
            print_jobs(session, args.ids, cancel).await
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

async fn print_jobs(
    session: &Session,
    ids: Vec<String>,
    act: impl AsyncFn(&str) -> Result<SdkJob, Failure>,
) -> Result<(), Failure> {
    print_each(session, ObjectKind::Job, ids, act, (job::envelope, job::list)).await
}

fn status_table(status: &JobStatusPayload) -> Table {
    let mut table = Table::key_value();
    table.field("id", status.job_id.as_ref());
    table.status_field("status", status.status.as_ref());
    table.field("terminal", status.terminal);
    table.field("result ready", status.result_ready);
    let next = status.poll_after.filter(|_| status.terminal != Some(true));
    table.field("next poll", next.map(|hint| format!("in {} s", hint.as_secs_f64())));
    table
}

fn status_list(statuses: &[JobStatusPayload]) -> Table {
    let mut table = Table::new([required("id"), status("status")]);
    for payload in statuses {
        let id = payload.job_id.as_ref().map_or("", |id| id.as_str());
        table.row([id, payload.status.as_ref().map_or("", JobStatus::as_str)]);
    }
    table
}

async fn events(session: &Session, args: &ListEvents) -> Result<(), Failure> {
    let client = session.access::<Developer>()?.client;
    let job = client.jobs().handle(args.job.id.as_str());
    let listing = Listing::new(session, &args.list, "events").without_limit_parameter();
    listing.print(|| job.events(), job::timeline).await
}

async fn redeliver(session: &Session, id: &str) -> Result<(), Failure> {
    let client = session.access::<Developer>()?.client;
    let sent = session.send(client.jobs().handle(id).redeliver_webhook()).await;
    let redelivery = sent.map_err(|failure| {
        let failure = failure.context("could not redeliver the event");
        failure.for_job(id)
    })?;
    session.printer.print_item(&redelivery, redelivery_table)
}

async fn list<S: ClientSurface>(
    session: &Session,
    access: &Access<S>,
    args: ListJobs,
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
    let listing = Listing::new(session, &args.list, "jobs").of(ObjectKind::Job);
    listing.print(call, job::list).await
}

fn final_status(result: &JobResult) -> Option<JobStatus> {
    result.status.clone().or_else(|| result.error.as_ref().map(|_| JobStatus::Failed))
}

async fn close_intent<S>(session: &Session, access: &Access<S>, id: &str, status: &JobStatus) {
    let outcome = match status {
        JobStatus::Completed => Some(Outcome::Completed),
        JobStatus::Failed => Some(Outcome::Failed),
        JobStatus::Canceled => Some(Outcome::Canceled),
        _ => None,
    };
    let id = ResourceId::Job(id.to_owned());
    session.close_intent(&access.base_url, &id, outcome).await;
}

/// Checks that ids can be part of a path.
fn check_ids(ids: &[String]) -> Result<(), Failure> {
    for id in ids {
        let path = Operation::JobsStatus.expand(&[id]);
        path.map_err(|error| Failure::usage(error.to_string()))?;
    }
    Ok(())
}

/// Jobs of a surface.
struct Jobs<'a, S> {
    access: &'a Access<S>,
    options: WaitOptions<'a>,
}

async fn wait_for_all<S: EstimateSource>(
    session: &Session,
    access: &Access<S>,
    ids: Vec<String>,
    args: &WaitArgs,
    download: Option<&DownloadPlan>,
) -> Result<(), Failure> {
    let ids = wait::without_duplicates(ids);
    check_ids(&ids)?;
    let options = WaitOptions { session, args, download };
    let jobs = Jobs { access, options };
    wait::wait_for_all(&jobs, ids, options, &access.base_url).await
}

impl<S: EstimateSource> WaitGroup for Jobs<'_, S> {
    type Result = JobResult;

    const KIND: ObjectKind = ObjectKind::Job;
    const NOUNS: &'static str = "jobs";

    fn resource_id(id: String) -> ResourceId {
        ResourceId::Job(id)
    }

    async fn wait(&self, id: &str) -> Result<FinishedJob, Failure> {
        self.options.wait(self.access.client.jobs().handle(id)).await
    }

    fn outcome(_: &JobResult) -> Option<Outcome> {
        Some(Outcome::Completed)
    }

    fn print_one(&self, _: &str, finished: FinishedJob) -> Result<(), Failure> {
        let printer = &self.options.session.printer;
        let printed = printer.print_object(ObjectKind::Job, &finished, job::finished_table);
        printed.and(finished.failure.map_or(Ok(()), Err))
    }

    fn ended(id: &str, failure: &Failure) -> Option<FinishedJob> {
        let status = match failure.exit() {
            Exit::JobFailed => "failed",
            Exit::JobCanceled => "canceled",
            _ => return None,
        };
        let json = failure.to_json();
        let member = |name: &str| json.pointer(&format!("/error/{name}"));
        let error = json!({"code": member("code"), "message": member("message")});
        let result = json!({"job_id": id, "status": status, "artifacts": [], "error": error});
        let result = serde_json::from_value(result).ok()?;
        Some(FinishedJob::new(result))
    }

    fn table(finished: &[FinishedJob]) -> Table {
        job::finished_list(finished)
    }

    fn wait_command(&self, ids: &[&str]) -> String {
        let words = [&["job", "wait"], ids].concat();
        let words = with_download_flags(&words, "--download", self.options.download);
        let surface = surface_choice::<S>();
        self.options.session.resume_command_on(surface, &words)
    }
}
