//! Waiting for jobs, runs and bulk queues, and downloading their files.
//!
//! The SDK decides when to poll. This module shows the progress, handles Ctrl-C, and reports how to
//! continue after a wait that ended without a result.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join_all;
use serde::Serialize;
use svc_sdk::handle::Handle;
use tokio::sync::mpsc;

use crate::args::{Timeout, WaitArgs};
use crate::download::DownloadPlan;
use crate::error::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output::object::Shown;
use crate::output::{ObjectKind, ProgressLine, Table};
use crate::resource::{Finished, Outcome, ResourceId, ResourceKind, Stopped, with_retry_command};
use crate::session::Session;
use crate::text::sanitize;

/// A resource to wait for, and what to do with its result.
#[derive(Debug)]
pub(crate) struct Waiter<'a, R: ResourceKind> {
    pub(crate) session: &'a Session,
    pub(crate) resource: Handle<R>,
    pub(crate) args: &'a WaitArgs,
    pub(crate) download: Option<&'a DownloadPlan>,
}

impl<R: ResourceKind> Waiter<'_, R> {
    /// Waits for the result, then downloads the files if there is a plan for that. A failed download
    /// is part of the result.
    pub(crate) async fn wait(&self) -> Result<R::Finished, Failure> {
        let live = ProgressLine::new(&self.session.printer, R::resource_id(&self.resource).id());
        let mut finished = tokio::select! {
            biased;
            finished = self.finished(&live) => finished.map_err(|failure| self.with_resume(failure)),
            interrupt = self.session.interrupts.first() => Err(self.interrupted(interrupt).await),
        }?;
        let Some(plan) = self.download else { return Ok(finished) };
        tokio::select! {
            biased;
            () = self.download(&mut finished, plan, &live) => Ok(finished),
            _ = self.session.interrupts.first() => Err(self.with_download(Failure::interrupted(), plan)),
        }
    }

    async fn finished(&self, live: &ProgressLine<'_>) -> Result<R::Finished, Failure> {
        let updates = self.resource.updates();
        let mut updates = match self.args.timeout {
            None => updates,
            Some(Timeout(Some(timeout))) => updates.timeout(timeout),
            Some(Timeout(None)) => updates.no_timeout(),
        };
        while let Some(update) = updates.next().await {
            R::show_status(live, &update?);
        }
        R::result(&self.resource, updates).await
    }

    async fn download(
        &self,
        finished: &mut R::Finished,
        plan: &DownloadPlan,
        live: &ProgressLine<'_>,
    ) {
        let (sender, mut progress_updates) = mpsc::unbounded_channel();
        let on_progress = Arc::new(move |progress| {
            // The receiver is gone only after the download was interrupted.
            let _ = sender.send(progress);
        });
        let session = self.session;
        let mut download =
            Box::pin(R::download(&self.resource, session, finished, plan, on_progress));
        loop {
            tokio::select! {
                () = &mut download => break,
                Some(progress) = progress_updates.recv() => live.downloading(&progress),
            }
        }
        while let Ok(progress) = progress_updates.try_recv() {
            live.downloading(&progress);
        }
    }

    /// Handles the first signal: Ctrl-C cancels the resource with `--cancel-on-interrupt`.
    async fn interrupted(&self, interrupt: Interrupt) -> Failure {
        let id = R::resource_id(&self.resource);
        let noun = R::NOUN;
        if !self.args.cancel_on_interrupt || interrupt != Interrupt::CtrlC {
            let why = format!("interrupted; the {noun} keeps running");
            return self.with_resume(Failure::new(Exit::Interrupted, why).for_resource(id));
        }
        self.session.printer.note(&format!("Canceling {}…", sanitize(id.id())));
        match R::stop(&self.resource).await {
            Ok(Stopped { description, is_canceled }) => {
                let failure = Failure::new(
                    Exit::Interrupted,
                    format!("interrupted; the {noun} is {description}"),
                );
                match is_canceled {
                    true => failure.for_resource(id).with_outcome(Outcome::Canceled),
                    false => failure.for_resource(id),
                }
            }
            Err(error) => {
                let failure = Failure::from(error);
                let why = format!("interrupted; cannot cancel the {noun}: {}", failure.headline());
                self.with_resume(Failure::new(Exit::Interrupted, why).for_resource(id))
            }
        }
    }

    /// Adds the command that resumes the wait, unless the failure is final.
    fn with_resume(&self, failure: Failure) -> Failure {
        let failure = failure.for_resource(R::resource_id(&self.resource));
        let is_final = match failure.exit() {
            Exit::JobFailed | Exit::JobCanceled | Exit::Skipped => true,
            // An id that the user typed does not exist. One from a receipt may still appear.
            Exit::NotFound => self.resource.receipt().is_none(),
            _ => false,
        };
        // The sandbox ends with the process, so nothing can be resumed.
        if is_final || self.session.is_sandbox() {
            return failure;
        }
        failure.with_resume(R::wait_command(&self.resource, self.session, self.download))
    }

    /// Adds the command that retries the download.
    fn with_download(&self, failure: Failure, plan: &DownloadPlan) -> Failure {
        with_retry_command(failure, &self.resource, self.session, plan)
    }
}

