//! The jobs of the screen: as the service reports them, and what the keys do with them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use svc_sdk::download::DownloadEvent;
use svc_sdk::types::{Job, JobId};
use svc_sdk::{Client, ClientSurface, Error};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::download::open_with_default;
use crate::error::Failure;
use crate::follow::watch::model::ViewModel;
use crate::follow::watch::row::DownloadState;
use crate::text::counted;

const LIST_INTERVAL: Duration = Duration::from_secs(2);
const PAGE_SIZE: u64 = 100;
/// The maximum number of jobs that are shown without ids.
const MAX_JOBS: usize = 500;

#[derive(Debug)]
pub(super) enum FeedEvent {
    Job(Box<Job>),
    /// The status of a job can no longer be read, or has not been read in time.
    JobError(JobId, Box<Error>),
    ListRead,
    /// The list of jobs could not be read. It is read again, unless the API key was rejected.
    ListError(Box<Error>),
}

#[derive(Debug)]
pub(super) struct Feed {
    pub(super) events: UnboundedReceiver<FeedEvent>,
    /// Aborts the polls when it is dropped.
    _polls: JoinSet<()>,
}

impl Feed {
    /// Polls jobs until each has ended. The SDK decides when, within the API key's rate limit.
    pub(super) fn of_jobs<S: ClientSurface>(
        client: &Client<S>,
        ids: &[String],
        timeout: Option<Duration>,
    ) -> Self {
        let (sender, events) = unbounded_channel();
        let mut polls = JoinSet::new();
        for id in ids {
            let (client, id, sender) = (client.clone(), JobId::from(id.clone()), sender.clone());
            polls.spawn(async move {
                if let Err(error) = poll_job(&client, &id, timeout, &sender).await {
                    let _ = sender.send(FeedEvent::JobError(id, Box::new(error)));
                }
            });
        }
        Self { events, _polls: polls }
    }

    /// Reads the newest jobs again and again.
    pub(super) fn of_newest<S: ClientSurface>(client: &Client<S>) -> Self {
        let (sender, events) = unbounded_channel();
        let mut polls = JoinSet::new();
        let client = client.clone();
        polls.spawn(async move {
            let mut active = None;
            loop {
                let read = read_newest(&client, active.as_ref(), &sender).await;
                let is_rejected = read.as_ref().is_err_and(Error::is_unauthorized);
                let _ = sender.send(match read {
                    Ok(still_active) => {
                        active = Some(still_active);
                        FeedEvent::ListRead
                    }
                    Err(error) => FeedEvent::ListError(Box::new(error)),
                });
                if is_rejected {
                    return;
                }
                sleep(LIST_INTERVAL).await;
            }
        });
        Self { events, _polls: polls }
    }
}

async fn poll_job<S: ClientSurface>(
    client: &Client<S>,
    id: &JobId,
    timeout: Option<Duration>,
    sender: &UnboundedSender<FeedEvent>,
) -> Result<(), Error> {
    let handle = client.jobs().handle(id);
    let updates = handle.updates();
    // The time limit includes the first read: if that takes too long, nothing is left for updates.
    let (mut updates, first) = match timeout {
        Some(limit) => match tokio::time::timeout(limit, handle.get()).await {
            Ok(job) => (updates.timeout(limit), Some(job?)),
            Err(_) => (updates.timeout(Duration::ZERO), None),
        },
        None => (updates.no_timeout(), Some(handle.get().await?)),
    };
    let mut shown = None;
    if let Some(job) = first {
        shown = Some(job.status.clone());
        let is_terminal = job.status.is_terminal();
        let _ = sender.send(FeedEvent::Job(Box::new(job)));
        if is_terminal {
            return Ok(());
        }
    }
    while let Some(update) = updates.next().await {
        let update = update?;
        let has_changed = update.status.status.is_some() && update.status.status != shown;
        if has_changed || update.is_finished() {
            let job = handle.get().await?;
            shown = Some(job.status.clone());
            let _ = sender.send(FeedEvent::Job(Box::new(job)));
        }
    }
    Ok(())
}

