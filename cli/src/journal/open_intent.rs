//! Open intents: journal files that this process has locked.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use svc_sdk::types::Usd;

use super::entry::{Entry, Line};
use crate::clock;
use crate::types::{Outcome, ResourceId};

/// The maximum number of entries in the history.
const MAX_HISTORY_ENTRIES: usize = 1000;

/// An intent whose outcome is unknown, locked by this process.
#[derive(Debug)]
pub(crate) struct OpenIntent {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) history: PathBuf,
    pub(super) entry: Entry,
}

impl OpenIntent {
    /// Returns the entry.
    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Records the receipt.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
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

    /// Records the reported outcome, unless there is one, and moves the file to the history.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written or moved.
    pub(crate) fn close(mut self, outcome: Outcome) -> io::Result<()> {
        if self.entry.outcome.is_none() {
            let at = clock::now();
            append(&mut self.file, &Line::Outcome { outcome, at })?;
        }
        self.move_to_history()
    }

    /// Moves the file of an intent with an outcome to the history.
    pub(super) fn move_to_history(self) -> io::Result<()> {
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

/// Removes the oldest entries beyond the limit.
fn prune(history: &Path) -> io::Result<()> {
    let mut paths = entry_files(history)?;
    paths.sort_unstable();
    let surplus = paths.len().saturating_sub(MAX_HISTORY_ENTRIES);
    paths.iter().take(surplus).try_for_each(fs::remove_file)
}

/// Returns the entry files of a folder, in no particular order.
pub(super) fn entry_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
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

/// Appends a line and flushes it to the disk. Removes a line that was written only partially.
pub(super) fn append(file: &mut File, line: &impl Serialize) -> io::Result<()> {
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

/// Creates a folder that only its owner can read (mode 0700).
pub(super) fn private_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;

        builder.mode(0o700);
    }
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_folder_has_no_entries() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("open");
        assert!(entry_files(&path).unwrap().is_empty());
        fs::write(&path, "a file in place of the folder").unwrap();
        assert!(entry_files(&path).is_err());
    }

    #[test]
    fn the_history_keeps_a_limited_number_of_entries() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..MAX_HISTORY_ENTRIES + 3 {
            fs::write(folder.path().join(format!("{number:015}-k.jsonl")), "").unwrap();
        }
        prune(folder.path()).unwrap();
        let mut left = entry_files(folder.path()).unwrap();
        left.sort_unstable();
        assert_eq!(left.len(), MAX_HISTORY_ENTRIES);
        assert!(left[0].ends_with("000000000000003-k.jsonl"));
    }
}