/// The options of a wait for several resources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitOptions<'a> {
    pub(crate) session: &'a Session,
    pub(crate) args: &'a WaitArgs,
    pub(crate) download: Option<&'a DownloadPlan>,
}

impl<'a> WaitOptions<'a> {
    pub(crate) async fn wait<R: ResourceKind>(
        self,
        resource: Handle<R>,
    ) -> Result<R::Finished, Failure> {
        let Self { session, args, download } = self;
        let waiter = Waiter { session, resource, args, download };
        waiter.wait().await
    }
}

/// Resources of one noun that a command waits for together: jobs of a surface, or runs.
pub(crate) trait WaitGroup {
    type Result: Serialize;

    const KIND: ObjectKind;
    const NOUNS: &'static str;

    fn resource_id(id: String) -> ResourceId;

    async fn wait(&self, id: &str) -> Result<Finished<Self::Result>, Failure>;

    /// Returns the outcome that the journal records for a result.
    fn outcome(result: &Self::Result) -> Option<Outcome>;

    /// Prints the result of the only resource.
    fn print_one(&self, id: &str, finished: Finished<Self::Result>) -> Result<(), Failure>;

    /// Says how one of several resources ended. Returns the failure of one that did not complete.
    fn report(&self, _: &str, _: &Finished<Self::Result>) -> Option<Failure> {
        None
    }

    /// Returns a resource that ended without a result, to be printed beside the others.
    fn ended(_: &str, _: &Failure) -> Option<Finished<Self::Result>> {
        None
    }

    /// Returns the table of several results.
    fn table(finished: &[Finished<Self::Result>]) -> Table;

    fn wait_command(&self, ids: &[&str]) -> String;
}

/// Waits for resources concurrently, and prints their results. If several did not complete, the first
/// failure decides the exit code.
pub(crate) async fn wait_for_all<G: WaitGroup>(
    group: &G,
    ids: Vec<String>,
    options: WaitOptions<'_>,
    base_url: &str,
) -> Result<(), Failure> {
    if let Some(plan) = options.download {
        plan.check_names_of(ids.len())?;
    }
    let results = join_all(ids.iter().map(|id| Box::pin(group.wait(id)))).await;
    let outcome = |result: &Result<Finished<G::Result>, Failure>| match result {
        // The intent stays open while files are missing.
        Ok(finished) if finished.failure.is_some() => None,
        Ok(finished) => G::outcome(&finished.result),
        Err(failure) => outcome_of_failure(failure),
    };
    let outcomes: Vec<Option<Outcome>> = results.iter().map(outcome).collect();
    let printed = match (<[_; 1]>::try_from(results), ids.as_slice()) {
        (Ok([result]), [id]) => result.and_then(|finished| group.print_one(id, finished)),
        (Ok(results), _) => print_all(group, results.into(), &ids, options),
        (Err(results), _) => print_all(group, results, &ids, options),
    };
    for (id, outcome) in ids.into_iter().zip(outcomes) {
        let id = G::resource_id(id);
        options.session.close_intent(base_url, &id, outcome).await;
    }
    printed
}