/// Reads on until the active jobs have been seen again. Returns those that are active now.
async fn read_newest<S: ClientSurface>(
    client: &Client<S>,
    active: Option<&HashSet<JobId>>,
    sender: &UnboundedSender<FeedEvent>,
) -> Result<HashSet<JobId>, Error> {
    let mut missing = active.cloned();
    let mut still_active = HashSet::new();
    let mut pages = client.jobs().list().limit(PAGE_SIZE).pages();
    let mut count = 0;
    while count < MAX_JOBS
        && let Some(page) = pages.next().await
    {
        for job in page?.items {
            count += 1;
            if let Some(missing) = &mut missing {
                missing.remove(&job.id);
            }
            if !job.status.is_terminal() {
                still_active.insert(job.id.clone());
            }
            let _ = sender.send(FeedEvent::Job(Box::new(job)));
        }
        if missing.as_ref().is_some_and(HashSet::is_empty) {
            break;
        }
    }
    Ok(still_active)
}

#[derive(Debug)]
pub(super) enum TaskEvent {
    Canceled(Box<Job>),
    Downloading { id: JobId, bytes: u64, total: Option<u64> },
    Downloaded { id: JobId, files: Vec<PathBuf>, opens: bool },
    DownloadFailed { id: JobId, reason: String },
    Failed(String),
}

pub(super) fn reason(error: svc_sdk::Error) -> String {
    Failure::from(error).headline()
}

pub(super) async fn cancel<S: ClientSurface>(
    client: Client<S>,
    id: JobId,
    sender: UnboundedSender<TaskEvent>,
) {
    let event = match client.jobs().handle(&id).cancel().await {
        Ok(job) => TaskEvent::Canceled(Box::new(job)),
        Err(error) => TaskEvent::Failed(format!("could not cancel {id}: {}", reason(error))),
    };
    let _ = sender.send(event);
}

pub(super) async fn download<S: ClientSurface>(
    client: Client<S>,
    id: JobId,
    folder: PathBuf,
    opens: bool,
    sender: UnboundedSender<TaskEvent>,
) {
    let (progress, job) = (sender.clone(), id.clone());
    let download = client.jobs().handle(&id).download(&folder).on_progress(move |event| {
        if let DownloadEvent::Advanced { bytes, total, .. } = event.event {
            let id = job.clone();
            let _ = progress.send(TaskEvent::Downloading { id, bytes, total });
        }
    });
    let event = match download.await {
        Ok(files) => {
            let files = files.into_iter().map(|file| file.path).collect();
            TaskEvent::Downloaded { id, files, opens }
        }
        Err(error) => TaskEvent::DownloadFailed { id, reason: reason(error) },
    };
    let _ = sender.send(event);
}

pub(super) async fn open(path: PathBuf, sender: UnboundedSender<TaskEvent>) {
    if let Err(reason) = open_with_default(&path).await {
        let message = format!("cannot open {}: {reason}", path.display());
        let _ = sender.send(TaskEvent::Failed(message));
    }
}

/// Shows on the screen what a task reports. Returns the files that are to be opened.
pub(super) fn apply_task_event(
    model: &mut ViewModel,
    event: TaskEvent,
    folder: &Path,
) -> Vec<PathBuf> {
    match event {
        TaskEvent::Canceled(job) => {
            model.set_message(format!("{} is {}", job.id, job.status), false);
            model.update(*job);
        }
        TaskEvent::Downloading { id, bytes, total } => {
            if let Some(row) = model.row_mut(&id) {
                row.download = DownloadState::Running { bytes, total };
            }
        }
        TaskEvent::Downloaded { id, files, opens } => {
            let folder = folder.display();
            model.set_message(
                format!("downloaded {} of {id} to {folder}", counted(files.len(), "file")),
                false,
            );
            if let Some(row) = model.row_mut(&id) {
                row.download = DownloadState::Done { files: files.clone() };
            }
            if opens {
                return files;
            }
        }
        TaskEvent::DownloadFailed { id, reason } => {
            model.set_message(format!("could not download {id}: {reason}"), true);
            if let Some(row) = model.row_mut(&id) {
                row.download = DownloadState::Failed;
            }
        }
        TaskEvent::Failed(message) => model.set_message(message, true),
    }
    Vec::new()
}
