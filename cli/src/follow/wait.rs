//! Waiting for jobs, runs and bulk queues, and downloading their files.
//!
//! The SDK decides when to poll. This module shows the progress, handles Ctrl-C, and reports how to
//! continue after a wait that ended without a result.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;
use svc_sdk::handle::Handle;
use tokio::sync::mpsc;

use crate::args::{ReceiptArgs, Timeout, WaitArgs};
use crate::download::DownloadPlan;
use crate::error::{Exit, Failure, Result, SuggestedCommand};
use crate::follow::{
    ResourceKind, Stopped, WaitTogether, resource_id, several, with_retry_command,
};
use crate::interrupt::Interrupt;
use crate::output::object::Shown;
use crate::output::{ObjectKind, ProgressLine};
use crate::resource::Outcome;
use crate::session::Session;
use crate::text::{sanitize, shell_quote};

#[derive(Debug)]
pub(crate) struct Waiter<'a, R: ResourceKind> {
    pub(crate) session: &'a Session,
    pub(crate) resource: Handle<R>,
    pub(crate) args: &'a WaitArgs,
    pub(crate) download: Option<&'a DownloadPlan>,
}

impl<R: ResourceKind> Waiter<'_, R> {
    /// Waits, and downloads as planned. A failed download is part of the result.
    pub(crate) async fn wait(&self) -> Result<R::Finished> {
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
            _ = self.session.interrupts.first() => {
                let failure = Failure::interrupted();
                Err(with_retry_command(failure, &self.resource, self.session, plan))
            }
        }
    }

    async fn finished(&self, live: &ProgressLine<'_>) -> Result<R::Finished> {
        let updates = self.resource.updates();
        let mut updates = match self.args.timeout {
            None => updates,
            Some(Timeout(Some(timeout))) => updates.timeout(timeout),
            Some(Timeout(None)) => updates.no_timeout(),
        };
        let numbers = R::item_numbers(&self.resource, self.session).await;
        while let Some(update) = updates.next().await {
            R::show_status(live, &update?, &numbers);
        }
        R::result(&self.resource, updates, &numbers).await
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
}

pub(crate) struct Waited {
    /// What is printed of it, unless it is printed.
    shown: Option<Shown>,
    failure: Option<Failure>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitOptions<'a> {
    pub(crate) session: &'a Session,
    pub(crate) args: &'a WaitArgs,
    pub(crate) download: Option<&'a DownloadPlan>,
    pub(crate) kind: ObjectKind,
    pub(crate) receipt_mode: ReceiptArgs,
}

impl WaitOptions<'_> {
    /// Waits for a resource, and prints the result of the only one.
    pub(crate) async fn wait<R: WaitTogether>(self, resource: Handle<R>, is_only: bool) -> Waited {
        let Self { session, args, download, .. } = self;
        let waiter = Waiter { session, resource, args, download };
        let result = Box::pin(waiter.wait()).await;
        let handle = &waiter.resource;
        match result {
            Ok(finished) if is_only => {
                let printed = R::print_result(handle, session, finished, self.receipt_mode);
                Waited { shown: None, failure: printed.err() }
            }
            Ok(finished) => {
                let (shown, failure) = R::report(handle, session, finished);
                Waited { shown: Some(shown), failure }
            }
            Err(failure) => {
                let id = R::resource_id(handle);
                let shown = Some(self.failed(id.id(), &failure));
                Waited { shown, failure: Some(failure) }
            }
        }
    }

    /// Shows a resource that failed, was canceled, or could not be read.
    fn failed(self, id: &str, failure: &Failure) -> Shown {
        let status = match failure.exit() {
            Exit::JobFailed => "failed",
            Exit::JobCanceled => "canceled",
            _ => return Shown::failed(id, failure),
        };
        let json = failure.to_json();
        let member = |name: &str| json.pointer(&format!("/error/{name}"));
        let error = json!({"code": member("code"), "message": member("message")});
        Shown::new(self.kind, &json!({"id": id, "status": status, "error": error}))
    }

    /// The first failure decides the exit code. `resume` returns the command for some of them.
    pub(crate) async fn wait_for_all(
        self,
        ids: Vec<String>,
        base_url: &str,
        wait: impl AsyncFn(&str, bool) -> Waited,
        resume: impl FnOnce(&[&str]) -> SuggestedCommand,
    ) -> Result {
        if let Some(plan) = self.download {
            plan.check_names_of(ids.len())?;
        }
        let is_only = ids.len() == 1;
        let waits = ids.iter().map(|id| Box::pin(wait(id, is_only)));
        let (mut shown, mut failures, mut outcomes) = (Vec::new(), Vec::new(), Vec::new());
        for (id, waited) in ids.iter().zip(join_all(waits).await) {
            outcomes.push(match &waited.failure {
                None => Some(Outcome::Completed),
                Some(failure) => outcome_of_failure(failure),
            });
            shown.extend(waited.shown);
            failures.extend(waited.failure.map(|failure| (id.as_str(), failure)));
        }
        shown.iter().for_each(|shown| self.session.printer.note_status(shown));
        let failure = merge_failures(failures, ids.len(), self, resume);
        let printed = match is_only {
            true => Ok(()),
            false => self.session.printer.print_list(&shown, several),
        };
        for (id, outcome) in ids.into_iter().zip(outcomes) {
            let id = resource_id(self.kind, id);
            self.session.close_intent(base_url, &id, outcome).await;
        }
        printed.and(failure.map_or(Ok(()), Err))
    }
}

/// `resume` returns the command for the waits that were interrupted or timed out.
fn merge_failures(
    failures: Vec<(&str, Failure)>,
    total: usize,
    options: WaitOptions<'_>,
    resume: impl FnOnce(&[&str]) -> SuggestedCommand,
) -> Option<Failure> {
    let WaitOptions { session, args, download, .. } = options;
    let nouns = format!("{}s", options.kind.as_str());
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

pub(crate) fn no_ids(noun: &str) -> Failure {
    Failure::usage(format!("no {noun} ids given")).hint(format!(
        "pass one or more {noun} ids, or --last for the newest {noun} submitted from this machine"
    ))
}

/// Checks that no id is a folder, as one after the ids of a download may be meant.
pub(crate) fn check_no_folder(ids: &[String]) -> Result {
    match ids.iter().find(|id| id.contains('/') || Path::new(id).is_dir()) {
        None => Ok(()),
        Some(folder) => Err(Failure::usage(format!("`{folder}` is a path, not an id"))
            .hint(format!("to download to a folder, write: --dir {}", shell_quote(folder)))),
    }
}

pub(crate) fn without_duplicates(mut ids: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    ids
}

pub(crate) fn outcome_of<T>(finished: &Result<T>) -> Option<Outcome> {
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
