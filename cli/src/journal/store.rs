//! The journal's folders: open intents and the history.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use super::entry::{Entry, Intent, Line};
use super::open_intent::{OpenIntent, append, entry_files, private_dir};
use super::request_hash::RequestHash;
use crate::clock;
use crate::error::Failure;
use crate::files::{private_append, sync_dir, try_lock};
use crate::types::{Outcome, ResourceId};

/// The age at which a temporary file is removed.
const ABANDONED_AFTER: Duration = Duration::from_secs(3600);

/// The journal in a state folder.
#[derive(Debug)]
pub(crate) struct Journal {
    open: PathBuf,
    history: PathBuf,
}

impl Journal {
    /// Creates a journal for a state folder. No files are created yet.
    pub(crate) fn at(state_dir: &Path) -> Self {
        Self {
            open: state_dir.join("open"),
            history: state_dir.join("history"),
        }
    }

    /// Writes an intent to disk and locks it.
    ///
    /// # Errors
    ///
    /// Returns an error if the intent cannot be written.
    pub(crate) fn begin(&self, intent: Intent) -> Result<OpenIntent, Failure> {
        let name = format!("{}-{}.jsonl", intent.request_hash.short(), intent.id);
        let entry = Entry {
            intent,
            resource: None,
            request_id: None,
            outcome: None,
            ended_at: None,
        };
        let path = self.open.join(&name);
        let file = self
            .create(&entry.intent, &name, &path)
            .map_err(|error| self.journal_failure("write", &error))?;
        self.remove_abandoned();
        Ok(OpenIntent {
            file,
            path,
            history: self.history.clone(),
            entry,
        })
    }