fn print_all<G: WaitGroup>(
    group: &G,
    results: Vec<Result<Finished<G::Result>, Failure>>,
    ids: &[String],
    options: WaitOptions<'_>,
) -> Result<(), Failure> {
    let (mut all_finished, mut shown) = (Vec::new(), Vec::new());
    let mut failures = Vec::new();
    for (result, id) in results.into_iter().zip(ids) {
        let failure = match result {
            Ok(mut finished) => {
                let failure = group.report(id, &finished);
                let failure = match (failure, finished.failure.take()) {
                    (Some(failure), Some(download)) => Some(failure.with_part(download)),
                    (failure, download) => failure.or(download),
                };
                shown.push(Shown::new(G::KIND, &finished));
                all_finished.push(finished);
                failure
            }
            Err(failure) => {
                match G::ended(id, &failure) {
                    Some(finished) => {
                        shown.push(Shown::new(G::KIND, &finished));
                        all_finished.push(finished);
                    }
                    None => shown.push(Shown::failed(id, &failure)),
                }
                Some(failure)
            }
        };
        failures.extend(failure.map(|failure| (id.as_str(), failure)));
    }
    let failure =
        merge_failures(failures, ids.len(), G::NOUNS, options, |ids| group.wait_command(ids));
    let printer = &options.session.printer;
    if !all_finished.is_empty() || !printer.is_table() {
        printer.print_list(&shown, |_| G::table(&all_finished))?;
    }
    failure.map_or(Ok(()), Err)
}

/// Merges the failures of the waits for several resources into one, with a command that resumes those
/// that were interrupted or timed out. The command is created from their ids.
fn merge_failures(
    failures: Vec<(&str, Failure)>,
    total: usize,
    nouns: &str,
    WaitOptions { session, args, download }: WaitOptions<'_>,
    resume: impl FnOnce(&[&str]) -> String,
) -> Option<Failure> {
    let is_unfinished = |failure: &Failure| {
        failure.has_resume() && matches!(failure.exit(), Exit::Interrupted | Exit::StillRunning)
    };
    let is_interrupted = failures.iter().any(|(_, failure)| failure.exit() == Exit::Interrupted);
    let is_canceling = args.cancel_on_interrupt
        && session.interrupts.received().is_none_or(|it| it == Interrupt::CtrlC);
    let count = failures.len();
    let unfinished = failures.iter().filter(|(_, it)| is_unfinished(it));
    let unfinished: Vec<&str> = unfinished.map(|(id, _)| *id).collect();
    if count < 2 {
        return failures.into_iter().map(|(_, failure)| failure).next();
    }
    let mut merged = if unfinished.len() == count && !(is_interrupted && is_canceling) {
        // An interrupt ends all waits that have not timed out before.
        let (exit, what) = match is_interrupted {
            true => (Exit::Interrupted, "interrupted"),
            false => (Exit::StillRunning, "timed out"),
        };
        let why = match download {
            None if is_interrupted => format!("{what}; {count} {nouns} keep running"),
            None => format!("{what}; {count} {nouns} have not ended"),
            Some(_) => format!("{what}; {count} {nouns} are running or not downloaded"),
        };
        Failure::new(exit, why)
    } else {
        let what = match download {
            None => "did not complete",
            Some(_) => "did not complete, or were not downloaded",
        };
        let parts = failures.into_iter().map(|(_, failure)| match () {
            () if is_unfinished(&failure) => failure.without_resume(),
            () => failure,
        });
        Failure::first_of(format!("{count} of {total} {nouns} {what}"), parts.collect())?
    };
    if !unfinished.is_empty() {
        merged = merged.with_resume(resume(&unfinished));
    }
    Some(merged)
}

/// Returns the failure of a wait for jobs or runs without ids.
pub(crate) fn no_ids(noun: &str) -> Failure {
    Failure::usage(format!("no {noun} ids given")).hint(format!(
        "pass one or more {noun} ids, or --last for the newest {noun} submitted from this machine"
    ))
}

/// Returns the ids without repetitions, the first of each.
pub(crate) fn without_duplicates(mut ids: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    ids
}

/// Returns the outcome that the journal records for the result of a command.
pub(crate) fn outcome_of<T>(finished: &Result<T, Failure>) -> Option<Outcome> {
    match finished {
        Ok(_) => Some(Outcome::Completed),
        Err(failure) => outcome_of_failure(failure),
    }
}

fn outcome_of_failure(failure: &Failure) -> Option<Outcome> {
    match failure.exit() {
        // The reader of standard output has closed it, after the resource completed.
        Exit::Done => Some(Outcome::Completed),
        Exit::JobFailed => Some(Outcome::Failed),
        Exit::JobCanceled => Some(Outcome::Canceled),
        Exit::Skipped => Some(Outcome::Skipped),
        _ => failure.outcome(),
    }
}
