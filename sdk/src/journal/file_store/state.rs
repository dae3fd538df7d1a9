//! The state of an open store: its log between two batches of operations, and what errors have left.

use std::path::PathBuf;

use super::compaction::{self, MIN_ENDED};
use super::disk::DiskFile;
use super::folder::Folder;
use super::log::Log;
use super::operations::Session;
use super::owners::Ownership;
use crate::journal::store::StoreError;

/// An operation. It is called with the locked log, and returns what answers the caller when the log is
/// flushed.
pub(super) type StoreOperation =
    Box<dyn FnOnce(Result<&mut Session<'_>, &StoreError>) -> JobAnswer + Send>;

pub(super) type JobAnswer = Box<dyn FnOnce(Result<(), &StoreError>) + Send>;

#[derive(Debug)]
pub(super) enum Place {
    Folder(Folder),
    SingleFile(PathBuf),
}

#[derive(Debug)]
pub(super) struct LogAccess {
    place: Place,
    /// `None` after an error, until the log is loaded again.
    log: Option<Log>,
    /// `None` after the store was closed.
    ownership: Option<Ownership>,
    /// The log that must not be written any more.
    broken: Option<PathBuf>,
    /// The number of lines at which the log is compacted if that is worth it.
    compaction_check: usize,
}

impl LogAccess {
    pub(super) fn new(place: Place, log: Log, ownership: Ownership) -> Self {
        Self {
            place,
            log: Some(log),
            ownership: Some(ownership),
            broken: None,
            compaction_check: MIN_ENDED,
        }
    }

    pub(super) fn close(&mut self) {
        (self.log, self.ownership) = (None, None);
    }

    /// Does the jobs, flushes the log once, and answers all.
    pub(super) fn run(&mut self, jobs: Vec<StoreOperation>) {
        let Some(mut ownership) = self.ownership.take() else {
            return refuse(jobs, &StoreError::message("the store is closed"));
        };
        match self.lock_log() {
            Ok((_lock, log)) => match ownership.keep_file() {
                Ok(()) => self.run_on(log, &ownership, jobs),
                Err(error) => refuse(jobs, &error),
            },
            Err(error) => refuse(jobs, &error),
        }
        self.ownership = Some(ownership);
    }

    fn run_on(&mut self, mut log: Log, ownership: &Ownership, jobs: Vec<StoreOperation>) {
        let mut session = Session { log: &mut log, ownership };
        let jobs = jobs.into_iter();
        let answers: Vec<_> = jobs.map(|job| job(Ok(&mut session))).collect();
        match log.commit() {
            Ok(()) => {
                for answer in answers {
                    answer(Ok(()));
                }
                self.log = self.compact_if_worth(log);
            }
            Err(error) => {
                self.log = match &self.place {
                    Place::Folder(_) => {
                        self.broken = error.is_broken.then(|| log.path().to_owned());
                        None
                    }
                    Place::SingleFile(_) if error.is_broken => None,
                    Place::SingleFile(_) => log.reload().ok(),
                };
                let error = StoreError::from(error);
                for answer in answers {
                    answer(Err(&error));
                }
            }
        }
    }

    /// Locks the log for this process, and reads what others have written.
    fn lock_log(&mut self) -> Result<(Option<Box<dyn DiskFile>>, Log), StoreError> {
        match &self.place {
            Place::Folder(folder) => {
                let lock = folder.lock()?;
                let mut log = folder.refresh(self.log.take())?;
                if self.broken.as_deref() == Some(log.path()) {
                    // What could not be flushed once may be shown without being on the disk.
                    log = compaction::compact(folder, log)?;
                }
                self.broken = None;
                Ok((Some(lock), log))
            }
            Place::SingleFile(path) => match self.log.take() {
                Some(log) => Ok((None, log)),
                None => {
                    let path = path.display();
                    let what = format!("cannot write to {path} after an error: open it again");
                    Err(StoreError::message(what))
                }
            },
        }
    }

    fn compact_if_worth(&mut self, log: Log) -> Option<Log> {
        let Place::Folder(folder) = &self.place else { return Some(log) };
        let lines = log.index.line_count();
        let next_check = lines + MIN_ENDED;
        self.compaction_check = self.compaction_check.min(next_check);
        if lines < self.compaction_check {
            return Some(log);
        }
        self.compaction_check = next_check;
        if !compaction::is_worth(&log) {
            return Some(log);
        }
        // If it fails, the log remains.
        let compacted = compaction::compact(folder, log).ok()?;
        self.compaction_check = compacted.index.line_count() + MIN_ENDED;
        Some(compacted)
    }
}

/// Answers jobs that cannot be done.
fn refuse(jobs: Vec<StoreOperation>, error: &StoreError) {
    for job in jobs {
        job(Err(error))(Ok(()));
    }
}
