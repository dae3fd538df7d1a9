//! Waiting for a job, a run or a bulk queue, and fetching what it made.
//!
//! When to ask is the SDK's; here is what a person sees meanwhile, what Ctrl-C does, and what is
//! said when the wait ends without a result.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::args::{Timeout, WaitArgs};
use crate::clock;
use crate::error::Exit;
use crate::error::Failure;
use crate::output::Live;
use crate::resource::{Stopped, Subject};
use crate::session::Session;
use crate::text::clean;
use crate::types::Outcome;

/// What is waited for.
#[derive(Debug)]
pub(crate) struct Waiting<'a, H> {
    pub(crate) session: &'a Session,
    pub(crate) subject: H,
    pub(crate) args: &'a WaitArgs,
    pub(crate) download: Option<&'a Path>,
}

impl<H: Subject> Waiting<'_, H> {
    /// Waits until it is through, then fetches its files, where that was asked for.
    pub(crate) async fn finish(&self) -> Result<H::End, Failure> {
        let live = Live::new(&self.session.printer, self.subject.subject_id().id());
        let mut end = tokio::select! {
            biased;
            end = self.end(&live) => end.map_err(|failure| self.with_resume(failure)),
            () = self.session.interrupts.first() => Err(self.interrupted().await),
        }?;
        let Some(folder) = self.download else {
            return Ok(end);
        };
        let files = tokio::select! {
            biased;
            files = self.files(&mut end, folder, &live) => files,
            () = self.session.interrupts.first() => Err(Failure::interrupted()),
        };
        match files {
            Ok(()) => Ok(end),
            Err(failure) => Err(self.with_download(failure, folder)),
        }
    }

    async fn end(&self, live: &Live<'_>) -> Result<H::End, Failure> {
        let deadline = match self.args.timeout {
            None => H::PATIENCE,
            Some(Timeout(deadline)) => deadline,
        };
        let mut updates = self.subject.watch();
        let status = async {
            while let Some(update) = updates.next().await {
                let update = update?;
                H::show(live, &update);
                if update.is_terminal() {
                    return Ok(update.status);
                }
            }
            Ok(self.subject.unknown())
        };
        let status: Result<_, svc_sdk::Error> = match deadline {
            None => status.await,
            Some(deadline) => match tokio::time::timeout(deadline, status).await {
                Ok(status) => status,
                Err(_) => {
                    let why = format!(
                        "gave up waiting after {}; the {} goes on",
                        clock::say(deadline),
                        H::NOUN
                    );
                    return Err(
                        Failure::new(Exit::StillRunning, why).about(self.subject.subject_id())
                    );
                }
            },
        };
        self.subject.end(status?).await
    }

    async fn files(&self, end: &mut H::End, folder: &Path, live: &Live<'_>) -> Result<(), Failure> {
        let (tell, mut told) = mpsc::unbounded_channel();
        let on_progress = Arc::new(move |progress| {
            // Whoever stopped looking needs no progress.
            let _ = tell.send(progress);
        });
        let mut fetching = Box::pin(self.subject.fetch(end, folder, on_progress));
        loop {
            tokio::select! {
                files = &mut fetching => break files,
                Some(progress) = told.recv() => live.downloading(progress),
            }
        }
    }

    /// After the first Ctrl-C: leaves it alone, or cancels it where that was asked for.
    async fn interrupted(&self) -> Failure {
        let id = self.subject.subject_id();
        let noun = H::NOUN;
        if !self.args.cancel_on_interrupt {
            let why = format!("interrupted; the {noun} goes on");
            return self.with_resume(Failure::new(Exit::Interrupted, why).about(id));
        }
        self.session
            .printer
            .note(&format!("canceling {}", clean(id.id())));
        match self.subject.stop().await {
            Ok(Stopped { said, canceled }) => {
                let failure = Failure::new(
                    Exit::Interrupted,
                    format!("interrupted; the {noun} is {said}"),
                );
                match canceled {
                    true => failure.about(id).over(Outcome::Canceled),
                    false => failure.about(id),
                }
            }
            Err(error) => {
                let failure = Failure::from(error);
                let why = format!(
                    "interrupted; could not cancel the {noun}: {}",
                    failure.headline()
                );
                self.with_resume(Failure::new(Exit::Interrupted, why).about(id))
            }
        }
    }

    /// The failure with the command that goes on, where there is something to go on with.
    fn with_resume(&self, failure: Failure) -> Failure {
        let failure = failure.about(self.subject.subject_id());
        let over = match failure.exit() {
            Exit::JobFailed | Exit::JobCanceled | Exit::Skipped => true,
            // An id that was typed leads nowhere; one that was paid for may yet be found.
            Exit::NotFound => !self.subject.is_receipted(),
            _ => false,
        };
        // The sandbox ends with the process: nothing of it can be taken up.
        if over || self.session.is_sandbox() {
            return failure;
        }
        failure.resume(self.subject.again(self.session, self.download))
    }

    /// The failure with the command that downloads again.
    fn with_download(&self, failure: Failure, folder: &Path) -> Failure {
        let failure = failure.about(self.subject.subject_id());
        if self.session.is_sandbox() {
            return failure;
        }
        failure.resume(self.subject.fetch_again(self.session, folder))
    }
}

/// Finds out whether files can be stored there, before anything is paid for or waited for. Nothing
/// is left behind.
pub(crate) fn can_store(folder: &Path) -> Result<(), Failure> {
    let absolute = std::path::absolute(folder)
        .map_err(|error| Failure::file("cannot store in", folder, &error))?;
    let existing = absolute
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(&absolute);
    match tempfile::tempfile_in(existing) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::file("cannot store in", folder, &error)),
    }
}

/// What a person was told of the end of what was submitted, as the journal keeps it.
pub(crate) fn outcome_of<T>(end: &Result<T, Failure>) -> Option<Outcome> {
    match end {
        Ok(_) => Some(Outcome::Completed),
        Err(failure) => match failure.exit() {
            // Its reader has what it wanted.
            Exit::Done => Some(Outcome::Completed),
            Exit::JobFailed => Some(Outcome::Failed),
            Exit::JobCanceled => Some(Outcome::Canceled),
            Exit::Skipped => Some(Outcome::Skipped),
            _ => failure.outcome(),
        },
    }
}
