//! The files of the journal: locked while their process lives, appended to, moved when it is over.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use svc_sdk::types::Usd;

use super::entry::{Entry, Intent, Line};
use super::request_hash::RequestHash;
use crate::clock;
use crate::error::Failure;
use crate::types::{Outcome, ResourceId};

/// The age at which a file that never became an intent is nobody's.
const ABANDONED_AFTER: Duration = Duration::from_secs(3600);
/// Entries that the history keeps.
const MAX_HISTORY_ENTRIES: usize = 1000;

/// The journal of one state folder.
#[derive(Debug)]
pub(crate) struct Journal {
    open: PathBuf,
    history: PathBuf,
}

/// An intent whose outcome is not known, locked by this process.
#[derive(Debug)]
pub(crate) struct OpenIntent {
    file: File,
    path: PathBuf,
    history: PathBuf,
    entry: Entry,
}

impl Journal {
    /// The journal in that folder. Nothing is made yet.
    pub(crate) fn at(state_dir: &Path) -> Self {
        Self {
            open: state_dir.join("open"),
            history: state_dir.join("history"),
        }
    }

    /// Writes an intent down, so that it survives this process.
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
        // Under its own name it is whole and locked from the first moment.
        let temporary = self.open.join(format!(".{name}"));
        let mut file = private_file(&temporary)?;
        let written = (|| {
            lock(&file)?;
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

    /// Removes what runs left behind that were killed before their intent was whole: nothing was
    /// sent for it. A young one may be about to be locked by its process.
    fn remove_abandoned(&self) {
        for entry in fs::read_dir(&self.open).into_iter().flatten().flatten() {
            let is_temporary = entry.file_name().to_string_lossy().starts_with('.');
            let modified = entry.metadata().and_then(|it| it.modified()).ok();
            let age = modified
                .and_then(|at| Timestamp::try_from(at).ok())
                .map(|at| clock::elapsed(clock::now(), at));
            if is_temporary && age.is_some_and(|age| age >= ABANDONED_AFTER) {
                // What cannot be removed now is there for the next run.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Takes up the oldest open intent of that hash whose process is gone.
    pub(crate) fn reopen(&self, hash: &RequestHash) -> Result<Option<OpenIntent>, Failure> {
        let read_failure = |error: io::Error| self.journal_failure("read", &error);
        let mut found: Option<OpenIntent> = None;
        for path in self.open_files(hash.short()).map_err(read_failure)? {
            let Some(intent) = self.lock_open(path).map_err(read_failure)? else {
                continue;
            };
            let is_older = found
                .as_ref()
                .is_none_or(|found| intent.entry.intent.created_at < found.entry.intent.created_at);
            if intent.entry.intent.request_hash == *hash
                && intent.entry.outcome.is_none()
                && is_older
            {
                found = Some(intent);
            }
        }
        Ok(found)
    }

    /// Closes the open intent of what a person was told the end of another way.
    pub(crate) fn close_matching(&self, base_url: &str, resource: &ResourceId, outcome: Outcome) {
        let is_match = |entry: &Entry| {
            entry.resource.as_ref() == Some(resource) && entry.intent.base_url == base_url
        };
        for path in self.open_files("").unwrap_or_default() {
            // Only what is meant is locked: a run that looks for its own intent meanwhile would
            // take a locked one for one at work.
            let is_match_file = fs::read_to_string(&path)
                .ok()
                .and_then(|text| Entry::parse(&text))
                .is_some_and(|it| is_match(&it));
            if is_match_file && let Ok(Some(intent)) = self.lock_open(path) {
                // Where it cannot be closed, the next run finds the job again: nothing is lost.
                let _ = intent.close(outcome);
            }
        }
    }

    /// Every entry, open or not, newest first.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, Failure> {
        let mut entries = Vec::new();
        for folder in [&self.open, &self.history] {
            for path in files(folder)
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

    /// Without a journal nothing is sent: a run that is cut off could be paid for twice.
    fn journal_failure(&self, verb: &str, error: &io::Error) -> Failure {
        Failure::file(&format!("cannot {verb} the journal in"), &self.open, error)
            .context("nothing was sent")
            .hint("make room, or name another folder with SVC_STATE_DIR")
            .hint("or pass --no-journal to do without: a run that is cut off could then be paid for twice")
    }

    fn open_files(&self, prefix: &str) -> io::Result<Vec<PathBuf>> {
        let named = |path: &PathBuf| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
        };
        Ok(files(&self.open)?.into_iter().filter(named).collect())
    }

    /// Locks a file of the open folder; none where its process lives, or it is gone by now.
    fn lock_open(&self, path: PathBuf) -> io::Result<Option<OpenIntent>> {
        let mut file = match OpenOptions::new().read(true).append(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Between opening and locking its process may have moved it away. Names never come back.
        if !path.try_exists()? {
            return Ok(None);
        }
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let Some(entry) = Entry::parse(&text) else {
            return Ok(None);
        };
        if !text.ends_with('\n') {
            // What is appended must not continue the line that was cut off.
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

impl OpenIntent {
    /// What it says.
    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Writes down what the service answered.
    pub(crate) fn receipt(
        &mut self,
        resource: ResourceId,
        request_id: Option<&str>,
        price_usd: Option<Usd>,
    ) -> io::Result<()> {
        self.entry.resource = Some(resource.clone());
        self.entry.request_id = request_id.map(str::to_owned);
        let line = Line::Receipt {
            resource,
            request_id: self.entry.request_id.clone(),
            price_usd,
        };
        append(&mut self.file, &line)
    }

    /// Writes down what became of it, as a person was told, and moves it to the history.
    pub(crate) fn close(mut self, outcome: Outcome) -> io::Result<()> {
        append(
            &mut self.file,
            &Line::Outcome {
                outcome,
                at: clock::now(),
            },
        )?;
        private_dir(&self.history)?;
        let at = self.entry.intent.created_at.as_millisecond();
        fs::rename(
            &self.path,
            self.history
                .join(format!("{at:015}-{}.jsonl", self.entry.intent.id)),
        )?;
        prune(&self.history)
    }
}

fn prune(history: &Path) -> io::Result<()> {
    let mut paths = files(history)?;
    paths.sort_unstable();
    let surplus = paths.len().saturating_sub(MAX_HISTORY_ENTRIES);
    paths.iter().take(surplus).try_for_each(fs::remove_file)
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with('.') && name.ends_with(".jsonl") {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::other("another process holds the new file"))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Appends a line and waits until the disk has it; a line that did not fit is taken back.
fn append(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    let length = file.seek(SeekFrom::End(0))?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = file.set_len(length);
    }
    written
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;

        options.mode(0o600);
    }
    options.open(path)
}

fn private_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;

        builder.mode(0o700);
    }
    builder.create(path)
}

#[cfg(unix)]
fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_dir(_: &Path) -> io::Result<()> {
    Ok(())
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
    fn what_a_killed_run_left_half_written_is_swept_once_it_is_old() {
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
        assert_eq!(files(&journal.open).unwrap().len(), 2);
    }

    #[test]
    fn an_intent_is_taken_up_only_when_its_process_is_gone() {
        let (_folder, journal) = journal();
        let intent = example("k1");
        let hash = intent.request_hash.clone();
        assert!(journal.reopen(&hash).unwrap().is_none());

        let living = journal.begin(intent).unwrap();
        assert!(
            journal.reopen(&hash).unwrap().is_none(),
            "its process lives"
        );
        drop(living);
        let mut taken = journal.reopen(&hash).unwrap().unwrap();
        assert_eq!(taken.entry().intent.idempotency_key.as_str(), "k1");
        assert!(journal.reopen(&hash).unwrap().is_none(), "taken up already");

        taken.receipt(job("job_1"), Some("req_1"), None).unwrap();
        drop(taken);
        let taken = journal.reopen(&hash).unwrap().unwrap();
        assert_eq!(taken.entry().resource, Some(job("job_1")));
        taken.close(Outcome::Completed).unwrap();
        assert!(
            journal.reopen(&hash).unwrap().is_none(),
            "its outcome is known"
        );
        let entries = journal.entries().unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].outcome, Some(Outcome::Completed));
    }

    #[test]
    fn another_request_takes_up_nothing() {
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
    fn of_several_the_oldest_is_taken_up_first() {
        let (_folder, journal) = journal();
        let hash = example("k").request_hash;
        for (key, second) in [("young", 20), ("old", 10)] {
            let mut intent = example(key);
            intent.created_at = jiff::Timestamp::from_second(second).unwrap();
            drop(journal.begin(intent).unwrap());
        }
        let first = journal.reopen(&hash).unwrap().unwrap();
        let second = journal.reopen(&hash).unwrap().unwrap();
        assert_eq!(first.entry().intent.id, "old");
        assert_eq!(second.entry().intent.id, "young");
    }

    #[test]
    fn a_receipt_after_a_line_that_was_cut_off_is_read() {
        let (folder, journal) = journal();
        let intent = example("k1");
        let hash = intent.request_hash.clone();
        drop(journal.begin(intent).unwrap());
        let path = files(&folder.path().join("open")).unwrap().remove(0);
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
    fn a_job_that_was_seen_to_end_is_settled() {
        let (_folder, journal) = journal();
        let intent = example("k1");
        let hash = intent.request_hash.clone();
        let mut open = journal.begin(intent).unwrap();
        open.receipt(job("job_1"), None, None).unwrap();
        journal.close_matching("https://a", &job("job_1"), Outcome::Completed);
        assert_eq!(
            journal.entries().unwrap()[0].outcome,
            None,
            "its own process tells"
        );
        drop(open);
        journal.close_matching("https://b", &job("job_1"), Outcome::Completed);
        journal.close_matching("https://a", &job("job_2"), Outcome::Completed);
        assert!(journal.reopen(&hash).unwrap().is_some());
        journal.close_matching("https://a", &job("job_1"), Outcome::Failed);
        assert!(journal.reopen(&hash).unwrap().is_none());
    }

    #[test]
    fn the_history_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..MAX_HISTORY_ENTRIES + 3 {
            fs::write(folder.path().join(format!("{number:015}-k.jsonl")), "").unwrap();
        }
        prune(folder.path()).unwrap();
        let mut left = files(folder.path()).unwrap();
        left.sort_unstable();
        assert_eq!(left.len(), MAX_HISTORY_ENTRIES);
        assert!(left[0].ends_with("000000000000003-k.jsonl"));
    }

    #[test]
    fn where_nothing_can_be_written_nothing_begins() {
        let folder = tempfile::tempdir().unwrap();
        let blocked = folder.path().join("state");
        fs::write(&blocked, "a file").unwrap();
        let failure = Journal::at(&blocked).begin(example("k1")).unwrap_err();
        assert!(failure.headline().contains("nothing was sent"));
        assert!(failure.detail_lines().join("\n").contains("--no-journal"));
    }
}
