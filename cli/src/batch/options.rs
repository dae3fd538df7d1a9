//! Options of a batch.

use std::path::PathBuf;

use svc_sdk::contract::Operation;
use svc_sdk::types::Usd;

use super::journal;
use crate::args::{DownloadArgs, SurfaceChoice, Timeout};
use crate::batch::plan::surface_of;
use crate::session::Session;

/// The maximum number of jobs in flight, unless `--concurrency` sets another.
const DEFAULT_CONCURRENCY: usize = 500;

/// What to run, and within which limits.
#[derive(Clone, Debug)]
pub(crate) struct BatchOptions {
    pub(crate) manifest: PathBuf,
    pub(crate) operation: Option<Operation>,
    pub(crate) concurrency: Option<usize>,
    pub(crate) max_spend: Option<Usd>,
    pub(crate) download: DownloadArgs,
    pub(crate) retry_failed: bool,
    pub(crate) journal: Option<PathBuf>,
    pub(crate) timeout: Option<Timeout>,
    pub(crate) dry_run: bool,
    pub(crate) yes: bool,
}

impl BatchOptions {
    /// Returns the operation of lines without an `operation`.
    pub(super) fn default_operation(&self) -> Operation {
        self.operation.unwrap_or(Operation::VideoGenerate)
    }

    /// Returns the maximum number of jobs in flight.
    pub(super) fn max_in_flight(&self) -> usize {
        self.concurrency.unwrap_or(DEFAULT_CONCURRENCY)
    }

    /// Returns the path of the journal.
    pub(super) fn journal_path(&self) -> PathBuf {
        match &self.journal {
            Some(path) => path.clone(),
            None => journal::default_path(&self.manifest),
        }
    }

    /// Returns the command that shows the status of the batch.
    pub(super) fn status_command(&self, session: &Session) -> String {
        let path = |path: &PathBuf| path.display().to_string();
        let mut words = vec!["batch".to_owned(), "status".to_owned(), path(&self.manifest)];
        if let Some(journal) = &self.journal {
            words.extend(["--journal".to_owned(), path(journal)]);
        }
        session.resume_command(SurfaceChoice::Open, &words)
    }

    /// Returns the command that runs the batch again, with additional flags.
    pub(super) fn command(&self, session: &Session, flags: &[&str]) -> String {
        let mut words = vec!["batch".to_owned(), "run".to_owned()];
        words.push(self.manifest.display().to_string());
        let mut flag = |name: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
        };
        flag("--operation", self.operation.map(|it| it.name().to_owned()));
        flag("--concurrency", self.concurrency.map(|it| it.to_string()));
        flag("--max-spend", self.max_spend.map(|it| it.to_string()));
        let path = |path: &PathBuf| path.display().to_string();
        flag("--download", self.download.download.as_ref().map(path));
        let name = self.download.files.name.as_ref();
        flag("--name", name.map(ToString::to_string));
        flag("--journal", self.journal.as_ref().map(path));
        if self.download.files.overwrite {
            words.push("--overwrite".to_owned());
        }
        words.extend(flags.iter().map(|flag| (*flag).to_owned()));
        session.resume_command(surface_of(self.default_operation()), &words)
    }
}
