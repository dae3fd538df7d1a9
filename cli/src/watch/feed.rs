//! The source of the screen and of the lines: jobs as the service reports them.

use std::collections::HashSet;
use std::time::Duration;

use svc_sdk::types::{Job, JobId};
use svc_sdk::{Client, Error, Surface};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The time between two reads of the list of jobs.
const LIST_INTERVAL: Duration = Duration::from_secs(2);
/// The number of jobs of one page.
const PAGE_SIZE: u64 = 100;
/// The maximum number of jobs that are shown without ids.
const MAX_JOBS: usize = 500;

/// A change of a job.
#[derive(Debug)]
pub(super) enum FeedEvent {
    /// A job was read.
    Job(Box<Job>),
    /// The status of a job can no longer be read, or has not been read in time.
    JobError(JobId, Box<Error>),
    /// The list of jobs was read.
    ListRead,
    /// The list of jobs could not be read. It is read again, unless the API key was rejected.
    ListError(Box<Error>),
}

/// The running polls, and what they report.
#[derive(Debug)]
pub(super) struct Feed {
    /// What the polls report.
    pub(super) events: UnboundedReceiver<FeedEvent>,
    /// Aborts the polls when it is dropped.
    _polls: JoinSet<()>,
}

impl Feed {
    /// Polls jobs until each has ended. The SDK decides when, within the API key's rate limit.
    pub(super) fn of_jobs<S: Surface>(
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
        Self {
            events,
            _polls: polls,
        }
    }

    /// Reads the newest jobs again and again.
    pub(super) fn of_newest<S: Surface>(client: &Client<S>) -> Self {
        let (sender, events) = unbounded_channel();
        let mut polls = JoinSet::new();
        let client = client.clone();
        polls.spawn(async move {
            let mut active = None;
            loop {
                match read_newest(&client, active.as_ref(), &sender).await {
                    Ok(still_active) => {
                        active = Some(still_active);
                        let _ = sender.send(FeedEvent::ListRead);
                    }
                    Err(error) if error.is_unauthorized() => {
                        let _ = sender.send(FeedEvent::ListError(Box::new(error)));
                        return;
                    }
                    Err(error) => {
                        let _ = sender.send(FeedEvent::ListError(Box::new(error)));
                    }
                }
                sleep(LIST_INTERVAL).await;
            }
        });
        Self {
            events,
            _polls: polls,
        }
    }
}

async fn poll_job<S: Surface>(
    client: &Client<S>,
    id: &JobId,
    timeout: Option<Duration>,
    sender: &UnboundedSender<FeedEvent>,
) -> Result<(), Error> {
    let handle = client.jobs().handle(id);
    let updates = handle.updates();
    // The time limit begins before the first read. If that takes too long, the first update is the
    // error of the time limit.
    let (mut updates, first) = match timeout {
        Some(limit) => {
            let read = tokio::time::timeout(limit, handle.get().into_future());
            (updates.timeout(limit), read.await.ok())
        }
        None => (updates.no_timeout(), Some(handle.get().await)),
    };
    let mut shown = None;
    if let Some(job) = first.transpose()? {
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

/// Reads pages until the jobs that were active have been seen again, the first time all of them.
/// Returns the jobs that are active now.
async fn read_newest<S: Surface>(
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
