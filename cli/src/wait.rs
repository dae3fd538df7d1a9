//! Waiting for a job, and fetching what it made.
//!
//! When to ask is the SDK's; here is what a person sees meanwhile, what Ctrl-C does, and what is
//! said when the wait ends without a result.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use svc_sdk::contract::limits::SUGGESTED_VIDEO_DEADLINE;
use svc_sdk::types::JobResult;
use svc_sdk::{JobHandle, Surface, WaitOptions};
use tokio::sync::mpsc;

use crate::args::{Timeout, WaitArgs};
use crate::clock;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::journal::Outcome;
use crate::output::live::Live;
use crate::output::{Table, untrusted::clean};
use crate::session::{Session, choice};

/// What a job came to, with its files where they were downloaded.
#[derive(Debug, Serialize)]
pub(crate) struct Finished {
    #[serde(flatten)]
    pub(crate) result: JobResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<StoredFile>>,
}

/// A file on disk.
#[derive(Debug, Serialize)]
pub(crate) struct StoredFile {
    pub(crate) path: String,
    pub(crate) bytes: u64,
}

/// A job that is waited for.
#[derive(Debug)]
pub(crate) struct Waiting<'a, S> {
    pub(crate) session: &'a Session,
    pub(crate) job: JobHandle<S>,
    pub(crate) args: &'a WaitArgs,
    pub(crate) download: Option<&'a Path>,
}

impl<S: Surface> Waiting<'_, S> {
    /// Waits until the job is terminal, then fetches its files, where that was asked for.
    pub(crate) async fn finish(&self) -> Result<Finished, Failure> {
        let live = Live::new(&self.session.printer, self.job.id().as_str());
        let result = tokio::select! {
            biased;
            result = self.result(&live) => result.map_err(|failure| self.with_resume(failure)),
            () = self.session.interrupts.first() => Err(self.interrupted().await),
        }?;
        let Some(folder) = self.download else {
            return Ok(Finished {
                result,
                files: None,
            });
        };
        let files = tokio::select! {
            biased;
            files = self.files(&result, folder, &live) => files,
            () = self.session.interrupts.first() => Err(Failure::interrupted()),
        };
        match files {
            Ok(files) => Ok(Finished {
                result,
                files: Some(files),
            }),
            Err(failure) => Err(self.with_download(failure, folder)),
        }
    }

    async fn result(&self, live: &Live<'_>) -> Result<JobResult, Failure> {
        let deadline = match self.args.timeout {
            None => Some(SUGGESTED_VIDEO_DEADLINE),
            Some(Timeout(deadline)) => deadline,
        };
        let mut updates = self.job.updates_with(WaitOptions::default());
        let status = async {
            while let Some(update) = updates.next().await {
                let update = update?;
                live.update(&update);
                if update.is_terminal() {
                    return Ok(update.status.status);
                }
            }
            Ok(None)
        };
        let status: Result<_, svc_sdk::Error> = match deadline {
            None => status.await,
            Some(deadline) => match tokio::time::timeout(deadline, status).await {
                Ok(status) => status,
                Err(_) => {
                    let why = format!(
                        "gave up waiting after {}; the job goes on",
                        clock::say(deadline)
                    );
                    return Err(Failure::new(Exit::StillRunning, why).job(self.job.id().as_str()));
                }
            },
        };
        Ok(self.job.outcome(status.map_err(Failure::from)?).await?)
    }

    /// Fetches the files of a result.
    pub(crate) async fn files(
        &self,
        result: &JobResult,
        folder: &Path,
        live: &Live<'_>,
    ) -> Result<Vec<StoredFile>, Failure> {
        let (tell, mut told) = mpsc::unbounded_channel();
        let on_progress = Arc::new(move |progress| {
            // Whoever stopped looking needs no progress.
            let _ = tell.send(progress);
        });
        let mut fetching = Box::pin(self.job.download_result(result, folder, Some(on_progress)));
        let files = loop {
            tokio::select! {
                files = &mut fetching => break files,
                Some(progress) = told.recv() => live.downloading(progress),
            }
        };
        let stored = |file: svc_sdk::download::Downloaded| StoredFile {
            path: file.path.display().to_string(),
            bytes: file.bytes,
        };
        Ok(files
            .map_err(Failure::from)?
            .into_iter()
            .map(stored)
            .collect())
    }

    /// After the first Ctrl-C: leaves the job alone, or cancels it where that was asked for.
    async fn interrupted(&self) -> Failure {
        let id = self.job.id().as_str();
        if !self.args.cancel_on_interrupt {
            return self.with_resume(
                Failure::new(Exit::Interrupted, "interrupted; the job goes on").job(id),
            );
        }
        self.session
            .printer
            .note(&format!("canceling {}", clean(id)));
        match self.job.cancel().await {
            Ok(job) => Failure::new(
                Exit::Interrupted,
                format!("interrupted; the job is {}", job.status),
            )
            .job(id),
            Err(error) => {
                let failure = Failure::from(error);
                let why = format!(
                    "interrupted; could not cancel the job: {}",
                    failure.headline()
                );
                self.with_resume(Failure::new(Exit::Interrupted, why).job(id))
            }
        }
    }

    /// The failure with the command that goes on, where there is something to go on with.
    fn with_resume(&self, failure: Failure) -> Failure {
        let failure = failure.job(self.job.id().as_str());
        let over = match failure.exit() {
            Exit::JobFailed | Exit::JobCanceled => true,
            // An id that was typed leads nowhere; one that was paid for may yet be found.
            Exit::NotFound => self.job.receipt().is_none(),
            _ => false,
        };
        // The sandbox ends with the process: nothing of it can be taken up.
        if over || self.session.is_sandbox() {
            return failure;
        }
        let id = self.job.id().as_str();
        let mut words = vec!["job", "wait", id];
        let folder = self.download.map(|folder| folder.display().to_string());
        if let Some(folder) = &folder {
            words.extend(["--download", folder]);
        }
        failure.resume(self.session.resume_on(choice::<S>(), &words))
    }

    /// The failure with the command that downloads again.
    pub(crate) fn with_download(&self, failure: Failure, folder: &Path) -> Failure {
        let folder = folder.display().to_string();
        let words = ["job", "download", self.job.id().as_str(), "--dir", &folder];
        let failure = failure.job(self.job.id().as_str());
        if self.session.is_sandbox() {
            return failure;
        }
        failure.resume(self.session.resume_on(choice::<S>(), &words))
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

/// What a person was told of a job's end, as the journal keeps it.
pub(crate) fn outcome_of<T>(end: &Result<T, Failure>) -> Option<Outcome> {
    match end {
        Ok(_) => Some(Outcome::Completed),
        Err(failure) => match failure.exit() {
            // Its reader has what it wanted.
            Exit::Done => Some(Outcome::Completed),
            Exit::JobFailed => Some(Outcome::Failed),
            Exit::JobCanceled => Some(Outcome::Canceled),
            _ => None,
        },
    }
}

/// What a job came to, as a table.
pub(crate) fn table(finished: &Finished) -> Table {
    let result = &finished.result;
    let mut table = Table::of_fields();
    table.field("job", result.job_id.as_ref());
    table.field("status", result.status.as_ref());
    for artifact in result.artifacts() {
        table.field(
            artifact.content_type.as_deref().unwrap_or("artifact"),
            Some(&artifact.url),
        );
    }
    for file in finished.files.iter().flatten() {
        table.field(
            "file",
            Some(format!("{} ({} bytes)", file.path, file.bytes)),
        );
    }
    if let Some(error) = &result.error {
        table.field("error", Some(format!("{} ({})", error.message, error.code)));
    }
    table
}
