//! `svc job watch`: the status of jobs as it changes, on a live screen or as lines.
//!
//! `feed` polls the jobs, cancels, downloads and opens. On a terminal, `screen` shows them: `model` is
//! what is shown, its rows the jobs, and what the keys do to it; `view` draws it. Elsewhere, a line is printed for
//! each change.

mod feed;
mod model;
mod row;
mod screen;
mod view;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use svc_sdk::ClientSurface;
use svc_sdk::contract::JobStatus;
use svc_sdk::types::{Job, JobId};

use crate::clock;
use crate::error::{Exit, Failure, Result, SuggestedCommand, Suggestion};
use crate::follow::watch::feed::{Feed, FeedEvent};
use crate::output::ObjectKind;
use crate::output::values::error_text;
use crate::output::write_stdout;
use crate::request::pricing::EstimateSource;
use crate::session::{Access, Session, surface_choice};

#[derive(Debug)]
pub(crate) struct WatchOptions {
    /// The ids of the jobs, or none for all jobs of the API key, newest first.
    pub(crate) ids: Vec<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) folder: PathBuf,
}

/// Watches jobs until all given ones have ended, or until the user leaves the screen.
pub(crate) async fn watch<S: EstimateSource>(
    session: &Session,
    access: &Access<S>,
    options: WatchOptions,
) -> Result {
    if session.printer.can_show_screen() {
        return screen::run(session, access, options).await;
    }
    if options.ids.is_empty() {
        let reason = match session.printer.is_dumb() {
            true => "the terminal cannot show the screen (TERM=dumb), so",
            false => "without a terminal,",
        };
        let why =
            format!("no job ids given: {reason} `job watch` needs to know which jobs to wait for");
        let list = ["job", "list", "--status", "processing"];
        let hint = Suggestion::from("pass job ids (list them with: ").svc(list).then(")");
        let wait = Suggestion::from("or wait for a job with: ").svc(["job", "wait", "JOB_ID"]);
        return Err(Failure::usage(why).hint(hint).hint(wait));
    }
    run(session, access, options).await
}

#[derive(Debug, Serialize)]
struct StatusLine<'a> {
    object: &'static str,
    id: &'a JobId,
    job_id: &'a JobId,
    status: &'a JobStatus,
    at: String,
    terminal: bool,
}

async fn run<S: ClientSurface>(
    session: &Session,
    access: &Access<S>,
    options: WatchOptions,
) -> Result {
    let mut feed = Feed::of_jobs(&access.client, &options.ids, options.timeout);
    let mut statuses: HashMap<String, JobStatus> = HashMap::new();
    let mut failures: HashMap<String, Failure> = HashMap::new();
    loop {
        let event = tokio::select! {
            biased;
            event = feed.events.recv() => event,
            _ = session.interrupts.first() => {
                let failure = Failure::interrupted();
                return Err(failure.with_resume(resume_command::<S>(session, &options.ids, &statuses)));
            }
        };
        match event {
            // All polls have ended.
            None => break,
            Some(FeedEvent::Job(job)) => {
                let previous = statuses.insert(job.id.to_string(), job.status.clone());
                if previous.as_ref() != Some(&job.status) {
                    print_line(session, &job)?;
                }
                if let Some(failure) = failure_of(&job) {
                    failures.insert(job.id.to_string(), failure);
                }
            }
            Some(FeedEvent::JobError(id, error)) => {
                let mut failure = Failure::from(*error).for_job(id.as_str());
                if failure.exit() == Exit::StillRunning {
                    failure =
                        failure.with_resume(resume_command::<S>(session, &options.ids, &statuses));
                }
                failures.insert(id.to_string(), failure);
            }
            Some(FeedEvent::ListRead) => {}
            Some(FeedEvent::ListError(error)) => return Err(Failure::from(*error)),
        }
    }
    let in_order = options.ids.iter().filter_map(|id| failures.remove(id));
    let in_order: Vec<Failure> = in_order.collect();
    let (count, has_resume) = (in_order.len(), in_order.iter().any(Failure::has_resume));
    let resume = || resume_command::<S>(session, &options.ids, &statuses);
    let mut in_order = merge_timed_out(in_order, resume);
    if in_order.len() <= 1 {
        return in_order.pop().map_or(Ok(()), Err);
    }
    let total = options.ids.len();
    let failure = Failure::several(
        format!("{count} of {total} jobs did not complete"),
        in_order.into_iter().map(Failure::without_resume).collect(),
    );
    Err(if has_resume { failure.with_resume(resume()) } else { failure })
}

fn merge_timed_out(
    failures: Vec<Failure>,
    resume: impl FnOnce() -> SuggestedCommand,
) -> Vec<Failure> {
    let is_timed_out = |failure: &Failure| failure.exit() == Exit::StillRunning;
    let count = failures.iter().filter(|it| is_timed_out(it)).count();
    if count < 2 {
        return failures;
    }
    let why = format!("timed out; {count} jobs have not ended");
    let mut merged = Some(Failure::new(Exit::StillRunning, why).with_resume(resume()));
    let failures = failures.into_iter();
    failures
        .filter_map(|failure| if is_timed_out(&failure) { merged.take() } else { Some(failure) })
        .collect()
}

fn print_line(session: &Session, job: &Job) -> Result {
    let line = StatusLine {
        object: ObjectKind::Job.as_str(),
        id: &job.id,
        job_id: &job.id,
        status: &job.status,
        at: format!("{:.3}", clock::now()),
        terminal: job.status.is_terminal(),
    };
    let text =
        session.printer.format_line(&line, |line| format!("{}  {}", line.job_id, line.status))?;
    write_stdout(text.as_bytes())
}

fn failure_of(job: &Job) -> Option<Failure> {
    let (exit, what) = match job.status {
        JobStatus::Failed => (Exit::JobFailed, "failed"),
        JobStatus::Canceled => (Exit::JobCanceled, "was canceled"),
        _ => return None,
    };
    let reason = job.error.as_ref().map(|error| format!(": {}", error_text(error)));
    let message = format!("{} {what}{}", job.id, reason.unwrap_or_default());
    Some(Failure::new(exit, message).for_job(job.id.as_str()))
}

fn resume_command<S: ClientSurface>(
    session: &Session,
    ids: &[String],
    statuses: &HashMap<String, JobStatus>,
) -> SuggestedCommand {
    let has_ended = |id: &&String| statuses.get(*id).is_some_and(JobStatus::is_terminal);
    let mut words = vec!["job", "watch"];
    words.extend(ids.iter().filter(|id| !has_ended(id)).map(String::as_str));
    session.resume_command_on(surface_choice::<S>(), &words)
}
