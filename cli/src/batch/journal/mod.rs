//! The journal of a batch: what was sent, accepted and finished, appended line by line.
//!
//! An intent is on disk before its request is sent, so that a batch that was killed at any moment
//! knows which requests may have been carried out.

mod entry;
mod record;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

pub(super) use self::entry::{Entry, Intent, Outcome, Quota, Receipt, Status, status_words};
pub(super) use self::record::{Attempt, DOWNLOAD_FAILED, Record};
use crate::clock;
use crate::error::Failure;
use crate::files::{parent_dir, private_append, sync_dir, try_lock};

/// How the first line of every journal begins.
const FIRST_BYTES: &[u8] = br#"{"batch":{"#;

/// A journal that this process has locked.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    /// The entries that are not written yet.
    pending: Vec<u8>,
}

/// Returns the path of a manifest's journal.
pub(super) fn default_path(manifest: &Path) -> PathBuf {
    let mut name = manifest.as_os_str().to_owned();
    name.push(".journal.jsonl");
    PathBuf::from(name)
}

impl Journal {
    /// Opens and locks a journal, and creates it if it is missing. Calls a function with every entry.
    ///
    /// # Errors
    ///
    /// Returns an error if another process has locked it, if it is another file, or if it cannot be
    /// read or written.
    pub(super) fn open(path: &Path, visit: impl FnMut(Entry)) -> Result<Self, Failure> {
        let failure = |error: io::Error| unwritable(path, &error);
        let is_new = !path.try_exists().map_err(failure)?;
        let mut file = private_append().create(true).open(path).map_err(failure)?;
        if !try_lock(&file).map_err(failure)? {
            return Err(Failure::usage(format!(
                "another process is running this batch: {} is locked",
                path.display()
            )));
        }
        if is_new {
            sync_dir(parent_dir(path)).map_err(failure)?;
        }
        repair(&mut file, path)?;
        file.seek(SeekFrom::Start(0)).map_err(failure)?;
        read_entries(&file, path, visit)?;
        Ok(Self {
            file,
            path: path.to_owned(),
            pending: Vec::new(),
        })
    }

    /// Creates a journal that is removed when the process ends.
    ///
    /// # Errors
    ///
    /// Returns an error if the temporary file cannot be created.
    pub(super) fn temporary() -> Result<Self, Failure> {
        let path = std::env::temp_dir();
        let file = tempfile::tempfile_in(&path).map_err(|error| unwritable(&path, &error))?;
        Ok(Self {
            file,
            path,
            pending: Vec::new(),
        })
    }

    /// Adds the entry that begins a run of the batch, with the command that continues it.
    pub(super) fn begin(&mut self, total: u32, command: String) {
        self.add(&Entry::Batch {
            version: entry::VERSION,
            total,
            command: Some(command),
            at: clock::now(),
        });
    }

    /// Adds an entry, which [`sync`](Self::sync) writes.
    pub(super) fn add(&mut self, entry: &Entry) {
        // Serializing these types into memory does not fail.
        if serde_json::to_writer(&mut self.pending, entry).is_ok() {
            self.pending.push(b'\n');
        }
    }

    /// Writes the entries and flushes them to the disk.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be written. Nothing must be sent then.
    pub(super) fn sync(&mut self) -> Result<(), Failure> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let written = self
            .file
            .write_all(&self.pending)
            .and_then(|()| self.file.sync_data());
        self.pending.clear();
        written.map_err(|error| unwritable(&self.path, &error))
    }
}

/// Reads the entries of a journal without locking it.
///
/// # Errors
///
/// Returns an error if the file is missing, is not a journal, or cannot be read.
pub(super) fn read(path: &Path, visit: impl FnMut(Entry)) -> Result<(), Failure> {
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::usage(format!("{} does not exist", path.display())),
        _ => Failure::usage(format!("cannot read {}: {error}", path.display())),
    })?;
    let mut reader = BufReader::new(&file);
    let mut start = Vec::new();
    let read = reader
        .by_ref()
        .take(FIRST_BYTES.len() as u64)
        .read_to_end(&mut start);
    read.map_err(|error| unwritable(path, &error))?;
    if !FIRST_BYTES.starts_with(&start) {
        return Err(not_a_journal(path));
    }
    let mut file = &file;
    file.seek(SeekFrom::Start(0))
        .map_err(|error| unwritable(path, &error))?;
    read_entries(file, path, visit)
}

/// Reads the entries. Lines that are incomplete, or of a later version, are ignored.
fn read_entries(file: &File, path: &Path, mut visit: impl FnMut(Entry)) -> Result<(), Failure> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = reader
            .read_until(b'\n', &mut line)
            .map_err(|error| unwritable(path, &error))?;
        if length == 0 {
            return Ok(());
        }
        if let Ok(entry) = serde_json::from_slice(&line) {
            visit(entry);
        }
    }
}

/// Makes sure that the next entry begins a line, after a process that was killed while writing.
fn repair(file: &mut File, path: &Path) -> Result<(), Failure> {
    let failure = |error: io::Error| unwritable(path, &error);
    let length = file.seek(SeekFrom::End(0)).map_err(failure)?;
    if length == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::Start(0)).map_err(failure)?;
    let mut first = Vec::new();
    BufReader::new(&*file)
        .read_until(b'\n', &mut first)
        .map_err(failure)?;
    let is_journal = first.starts_with(FIRST_BYTES) || FIRST_BYTES.starts_with(&first);
    if !is_journal {
        return Err(not_a_journal(path));
    }
    if first.last() != Some(&b'\n') {
        // Nothing was sent before the first line was complete.
        return file.set_len(0).map_err(failure);
    }
    let mut last = [0];
    file.seek(SeekFrom::Start(length - 1)).map_err(failure)?;
    file.read_exact(&mut last).map_err(failure)?;
    match last {
        [b'\n'] => Ok(()),
        _ => file.write_all(b"\n").map_err(failure),
    }
}

fn not_a_journal(path: &Path) -> Failure {
    Failure::usage(format!("{} is not the journal of a batch", path.display()))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::file("cannot use the journal", path, error)
        .hint("free disk space, or choose another file with --journal FILE")
}

#[cfg(test)]
mod tests;