    fn create(&self, intent: &Intent, name: &str, path: &Path) -> io::Result<File> {
        if !self.open.try_exists()? {
            private_dir(&self.open)?;
            self.open.parent().map_or(Ok(()), sync_dir)?;
        }
        // The file gets its final name only when it is complete and locked.
        let temporary = self.open.join(format!(".{name}"));
        let mut file = private_append().create_new(true).open(&temporary)?;
        let written = (|| {
            if !try_lock(&file)? {
                return Err(io::Error::other("another process has locked the new file"));
            }
            append(&mut file, &Line::Intent(Box::new(intent.clone())))?;
            fs::rename(&temporary, path)?;
            sync_dir(&self.open)
        })();
        if let Err(error) = written {
            let _ = fs::remove_file(&temporary);
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok(file)
    }

    /// Removes the temporary files of processes that were killed while writing an intent, before
    /// anything was sent. A recent file may belong to a process that is about to lock it.
    fn remove_abandoned(&self) {
        for entry in fs::read_dir(&self.open).into_iter().flatten().flatten() {
            let is_temporary = entry.file_name().to_string_lossy().starts_with('.');
            let modified = entry.metadata().and_then(|it| it.modified()).ok();
            let age = modified
                .and_then(|at| Timestamp::try_from(at).ok())
                .map(|at| clock::elapsed(clock::now(), at));
            if is_temporary && age.is_some_and(|age| age >= ABANDONED_AFTER) {
                // A file that cannot be removed now is left for the next run.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Locks the oldest open intent with that hash whose process is gone.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal cannot be read.
    pub(crate) fn reopen(&self, hash: &RequestHash) -> Result<Option<OpenIntent>, Failure> {
        let read_failure = |error: io::Error| self.journal_failure("read", &error);
        let mut oldest: Option<OpenIntent> = None;
        for path in self.open_files(hash.short()).map_err(read_failure)? {
            let Some(intent) = self.lock_open(path).map_err(read_failure)? else {
                continue;
            };
            if intent.entry.outcome.is_some() {
                // Its process was killed before it moved the file.
                intent.move_to_history().map_err(read_failure)?;
                continue;
            }
            let created_at = intent.entry.intent.created_at;
            let is_older = oldest
                .as_ref()
                .is_none_or(|it| created_at < it.entry.intent.created_at);
            if intent.entry.intent.request_hash == *hash && is_older {
                oldest = Some(intent);
            }
        }
        Ok(oldest)
    }

    /// Closes the open intent of a resource whose outcome another command has reported.
    pub(crate) fn close_matching(&self, base_url: &str, resource: &ResourceId, outcome: Outcome) {
        let is_match = |entry: &Entry| {
            entry.resource.as_ref() == Some(resource) && entry.intent.base_url == base_url
        };
        for path in self.open_files("").unwrap_or_default() {
            // Other files are not locked: a concurrent `reopen` would take a locked file for one
            // whose process is running.
            let is_match_file = fs::read_to_string(&path)
                .ok()
                .and_then(|text| Entry::parse(&text))
                .is_some_and(|it| is_match(&it));
            if is_match_file && let Ok(Some(intent)) = self.lock_open(path) {
                // If it cannot be closed, the same command merely resumes the job.
                let _ = intent.close(outcome);
            }
        }
    }

    /// Returns all entries, open and closed, newest first.
    ///
    /// # Errors
    ///
    /// Returns an error if a folder cannot be read.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, Failure> {
        let mut entries = Vec::new();
        for folder in [&self.open, &self.history] {
            for path in entry_files(folder)
                .map_err(|error| Failure::file("cannot read the journal in", folder, &error))?
            {
                if let Ok(text) = fs::read_to_string(&path) {
                    entries.extend(Entry::parse(&text));
                }
            }
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.intent.created_at));
        Ok(entries)
    }

    /// Without a journal nothing is sent: an interrupted command could be paid for twice.
    fn journal_failure(&self, verb: &str, error: &io::Error) -> Failure {
        Failure::file(&format!("cannot {verb} the journal in"), &self.open, error)
            .context("nothing was sent")
            .hint("free disk space, or choose another directory with SVC_STATE_DIR")
            .hint("or pass --no-journal: an interrupted command may then be paid for twice")
    }

    fn open_files(&self, prefix: &str) -> io::Result<Vec<PathBuf>> {
        let named = |path: &PathBuf| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
        };
        Ok(entry_files(&self.open)?.into_iter().filter(named).collect())
    }

    /// Locks a file in the folder of open intents. Returns `None` if its process is running, or if
    /// the file is gone.
    fn lock_open(&self, path: PathBuf) -> io::Result<Option<OpenIntent>> {
        let mut file = match OpenOptions::new().read(true).append(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // Its process may have moved the file before it was locked. File names are not reused.
        if !try_lock(&file)? || !path.try_exists()? {
            return Ok(None);
        }
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let Some(entry) = Entry::parse(&text) else {
            return Ok(None);
        };
        if !text.ends_with('\n') {
            // The next line must not continue an incomplete one.
            file.write_all(b"\n")?;
        }
        Ok(Some(OpenIntent {
            file,
            path,
            history: self.history.clone(),
            entry,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::example;
    use super::*;

    fn job(id: &str) -> ResourceId {
        ResourceId::Job(id.to_owned())
    }

    fn journal() -> (tempfile::TempDir, Journal) {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::at(folder.path());
        (folder, journal)
    }

    #[test]
    fn old_temporary_files_are_removed() {
        let (_folder, journal) = journal();
        let _first = journal.begin(example("first")).unwrap();
        let temporary = |name: &str| {
            let path = journal.open.join(name);
            File::create(&path).map(|file| (file, path)).unwrap()
        };
        let (_young, young) = temporary(".young.jsonl");
        let (file, old) = temporary(".old.jsonl");
        let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000);
        file.set_modified(long_ago).unwrap();
        let _second = journal.begin(example("second")).unwrap();
        assert!(young.exists() && !old.exists());
        assert_eq!(entry_files(&journal.open).unwrap().len(), 2);
    }

    #[test]
    fn an_intent_is_reopened_only_when_its_process_is_gone() {
        let (_folder, journal) = journal();
        let intent = example("k1");
        let hash = intent.request_hash.clone();
        assert!(journal.reopen(&hash).unwrap().is_none());

        let running = journal.begin(intent).unwrap();
        assert!(
            journal.reopen(&hash).unwrap().is_none(),
            "its process is running"
        );
        drop(running);
        let mut reopened = journal.reopen(&hash).unwrap().unwrap();
        assert_eq!(reopened.entry().intent.idempotency_key.as_str(), "k1");
        assert!(journal.reopen(&hash).unwrap().is_none(), "already reopened");

        reopened.receipt(job("job_1"), Some("req_1"), None).unwrap();
        drop(reopened);
        let reopened = journal.reopen(&hash).unwrap().unwrap();
        assert_eq!(reopened.entry().resource, Some(job("job_1")));
        reopened.close(Outcome::Completed).unwrap();
        assert!(
            journal.reopen(&hash).unwrap().is_none(),
            "its outcome is known"
        );
        let entries = journal.entries().unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].outcome, Some(Outcome::Completed));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_and_one_that_is_gone_is_not() {
        let (_folder, journal) = journal();
        let intent = example("k1");
        let hash = intent.request_hash.clone();
        journal.begin(intent).unwrap();
        let moved = journal.open.join("moved-by-its-process.jsonl");
        assert!(journal.lock_open(moved).unwrap().is_none());
        // What cannot be read may be the intent of the same request.
        fs::create_dir(journal.open.join(format!("{}-x.jsonl", hash.short()))).unwrap();
        assert!(journal.reopen(&hash).is_err());
    }

    #[test]
    fn a_file_that_was_not_moved_after_its_outcome_keeps_that_outcome() {
        let (_folder, journal) = journal();
        for is_waited_for in [false, true] {
            let intent = example("k1");
            let (hash, base_url) = (intent.request_hash.clone(), intent.base_url.clone());
            let mut intent = journal.begin(intent).unwrap();
            intent.receipt(job("job_1"), None, None).unwrap();
            let (outcome, at) = (Outcome::Failed, clock::now());
            append(&mut intent.file, &Line::Outcome { outcome, at }).unwrap();
            drop(intent);

            match is_waited_for {
                true => journal.close_matching(&base_url, &job("job_1"), Outcome::Completed),
                false => assert!(journal.reopen(&hash).unwrap().is_none()),
            }
            assert!(entry_files(&journal.open).unwrap().is_empty());
            let entries = journal.entries().unwrap();
            assert!(entries.iter().all(|it| it.outcome == Some(Outcome::Failed)));
        }
    }

    #[test]
    fn an_intent_of_another_request_is_not_reopened() {
        let (_folder, journal) = journal();
        drop(journal.begin(example("k1")).unwrap());
        let other = RequestHash::new(
            "https://a",
            "f",
            svc_sdk::contract::Operation::ImageGenerate,
            &[],
            &serde_json::json!({}),
            None,
        );
        assert!(journal.reopen(&other).unwrap().is_none());
    }

    #[test]
    fn the_oldest_of_several_intents_is_reopened_first() {
        let (_folder, journal) = journal();
        let hash = example("k").request_hash;
        // Enough files that a folder does not list them by chance in the order of their age.
        for (key, second) in [
            ("e", 50),
            ("a", 20),
            ("d", 40),
            ("b", 10),
            ("f", 60),
            ("c", 30),
        ] {
            let mut intent = example(key);
            intent.created_at = jiff::Timestamp::from_second(second).unwrap();
            drop(journal.begin(intent).unwrap());
        }
        let reopened: Vec<_> = std::iter::from_fn(|| journal.reopen(&hash).unwrap()).collect();
        let ids = reopened.iter().map(|it| it.entry().intent.id.as_str());
        assert_eq!(ids.collect::<String>(), "bacdef");
    }

    #[test]
    fn a_receipt_after_an_incomplete_line_is_read() {
        let (folder, journal) = journal();
        let intent = example("k1");
        let hash = intent.request_hash.clone();
        drop(journal.begin(intent).unwrap());
        let path = entry_files(&folder.path().join("open")).unwrap().remove(0);
        OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"receipt\":{\"jo")
            .unwrap();
        journal
            .reopen(&hash)
            .unwrap()
            .unwrap()
            .receipt(job("job_1"), None, None)
            .unwrap();
        assert_eq!(
            journal.reopen(&hash).unwrap().unwrap().entry().resource,
            Some(job("job_1"))
        );
    }

    #[test]
    fn an_intent_is_closed_when_another_command_reports_the_outcome() {
        let (_folder, journal) = journal();
        let intent = example("k1");
        let hash = intent.request_hash.clone();
        let mut open = journal.begin(intent).unwrap();
        open.receipt(job("job_1"), None, None).unwrap();
        journal.close_matching("https://a", &job("job_1"), Outcome::Completed);
        assert_eq!(
            journal.entries().unwrap()[0].outcome,
            None,
            "its process is running"
        );
        drop(open);
        journal.close_matching("https://b", &job("job_1"), Outcome::Completed);
        journal.close_matching("https://a", &job("job_2"), Outcome::Completed);
        assert!(journal.reopen(&hash).unwrap().is_some());
        journal.close_matching("https://a", &job("job_1"), Outcome::Failed);
        assert!(journal.reopen(&hash).unwrap().is_none());
    }

    #[test]
    fn an_intent_that_cannot_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let blocked = folder.path().join("state");
        fs::write(&blocked, "a file").unwrap();
        let failure = Journal::at(&blocked).begin(example("k1")).unwrap_err();
        assert!(failure.headline().contains("nothing was sent"));
        assert!(failure.detail_lines().join("\n").contains("--no-journal"));
    }
}
